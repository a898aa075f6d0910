package transformer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// TestWithoutValue: a layer run with a source's value zeroed is the naive block without it.
func TestWithoutValue(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		hidden := g.take(t, trace.Hidden)[trace.Hidden]
		for l, b := range g.layers(t) {
			for _, source := range []int{-1, 0, 7, len(g.ids) - 1} {
				got, err := g.model.WithoutValue(context.Background(), l, at(hidden, l), source)
				must(t, err)
				d := g.model.Spec.Width
				for target := range g.ids {
					where := fmt.Sprintf("layer %d target %d without %d", l, target, source)
					check(t, where, got[target*d:(target+1)*d],
						narrow(b.output(target, source, -1)), tapTol)
				}
			}
		}
	})
}

func TestWithoutValueRefusals(t *testing.T) {
	g := openGolden(t, "gpt2")
	x := at(g.take(t, trace.Hidden)[trace.Hidden], 0)
	for _, c := range []struct {
		name          string
		layer, source int
		x             []float32
	}{
		{"layer", g.model.Spec.Layers, 0, x},
		{"negative layer", -1, 0, x},
		{"source", 0, len(g.ids), x},
		{"negative source", 0, -2, x},
		{"part of a token", 0, 0, x[:33]},
		{"no tokens", 0, 0, nil},
	} {
		if _, err := g.model.WithoutValue(context.Background(), c.layer, c.x,
			c.source); err == nil || !strings.Contains(err.Error(), "do not fit") {
			t.Errorf("%s: error %v, want one that says what does not fit", c.name, err)
		}
	}
}
