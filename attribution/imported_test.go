package attribution_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Four tokens, the last two of them generated, in two layers of attention that is easy to follow:
// raw attention shows the rows themselves. Token 2 is predicted by row 1 and token 3 by row 2, of
// which column 2 rests on a generated token.
func TestImported(t *testing.T) {
	layer := []float32{
		1, 0, 0, 0,
		.25, .75, 0, 0,
		.5, .125, .375, 0,
		.25, .25, .25, .25,
	}
	lower := slices.Clone(layer)
	lower[9], lower[10] = .25, .25 // of token 2
	a := attribute(t, attribution.Options{Methods: []string{"raw"}}, trace.Tensor{
		Name: "attention", Shape: []int{2, 4, 4}, Data: append(lower, layer...),
	})
	texts := []string{"the", " key", " is", " red"}
	e, err := a.Explanation(texts, 2, trace.Info{Name: "gpt2"})
	must(t, err)
	if e.Prompt.Text != "the key" || len(e.Steps) != 2 || e.Steps[1].Text != " red" {
		t.Errorf("prompt %q and steps %v", e.Prompt.Text, e.Steps)
	}
	r := e.Methods["raw"]
	const tol = 1e-7 // the input is float32
	for _, w := range []struct {
		t, j int
		want float64
	}{{0, 0, .25}, {0, 1, .75}, {1, 0, .5}, {1, 1, .125}} {
		if got := r.At(w.t, w.j, 1); math.Abs(got-w.want) > tol {
			t.Errorf("M[%d,%d,1] = %v, want %v", w.t, w.j, got, w.want)
		}
	}
	if other := e.Methods["raw"].OtherMass; other[1] != 0 || math.Abs(other[3]-.375) > tol {
		t.Errorf("on generated tokens %v, want 0 and 0.375 after each layer", other)
	}
	for k, want := range []float64{.25, .375} {
		none, one := r.Row(0, k)[2:], r.Row(1, k)[2:]
		if len(none) > 0 || len(one) != 1 || math.Abs(one[0]-want) > tol {
			t.Errorf("layer %d: from generated tokens %v and %v, want none and %v", k, none, one,
				want)
		}
	}
	next, err := a.Explanation(texts, 0, trace.Info{})
	must(t, err)
	if got := next.Methods["raw"]; got.Shape != [3]int{1, 4, 2} || got.At(0, 3, 0) != .25 {
		t.Errorf("what follows has shape %v and %v of the last token, want [1 4 2] and 0.25",
			got.Shape, got.At(0, 3, 0))
	}
}

func TestImportedRefusals(t *testing.T) {
	opts := attribution.Options{Methods: []string{"raw"}}
	decoder := attribute(t, opts, tensorOf(1, 1, 3, false))
	encoder := attribute(t, opts, tensorOf(1, 1, 3, true))
	three := []string{"a", "b", "c"}
	for _, c := range []struct {
		want      string
		a         *attribution.Attribution
		texts     []string
		generated int
	}{
		{"there are 2 tokens, and the rows are of 3 targets", decoder, three[:2], 0},
		{"3 of 3 tokens were generated; want 0 to 2", decoder, three, 3},
		{"-1 of 3 tokens", decoder, three, -1},
		{"an encoder's, which generates nothing", encoder, three, 1},
	} {
		_, err := c.a.Explanation(c.texts, c.generated, trace.Info{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q in it", err, c.want)
		}
	}
	e, err := encoder.Explanation(three, 0, trace.Info{})
	if err != nil || len(e.Steps) != 3 || *e.Steps[2].Position != 2 {
		t.Errorf("an encoder's text has steps %v, %v; want one for each token", e.Steps, err)
	}
}
