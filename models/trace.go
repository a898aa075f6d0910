package models

import (
	"context"
	"fmt"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// Trace runs the model once on ids and returns one tensor for each tap, in their order; the taps of
// package trace have their shapes. It returns a [*ResultError] if a number is NaN or infinite and
// [Options.AllowNaN] is not set. Other errors are those of [transformer.Model.Trace].
func (m *Model) Trace(ctx context.Context, ids []int, taps []trace.Tap) ([]trace.Tensor, error) {
	return m.TraceTypes(ctx, ids, nil, taps)
}

// TraceTypes is [Model.Trace] of a text whose tokens have types, [T]; nil for type 0.
func (m *Model) TraceTypes(ctx context.Context, ids, types []int, taps []trace.Tap) (
	[]trace.Tensor, error,
) {
	batch := transformer.Batch{IDs: [][]int{ids}}
	if types != nil {
		batch.Types = [][]int{types}
	}
	texts, err := m.Forward(ctx, batch, taps)
	if err != nil {
		return nil, err
	}
	return texts[0], nil
}

// Run is [Model.Trace] under edits, which change what is computed after the places that they name;
// see [trace.Edit]. It returns an error that names a place that the model lacks, or a value that
// does not have its shape.
func (m *Model) Run(ctx context.Context, ids []int, taps []trace.Tap, edits []trace.Edit) (
	[]trace.Tensor, error,
) {
	batch := transformer.Batch{IDs: [][]int{ids}, Edits: [][]trace.Edit{edits}}
	texts, err := m.Forward(ctx, batch, taps)
	if err != nil {
		return nil, err
	}
	return texts[0], nil
}

// Forward runs several texts in one pass and returns for each what [Model.Trace] returns. The
// shorter texts are padded on either side, which changes no number.
func (m *Model) Forward(ctx context.Context, batch transformer.Batch, taps []trace.Tap) (
	[][]trace.Tensor, error,
) {
	texts, err := m.graph.Forward(ctx, batch, taps)
	if err != nil {
		return nil, err
	}
	for i, tensors := range texts {
		err := m.checkResults(tensors)
		if err != nil && batch.Edits != nil {
			err = trace.Edited(batch.Edits[i], err)
		}
		if err != nil && len(texts) > 1 {
			err = fmt.Errorf("text %d: %w", i, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// Spec returns the description of the architecture, which must not be changed.
func (m *Model) Spec() *spec.Spec { return m.spec }

// DType returns the type of the weights in memory: float32 or bfloat16.
func (m *Model) DType() string { return strings.ToLower(m.graph.DType.String()) }

// Ends returns whether a token ends a text.
func (m *Model) Ends(id int) bool { return m.ends[id] }
