package scorer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Removal removes tokens from a query, as [Options.Replacement] says. Evaluations use it to measure
// how much a prediction depends on tokens.
type Removal struct {
	x *question
	r *replacement
}

// NewRemoval prepares a query. If neither q nor opts names a quantity, it is the probability.
// Unlike a scorer, a removal also takes [trace.Margin]. NewRemoval returns a [trace.UsageError] if
// the query or the options are invalid, otherwise an error of the model.
func NewRemoval(ctx context.Context, m trace.Model, q trace.Query, opts Options) (*Removal, error) {
	has := occlusionInfo
	has.Quantities = append(slices.Clone(has.Quantities), trace.Margin)
	x, err := newQuestion(ctx, "removal", has, m, q, opts)
	if err != nil {
		return nil, err
	}
	r, err := x.newReplacement(ctx)
	if err != nil {
		return nil, err
	}
	return &Removal{x, r}, nil
}

// Replacement returns what stands in place of a token that is removed, as [Options.Replacement]
// names it.
func (r *Removal) Replacement() string {
	return cmp.Or(r.x.opts.Replacement, r.x.defaultKind())
}

// Removable returns the positions of tokens that can be removed on their own. If tokens are
// deleted, these are all but the position at which an encoder is asked and the only token of a
// text; otherwise all.
func (r *Removal) Removable() []int {
	var all []int
	for j := range r.x.q.IDs {
		if len(r.r.removable(r.x, []int{j})) > 0 {
			all = append(all, j)
		}
	}
	return all
}

// Without returns the query without the tokens at some positions, each given once. If tokens are
// deleted and none would be left, the last one stays. It panics if a position is outside the text.
func (r *Removal) Without(tokens ...int) trace.Query {
	order := slices.Sorted(slices.Values(tokens))
	if n := len(order); n > 0 && (order[0] < 0 || order[n-1] >= len(r.x.q.IDs)) {
		panic(fmt.Sprintf("attribution: removal of tokens %v of %d", order, len(r.x.q.IDs)))
	}
	if r.r.delete && len(order) == len(r.x.q.IDs) {
		order = order[:len(order)-1]
	}
	return r.r.without(r.x, order)
}

// Exchanged returns the query with other tokens, by their ids, in place of adjacent ones, at least
// one, given in rising order: a name for a name. It is for queries of ids alone, and panics if a
// position is outside the text.
func (r *Removal) Exchanged(tokens, ids []int) trace.Query {
	q, first, after := r.x.q, tokens[0], tokens[len(tokens)-1]+1
	longer := len(ids) - (after - first)
	to := func(p int) int {
		switch {
		case p < first:
			return p
		case p < after:
			return -1
		}
		return p + longer
	}
	if q.Types != nil {
		q.Types = slices.Replace(slices.Clone(q.Types), first, after,
			slices.Repeat(q.Types[first:first+1], len(ids))...)
	}
	q.IDs = slices.Replace(slices.Clone(q.IDs), first, after, ids...)
	q.Position, q.Edits = to(q.Position), trace.MoveEdits(q.Edits, to)
	return q
}

// Predict returns the number that the model computes for the query without each set of tokens, in
// the order of sets. It runs the model in batches. It panics as [Removal.Without] does.
func (r *Removal) Predict(ctx context.Context, sets [][]int) ([]float64, error) {
	return r.Ask(ctx, len(sets), func(i int) trace.Query { return r.Without(sets[i]...) })
}

// Ask returns the numbers that the model computes for n queries, which query returns in order.
func (r *Removal) Ask(
	ctx context.Context, n int, query func(i int) trace.Query,
) ([]float64, error) {
	values, err := r.x.predict(ctx, n, query)
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

// Soft returns the number that the model computes if elements of the embeddings are set to zero at
// random; those of token j are kept with probability keep[j], [T]. It is the mean over so many
// draws from the seed in [Options] (Zhao and Aletras 2023, §3). It returns a [trace.UsageError] if
// draws is below 1 or keep has another length.
func (r *Removal) Soft(ctx context.Context, keep []float64, draws int) (float64, error) {
	if T := len(r.x.q.IDs); draws < 1 || len(keep) != T {
		return 0, trace.Usagef("removal: %d draws with %d probabilities for %d tokens; it takes 1 "+
			"draw or more and a probability for each token", draws, len(keep), T)
	}
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
	mean := rowmath.Total(values) / float64(draws)
	return mean, r.x.checkFinite("value", mean)
}
