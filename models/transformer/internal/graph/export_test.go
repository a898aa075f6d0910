package graph

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/headwater-ml/headwater/models/spec"
)

// LinearBlock is a block without norm and feed-forward effect, one head of width 2 and W_O = I:
// its output is x + Σ_s α_s v_s.
func LinearBlock(g *Graph, x []float32, attention [][]float32, value [][]float32) *Block {
	n := len(attention)
	weights := map[string]*Node{
		"output.weight": Const(g, [][]float32{{1, 0}, {0, 1}}),
		"mlp-norm.gain": Const(g, []float32{1, 1}),
		"mlp-norm.bias": Const(g, []float32{0, 0}),
		"up.weight":     Const(g, [][]float32{{1, 2, 3}, {4, 5, 6}}),
		"down.weight":   Zeros(g, shapes.Make(dtypes.Float32, 3, 2)),
	}
	b := &Block{
		layer: &Layer{
			Spec: &spec.Spec{
				Heads: 1, HeadWidth: 2, Width: 2, FeedForward: 3, NormEpsilon: 1e-5,
				Activation: spec.GELU,
			},
			W: func(name string) *Node { return weights[name] },
		},
	}
	b.Input = BroadcastToDims(Reshape(Const(g, x), 1, 1, 2), 1, n, 2)
	b.Attention = Reshape(Const(g, attention), 1, 1, n, len(value))
	b.sources.Value = Reshape(Const(g, value), 1, 1, len(value), 2)
	b.visible = visible(g, nil, nil, n, len(value), 0, false)
	if n == 1 {
		b.visible = Ones(g, shapes.Make(dtypes.Float32, 1, 1, 1, len(value)))
	}
	b.AttentionOutput = Reshape(b.Context(), 1, n, 2)
	b.Output = b.After(b.AttentionOutput, b.Input)
	return b
}
