package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// blockTerms are what one layer of one target added to the logit.
type blockTerms struct {
	// input is the direction before the layer; its constant is what the biases of the layer add.
	input direction
	// heads is what the target read from each source by each head, [B,H,S], and sources the sum
	// over heads, [B,S].
	heads, sources *Node
	// mlp builds the feed-forward part, a scalar. It costs the feed-forward layer again.
	mlp func() *Node
}

// targetNodes is what a layer did to B targets, in a graph: its input and attention output,
// [B,1,D], its attention, [B,H,1,S], and the values of all sources, [B,G,S,E]. Input and output are
// nil where nothing reads them; see [normsOnTheWay]. sum is what [Block.sumBeforeNorm] gave,
// [B,1,D]; nil if it is to be computed.
type targetNodes struct{ input, output, attention, value, sum *Node }

// termsOf builds the terms of layer l for one target of each text, given what the
// layer did to the targets and the direction after it, [B,1,D].
func termsOf(d *builder, l int, k targetNodes, along *Node) blockTerms {
	b := d.knownBlock(l, k.input, k.output, k.attention, k.value)
	layerOf(b).outputColumns = codesByColumn(d.w, ofLayer(l)+"output.weight")
	return termsAlong(b, along, k.sum)
}

// termsAlong returns the terms of a layer for one target, given the direction after it, [B,1,D],
// and what [Block.sumBeforeNorm] gave, nil if it is to be computed. It follows [Block.After]
// backwards.
func termsAlong(b *Block, along, sum *Node) blockTerms {
	l := layerOf(b)
	r := direction{along: along, constant: ScalarZero(along.Graph(), along.DType())}
	x, a := b.Input, b.AttentionOutput
	none := func() *Node { return ScalarZero(along.Graph(), along.DType()) }
	switch stack := l.spec.Stack(l.number); {
	case stack == spec.Encoding: // the target is a token of the target
		heads := Squeeze(ZerosLike(b.Attention), 2)
		return blockTerms{input: r, mlp: none, heads: heads, sources: ReduceSum(heads, 1)}
	case stack == spec.Decoding:
		if l.spec.Order == spec.PostNorm {
			r = beforeLayerNorm(l, r, Add(x, a), "attention-norm")
		}
		return attentionTerms(b, blockTerms{input: r, mlp: none}, r)
	}
	if sum == nil && sumsBeforeNorm(l.spec, l.number) {
		sum = sumBeforeNorm(b)
	}
	switch l.spec.Order {
	case spec.PostNorm:
		r = beforeLayerNorm(l, r, sum, "mlp-norm")
		after := r
		mlp := func() *Node { return after.read(l.mlp(l.norm(Add(x, a), "attention-norm"))) }
		r = beforeLayerNorm(l, r, Add(x, a), "attention-norm")
		return attentionTerms(b, blockTerms{input: r, mlp: mlp}, r)
	case spec.Parallel:
		name := "mlp-norm"
		if l.spec.SharedNorm {
			name = "attention-norm"
		}
		mlp := func() *Node { return r.read(l.mlp(l.norm(x, name))) }
		return attentionTerms(b, blockTerms{input: r, mlp: mlp}, r)
	}
	after := r
	mlp := func() *Node {
		m := l.mlp(l.norm(attentionSum(b), "mlp-norm"))
		return after.read(l.norm(m, "mlp-after-norm"))
	}
	if l.spec.NormedResidual {
		r = beforeLayerNorm(l, r, sum, "mlp-norm")
	}
	// Before z, residual and attention output have directions of their own; the biases of both
	// count once.
	attention := beforeLayerNorm(l, r, a, "attention-after-norm")
	r.constant = attention.constant
	if l.spec.NormedResidual {
		r = beforeLayerNorm(l, r, x, "attention-norm")
	}
	return attentionTerms(b, blockTerms{input: r, mlp: mlp}, attention)
}

// attentionTerms adds what the target read from each source, Σ_h α^h[t,s] v^h_s·(W_O^h d), given
// the direction d on the attention output, and the output bias.
func attentionTerms(b *Block, t blockTerms, on direction) blockTerms {
	l := layerOf(b)
	heads := outputAlong(b, on.along) // [B,1,HE]
	each := valuesAlong(b, Reshape(heads, -1, l.spec.Heads, l.spec.ValueWidth()))
	t.heads = Mul(each, Squeeze(b.Attention, 2)) // [B,H,S]
	t.sources = ReduceSum(t.heads, 1)            // [B,S]
	if l.spec.OutputBias {
		t.input.constant = Add(t.input.constant, on.read(l.w("output.bias")))
	}
	return t
}

// outputAlong is W_O d for a direction d on the attention output, [B,1,HE] of [B,1,D].
func outputAlong(b *Block, d *Node) *Node {
	l := layerOf(b)
	if l.outputColumns != nil {
		return Reshape(l.outputColumns.times(l.product.isolated(d)), 1, 1, -1)
	}
	w := l.w("output.weight")
	if !l.product.outFirst { // W_O is [HE,D]
		return l.product.with(d, float(w), 1)
	}
	if y := quantizedOf(w).leftTimes(l.product.isolated(d)); y != nil {
		return y
	}
	return l.product.with(d, float(w), 0)
}

// valuesAlong is v^h_s·d^h for a direction d [B,H,E], [B,H,S]. The values of a group are not
// repeated for its heads.
func valuesAlong(b *Block, d *Node) *Node {
	l := layerOf(b)
	value := sourcesOf(b).value // [B,G,S,E]
	if narrow(value) {
		return ReduceSum(Mul(b.Values(), InsertAxes(d, 2)), -1)
	}
	dims := value.Shape().Dimensions
	byGroup := Reshape(d, dims[0], dims[1], l.spec.Heads/dims[1], dims[3]) // [B,G,R,E]
	along := b.Einsum("bgse,bgre->bgsr", value, byGroup)
	along = TransposeAllAxes(along, 0, 1, 3, 2)
	return Reshape(along, dims[0], l.spec.Heads, dims[2])
}

// normsOnTheWay reports whether the direction on the stream passes a norm within a layer, for which
// that layer's input and attention output have to be known.
func normsOnTheWay(s *spec.Spec) bool {
	return s.Order == spec.PostNorm || s.NormAfter || s.NormedResidual
}
