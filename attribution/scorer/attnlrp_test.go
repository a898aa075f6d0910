package scorer_test

import (
	"testing"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// Of a product a·b, the true gradient × input counts a·b twice, and relevance gives each factor
// half; a bias is nobody's.
func TestAttnLRP(t *testing.T) {
	m := fakemodel.NewScored(1)
	m.Gradient = func(q trace.Query, rule trace.Backward) trace.Gradient {
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
