package gonbext_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext"
	"github.com/headwater-ml/headwater/internal/engine"
)

// sides is a small explanation with two methods.
func sides() *gonbext.Explanation {
	e := &gonbext.Explanation{
		Prompt: attribution.Prompt{Text: "the keys", Texts: []string{"the", " keys"}},
		Steps:  []attribution.GeneratedToken{{Text: " are", Probability: 0.5}},
		Order:  []string{"rollout", "flow"}, Methods: map[string]*attribution.Result{},
	}
	for i, name := range e.Order {
		e.Methods[name] = &attribution.Result{
			Unit: "share", Facts: attribution.Facts{Quantity: attribution.Share}, Layers: []int{0}, Shape: [3]int{1, 2, 1},
			Rows: [][]float64{{0.2 + 0.1*float64(i), 0.8 - 0.1*float64(i)}},
		}
	}
	return e
}

func TestCompareCell(t *testing.T) {
	k := newKernel(t, func(*engineConn, engine.Request) { t.Error("the engine was asked") })
	r := k.run("compare", true)
	shown := fmt.Sprint(saved(r.displays))
	if r.status != 0 || r.stderr != "" || !strings.Contains(shown, "A − B") ||
		!strings.Contains(shown, "A: rollout · B: flow") {
		t.Errorf("status %d, stderr %q, shown %.300q", r.status, r.stderr, shown)
	}
	r = k.run("compare wrong", true)
	shown = fmt.Sprint(saved(r.displays))
	want := `has no method &#34;rolout&#34;; did you mean rollout?`
	if !strings.Contains(shown, want) {
		t.Errorf("an unknown method shows %.300q, want %q", shown, want)
	}
}

// TestCompareLayersCell compares two layers of one method.
func TestCompareLayersCell(t *testing.T) {
	k := newKernel(t, func(*engineConn, engine.Request) { t.Error("the engine was asked") })
	r := k.run("compare layers", true)
	shown := fmt.Sprint(saved(r.displays))
	if r.status != 0 || r.stderr != "" || !strings.Contains(shown, "Two layers compared") ||
		!strings.Contains(shown, "A: rollout@0 · B: rollout@1") {
		t.Errorf("status %d, stderr %q, shown %.300q", r.status, r.stderr, shown)
	}
}

func TestCompareErrors(t *testing.T) {
	for _, c := range []struct {
		b       *gonbext.Explanation
		methods []string
		want    string
	}{
		{nil, nil, "one is nil"},
		{sides(), []string{"a", "b", "c"}, "3 methods for two sides"},
		{sides(), []string{"rollout", "flw"}, "did you mean flow?"},
		{sides(), []string{"rollout@x"}, "rollout@x\" is not a method and its layer"},
		{sides(), []string{"rollout", "flow@-1"}, "flow@-1\" is not a method and its layer"},
		{
			sides(),
			[]string{"rollout", "flow@3"},
			"layer 3 of method \"flow\" was not kept in explanation B, which has layer 0 alone",
		},
	} {
		err := gonbext.TryCompare(sides(), c.b, c.methods...)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.methods, err, c.want)
		}
	}
}
