package attribution_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// tensorOf returns a tensor [L,T,T] of random sharp attention.
func tensorOf(seed uint64, L, T int, bidirectional bool) trace.Tensor {
	return trace.Tensor{
		Name: "attention", Shape: []int{L, T, T},
		Data: fakemodel.Float32(fakemodel.SharpAttention(seed, L, T, bidirectional)),
	}
}

// TestMinCutIsFlow compares the cut with the value of the method, for options that change the rows.
func TestMinCutIsFlow(t *testing.T) {
	residual, last, head := 0.25, 2, 1
	heads := attentionOf(4, fakemodel.Causal, fakemodel.Previous, fakemodel.ToFirst)
	for name, c := range map[string]struct {
		tensor trace.Tensor
		opts   attribution.Options
	}{
		"default":       {tensorOf(1, 4, 9, false), attribution.Options{}},
		"residual":      {tensorOf(2, 4, 9, false), attribution.Options{Residual: &residual}},
		"layers":        {tensorOf(3, 4, 9, false), attribution.Options{FirstLayer: 1, LastLayer: &last}},
		"bidirectional": {tensorOf(4, 4, 9, true), attribution.Options{}},
		"one head":      {heads, attribution.Options{PerHead: &head}},
		"discard":       {tensorOf(5, 4, 9, false), attribution.Options{Discard: .6}},
	} {
		t.Run(name, func(t *testing.T) {
			opts := c.opts
			opts.Methods = []string{"flow"}
			m := attribute(t, opts, c.tensor).Methods["flow"]
			T := m.Shape[1]
			for _, pair := range [][2]int{
				{T - 1, 0},
				{T - 1, T - 1},
				{T - 1, T / 2},
				{T / 2, 1},
				{0, T - 1},
			} {
				g, err := attribution.NewFlowGraph(context.Background(), attribution.InMemory([]trace.Tensor{c.tensor}),
					c.opts, pair[0], pair[1])
				must(t, err)
				cut := g.Cut
				want := m.Row(m.Shape[0]-1, pair[0])[pair[1]]
				sum := 0.0
				for _, e := range cut.Edges {
					sum += e.Width
					if e.Layer < c.opts.FirstLayer || e.Layer > cut.Layer {
						t.Errorf("cut %v has an edge in layer %d", pair, e.Layer)
					}
				}
				if math.Abs(cut.Flow-want) > 1e-12 || math.Abs(sum-want) > 1e-12 {
					t.Errorf("cut %v: flow %v, edges %v wide, want %v", pair, cut.Flow, sum, want)
				}
			}
		})
	}
}

func TestMinCutRefusals(t *testing.T) {
	x := []trace.Tensor{tensorOf(1, 3, 5, false)}
	for name, c := range map[string]struct {
		opts           attribution.Options
		target, source int
	}{
		"no such target":  {attribution.Options{}, 5, 0},
		"negative source": {attribution.Options{}, 1, -1},
		"rollout":         {attribution.Options{Methods: []string{"rollout"}}, 1, 0},
		"two methods":     {attribution.Options{Methods: []string{"flow", "flow-normalized"}}, 1, 0},
		"lift":            {attribution.Options{Lift: true}, 1, 0},
	} {
		if _, err := attribution.NewFlowGraph(context.Background(), attribution.InMemory(x), c.opts,
			c.target, c.source); !errors.Is(err, trace.ErrUsage) {
			t.Errorf("%s: %v, want a usage error", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := attribution.NewFlowGraph(ctx, attribution.InMemory(x), attribution.Options{}, 4, 0)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: %v", err)
	}
	x[0].Data[7] = float32(math.NaN())
	if _, err := attribution.NewFlowGraph(context.Background(), attribution.InMemory(x),
		attribution.Options{}, 4, 0); err == nil {
		t.Error("NaN: no error")
	}
}
