package graph

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// projectedSources is what each source would add, through each head, before the feed-forward part,
// for a tile of targets:
//
//	in the attention output   v^h_s W_O^h               [1+S,H,D]
//	in an input matrix W      (v^h_s W_O^h - mean)⊙g W  [1+S,H,F]
//
// g is the gain of the norm between the two; a norm without a mean subtracts none. The first row is
// zero, for the whole. A norm is linear but for one factor, its spread. So the products by W of all
// pairs of target and source, D·F multiplications each, become H·F: α^h[t,s] times these rows, and
// the spread of the pair. The product after the activation stays.
type projectedSources struct {
	output *Node
	// inputs are those of the matrices of [InputMatrices].
	inputs []*Node
}

// InputMatrices are the first matrices of the feed-forward part.
func InputMatrices(s *spec.Spec) []string {
	if s.Gated {
		return []string{"gate", "up"}
	}
	return []string{"up"}
}

// normBeforeMLP is the norm that the sum of attention output and residual passes.
func normBeforeMLP(l *Layer) string {
	if l.Spec.Order == spec.PostNorm {
		return "attention-norm"
	}
	return "mlp-norm"
}

// scaledByGain is the linear part of [normBeforeMLP]: x less its mean, times the gain.
func scaledByGain(l *Layer, x *Node) *Node {
	if !l.Spec.RMS {
		x = Centred(x)
	}
	return Mul(x, Gain(l.Spec, x, l.W.In(normBeforeMLP(l)+".")))
}

// WeightsThroughHeads is W_O^h, [H,E,D], and carried on through each matrix of [InputMatrices],
// (W_O^h - mean)⊙g W, [H,E,F]. Values times these are what [projectedSources] has.
func WeightsThroughHeads(l *Layer) []*Node {
	s := l.Spec
	rows := Reshape(l.outputWeight(), s.Heads*s.ValueWidth(), s.Width)
	all := []*Node{rows}
	for _, name := range InputMatrices(l.Spec) {
		all = append(all, l.Linear(scaledByGain(l, rows), name))
	}
	for i, w := range all {
		all[i] = Reshape(w, s.Heads, s.ValueWidth(), -1)
	}
	return all
}

// ProjectSources returns the tensors of [projectedSources], output first, given those of
// [WeightsThroughHeads].
func ProjectSources(b *Block, through []*Node) []*Node {
	var all []*Node
	for _, w := range through {
		byHead := b.Einsum("hse,hed->hsd", Squeeze(b.Values(), 0), w)
		byHead = TransposeAllAxes(byHead, 1, 0, 2) // [S,H,·]
		none := ZerosLike(SliceAxis(byHead, 0, AxisRange(0, 1)))
		all = append(all, Concatenate([]*Node{none, byHead}, 0))
	}
	return all
}

// OutputsWithoutSource returns the residual streams after the block without the contribution of
// each source to the attention output, [B,N,S,D], for heads together or one head, and the stream
// with all of them, [B,N,D], computed in the same way. For each head apart the first is [B,N,HS,D].
// It costs a pass through the rest of the block for each pair of target and source, or, where many
// targets share what [projectedSources] or [run.projectedCache] has, the last product of that pass.
func (b *Block) OutputsWithoutSource(heads trace.Heads) (without, whole *Node) {
	switch {
	case heads.Fusion == trace.MeanHeads && b.projected != nil:
		return projectedOutputs(b)
	case heads.Fusion == trace.MeanHeads && b.cached != nil:
		return cachedOutputs(b)
	}
	without = b.AfterEach(b.WithoutSource(heads))
	return without, b.Output
}

// projectedOutputs is [Block.OutputsWithoutSource] for a tile, from its projected sources.
func projectedOutputs(b *Block) (without, whole *Node) {
	l := b.layer
	attention := TransposeAllAxes(Squeeze(b.Attention, 0), 2, 1, 0) // [S,N,H]
	none := ZerosLike(SliceAxis(attention, 0, AxisRange(0, 1)))
	attention = Concatenate([]*Node{none, attention}, 0)
	ofSource := func(rows *Node) *Node { return b.Einsum("snh,shd->snd", attention, rows) }

	sum, residual := Add(b.Input, b.AttentionOutput), outputBias(l, b.Input) // [1,N,D]
	// Without its only source exactly nothing is left of a target's attention, as in
	// [Block.WithoutSource]: a difference would leave a rounding error.
	sole := Equal(ReduceAndKeep(attention, ReduceMin, -1), ScalarOne(b.Input.Graph(),
		b.Input.DType())) // [1+S,N,1]
	less := func(x, nothing, part *Node) *Node {
		return Where(BroadcastToShape(sole, part.Shape()), BroadcastToShape(nothing, part.Shape()),
			Sub(x, part))
	}
	z := less(sum, residual, ofSource(b.projected.output)) // [1+S,N,D]
	inverse := InverseSpread(l.Spec, z)                    // [1+S,N,1]
	input := func(name string, rows *Node) *Node {         // [1+S,N,F]
		y := less(l.Linear(scaledByGain(l, sum), name),
			l.Linear(scaledByGain(l, residual), name),
			ofSource(rows))
		y = Mul(y, inverse)
		if bias := BiasThrough(l, name); bias != nil {
			y = Add(y, bias)
		}
		return l.biased(y, name, l.Spec.MLPBias)
	}
	var inputs []*Node
	for i, name := range InputMatrices(l.Spec) {
		inputs = append(inputs, input(name, b.projected.inputs[i]))
	}
	inner := innerOf(l, inputs)
	mlp := l.MLPDense(inner, "down")                  // [1+S,N,D]
	z = TransposeAllAxes(withMLP(l, z, mlp), 1, 0, 2) // [N,1+S,D]
	whole = Reshape(SliceAxis(z, 1, AxisRange(0, 1)), b.Input.Shape().Dimensions...)
	return InsertAxes(SliceAxis(z, 1, AxisRange(1)), 0), whole
}

// innerOf is what comes of the products with [InputMatrices].
func innerOf(l *Layer, inputs []*Node) *Node {
	if l.Spec.Gated {
		return l.gated(inputs[0], inputs[1])
	}
	return l.activated(inputs[0])
}

// withMLP is the stream after the block, [...,D], given the sum z of attention output and residual
// and what the feed-forward part puts out for it.
func withMLP(l *Layer, z, mlp *Node) *Node {
	if l.Spec.Order == spec.PostNorm {
		return l.Norm(Add(l.Norm(z, "attention-norm"), mlp), "mlp-norm")
	}
	return Add(z, mlp)
}

// BiasThrough is the bias of [normBeforeMLP] times a matrix, [1,1,F]; nil without one.
func BiasThrough(l *Layer, name string) *Node {
	if !l.Spec.NormBias() {
		return nil
	}
	bias := l.W.In(normBeforeMLP(l) + ".")("bias")
	return l.Linear(Reshape(codes.Float(bias), 1, 1, -1), name)
}
