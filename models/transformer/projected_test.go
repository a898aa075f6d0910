package transformer_test

import (
	"context"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestProjectedGraphs: a text for which it pays is computed from its projected sources, and a short
// one is not. The sources of a layer are projected once for all of its tiles.
func TestProjectedGraphs(t *testing.T) {
	m := openGolden(t, "gpt2").changed(t, func(string, []float32) {})
	ask := []trace.MixingAsk{{Name: "value-zeroing", AllRows: true}}
	projected := func(m *transformer.Model) bool {
		for _, key := range m.Graphs() {
			if key == "projected sources" {
				return true
			}
		}
		return false
	}
	for _, c := range []struct {
		tokens int
		want   bool
	}{{2, false}, {64, true}} {
		r, err := m.Read(context.Background(), make([]int, c.tokens), ask, nil)
		must(t, err)
		r.Close()
		if got := projected(m); got != c.want {
			t.Errorf("%d tokens: projected %v, want %v; graphs %q", c.tokens, got, c.want,
				m.Graphs())
		}
	}
}
