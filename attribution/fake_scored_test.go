package attribution_test

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// answering is a fake that answers scorers by functions, and remembers what it was asked.
type answering struct {
	*fake
	kinds     map[string]int
	embedding func(id int) []float32
	predict   func(q trace.Query) float64
	gradient  func(q trace.Query, rule trace.Backward) trace.Gradient
	terms     *trace.LogitTerms
	parts     []float64
	rest      float64
	// queries are those of every call.
	queries *[][]trace.Query
}

// newAnswering returns a fake of one layer with embeddings (id, 1).
func newAnswering(layers int) answering {
	return answering{
		fake: newFake(layers, evenly), queries: new([][]trace.Query),
		embedding: func(id int) []float32 { return []float32{float32(id), 1} },
		predict:   func(trace.Query) float64 { return 0 },
	}
}

func (a answering) Replacement(kind string) (int, bool) {
	id, ok := a.kinds[kind]
	return id, ok
}

func (a answering) Embed(ctx context.Context, ids []int) (all []float32, err error) {
	for _, id := range ids {
		all = append(all, a.embedding(id)...)
	}
	return all, ctx.Err()
}

func (a answering) Predict(ctx context.Context, queries []trace.Query) (all []float64, err error) {
	*a.queries = append(*a.queries, queries)
	for _, q := range queries {
		all = append(all, a.predict(q))
	}
	return all, ctx.Err()
}

func (a answering) Gradients(
	ctx context.Context, queries []trace.Query, rule trace.Backward,
) (all []trace.Gradient, err error) {
	*a.queries = append(*a.queries, queries)
	for _, q := range queries {
		all = append(all, a.gradient(q, rule))
	}
	return all, ctx.Err()
}

func (a answering) LogitTerms(ctx context.Context, _ trace.Query) (*trace.LogitTerms, error) {
	return a.terms, ctx.Err()
}

func (a answering) Decompose(ctx context.Context, _ trace.Query) ([]float64, float64, error) {
	return a.parts, a.rest, ctx.Err()
}
