package gonbext

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/message"
)

// A request has every field of its settings, in whatever order they are given.
func TestSettings(t *testing.T) {
	o := Options{MaxTokens: 3, Methods: []string{"flow"}}
	m := Model{Name: "tiny", Backend: "go", DType: "float32", MaxMemory: 1 << 30}
	v := Show{By: "word", Filter: attribution.DefaultFilter(), Layer: new(2)}
	for _, settings := range [][]Setting{{o, m, v}, {v, o, m}, {&m, v, &o}} {
		r, err := newRequest(settings)
		want := engine.Model{Name: "tiny", Backend: "go", DType: "float32", MaxMemory: 1 << 30}
		if err != nil || r.options.MaxTokens != 3 || r.options.Methods[0] != "flow" ||
			r.model != want ||
			r.show.By != "word" || r.show.Filter == nil || *r.show.Layer != 2 {
			t.Errorf("request %+v, error %v", r, err)
		}
	}
	if r, err := newRequest(nil); err != nil || r.model != (engine.Model{}) || r.show.Layer != nil {
		t.Errorf("no settings: %+v, error %v", r, err)
	}
	for want, settings := range map[string][]Setting{
		"two values of Options are given": {o, m, o},
		"two values of Model are given":   {m, m},
		"two values of Show are given":    {v, o, Show{}},
		"a setting is nil":                {o, nil},
	} {
		_, err := newRequest(settings)
		if err == nil || !errors.Is(err, trace.ErrUsage) ||
			!strings.HasPrefix(err.Error(), "gonbext: "+want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// What a view groups is known before a method that takes tokens away runs, and for others only
// when it is shown. Two groupings exclude each other.
func TestByOfMethods(t *testing.T) {
	for method, want := range map[string]string{
		"occlusion": "sentence", "interchange": "sentence", "reagent": "sentence",
		"rollout": "", "integrated-gradients": "", "": "", "unknown": "",
	} {
		o := Options{Methods: []string{"direct", method}}
		r, err := newRequest([]Setting{o, Show{By: "sentence"}})
		if err != nil || r.options.By != want || r.show.By != "sentence" {
			t.Errorf("%s: By %q of the options, %v; want %q", method, r.options.By, err, want)
		}
	}
	r, err := newRequest([]Setting{Options{By: "word"}, Show{By: "sentence"}})
	if err == nil {
		err = r.check()
	}
	if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), "give one of the two") {
		t.Errorf("two groupings: %v", err)
	}
}

// Each kind of error has a hint in terms of a cell, and no other error has one.
func TestHints(t *testing.T) {
	for kind, want := range map[errorkind.Kind]string{
		errorkind.Memory:    "no room (set MaxMemory of gonbext.Model)",
		errorkind.DType:     `no room (set DType of gonbext.Model to "bfloat16")`,
		errorkind.Cache:     "no room (run headwater download with the name of the model, which fetches broken files again)",
		errorkind.Tokenizer: "no room (trace token ids by TryTraceInput of gonbext.Model)",
		errorkind.Plugin:    "no room (run headwater setup xla)",
		errorkind.None:      "no room",
	} {
		err := &engine.Error{Message: "no room", Reason: kind}
		if got := worded(err); got.Error() != "gonbext: "+want || !errors.Is(got, err) {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

// The note about an interruption counts tokens for a decoder and predictions for an encoder.
func TestRemarkCounts(t *testing.T) {
	steps := func(n int, encoder bool) *Explanation {
		return &Explanation{
			Model: trace.Info{Bidirectional: encoder}, Steps: make([]attribution.GeneratedToken, n),
		}
	}
	for _, c := range []struct {
		e                *Explanation
		made, doing, end string
	}{
		{steps(1, false), "1 token", "generating, 1 token so far", "It ended after 1 token: no disk."},
		{steps(2, false), "2 tokens", "generating, 2 tokens so far, 2.0 tokens/s", "It ended after 2 tokens: no disk."},
		{steps(1, true), "1 prediction", "reading, 1 prediction so far", "It ended after 1 prediction: no disk."},
		{steps(3, true), "3 predictions", "reading, 3 predictions so far", "It ended after 3 predictions: no disk."},
	} {
		var pace message.Pace // 2 tokens a second, of which it tells after the third
		for i := range len(c.e.Steps) + 1 {
			pace.Add(time.Unix(int64(i)/2, int64(i)%2*5e8))
		}
		if got := doing(c.e, pace); c.e.Made() != c.made || got != c.doing {
			t.Errorf("%s, %s; want %s, %s", got, c.e.Made(), c.doing, c.made)
		}
		if got := remark(t.Context(), c.e, errors.New("no disk")); got != c.end {
			t.Errorf("remark %q, want %q", got, c.end)
		}
	}
}
