package scorer_test

import (
	"testing"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// newGraded returns a model of two layers, two heads and three tokens. A ⊙ ∇A is
//
//	layer 0: [0], [1,-1], [1,0,1] and [1], [0,1], [-1,3,0]
//	layer 1, the last row: [1,1,-1] and [1,-2,1]
func newGraded() fakemodel.Scored {
	a := fakemodel.NewScored(2)
	g := trace.Gradient{
		Value: 2.5, Data: make([]float32, 6),
		Attention: []float32{
			1, 0, 0, .5, .5, 0, .25, .25, .5,
			1, 0, 0, 0, 1, 0, .5, .5, 0,
			1, 0, 0, 1, 0, 0, .5, .25, .25,
			1, 0, 0, 0, 1, 0, .25, .25, .5,
		},
		AttentionData: []float32{
			0, 0, 0, 2, -2, 0, 4, 0, 2,
			1, 0, 0, 0, 1, 0, -2, 6, 0,
			0, 0, 0, 0, 0, 0, 2, 4, -4,
			0, 0, 0, 0, 0, 0, 4, -8, 2,
		},
	}
	a.Gradient = func(_ trace.Query, rule trace.Backward) trace.Gradient {
		if rule != trace.WithAttention {
			panic("a gradient without attention")
		}
		return g
	}
	return a
}

// Clamped, then averaged: Ā_1 = [½], [½,½], [½,3/2,½] and the last row of Ā_2 = [1,½,½]. R_1 = I +
// Ā_1 = [3/2], [½,3/2], [½,3/2,3/2];
//
//	R_2 = [½,3/2,3/2] + 1[3/2,0,0] + ½[½,3/2,0] + ½[½,3/2,3/2] = [5/2,3,9/4]
func TestChefer(t *testing.T) {
	got := score(t, "chefer", newGraded(), ids(4, 5, 6), scorer.Options{})
	near(t, "row", append(got.Values, got.Value), []float64{5. / 2, 3, 9. / 4, 2.5}, 0)
	if got.Residue != nil {
		t.Errorf("residue %v of values that are not parts of a sum", *got.Residue)
	}
	// The row of another position: row 1 of layer 1 has no gradient, so that it is that of R_1.
	q := ids(4, 5, 6)
	q.Position = 1
	near(t, "row 1", score(t, "chefer", newGraded(), q, scorer.Options{}).Values,
		[]float64{1. / 2, 3. / 2, 0}, 0)
	// A classifier reads at its first token whatever the query says.
	m := newGraded()
	m.About.Head, m.About.Bidirectional = trace.Classes, true
	near(t, "row 0", score(t, "chefer", m, q, scorer.Options{}).Values,
		[]float64{3. / 2, 0, 0}, 0)
}

// Averaged, then clamped: [½], [½,0], [0,3/2,½] and [1,0,0], the last row of layer 2. With half the
// identity and divided by sums, Â_1 = [1], [⅓,⅔], [0,½,½] and Â_2 = [½,0,½]:
//
//	R_2 = ½[1,0,0] + ½[0,½,½] = [½,¼,¼]
func TestGradientRollout(t *testing.T) {
	got := score(t, "gradient-rollout", newGraded(), ids(4, 5, 6), scorer.Options{})
	near(t, "row", append(got.Values, got.Value), []float64{1. / 2, 1. / 4, 1. / 4, 2.5}, 1e-15)
	q := ids(4, 5, 6)
	q.Position = 1
	near(t, "row 1", score(t, "gradient-rollout", newGraded(), q, scorer.Options{}).Values,
		[]float64{1. / 3, 2. / 3, 0}, 1e-15)
}
