package transformer_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/models/modeltest"
)

// TestEditsAgainstHooks: under every edit of models/testdata/edits, the logits at the last position
// are those of the reference implementation with PyTorch hooks, in one pass and, in a decoder, on
// the cache.
func TestEditsAgainstHooks(t *testing.T) {
	const folder = "../testdata/edits/"
	text, err := os.ReadFile(folder + "edits.json")
	must(t, err)
	var cases map[string][][]trace.Edit
	must(t, json.Unmarshal(text, &cases))
	recorded, err := checkpoint.Open(folder + "edits.safetensors")
	must(t, err)
	defer recorded.Close()
	for name, all := range cases {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			want, err := recorded.Float32(name)
			must(t, err)
			v := g.model.Spec.Vocab
			if len(want) != len(all)*v {
				t.Fatalf("%d logits for %d cases", len(want), len(all))
			}
			for i, edits := range all {
				what := fmt.Sprint(edits[0].Change, " ", edits[0], " of ", len(edits))
				logits := g.run(t, g.ids, edits, trace.Logits)[0].Data
				check(t, what, logits[len(logits)-v:], want[i*v:(i+1)*v], modeltest.LogitsTol)
				if !g.model.Spec.Bidirectional {
					check(t, what+" on the cache", g.cached(t, edits), want[i*v:(i+1)*v],
						modeltest.LogitsTol)
				}
			}
		})
	}
}

// cached are the logits at the last position of a golden's text, whose tokens after the fifth come
// one by one.
func (g *golden) cached(t *testing.T, edits []trace.Edit) []float32 {
	t.Helper()
	n := len(g.ids)
	edits = slices.Clone(edits)
	for i := range edits { // positions from the end count from that of the prompt
		edits[i].Positions = slices.Clone(edits[i].Positions)
		for k, at := range edits[i].Positions {
			edits[i].Positions[k] = (at + n) % n
		}
	}
	s, err := g.model.NewSession(nil, 0)
	must(t, err)
	defer s.Close()
	must(t, s.Edit(edits...))
	out, err := s.Prompt(t.Context(), g.ids[:5], nil)
	must(t, err)
	for _, id := range g.ids[5:] {
		out, err = s.Step(t.Context(), id)
		must(t, err)
	}
	return out.Logits
}
