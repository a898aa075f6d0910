package attribution

import (
	"context"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Removal takes tokens out of a query, as [Scoring.Replacement] says: what an evaluation does to
// see what a prediction loses.
type Removal struct {
	x *question
	r *replacement
}

// NewRemoval prepares a query. A quantity that neither q nor opts names is the probability. The
// error is a [UsageError] for what cannot be asked, and otherwise the model's.
func NewRemoval(ctx context.Context, m Model, q trace.Query, opts Scoring) (*Removal, error) {
	x, err := newQuestion(ctx, "removal", occlusion{}.Info(), m, q, opts)
	if err != nil {
		return nil, err
	}
	r, err := x.newReplacement(ctx)
	if err != nil {
		return nil, err
	}
	return &Removal{x, r}, nil
}

// Removable returns the tokens that can be taken out, one by one: all but, where they are deleted,
// an encoder's position and the only token of a text.
func (r *Removal) Removable() []int {
	var all []int
	for j := range r.x.q.IDs {
		if r.r.removable(r.x, j) {
			all = append(all, j)
		}
	}
	return all
}

// Without returns the query without some tokens, each once. Where they are deleted and none would
// be left, the last one stays.
func (r *Removal) Without(tokens ...int) trace.Query {
	order := slices.Sorted(slices.Values(tokens))
	if r.r.delete && len(order) == len(r.x.q.IDs) {
		order = order[:len(order)-1]
	}
	y, s := *r.x, *r.r
	for _, j := range slices.Backward(order) { // from the end, so that the rest stay where they are
		y.q = s.without(&y, j)
		s.inputs = y.q.Embeddings
	}
	return y.q
}

// Predict returns what the model makes of the query without each set of tokens, a batch at a time.
func (r *Removal) Predict(ctx context.Context, sets [][]int) ([]float64, error) {
	values, err := r.x.predict(ctx, len(sets), func(i int) trace.Query {
		return r.Without(sets[i]...)
	})
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if err := r.x.checkFinite("value", v); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Soft returns what the model makes of the query whose embedding elements are kept at random, those
// of token j with probability keep[j], and set to zero otherwise: the mean over so many draws of
// the seed in [Scoring] (Zhao and Aletras 2023, §3).
func (r *Removal) Soft(ctx context.Context, keep []float64, draws int) (float64, error) {
	inputs, err := r.x.inputs(ctx)
	if err != nil {
		return 0, err
	}
	rng := r.x.random()
	D := len(inputs) / len(r.x.q.IDs)
	values, err := r.x.predict(ctx, draws, func(int) trace.Query {
		q := r.x.q
		q.Embeddings = slices.Clone(inputs)
		for i := range q.Embeddings {
			if rng.Float64() >= keep[i/D] {
				q.Embeddings[i] = 0
			}
		}
		return q
	})
	if err != nil {
		return 0, err
	}
	mean := total(values) / float64(draws)
	return mean, r.x.checkFinite("value", mean)
}
