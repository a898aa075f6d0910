package models

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Trace runs ids once, T tokens, and returns one tensor for each tap, in the order asked; see the taps of package trace for
// their shapes. It returns an error for an unknown tap, listing the known ones, and for ids that the model cannot take.
func (m *Model) Trace(ctx context.Context, ids []int, taps []trace.Tap) ([]trace.Tensor, error) {
	return m.graph.Trace(ctx, ids, taps)
}
