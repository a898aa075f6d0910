package transformer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// TestExperts compares the taps of the router with the experts that vectors pass in float64.
func TestExperts(t *testing.T) {
	for _, name := range []string{"mixtral", "qwen2_moe"} {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			r := g.text64(t)
			m := r.spec.Mixture
			taps := g.take(t, trace.Router, trace.Experts)
			for l, b := range r.layers {
				for position := range g.ids {
					probabilities := at(taps[trace.Router], l, position)
					if r.spec.MixtureOf(l) == nil {
						check(t, "router of a layer without experts", probabilities,
							make([]float32, m.Experts), 0)
						check(t, "experts of a layer without", at(taps[trace.Experts], l, position),
							[]float32{-1, 0, -1, 0}, 0)
						continue
					}
					z := plus(b.x[position], b.attentionOutput(position))
					x := b.norm("mlp-norm", z)
					var want, numbers []float32
					for _, p := range softmax64(b.dense("router", x, m.RouterBias)) {
						want = append(want, float32(p))
					}
					for _, e := range b.experts(x)[:m.Chosen] {
						number := 0
						_, err := fmt.Sscanf(e.prefix, "experts.%d.", &number)
						must(t, err)
						numbers = append(numbers, float32(number), float32(e.weight))
					}
					where := fmt.Sprintf("layer %d token %d", l, position)
					check(t, where+": router", probabilities, want, tapTol)
					check(t, where+": experts", at(taps[trace.Experts], l, position), numbers,
						tapTol)
				}
			}
		})
	}
	_, err := openGolden(t, "llama").model.Trace(context.Background(), []int{5},
		[]trace.Tap{trace.Experts})
	if err == nil || !strings.Contains(err.Error(), "has no experts") {
		t.Errorf("experts of a model without: error %v", err)
	}
}
