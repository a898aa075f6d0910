package transformer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// keptTol is how far the parts of a text that is kept may be from those computed at once: other
// shapes round in another order.
const keptTol = 1e-6

// forText is the golden with its model for a text.
func (g *golden) forText(t *testing.T) *golden {
	t.Helper()
	view := *g
	var free func()
	view.model, free = g.model.ForText()
	t.Cleanup(free)
	return &view
}

// TestForText: token by token, with jumps, back and with another text, the parts are those that a
// model computes which keeps nothing.
func TestForText(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		kept, ids := g.forText(t), g.ids
		other := slices.Clone(ids)
		other[4] = other[5]
		for i, q := range []trace.Query{
			g.logitQuery(2, 0), g.logitQuery(3, g.second()), g.logitQuery(4, 0),
			against(g.logitQuery(4, g.second()), 0), g.logitQuery(7, 0), g.logitQuery(5, 0),
			(&golden{ids: other}).logitQuery(6, 0), g.logitQuery(len(ids)-1, 0),
		} {
			want, rest := g.decomposed(t, q)
			got, left := kept.decomposed(t, q)
			what := fmt.Sprintf("question %d: ", i)
			near64(t, what+"parts", got, want, keptTol)
			near64(t, what+"rest", []float64{left}, []float64{rest}, sumTol) // it is rounding
		}
	})
}

// TestForTextGrows: so it is where shapes are rounded up and a text outgrows them, on the host and
// on a device.
func TestForTextGrows(t *testing.T) {
	for _, rounded := range []bool{false, true} {
		for _, device := range []bool{false, true} {
			t.Run(fmt.Sprintf("rounded=%v/device=%v", rounded, device), func(t *testing.T) {
				g := openGolden(t, "gemma2")
				g.ids = slices.Concat(g.ids, g.ids, g.ids, g.ids)[:40]
				if rounded {
					g.model.RoundUp()
				}
				if device {
					g.model.OnDevice()
				}
				kept := g.forText(t)
				for position := 28; position < 40; position++ {
					want, _ := g.decomposed(t, g.logitQuery(position, 4))
					got, _ := kept.decomposed(t, g.logitQuery(position, 4))
					near64(t, fmt.Sprint("parts at ", position), got, want, keptTol)
					if n := kept.model.KeptTokens(); n != position+1 {
						t.Errorf("%d tokens are kept at position %d", n, position)
					}
				}
			})
		}
	}
}

// TestForTextFrees: a pass that ends early leaves nothing, and neither does one whose parts do not
// fit the memory, which is computed as without.
func TestForTextFrees(t *testing.T) {
	g := openGolden(t, "llama")
	kept := g.forText(t)
	kept.decomposed(t, g.logitQuery(5, 1))
	if _, _, err := kept.model.Decompose(&stopping{context.Background(), 2},
		g.logitQuery(6, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := kept.model.KeptTokens(); n != 0 {
		t.Errorf("%d tokens are kept after an error", n)
	}
	want, _ := g.decomposed(t, g.logitQuery(6, 1))
	got, _ := kept.decomposed(t, g.logitQuery(6, 1))
	near64(t, "parts after an error", got, want, keptTol)
	_, _, err := g.model.WithMaxBytes(1).Decompose(context.Background(), g.logitQuery(6, 1))
	var refused *trace.MemoryError
	if !errors.As(err, &refused) {
		t.Fatalf("error %v, want one of memory", err)
	}
	small := &golden{model: kept.model.WithMaxBytes(refused.Need), ids: g.ids}
	got, _ = small.decomposed(t, g.logitQuery(6, 1))
	near64(t, "parts without room to keep them", got, want, 0)
	if n := kept.model.KeptTokens(); n != 0 {
		t.Errorf("%d tokens are kept without room", n)
	}
}
