package plugin

import (
	"context"
	"slices"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { scorer.Register("neighbor", neighbor{}) }

// neighbor is what the prediction loses when a token is replaced by the one before it, the first by the one behind it:
//
//	s_j = f(x) - f(x with x_j := x_{j-1})
type neighbor struct{}

func (neighbor) Info() scorer.Info {
	return scorer.Info{
		Summary:    "what the prediction loses when a token only repeats the one before it",
		Formula:    "s_j = f(x) - f(x with x_j := x_{j-1})",
		Paper:      "none; a kind of occlusion",
		Cost:       "T passes through the model a token",
		Needs:      "predictions of other texts",
		Signed:     true,
		Quantities: []trace.Quantity{trace.Probability, trace.LogProbability, trace.Logit},
	}
}

func (s neighbor) Score(ctx context.Context, m trace.Model, q trace.Query, opts scorer.Options) (*scorer.Scores, error) {
	model, ok := m.(trace.Predictor)
	if !ok {
		return nil, &trace.UsageError{Reason: "neighbor needs a model that predicts other texts"}
	}
	q, _, err := scorer.Prepare("neighbor", s.Info(), m, q, opts) // checks both and fills in what is left open
	if err != nil {
		return nil, err
	}
	queries := []trace.Query{q}
	for j := range q.IDs {
		beside := j - 1
		if j == 0 {
			beside = min(1, len(q.IDs)-1)
		}
		changed := q
		changed.IDs = slices.Clone(q.IDs) // the query is not ours to modify
		changed.IDs[j] = q.IDs[beside]
		queries = append(queries, changed)
	}
	f, err := model.Predict(ctx, queries)
	if err != nil {
		return nil, err
	}
	scores := &scorer.Scores{Values: make([]float64, len(q.IDs)), Value: f[0]}
	for j := range scores.Values {
		scores.Values[j] = f[0] - f[j+1]
	}
	return scores, nil
}
