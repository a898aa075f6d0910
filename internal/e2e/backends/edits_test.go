package backends

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/modelgolden"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestEdits compares XLA with PyTorch hooks under every edit of models/testdata/edits: all cases of
// a model in one batch, and those of all taps at once on the cache. models/transformer tests pure
// Go.
func TestEdits(t *testing.T) {
	for name, all := range modelgolden.EditCases(t, goldens+"../edits") {
		t.Run(name, func(t *testing.T) {
			m := fixture.Open(t, goldens+name, "xla")
			text, v := ids(t, name, "input_ids", 2), m.Info().Vocab
			batch := transformer.Batch{IDs: slices.Repeat([][]int{text}, len(all))}
			for _, one := range all {
				batch.Edits = append(batch.Edits, one.Edits)
			}
			got, err := m.Forward(context.Background(), batch, []trace.Tap{trace.Logits})
			must(t, err)
			for i, one := range all {
				logits := got[i][0].Data
				compare(t, fmt.Sprint(one.Edits[0].Change, " ", one.Edits[0]),
					logits[len(logits)-v:], one.Logits, logitsTol)
			}
			if m.Info().Bidirectional {
				return
			}
			last := all[len(all)-1]
			q := trace.Query{IDs: text, Edits: last.Edits, Objective: trace.Objective{
				Quantity: trace.Probability, Position: len(text) - 1, Token: text[0],
			}}
			whole, err := m.Predict(context.Background(), []trace.Query{q})
			must(t, err)
			cached := 0.0
			for step, err := range m.Steps(context.Background(), text[:5], trace.Ask{
				Continuation: append(slices.Clone(text[5:]), text[0]),
				Edits:        last.FromStart(len(text)),
			}) {
				must(t, err)
				cached = step.Next.Probability
			}
			compare(t, "on the cache", []float32{float32(cached)}, []float32{float32(whole[0])},
				backendTol)
		})
	}
}
