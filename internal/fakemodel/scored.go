package fakemodel

import (
	"context"
	"math"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Scored is a [Model] that answers scorers by functions, and remembers what it was asked.
type Scored struct {
	*Model
	// Kinds are the ids that Replacement knows.
	Kinds map[string]int
	// Embedding returns the embedding of an id, [D].
	Embedding func(id int) []float32
	Predicted func(q trace.Query) float64
	Gradient  func(q trace.Query, rule trace.Backward) trace.Gradient
	// Terms are what LogitTerms returns; Parts and Rest are what Decompose returns.
	Terms *trace.LogitTerms
	Parts []float64
	Rest  float64
	// Queries are those of every call of Predict and Gradients.
	Queries *[][]trace.Query
}

// NewScored returns a model with embeddings (id, 1), rows of [Evenly], and predictions of 0.
func NewScored(layers int) Scored {
	return Scored{
		Model: New(layers, Evenly), Queries: new([][]trace.Query),
		Embedding: func(id int) []float32 { return []float32{float32(id), 1} },
		Predicted: func(trace.Query) float64 { return 0 },
	}
}

// Replacement looks kind up in Kinds.
func (a Scored) Replacement(kind string) (int, bool) {
	id, ok := a.Kinds[kind]
	return id, ok
}

// Embed returns the embeddings of ids, [T,D].
func (a Scored) Embed(ctx context.Context, ids []int) (all []float32, err error) {
	for _, id := range ids {
		all = append(all, a.Embedding(id)...)
	}
	return all, ctx.Err()
}

// Predict returns Predicted of each query.
func (a Scored) Predict(ctx context.Context, queries []trace.Query) (all []float64, err error) {
	*a.Queries = append(*a.Queries, queries)
	for _, q := range queries {
		all = append(all, a.Predicted(q))
	}
	return all, ctx.Err()
}

// Gradients returns Gradient of each query.
func (a Scored) Gradients(
	ctx context.Context, queries []trace.Query, rule trace.Backward,
) (all []trace.Gradient, err error) {
	*a.Queries = append(*a.Queries, queries)
	for _, q := range queries {
		all = append(all, a.Gradient(q, rule))
	}
	return all, ctx.Err()
}

// LogitTerms returns Terms.
func (a Scored) LogitTerms(ctx context.Context, _ trace.Query) (*trace.LogitTerms, error) {
	return a.Terms, ctx.Err()
}

// Decompose returns Parts and Rest.
func (a Scored) Decompose(ctx context.Context, _ trace.Query) ([]float64, float64, error) {
	return a.Parts, a.Rest, ctx.Err()
}

// linearWeights are w, [T,D], of a model that is linear in the embeddings.
var linearWeights = []float64{0.5, -2, 3, 4, -1, 0.25}

// NewLinear returns a model of three tokens whose logit is w·e + 3, of embeddings (id, 1), and
// whose probability is 1/(1+exp(-logit)).
func NewLinear() Scored {
	a := NewScored(1)
	a.Kinds = map[string]int{"mask": 9}
	a.Gradient = func(q trace.Query, _ trace.Backward) trace.Gradient {
		g := trace.Gradient{Value: 3}
		for i, w := range linearWeights {
			x := float64(a.Embedding(q.IDs[i/2])[i%2])
			if q.Embeddings != nil {
				x = float64(q.Embeddings[i])
			}
			g.Value += w * x
		}
		slope := 1.0
		if q.Quantity == trace.Probability {
			g.Value = Sigmoid(g.Value)
			slope = g.Value * (1 - g.Value)
		}
		for _, w := range linearWeights {
			g.Data = append(g.Data, float32(slope*w))
		}
		return g
	}
	return a
}

// Sigmoid returns 1/(1+exp(-x)).
func Sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
