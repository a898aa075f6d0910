package ask

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// Lens implements [transformer.Model.Lens].
func Lens(ctx context.Context, m *run.Model, q trace.LensQuery,
	use func(i int, scores []float32) error,
) error {
	if m.Spec.Head != spec.LanguageHead {
		return pkg.Errorf("no lens: the head of the %s model scores no tokens", m.Spec.Family)
	}
	batch := run.Batch{IDs: [][]int{q.IDs}, Types: run.RowOrNil(q.Types)}
	if q.Edits != nil {
		batch.Edits = [][]trace.Edit{q.Edits}
	}
	// A pass over an empty text has its own error.
	err := m.CheckMemory(run.Need{
		Tokens: len(q.IDs), Taps: []trace.Tap{trace.Hidden}, Lens: true, Edits: batch.Edits,
	})
	if err != nil {
		return err
	}
	texts, err := m.Forward(ctx, batch, []trace.Tap{trace.Hidden})
	if err != nil {
		return err
	}
	hidden := texts[0][0] // [L+1,T,D]
	T, D := hidden.Shape[1], hidden.Shape[2]
	streams := make([]float32, 0, hidden.Shape[0]*D)
	for i, at := range q.Positions {
		if at < 0 || at >= T {
			return pkg.Errorf("position %d is not in 0..%d", at, T-1)
		}
		if err := ctx.Err(); err != nil {
			return pkg.Errorf("stopped at the lens of position %d: %w", at, err)
		}
		streams = streams[:0]
		for l := range hidden.Shape[0] {
			streams = append(streams, hidden.Data[(l*T+at)*D:][:D]...)
		}
		err := run.LensScores(m, streams, func(scores []float32) error { return use(i, scores) })
		if err != nil {
			return err
		}
	}
	return nil
}
