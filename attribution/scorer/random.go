package scorer

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { register("random", randomScorerInfo, randomScorer) }

// randomScorer gives each token a random number:
//
//	s_j ~ U[0,1)
//
// Every evaluation includes it for comparison: a method that is not better than random says
// nothing. The numbers depend on [Options.Seed], the text and the position only, so they are the
// same on every run.
//
// Values are [T]. It costs one pass forward, to compute the number explained.
func randomScorer(ctx context.Context, x *question) (*Scores, error) {
	f, err := x.predict(ctx, 1, func(int) trace.Query { return x.q })
	if err != nil {
		return nil, err
	}
	if err := x.checkFinite("value", f[0]); err != nil {
		return nil, err
	}
	s := &Scores{Values: make([]float64, len(x.q.IDs)), Value: f[0]}
	source := x.random()
	for j := range s.Values {
		s.Values[j] = source.Float64()
	}
	return s, nil
}

var randomScorerInfo = Info{
	Summary:    "random numbers, which say nothing: the line that a method must be above",
	Formula:    "s_j ~ U[0,1)",
	Paper:      "none; the random line of DeYoung et al. 2020, §5",
	Cost:       "one pass through the model a token",
	Unit:       "random number",
	Needs:      "predictions of other texts",
	Evidence:   trace.Chance,
	Quantities: []trace.Quantity{trace.Probability, trace.LogProbability, trace.Logit},
	Edits:      true,
}
