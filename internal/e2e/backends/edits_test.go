package backends

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestEdits compares XLA with PyTorch hooks under every edit of models/testdata/edits: all cases of
// a model in one batch, and those of all taps at once on the cache. models/transformer tests pure
// Go.
func TestEdits(t *testing.T) {
	const folder = goldens + "../edits/"
	text, err := os.ReadFile(folder + "edits.json")
	must(t, err)
	var cases map[string][][]trace.Edit
	must(t, json.Unmarshal(text, &cases))
	hooks, err := checkpoint.Open(folder + "edits.safetensors")
	must(t, err)
	defer hooks.Close()
	for name, all := range cases {
		t.Run(name, func(t *testing.T) {
			m := fixture.Open(t, goldens+name, "xla")
			want, err := hooks.Float32(name)
			must(t, err)
			text, v := ids(t, name, "input_ids", 2), m.Info().Vocab
			batch := transformer.Batch{Edits: all, IDs: slices.Repeat([][]int{text}, len(all))}
			got, err := m.Forward(context.Background(), batch, []trace.Tap{trace.Logits})
			must(t, err)
			for i, edits := range all {
				logits := got[i][0].Data
				compare(t, fmt.Sprint(edits[0].Change, " ", edits[0]), logits[len(logits)-v:],
					want[i*v:(i+1)*v], logitsTol)
			}
			if m.Info().Bidirectional {
				return
			}
			last := slices.Clone(all[len(all)-1])
			q := trace.Query{IDs: text, Edits: last, Objective: trace.Objective{
				Quantity: trace.Probability, Position: len(text) - 1, Token: text[0],
			}}
			whole, err := m.Predict(context.Background(), []trace.Query{q})
			must(t, err)
			for i := range last { // positions from the end count from that of the prompt
				for k, at := range last[i].Positions {
					last[i].Positions[k] = (at + len(text)) % len(text)
				}
			}
			cached := 0.0
			for step, err := range m.Steps(context.Background(), text[:5], trace.Ask{
				Continuation: append(slices.Clone(text[5:]), text[0]), Edits: last,
			}) {
				must(t, err)
				cached = step.Next.Probability
			}
			compare(t, "on the cache", []float32{float32(cached)}, []float32{float32(whole[0])},
				backendTol)
		})
	}
}
