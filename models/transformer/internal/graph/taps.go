package graph

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// tap is how one tensor is recorded: its axes, and what a block or the end of the model gives.
type tap struct {
	Axes  string
	Block func(b *Block) *Node            // [B,...] in each layer
	End   func(d *Builder, x *Node) *Node // [B,...] of the residual stream after the last block
}

// Taps are those that the graphs of one pass return. Value Zeroing is a mixing and is computed in
// tiles.
var Taps = map[trace.Tap]tap{
	trace.Scores:    {Axes: "LHTS", Block: maskedScores},
	trace.Terms:     {Axes: "LH3TS", Block: scoreTerms},
	trace.Attention: {Axes: "LHTS", Block: attentionTap},
	trace.AttentionMean: {Axes: "LTS", Block: func(b *Block) *Node {
		return FuseHeads(attentionTap(b), trace.Heads{})
	}},
	trace.QueryVector: {Axes: "LHTE", Block: func(b *Block) *Node { return b.query }},
	trace.KeyVector: {Axes: "LHSE", Block: func(b *Block) *Node {
		return b.layer.PerHead(b.sources.Key)
	}},
	trace.Value:   {Axes: "LHSE", Block: (*Block).Values},
	trace.Context: {Axes: "LHTE", Block: (*Block).Context},
	trace.HeadOutput: {Axes: "LHTD", Block: func(b *Block) *Node {
		return b.headOutputs()
	}},
	trace.HeadAdded: {Axes: "LHTD", Block: HeadsAdded},
	trace.ValueOutput: {Axes: "LHSD", Block: func(b *Block) *Node {
		return b.layer.projectHeads(b.Values())
	}},
	trace.AttentionOutput:      innerTap(trace.AttentionOutput),
	trace.HiddenAfterAttention: innerTap(trace.HiddenAfterAttention),
	trace.FeedForwardOutput:    innerTap(trace.FeedForwardOutput),

	trace.Router:  {Axes: "LTX", Block: routerTap},
	trace.Experts: {Axes: "LTK2", Block: expertsTap},
	trace.Hidden:  {Axes: "LTD"}, // what goes from graph to graph
	trace.Final:   {Axes: "TD", End: finalTap},
	trace.Logits:  {Axes: "TV", End: headTap}, // TK or K of a classifier

	trace.EncoderOutput: {Axes: "TD", End: encoderTap},
}

// innerTap is a tap of the residual stream or of what is added to it, inside a block. A target that
// the layer leaves as it is keeps its stream, and nothing is added to it; nor does a layer without
// a feed-forward part add one.
func innerTap(name trace.Tap) tap {
	return tap{Axes: "LTD", Block: func(b *Block) *Node {
		x := b.inner[name]
		if x != nil && b.active == nil {
			return x
		}
		other := ZerosLike(b.Input)
		if name == trace.HiddenAfterAttention {
			other = CopyOfInput(b.Input, b.Input)
		}
		if x == nil {
			return other
		}
		return WhereActive(b, x, other)
	}}
}

// encoderTap is the stream of the source, which no layer of the decoder changes, after the norm of
// the encoder, and 0 for the target, [B,T,D].
func encoderTap(d *Builder, x *Node) *Node {
	source := CopyOfInput(x, x)
	if after := NormAfter(d.Spec, d.Spec.Encoder-1); after != "" {
		source = d.norm(x, after)
	}
	return d.byStack(x, source, func() *Node { return ZerosLike(x) })
}

// finalTap is the residual stream after the final norm, [B,T,D].
func finalTap(d *Builder, x *Node) *Node { return CopyOfInput(d.Final(x), x) }

// headTap is what the head computes for every target. The scores of a vocabulary come in columns,
// [V,B·N], where products are fastest that way; they are transposed while they are copied to the
// host.
func headTap(d *Builder, x *Node) *Node {
	if d.Spec.Head == spec.LanguageHead && d.Product.OutFirst {
		return d.LogitColumns(d.Final(x))
	}
	return d.Head(x)
}

// CopyOfInput returns x, or a copy if x is the input of the graph: the pure-Go backend cannot run
// a graph that only returns its input.
func CopyOfInput(x, given *Node) *Node {
	if x != given {
		return x
	}
	return MulScalar(x, 1)
}

// scoreTerms are the three parts of the scores, [B,H,3,N,S], 0 where masked. Their sum is the score
// before the cap:
//
//	content = (W_q u_i)·k_j/√E,  query-bias = b_q·k_j/√E,  alibi = slope·j
//
// Rotary positions turn both vectors first. A norm of the query divides both of its parts by the
// root mean square of their sum.
func scoreTerms(b *Block) *Node {
	content := b.scaledDot(b.queryContent())
	bias, alibi := ZerosLike(content), ZerosLike(content)
	if b.layer.Spec.ProjectionBias {
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

// attentionTap is the tap: a target that the layer leaves as it is looks at itself.
func attentionTap(b *Block) *Node {
	return b.identity(b.Attention, trace.Heads{Fusion: trace.EachHead})
}

// routerTap is the probability of each expert, [B,N,X]; 0 in a layer without experts and for tokens
// on which the layer does not work.
func routerTap(b *Block) *Node {
	l := b.layer
	dims := b.Input.Shape().Dimensions
	shape := shapes.Make(dtypes.Float32, dims[0], dims[1], l.Spec.Experts())
	m := l.Spec.MixtureOf(l.Number)
	if m == nil {
		return Zeros(b.Input.Graph(), shape)
	}
	rows := Reshape(mlpInput(b), -1, dims[2])
	probabilities := Reshape(l.Route(m, rows).probabilities, shape.Dimensions...)
	if b.active == nil {
		return probabilities
	}
	return WhereActive(b, probabilities, ZerosLike(probabilities))
}

// expertsTap is the number and the weight of each chosen expert, [B,N,K,2]; -1 and 0 in a layer
// without experts and for tokens on which the layer does not work.
func expertsTap(b *Block) *Node {
	l := b.layer
	dims, g := b.Input.Shape().Dimensions, b.Input.Graph()
	shape := shapes.Make(dtypes.Float32, dims[0], dims[1], l.Spec.Mixture.Chosen)
	none := Stack([]*Node{Neg(Ones(g, shape)), Zeros(g, shape)}, -1)
	m := l.Spec.MixtureOf(l.Number)
	if m == nil {
		return none
	}
	r := l.Route(m, Reshape(mlpInput(b), -1, dims[2]))
	numbers := Reshape(ConvertDType(r.chosen, dtypes.Float32), shape.Dimensions...)
	chosen := Stack([]*Node{numbers, Reshape(r.weightsOfChosen(), shape.Dimensions...)}, -1)
	if b.active == nil {
		return chosen
	}
	return WhereActive(b, chosen, none)
}

// mlpInput is what the feed-forward part gets, [B,N,D].
func mlpInput(b *Block) *Node {
	l := b.layer
	middle := b.inner[trace.HiddenAfterAttention]
	switch {
	case l.Spec.Order == spec.PostNorm:
		return middle
	case l.Spec.Order == spec.Parallel && l.Spec.SharedNorm:
		return l.Norm(b.Input, "attention-norm")
	case l.Spec.Order == spec.Parallel:
		return l.Norm(b.Input, "mlp-norm")
	}
	return l.Norm(middle, "mlp-norm")
}

// HasTap returns an error for a tap that other models have and this one has not.
func HasTap(s *spec.Spec, name trace.Tap) error {
	switch {
	case s.Mixture == nil && (name == trace.Router || name == trace.Experts):
		return pkg.Errorf("the %s model has no experts, so there is no tap %s", s.Family, name)
	case s.Order == spec.Parallel && name == trace.HiddenAfterAttention:
		return pkg.Errorf("blocks of the %s model add attention and feed-forward part at once, "+
			"so there is no tap %s; take attention-output", s.Family, name)
	case s.Encoder == 0 && name == trace.EncoderOutput:
		return pkg.Errorf("the %s model has one stack, so there is no tap %s; take final",
			s.Family, name)
	case s.Head == spec.NoHead && name == trace.Logits:
		return pkg.Errorf("the %s model has no head, so there are no logits; take final", s.Family)
	}
	return nil
}
