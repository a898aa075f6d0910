package transformer_test

import (
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/modelgolden"
)

// TestEditsAgainstHooks: under every edit of models/testdata/edits, the logits at the last position
// are those of the reference implementation with PyTorch hooks, in one pass and, in a decoder, on
// the cache.
func TestEditsAgainstHooks(t *testing.T) {
	for name, all := range modelgolden.EditCases(t, "../testdata/edits") {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			v := g.model.Spec.Vocab
			for _, one := range all {
				if len(one.Logits) != v {
					t.Fatalf("%d logits of a vocabulary of %d", len(one.Logits), v)
				}
				what := fmt.Sprint(one.Edits[0].Change, " ", one.Edits[0], " of ", len(one.Edits))
				logits := g.run(t, g.ids, one.Edits, trace.Logits)[0].Data
				check(t, what, logits[len(logits)-v:], one.Logits, modelgolden.LogitsTol)
				if !g.model.Spec.Bidirectional {
					check(t, what+" on the cache", g.cached(t, one.FromStart(len(g.ids))),
						one.Logits, modelgolden.LogitsTol)
				}
			}
		})
	}
}

// cached are the logits at the last position of a golden's text, whose tokens after the fifth come
// one by one.
func (g *golden) cached(t *testing.T, edits []trace.Edit) []float32 {
	t.Helper()
	s, err := g.model.NewSession(nil, 0)
	must(t, err)
	defer s.Close()
	s.Edit(edits...)
	out, err := s.Prompt(t.Context(), g.ids[:5], nil)
	must(t, err)
	for _, id := range g.ids[5:] {
		out, err = s.Step(t.Context(), id)
		must(t, err)
	}
	return out.Logits
}
