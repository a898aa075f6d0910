package scorer_test

import (
	"testing"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// A question's quantity is the options', the query's or the scorer's own, in this order; LogitTerms
// and others get nothing else.
func TestScoringQuantity(t *testing.T) {
	for _, c := range []struct{ options, query, want trace.Quantity }{
		{"", "", trace.Probability},
		{"", trace.Logit, trace.Logit},
		{trace.LogProbability, trace.Logit, trace.LogProbability},
	} {
		m, q := fakemodel.NewScored(1), ids(1)
		q.Quantity = c.query
		score(t, "random", m, q, scorer.Options{Quantity: c.options})
		if got := (*m.Queries)[0][0].Quantity; got != c.want {
			t.Errorf("options %q, query %q: asked for %q, want %q", c.options, c.query, got, c.want)
		}
	}
}
