package logit

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
)

// blockTerms are what one layer of one target added to the logit.
type blockTerms struct {
	// Input is the direction before the layer; its constant is what the biases of the layer add.
	Input direction
	// Heads is what the target read from each source by each head, [B,H,S], and Sources the sum
	// over heads, [B,S].
	Heads, Sources *Node
	// MLP builds the feed-forward part, a scalar. It costs the feed-forward layer again.
	MLP func() *Node
}

// TargetNodes is what a layer did to B targets, in a graph: its input and attention output,
// [B,1,D], its attention, [B,H,1,S], and the values of all sources, [B,G,S,E]. Input and output are
// nil where nothing reads them; see [NormsOnTheWay]. sum is what [graph.SumBeforeNorm] gave,
// [B,1,D]; nil if it is to be computed.
type TargetNodes struct{ Input, Output, Attention, Value, Sum *Node }

// TermsOf builds the terms of layer l for one target of each text, given what the layer did to the
// targets and the direction after it, [B,1,D].
func TermsOf(d *graph.Builder, l int, k TargetNodes, along *Node) blockTerms {
	b := d.KnownBlock(l, k.Input, k.Output, k.Attention, k.Value)
	graph.LayerOf(b).OutputColumns = codes.ColumnsOf(d.W, codes.OfLayer(l)+"output.weight")
	return termsAlong(b, along, k.Sum)
}

// termsAlong returns the terms of a layer for one target, given the direction after it, [B,1,D],
// and what [graph.SumBeforeNorm] gave, nil if it is to be computed. It follows [graph.Block.After]
// backwards.
func termsAlong(b *graph.Block, along, sum *Node) blockTerms {
	l := graph.LayerOf(b)
	r := direction{Along: along, Constant: ScalarZero(along.Graph(), along.DType())}
	x, a := b.Input, b.AttentionOutput
	none := func() *Node { return ScalarZero(along.Graph(), along.DType()) }
	switch stack := l.Spec.Stack(l.Number); {
	case stack == spec.Encoding: // the target is a token of the target
		heads := Squeeze(ZerosLike(b.Attention), 2)
		return blockTerms{Input: r, MLP: none, Heads: heads, Sources: ReduceSum(heads, 1)}
	case stack == spec.Decoding:
		if l.Spec.Order == spec.PostNorm {
			r = beforeLayerNorm(l, r, Add(x, a), "attention-norm")
		}
		return attentionTerms(b, blockTerms{Input: r, MLP: none}, r)
	}
	if sum == nil && graph.SumsBeforeNorm(l.Spec, l.Number) {
		sum = graph.SumBeforeNorm(b)
	}
	switch l.Spec.Order {
	case spec.PostNorm:
		r = beforeLayerNorm(l, r, sum, "mlp-norm")
		after := r
		mlp := func() *Node { return after.read(l.MLP(l.Norm(Add(x, a), "attention-norm"))) }
		r = beforeLayerNorm(l, r, Add(x, a), "attention-norm")
		return attentionTerms(b, blockTerms{Input: r, MLP: mlp}, r)
	case spec.Parallel:
		name := "mlp-norm"
		if l.Spec.SharedNorm {
			name = "attention-norm"
		}
		mlp := func() *Node { return r.read(l.MLP(l.Norm(x, name))) }
		return attentionTerms(b, blockTerms{Input: r, MLP: mlp}, r)
	}
	after := r
	mlp := func() *Node {
		m := l.MLP(l.Norm(graph.AttentionSum(b), "mlp-norm"))
		return after.read(l.Norm(m, "mlp-after-norm"))
	}
	if l.Spec.NormedResidual {
		r = beforeLayerNorm(l, r, sum, "mlp-norm")
	}
	// Before z, residual and attention output have directions of their own; the biases of both
	// count once.
	attention := beforeLayerNorm(l, r, a, "attention-after-norm")
	r.Constant = attention.Constant
	if l.Spec.NormedResidual {
		r = beforeLayerNorm(l, r, x, "attention-norm")
	}
	return attentionTerms(b, blockTerms{Input: r, MLP: mlp}, attention)
}

// attentionTerms adds what the target read from each source, Σ_h α^h[t,s] v^h_s·(W_O^h d), given
// the direction d on the attention output, and the output bias.
func attentionTerms(b *graph.Block, t blockTerms, on direction) blockTerms {
	l := graph.LayerOf(b)
	heads := outputAlong(b, on.Along) // [B,1,HE]
	each := valuesAlong(b, Reshape(heads, -1, l.Spec.Heads, l.Spec.ValueWidth()))
	t.Heads = Mul(each, Squeeze(b.Attention, 2)) // [B,H,S]
	t.Sources = ReduceSum(t.Heads, 1)            // [B,S]
	if l.Spec.OutputBias {
		t.Input.Constant = Add(t.Input.Constant, on.read(l.W("output.bias")))
	}
	return t
}

// outputAlong is W_O d for a direction d on the attention output, [B,1,HE] of [B,1,D].
func outputAlong(b *graph.Block, d *Node) *Node {
	l := graph.LayerOf(b)
	if l.OutputColumns != nil {
		return Reshape(l.OutputColumns.Times(l.Product.Isolated(d)), 1, 1, -1)
	}
	w := l.W("output.weight")
	if !l.Product.OutFirst { // W_O is [HE,D]
		return l.Product.With(d, codes.Float(w), 1)
	}
	if y := codes.QuantizedOf(w).LeftTimes(l.Product.Isolated(d)); y != nil {
		return y
	}
	return l.Product.With(d, codes.Float(w), 0)
}

// valuesAlong is v^h_s·d^h for a direction d [B,H,E], [B,H,S]. The values of a group are not
// repeated for its heads.
func valuesAlong(b *graph.Block, d *Node) *Node {
	l := graph.LayerOf(b)
	value := graph.SourcesOf(b).Value // [B,G,S,E]
	if graph.Narrow(value) {
		return ReduceSum(Mul(b.Values(), InsertAxes(d, 2)), -1)
	}
	dims := value.Shape().Dimensions
	byGroup := Reshape(d, dims[0], dims[1], l.Spec.Heads/dims[1], dims[3]) // [B,G,R,E]
	along := b.Einsum("bgse,bgre->bgsr", value, byGroup)
	along = TransposeAllAxes(along, 0, 1, 3, 2)
	return Reshape(along, dims[0], l.Spec.Heads, dims[2])
}

// NormsOnTheWay reports whether the direction on the stream passes a norm within a layer, for which
// that layer's input and attention output have to be known.
func NormsOnTheWay(s *spec.Spec) bool {
	return s.Order == spec.PostNorm || s.NormAfter || s.NormedResidual
}
