package graph

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// cachedSources is what a [run.projectedCache] has, in the graph of a decode step.
type cachedSources struct {
	// rows are [H,·,S], the attention output first. own is the same of the target itself,
	// [H,·,1], whose slot in rows holds any finite numbers. No target sees the last slot, which
	// [run.Session.spare] keeps free.
	rows, own []*Node
	// biases are those of [BiasThrough], [1,1,F]; none in models without them.
	biases []*Node
}

// UseCachedSources makes a block read them and returns own. It takes the inputs of
// [run.projectedCache.inputs] for a step: the rows, the tensors of [WeightsThroughHeads] and the
// biases. value is that of the target, [1,G,1,E].
func UseCachedSources(b *Block, value *Node, in []*Node) (own []*Node) {
	n := 1 + len(InputMatrices(b.layer.Spec))
	c := &cachedSources{rows: in[:n], biases: in[2*n:]}
	for _, through := range in[n : 2*n] {
		own := b.Einsum("hse,hed->hsd", Squeeze(b.layer.PerHead(value), 0), through)
		c.own = append(c.own, TransposeAllAxes(own, 0, 2, 1))
	}
	b.cached = c
	return c.own
}

// cachedOutputs is [Block.OutputsWithoutSource] in a decode step, from its cached sources, with a
// column for each slot. The last one, which no target sees, is the whole. If a target attends to
// one source only, a rounding error is left of its attention in place of zero. A norm of the
// attention output alone would magnify that; [run.CanProject] excludes such blocks.
func cachedOutputs(b *Block) (without, whole *Node) {
	l := b.layer
	c, s := b.cached, l.Spec
	at := Reshape(b.own.at(), 1, 1, -1)                     // [1,1,S]
	attention := Reshape(b.Attention, s.Heads, 1, -1)       // [H,1,S]
	past := Mul(attention, OneMinus(at))                    // [H,1,S]
	own := ReduceAndKeep(Mul(attention, at), ReduceSum, -1) // [H,1,1]
	part := func(i int) *Node {                             // [·,S]
		ofPast := ReduceSum(Mul(past, c.rows[i]), 0) // [·,S]
		return Add(ofPast, Mul(ReduceSum(Mul(own, c.own[i]), 0), Squeeze(at, 0)))
	}
	column := func(x *Node) *Node { return Reshape(x, -1, 1) }

	sum := Add(b.Input, b.AttentionOutput)                           // [1,1,D]
	z := Sub(column(sum), part(0))                                   // [D,S]
	inverse := Transpose(InverseSpread(s, Transpose(z, 0, 1)), 0, 1) // [1,S]
	var inputs []*Node                                               // [F,S]
	for i, name := range InputMatrices(s) {
		y := Mul(Sub(column(l.Linear(scaledByGain(l, sum), name)), part(1+i)), inverse)
		if len(c.biases) > 0 {
			y = Add(y, column(c.biases[i]))
		}
		if s.MLPBias {
			y = Add(y, column(codes.Float(l.W(name+".bias"))))
		}
		inputs = append(inputs, y)
	}
	inner := innerOf(l, inputs)
	mlp := l.Product.LayerColumns(inner, l.W("down.weight")) // [D,S]
	if s.MLPBias {
		mlp = Add(mlp, column(codes.Float(l.W("down.bias"))))
	}
	after := withMLP(l, Transpose(z, 0, 1), Transpose(mlp, 0, 1)) // [S,D]
	whole = Reshape(SliceAxis(after, 0, AxisRange(-1)), 1, 1, s.Width)
	if b.Output == nil {
		b.Output = whole
	}
	return InsertAxes(after, 0, 0), whole
}
