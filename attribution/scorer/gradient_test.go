package scorer_test

import (
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// 26: of a linear model, gradient × input and integrated gradients from zeros are w_j·e_j, and what
// adds up to f(e) - f(0) leaves no residue; the gradient's norms are those of w_j.
func TestKnown26Linear(t *testing.T) {
	m, q := fakemodel.NewLinear(), ids(2, 4, 6)
	logit := scorer.Options{Quantity: trace.Logit, Replacement: "zero"}
	want := []float64{0.5*2 - 2, 3*4 + 4, -1*6 + 0.25}
	f := want[0] + want[1] + want[2] + 3

	got := score(t, "gradient-x-input", m, q, logit)
	near(t, "gradient × input", got.Values, want, 0)
	near(t, "its value", []float64{got.Value}, []float64{f}, 0)
	if got.Residue != nil {
		t.Errorf("gradient × input has residue %v; it says nothing of a sum", *got.Residue)
	}
	for _, steps := range []int{1, 2, 32, 100} {
		logit.Steps = steps
		got = score(t, "integrated-gradients", m, q, logit)
		near(t, "integrated gradients", got.Values, want, 1e-12)
		near(t, "their value and residue", []float64{got.Value, *got.Residue},
			[]float64{f, 0}, 1e-12)
	}
	got = score(t, "attn-lrp", m, q, scorer.Options{})
	near(t, "relevance", got.Values, want, 0)
	near(t, "its value and residue", []float64{got.Value, *got.Residue}, []float64{f, 3}, 0)

	got = score(t, "gradient", m, q, logit)
	near(t, "gradient", got.Values, []float64{math.Hypot(0.5, 2), 5, math.Hypot(1, 0.25)}, 1e-15)
}

// Embeddings in the query replace those of its ids.
func TestGradientEmbeddings(t *testing.T) {
	q := ids(2, 4, 6)
	q.Embeddings = []float32{1, 1, 1, 1, 2, 8}
	want := []float64{-1.5, 7, 0}
	logit := scorer.Options{Quantity: trace.Logit, Replacement: "zero"}
	near(t, "gradient × input",
		score(t, "gradient-x-input", fakemodel.NewLinear(), q, logit).Values, want, 0)
	near(t, "integrated gradients",
		score(t, "integrated-gradients", fakemodel.NewLinear(), q, logit).Values, want, 1e-12)
}
