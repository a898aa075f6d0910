package transformer

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// tap is how one tensor is recorded: its axes, and what a block or the end of the model gives.
type tap struct {
	axes  string
	block func(b *Block) *Node            // [B,...] in each layer
	end   func(d *builder, x *Node) *Node // [B,...] of the residual stream after the last block
}

// taps are those that the graphs of one pass return. Value Zeroing is a mixing and is computed in
// tiles.
var taps = map[trace.Tap]tap{
	trace.Scores:    {axes: "LHTS", block: maskedScores},
	trace.Terms:     {axes: "LH3TS", block: scoreTerms},
	trace.Attention: {axes: "LHTS", block: attentionTap},
	trace.AttentionMean: {axes: "LTS", block: func(b *Block) *Node {
		return FuseHeads(attentionTap(b), trace.Heads{})
	}},
	trace.QueryVector: {axes: "LHTE", block: func(b *Block) *Node { return b.query }},
	trace.KeyVector: {axes: "LHSE", block: func(b *Block) *Node {
		return b.layer.perHead(b.sources.key)
	}},
	trace.Value:   {axes: "LHSE", block: (*Block).Values},
	trace.Context: {axes: "LHTE", block: (*Block).Context},
	trace.HeadOutput: {axes: "LHTD", block: func(b *Block) *Node {
		return b.headOutputs()
	}},
	trace.HeadAdded: {axes: "LHTD", block: headsAdded},
	trace.ValueOutput: {axes: "LHSD", block: func(b *Block) *Node {
		return b.layer.projectHeads(b.Values())
	}},
	trace.AttentionOutput:      innerTap(trace.AttentionOutput),
	trace.HiddenAfterAttention: innerTap(trace.HiddenAfterAttention),
	trace.FeedForwardOutput:    innerTap(trace.FeedForwardOutput),

	trace.Router:  {axes: "LTX", block: routerTap},
	trace.Experts: {axes: "LTK2", block: expertsTap},
	trace.Hidden:  {axes: "LTD"}, // what goes from graph to graph
	trace.Final:   {axes: "TD", end: finalTap},
	trace.Logits:  {axes: "TV", end: headTap}, // TK or K of a classifier

	trace.EncoderOutput: {axes: "TD", end: encoderTap},
}

// innerTap is a tap of the residual stream or of what is added to it, inside a block. A target that
// the layer leaves as it is keeps its stream, and nothing is added to it; nor does a layer without
// a feed-forward part add one.
func innerTap(name trace.Tap) tap {
	return tap{axes: "LTD", block: func(b *Block) *Node {
		x := b.inner[name]
		if x != nil && b.active == nil {
			return x
		}
		other := ZerosLike(b.Input)
		if name == trace.HiddenAfterAttention {
			other = copyOfInput(b.Input, b.Input)
		}
		if x == nil {
			return other
		}
		return whereActive(b, x, other)
	}}
}

// encoderTap is the stream of the source, which no layer of the decoder changes, after the norm of
// the encoder, and 0 for the target, [B,T,D].
func encoderTap(d *builder, x *Node) *Node {
	source := copyOfInput(x, x)
	if after := normAfter(d.spec, d.spec.Encoder-1); after != "" {
		source = d.norm(x, after)
	}
	return d.byStack(x, source, func() *Node { return ZerosLike(x) })
}

// finalTap is the residual stream after the final norm, [B,T,D].
func finalTap(d *builder, x *Node) *Node { return copyOfInput(d.final(x), x) }

// headTap is what the head computes for every target. The scores of a vocabulary come in columns,
// [V,B·N], where products are fastest that way; they are transposed while they are copied to the
// host.
func headTap(d *builder, x *Node) *Node {
	if d.spec.Head == spec.LanguageHead && d.product.outFirst {
		return d.logitColumns(d.final(x))
	}
	return d.head(x)
}

// copyOfInput returns x, or a copy if x is the input of the graph: the pure-Go backend cannot run
// a graph that only returns its input.
func copyOfInput(x, given *Node) *Node {
	if x != given {
		return x
	}
	return MulScalar(x, 1)
}

// terms are the three parts of the scores, [B,H,3,N,S], 0 where masked. Their sum is the score
// before the cap:
//
//	content = (W_q u_i)·k_j/√E,  query-bias = b_q·k_j/√E,  alibi = slope·j
//
// Rotary positions turn both vectors first. A norm of the query divides both of its parts by the
// root mean square of their sum.
func scoreTerms(b *Block) *Node {
	content := b.scaledDot(b.queryContent())
	bias, alibi := ZerosLike(content), ZerosLike(content)
	if b.layer.spec.ProjectionBias {
		bias = b.scaledDot(b.queryBias())
	}
	if b.alibi != nil {
		alibi = BroadcastToShape(b.alibi, content.Shape())
	}
	terms := Stack([]*Node{content, bias, alibi}, 2)
	return Mul(terms, InsertAxes(b.visible, 2))
}

// maskedScores is Scores with 0 where the target cannot see the source, [B,H,N,S].
func maskedScores(b *Block) *Node { return Mul(b.Scores, b.visible) }

// attention is the tap: a target that the layer leaves as it is looks at itself.
func attentionTap(b *Block) *Node {
	return b.identity(b.Attention, trace.Heads{Fusion: trace.EachHead})
}

// routerTap is the probability of each expert, [B,N,X]; 0 in a layer without experts and for tokens
// on which the layer does not work.
func routerTap(b *Block) *Node {
	dims := b.Input.Shape().Dimensions
	shape := shapes.Make(dtypes.Float32, dims[0], dims[1], b.layer.spec.Experts())
	m := b.layer.spec.MixtureOf(b.layer.number)
	if m == nil {
		return Zeros(b.Input.Graph(), shape)
	}
	rows := Reshape(mlpInput(b), -1, dims[2])
	probabilities := Reshape(b.layer.route(m, rows).probabilities, shape.Dimensions...)
	if b.active == nil {
		return probabilities
	}
	return whereActive(b, probabilities, ZerosLike(probabilities))
}

// expertsTap is the number and the weight of each chosen expert, [B,N,K,2]; -1 and 0 in a layer
// without experts and for tokens on which the layer does not work.
func expertsTap(b *Block) *Node {
	dims, g := b.Input.Shape().Dimensions, b.Input.Graph()
	shape := shapes.Make(dtypes.Float32, dims[0], dims[1], b.layer.spec.Mixture.Chosen)
	none := Stack([]*Node{Neg(Ones(g, shape)), Zeros(g, shape)}, -1)
	m := b.layer.spec.MixtureOf(b.layer.number)
	if m == nil {
		return none
	}
	r := b.layer.route(m, Reshape(mlpInput(b), -1, dims[2]))
	numbers := Reshape(ConvertDType(r.chosen, dtypes.Float32), shape.Dimensions...)
	chosen := Stack([]*Node{numbers, Reshape(r.weightsOfChosen(), shape.Dimensions...)}, -1)
	if b.active == nil {
		return chosen
	}
	return whereActive(b, chosen, none)
}

// mlpInput is what the feed-forward part gets, [B,N,D].
func mlpInput(b *Block) *Node {
	middle := b.inner[trace.HiddenAfterAttention]
	switch {
	case b.layer.spec.Order == spec.PostNorm:
		return middle
	case b.layer.spec.Order == spec.Parallel && b.layer.spec.SharedNorm:
		return b.layer.norm(b.Input, "attention-norm")
	case b.layer.spec.Order == spec.Parallel:
		return b.layer.norm(b.Input, "mlp-norm")
	}
	return b.layer.norm(middle, "mlp-norm")
}
