package attribution_test

import (
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// linearWeights are w, [T,D], of a model that is linear in the embeddings.
var linearWeights = []float64{0.5, -2, 3, 4, -1, 0.25}

// newLinear returns a model of three tokens whose logit is w·e + 3, of embeddings (id, 1), and
// whose probability is 1/(1+exp(-logit)).
func newLinear() answering {
	a := newAnswering(1)
	a.kinds = map[string]int{"mask": 9}
	a.gradient = func(q trace.Query, _ trace.Backward) trace.Gradient {
		g := trace.Gradient{Value: 3}
		for i, w := range linearWeights {
			x := float64(a.embedding(q.IDs[i/2])[i%2])
			if q.Embeddings != nil {
				x = float64(q.Embeddings[i])
			}
			g.Value += w * x
		}
		slope := 1.0
		if q.Quantity == trace.Probability {
			g.Value = sigmoid(g.Value)
			slope = g.Value * (1 - g.Value)
		}
		for _, w := range linearWeights {
			g.Data = append(g.Data, float32(slope*w))
		}
		return g
	}
	return a
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// 26: of a linear model, gradient × input and integrated gradients from zeros are w_j·e_j, and what
// adds up to f(e) - f(0) leaves no residue; the gradient's norms are those of w_j.
func TestKnown26Linear(t *testing.T) {
	m, q := newLinear(), ids(2, 4, 6)
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
	near(t, "gradient × input", score(t, "gradient-x-input", newLinear(), q, logit).Values, want, 0)
	near(t, "integrated gradients", score(t, "integrated-gradients", newLinear(), q, logit).Values,
		want, 1e-12)
}

// Of a product a·b, the true gradient × input counts a·b twice, and relevance gives each factor
// half; a bias is nobody's.
func TestAttnLRP(t *testing.T) {
	m := newAnswering(1)
	m.gradient = func(q trace.Query, rule trace.Backward) trace.Gradient {
		a, b := float64(q.IDs[0]), float64(q.IDs[1])
		half := map[trace.Backward]float64{trace.TrueGradient: 1, trace.RelevanceGradient: .5}[rule]
		return trace.Gradient{Value: a*b + 7, Data: []float32{
			float32(half * b), 0,
			float32(half * a), 0,
		}}
	}
	got := score(t, "attn-lrp", m, ids(3, 5), scorer.Options{})
	near(t, "relevance", got.Values, []float64{7.5, 7.5}, 0)
	near(t, "value and residue", []float64{got.Value, *got.Residue}, []float64{22, 7}, 0)
	got = score(t, "gradient-x-input", m, ids(3, 5), scorer.Options{})
	near(t, "gradient × input", got.Values, []float64{15, 15}, 0)
}

// A question's quantity is the options', the query's or the scorer's own, in this order; LogitTerms
// and others get nothing else.
func TestScoringQuantity(t *testing.T) {
	for _, c := range []struct{ options, query, want trace.Quantity }{
		{"", "", trace.Probability},
		{"", trace.Logit, trace.Logit},
		{trace.LogProbability, trace.Logit, trace.LogProbability},
	} {
		m, q := newAnswering(1), ids(1)
		q.Quantity = c.query
		score(t, "random", m, q, scorer.Options{Quantity: c.options})
		if got := (*m.queries)[0][0].Quantity; got != c.want {
			t.Errorf("options %q, query %q: asked for %q, want %q", c.options, c.query, got, c.want)
		}
	}
}
