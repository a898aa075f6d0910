package scorer_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// order is a scorer of one's own: what the prediction loses when a token changes places with the
// one before it. To make it a method for every program that imports it, register it from init:
// scorer.Register("order", order{}).
type order struct{}

func (order) Info() scorer.Info {
	return scorer.Info{
		Summary: "what the prediction loses when a token changes places with the one before it",
		Formula: "s_j = f(x) - f(x with j-1 and j exchanged)", Paper: "none",
		Cost: "T passes a token", Needs: "predictions of other texts",
		Signed: true, Quantities: []trace.Quantity{trace.Probability, trace.Logit},
	}
}

func (order) Score(
	ctx context.Context, m trace.Model, q trace.Query, opts scorer.Options,
) (*scorer.Scores, error) {
	p, ok := m.(trace.Predictor)
	if !ok {
		return nil, &trace.UsageError{Reason: "order needs a model that predicts other texts"}
	}
	q, _, err := scorer.Prepare("order", order{}.Info(), m, q, opts)
	if err != nil {
		return nil, err
	}
	queries := []trace.Query{q}
	for j := 1; j < len(q.IDs); j++ {
		swapped := q
		swapped.IDs = append([]int{}, q.IDs...)
		swapped.IDs[j-1], swapped.IDs[j] = q.IDs[j], q.IDs[j-1]
		queries = append(queries, swapped)
	}
	f, err := p.Predict(ctx, queries)
	if err != nil {
		return nil, err
	}
	s := &scorer.Scores{Values: make([]float64, len(q.IDs)), Value: f[0]}
	for j := 1; j < len(q.IDs); j++ {
		s.Values[j] = f[0] - f[j]
	}
	return s, nil
}

func TestOrder(t *testing.T) { attributiontest.Scorer(t, order{}, attributiontest.NewModel(1)) }

func ExampleScorer() {
	model := attributiontest.NewModel(1) // or models.Open
	other := 4
	q := trace.Query{IDs: []int{3, 8, 2}, Objective: trace.Objective{
		Position: 2, Token: 7,
		Contrast: &other,
	}}
	for _, name := range []string{"gradient-x-input", "integrated-gradients", "occlusion"} {
		s, err := scorer.Lookup(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		scores, err := s.Score(context.Background(), model, q,
			scorer.Options{Quantity: trace.Logit})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %.2f of %.2f\n", name, scores.Values, scores.Value)
	}
	// Output:
	// gradient-x-input: [-4.25 -0.02 -0.61] of -2.63
	// integrated-gradients: [3.90 2.28 -4.07] of -2.63
	// occlusion: [2.17 7.58 -4.73] of -2.63
}
