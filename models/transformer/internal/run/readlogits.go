package run

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
)

// ReadLogits implements [transformer.Model.ReadLogits].
func ReadLogits(ctx context.Context, m *Model, ids []int, edits []trace.Edit, first int,
	use func(position int, logits []float32) error,
) error {
	if first < 0 || first >= len(ids) {
		return pkg.Errorf("position %d is not in 0..%d", first, len(ids)-1)
	}
	s, err := m.NewSession(nil, len(ids))
	if err != nil {
		return err
	}
	defer s.Close()
	if len(edits) > 0 {
		s.Edit(edits...)
	}
	at := graph.BoundaryIn(m.Spec, ids)
	if at == 0 {
		return extendWith(ctx, s, ids, ids[first:], use)
	}
	if first < at || at == len(ids) {
		return pkg.Errorf("position %d is in the source, which predicts nothing; the target "+
			"begins at %d", first, at)
	}
	// The encoder reads the source at once, with the token at which the target begins.
	out, err := s.Prompt(ctx, ids[:at+1], nil)
	if err == nil && first == at {
		err = use(at, out.Logits)
		first++
	}
	if err != nil || at+1 == len(ids) {
		return err
	}
	return extendWith(ctx, s, ids[at+1:], ids[first:], use)
}
