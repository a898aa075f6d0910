package evaluate_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// layered is a decoder of three layers. Of four tokens the last one looks at all alike in layer 0,
// at token 1 in layer 1, and in layer 2 most at token 3, then at 0, 1 and 2.
func layered() *fakemodel.Model {
	m := fakemodel.New(3, nil)
	m.Row = func(_ trace.MixingAsk, l, t, s int) float64 {
		switch {
		case s > t:
			return 0
		case t != 3 || l == 0:
			return 1 / float64(t+1)
		case l == 1:
			return []float64{0, 1, 0, 0}[s]
		}
		return []float64{.25, .2, .05, .5}[s]
	}
	return m
}

func aligned(
	t *testing.T, m trace.Model, cases []evaluate.Case, opts evaluate.CurveOptions,
) *evaluate.CueCurves {
	t.Helper()
	r, err := evaluate.AlignLayers(context.Background(), m, cases, opts)
	must(t, err)
	return r
}

// The only cue is w2, token 1 of four. Raw attention: a quarter in layer 0, where all are equal and
// the mean of 1, 1/2, 1/3 and 1/4 is the level of chance, 25/48; all of it in layer 1; the third
// rank in layer 2. Rollout in layer 0 is ½A + ½I: an eighth on the cue, the token itself first, and
// the cue among three equal ones after it: the mean of 1/2, 1/3 and 1/4 is 13/36.
func TestAlignLayers(t *testing.T) {
	cases := []evaluate.Case{{
		Group: "a", Prompt: "w1 w2 w3 w4", Continuation: "w5", Evidence: [][2]int{{3, 5}},
	}}
	r := aligned(t, layered(), cases, evaluate.CurveOptions{Methods: []string{"raw", "rollout"}})
	if diff := cmp.Diff([]string{"a"}, r.Groups); diff != "" || r.Cases != 1 {
		t.Errorf("groups (-want +got):\n%s%d cases", diff, r.Cases)
	}
	const chance = 25. / 48
	want := map[string][][2]float64{
		"raw":     {{.25, chance}, {1, 1}, {.2, 1. / 3}},
		"rollout": {{.125, 13. / 36}},
	}
	for _, curve := range r.Curves {
		for l, w := range want[curve.Method] {
			where := fmt.Sprintf("%s layer %d", curve.Method, curve.Layers[l])
			near(t, where+" dot", curve.Levels[0][l].Dot.Mean, w[0], 1e-6)
			near(t, where+" AP", curve.Levels[0][l].AveragePrecision.Mean, w[1], 1e-6)
		}
		if n := len(curve.Levels[0]); n != 3 {
			t.Errorf("%s has %d layers", curve.Method, n)
		}
	}
	near(t, "chance of AP", r.Chance[0].AveragePrecision.Mean, chance, 1e-12)
	near(t, "chance of dot", r.Chance[0].Dot.Mean, .25, 1e-12)
}

// Means are over the cases of each group, and over all of them.
func TestAlignLayersOfGroups(t *testing.T) {
	at := func(group string, begin int) evaluate.Case {
		return evaluate.Case{
			Group: group, Prompt: "w1 w2 w3 w4", Continuation: "w5",
			Evidence: [][2]int{{begin, begin + 2}},
		}
	}
	calls := 0
	r := aligned(t, layered(), []evaluate.Case{at("a", 3), at("b", 0), at("a", 9)},
		evaluate.CurveOptions{
			Methods:    []string{"raw"},
			OnProgress: func(trace.Progress) { calls++ },
		})
	if diff := cmp.Diff([]string{"a", "b", "all"}, r.Groups); diff != "" || calls != 3 {
		t.Fatalf("groups (-want +got):\n%s%d calls", diff, calls)
	}
	// In layer 2 the cues w2, w1 and w4 have .2, .25 and .5, at ranks 3, 2 and 1.
	for g, want := range []struct {
		dot, precision float64
		n              int
	}{{.35, 2. / 3, 2}, {.25, .5, 1}, {.95 / 3, (1./3 + .5 + 1) / 3, 3}} {
		level := r.Curves[0].Levels[g][2]
		near(t, r.Groups[g]+" dot", level.Dot.Mean, want.dot, 1e-6)
		near(t, r.Groups[g]+" AP", level.AveragePrecision.Mean, want.precision, 1e-6)
		if level.Dot.N != want.n {
			t.Errorf("%s is of %d cases, want %d", r.Groups[g], level.Dot.N, want.n)
		}
	}
}

// An encoder's row is that of the position explained. Control tokens are ranked on request: then
// they take what they have of the row.
func TestAlignLayersOfEncoder(t *testing.T) {
	m := fakemodel.NewEncoder(1, func(t, s int) float64 {
		return []float64{.5, .25, .125, .125, 0}[(s+5-t)%5]
	})
	// <bos> w1 w2 w3 <end>; at token 2 the row is .125 0 .5 .25 .125, and the cue is w3.
	position := 2
	c := evaluate.Case{Prompt: "w1 w2 w3", Evidence: [][2]int{{6, 8}}, Position: &position}
	r := aligned(t, m, []evaluate.Case{c}, evaluate.CurveOptions{Methods: []string{"raw"}})
	near(t, "dot", r.Curves[0].Levels[0][0].Dot.Mean, .25/.75, 1e-6)
	near(t, "AP", r.Curves[0].Levels[0][0].AveragePrecision.Mean, .5, 1e-6)
	near(t, "chance", r.Chance[0].Dot.Mean, 1./3, 1e-12)
	r = aligned(t, m, []evaluate.Case{c}, evaluate.CurveOptions{
		Methods: []string{"raw"}, EveryToken: true,
	})
	near(t, "dot of every token", r.Curves[0].Levels[0][0].Dot.Mean, .25, 1e-6)
	near(t, "chance of every token", r.Chance[0].Dot.Mean, 1./5, 1e-12)
}

func TestAlignLayersRefusals(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	two := 2.
	good := evaluate.Case{Prompt: "w1 w2", Continuation: "w3", Evidence: [][2]int{{0, 2}}}
	for _, c := range []struct {
		name string
		ctx  context.Context
		c    evaluate.Case
		opts evaluate.CurveOptions
		want string
	}{
		{"no cue", nil, evaluate.Case{Prompt: "w1 w2"}, evaluate.CurveOptions{}, `evaluate: case 1 of 2: "w1 w2" has no evidence`},
		{
			"cue outside", nil,
			evaluate.Case{Prompt: "w1 w2", Evidence: [][2]int{{50, 60}}},
			evaluate.CurveOptions{},
			"case 1 of 2: evidence, number 1: bytes 50 to 60 of a prompt of 5 bytes",
		},
		{
			"cue between tokens", nil,
			evaluate.Case{Prompt: "w1 w2", Evidence: [][2]int{{2, 3}}},
			evaluate.CurveOptions{},
			"no token of the prompt lies in the evidence [[2 3]]",
		},
		{"two predictions", nil, evaluate.Case{
			Prompt: "w1", Continuation: "w1 w2", Evidence: [][2]int{{0, 2}},
		}, evaluate.CurveOptions{}, "2 predictions are explained, want one"},
		{"method", nil, good, evaluate.CurveOptions{Methods: []string{"row"}}, `unknown method`},
		{"option", nil, good, evaluate.CurveOptions{Explain: attribution.Options{Residual: &two}}, "residual 2"},
		{"stopped", done, good, evaluate.CurveOptions{}, context.Canceled.Error()},
	} {
		ctx := c.ctx
		if ctx == nil {
			ctx = context.Background()
		}
		_, err := evaluate.AlignLayers(ctx, layered(), []evaluate.Case{good, c.c}, c.opts)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// Three pairs are tried: the model's numbers are 1, -2 and 0 nats, of which the first is right.
func TestPrefer(t *testing.T) {
	m := fakemodel.NewScored(1)
	m.Predicted = func(q trace.Query) float64 {
		if q.Quantity != trace.LogProbability || q.Contrast == nil || q.Position != len(q.IDs)-1 {
			t.Errorf("asked %+v", q)
		}
		return []float64{1, -2, 0}[q.Token-1]
	}
	pair := func(good, bad string) evaluate.Case {
		return evaluate.Case{Prompt: "w7 w8", Continuation: good, Contrast: bad}
	}
	p, err := evaluate.Prefer(context.Background(), m, []evaluate.Case{
		pair("w0", "w1"), pair("w1", "w0"), pair("w2", "w0"), pair("w0 w1", "w2"), pair("w3", ""),
		pair("w4", "w4"),
	}, trace.SpecialsAuto)
	must(t, err)
	want := []evaluate.Preference{
		{Case: 0, Difference: 1, Right: true},
		{Case: 1, Difference: -2},
		{Case: 2},
		{Case: 3, LeftOut: `"w0 w1" is 2 tokens, and a pair needs one`},
		{Case: 4, LeftOut: "the pair needs a continuation and a contrast"},
		{Case: 5, LeftOut: `"w4" and "w4" are the same token`},
	}
	if diff := cmp.Diff(want, p.Pairs); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	if p.Tried != 3 || p.Right != 1 {
		t.Errorf("%d right of %d, want 1 of 3", p.Right, p.Tried)
	}
	near(t, "accuracy", float64(p.Accuracy), 1./3, 1e-15)
	if p, err = evaluate.Prefer(context.Background(), m, nil, 0); err != nil ||
		!math.IsNaN(float64(p.Accuracy)) {
		t.Errorf("no pairs: %+v, %v", p, err)
	}
	if _, err = evaluate.Prefer(context.Background(), m, []evaluate.Case{pair("w1", "x")},
		0); err == nil || !strings.Contains(err.Error(), `case 0 of 1: fake: no word "x"`) {
		t.Errorf("an unknown word: %v", err)
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = evaluate.Prefer(done, m, []evaluate.Case{pair("w0", "w1")}, 0); err == nil ||
		!strings.Contains(err.Error(), "stopped before pair 0") {
		t.Errorf("stopped: %v", err)
	}
}

// An encoder's pair is asked at its only masked token, or at its position.
func TestPreferMasked(t *testing.T) {
	m := fakemodel.NewScored(1)
	m.About.Bidirectional, m.Kinds = true, map[string]int{"mask": 6} // w5
	var asked []int
	m.Predicted = func(q trace.Query) float64 {
		asked = append(asked, q.Position)
		return 1
	}
	second := 1
	tooFar := 9
	pair := func(prompt string, at *int) evaluate.Case {
		return evaluate.Case{Prompt: prompt, Continuation: "w0", Contrast: "w1", Position: at}
	}
	p, err := evaluate.Prefer(context.Background(), m, []evaluate.Case{
		pair("w1 w2 w5 w3", nil), pair("w1 w2", &second), pair("w5 w5", nil), pair("w1", nil),
		pair("w1", &tooFar),
	}, 0)
	must(t, err)
	if diff := cmp.Diff([]int{2, 1}, asked); diff != "" || p.Tried != 2 {
		t.Errorf("positions (-want +got):\n%s", diff)
	}
	const none = "the text has no single masked token, and the pair no position"
	for i, want := range []string{"", "", none, none, "position 9 of a text of 1 tokens"} {
		if got := p.Pairs[i].LeftOut; got != want {
			t.Errorf("pair %d is left out for %q, want %q", i, got, want)
		}
	}
}
