package models

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// Trace runs ids once, T tokens, and returns one tensor for each tap, in the order asked; see the taps of package trace for
// their shapes. It returns an error for an unknown tap, listing the known ones, for ids that the model cannot take, and a
// [*ResultError] for a number that is NaN or infinite, unless [Options.AllowNaN] is set.
func (m *Model) Trace(ctx context.Context, ids []int, taps []trace.Tap) ([]trace.Tensor, error) {
	tensors, err := m.graph.Trace(ctx, ids, taps)
	if err != nil {
		return nil, orMore(err)
	}
	if err := m.checkResults(tensors); err != nil {
		return nil, err
	}
	return tensors, nil
}

// Forward runs several texts in one pass, padded on either side, and returns for each what [Model.Trace] does.
func (m *Model) Forward(ctx context.Context, batch transformer.Batch, taps []trace.Tap) ([][]trace.Tensor, error) {
	texts, err := m.graph.Forward(ctx, batch, taps)
	if err != nil {
		return nil, orMore(err)
	}
	for i, tensors := range texts {
		if err := m.checkResults(tensors); err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
	}
	return texts, nil
}

// WithoutValue runs layer l on x, the residual stream before it of T tokens, [T,D], with the value vector of one source zeroed in
// every head, and returns the residual stream after it, [T,D]. A source of -1 zeroes none.
func (m *Model) WithoutValue(ctx context.Context, l int, x []float32, source int) ([]float32, error) {
	return m.graph.WithoutValue(ctx, l, x, source)
}

// Spec describes the architecture. It must not be changed.
func (m *Model) Spec() *spec.Spec { return m.spec }

// DType is what the weights are held in: float32 or bfloat16.
func (m *Model) DType() string { return strings.ToLower(m.graph.DType.String()) }

// Compiled returns how many graphs were compiled for the model so far, one for every use and shape, and how long that took.
func (m *Model) Compiled() (graphs int, took time.Duration) {
	return m.graph.Compiled()
}

// Ends is whether a token ends a text.
func (m *Model) Ends(id int) bool { return m.stop[id] }
