package models

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// LogitTerms returns the parts of the query's logit that its target's residual stream was made of; see [transformer.Model.LogitTerms]
// for what is linear and what is held. It returns an error for a quantity other than [trace.Logit], for a text, position, token or
// contrast that the model does not have, and for a model without a head, a [*transformer.MemoryError], and one that wraps ctx.Err()
// within a layer.
func (m *Model) LogitTerms(ctx context.Context, q trace.Query) (*trace.LogitTerms, error) {
	terms, err := m.graph.LogitTerms(ctx, q)
	return terms, m.queryError(err)
}

// Decompose returns the part of the query's logit that comes from each token, [T], and the rest, which none of them gets; see
// [transformer.Model.Decompose]. It costs about as many passes as the text has tokens. Errors are as in [Model.LogitTerms].
func (m *Model) Decompose(ctx context.Context, q trace.Query) (parts []float64, rest float64, err error) {
	parts, rest, err = m.graph.Decompose(ctx, q)
	return parts, rest, m.queryError(err)
}
