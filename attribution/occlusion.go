package attribution

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { RegisterScorer("occlusion", occlusion{}) }

// occlusion is what the prediction loses without each token:
//
//	s_j = f(x) - f(x without j)
//
// (Zeiler and Fergus 2014, §4.2; erasure in Li et al. 2016; the blank-out reference of Abnar and
// Zuidema 2020, §4, who take its absolute value). f is the probability. [Scoring.Replacement] says
// what stands in the token's place; one that is deleted moves all that follow, and the position
// that predicts with them. What cannot be deleted, the only token of a text and the one at which an
// encoder is asked, has 0. Of tokens that say the same, each alone is worth little: single removals
// miss what they do together.
//
// Values are [T]. It costs T + 1 passes forward, a batch at a time.
type occlusion struct{}

// Info describes the scorer.
func (occlusion) Info() ScorerInfo {
	return ScorerInfo{
		Summary:    "what the prediction loses when one token is taken away",
		Formula:    "s_j = f(x) - f(x without j)",
		Paper:      "Zeiler and Fergus 2014, §4.2; Li et al. 2016; Abnar and Zuidema 2020, §4",
		Cost:       "T + 1 passes through the model a token, without its cache",
		Needs:      "predictions of other texts; gradients if an embedding of zeros stands in",
		Signed:     true,
		Quantities: []trace.Quantity{trace.Probability, trace.LogProbability, trace.Logit},
		Replaces:   true,
	}
}

// Score returns what is lost without each token; see [Scorer].
func (o occlusion) Score(
	ctx context.Context, m Model, q trace.Query, opts Scoring,
) (*Scores, error) {
	x, err := newQuestion(ctx, "occlusion", o.Info(), m, q, opts)
	if err != nil {
		return nil, err
	}
	r, err := x.newReplacement(ctx)
	if err != nil {
		return nil, err
	}
	var removed []int
	for j := range x.q.IDs {
		if r.removable(x, j) {
			removed = append(removed, j)
		}
	}
	f, err := x.predict(ctx, 1+len(removed), func(i int) trace.Query {
		if i == 0 {
			return x.q
		}
		return r.without(x, removed[i-1])
	})
	if err != nil {
		return nil, err
	}
	if err := x.checkFinite("value", f[0]); err != nil {
		return nil, err
	}
	s := &Scores{Values: make([]float64, len(x.q.IDs)), Value: f[0]}
	for i, j := range removed {
		if err := x.checkFinite(fmt.Sprintf("without token %d (id %d) the value", j, x.q.IDs[j]),
			f[i+1]); err != nil {
			return nil, err
		}
		s.Values[j] = f[0] - f[i+1]
	}
	return s, nil
}
