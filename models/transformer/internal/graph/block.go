package graph

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// Block is one layer in a graph, for N targets over S sources. Its exported fields and methods are
// what a [Mixing] may read; the mixings of package transformer use nothing else. Shapes are in the
// legend there.
type Block struct {
	// Input is the residual stream of the targets before the block, [B,N,D].
	Input *Node
	// Scores is the attention before the softmax, without the mask, [B,H,N,S].
	Scores *Node
	// Attention is the masked softmax of the scores, [B,H,N,S]; its rows sum to 1, or to less in a
	// model with sinks.
	Attention *Node
	// AttentionOutput is Σ_h context_h W_O^h + b_O, [B,N,D].
	AttentionOutput *Node
	// Output is the residual stream after the block, [B,N,D]. It may be nil for a mixing that is
	// [SharesOutput], until that calls [Block.AfterEach].
	Output *Node

	// layer has the weights.
	layer *Layer
	// sources are the keys and values of the sources, [B,G,S,E] each; head h reads group h·G/H.
	sources Cache
	// inner are the tensors of those taps that are made on the way, by [Block.tapped].
	inner map[trace.Tap]*Node
	// query is [B,H,N,E]. queryContent builds its part without the bias, queryBias that of the
	// bias.
	query                   *Node
	queryContent, queryBias func() *Node
	// turning is nil without rotary positions; alibi is what distances add to the scores, [B or
	// 1,H,1 or N,S], nil without ALiBi and other such terms.
	turning *turning
	alibi   *Node
	// first is the slot of the first target, an int32 scalar or [B]; nil means 0.
	first *Node
	// visible is 1 where a target may see a source and 0 elsewhere, [B or 1,1,N,S].
	visible *Node
	// active is 1 for targets on which the layer works and 0 for those that it leaves as they are,
	// [B or 1,N,1]; nil if it works on all.
	active *Node
	// idle is true if it works on none of them.
	idle bool
	// inRows, nil except in a tree of texts, takes contexts of the targets of its texts, [B,H,N,E],
	// to its rows, [1,H,M,E]; see [ask.prefixTree].
	inRows func(context *Node) *Node
	// finalNorm is the norm after the last layer of a stack, nil in other layers and in models
	// without one.
	finalNorm func(x *Node) *Node
	// projected is nil unless a tile gets what many targets share; see [projectedSources].
	projected *projectedSources
	// cached is nil except in decode steps that read a [run.projectedCache].
	cached *cachedSources
	// own is set in a decode step, for the only target, which follows a cache.
	own *ownSlot
}

// attend computes everything from the scores to the attention output:
//
//	scores = q·k/√E (+ ALiBi, capped),  attention = softmax(scores + mask)
//	attention output = context W_O + b_O
func (b *Block) attend() {
	l := b.layer
	b.Scores = b.scaledDot(b.query)
	if b.alibi != nil {
		b.Scores = Add(b.Scores, b.alibi)
	}
	b.Scores = l.relevance.capped(b.Scores, l.Spec.ScoreCap)
	mask := forEachHead(b, MulScalar(OneMinus(b.visible), masked))
	b.Attention = l.softmax(Add(b.Scores, mask))
	if e, ok := l.edits[trace.Attention]; ok {
		b.Attention = Mul(e.Of(b.Attention), b.visible)
	} else if b.active != nil { // a row without sources is 0
		b.Attention = Mul(b.Attention, b.visible)
	}
	b.AttentionOutput = b.tapped(trace.AttentionOutput, b.attentionOutput())
}

// attentionOutput is Σ_h context_h W_O^h + b_O, [B,N,D].
func (b *Block) attentionOutput() *Node { return b.layer.outputOf(b.joinedContext()) }

// joinedContext are the contexts of all heads side by side, [B,N,HE], as [Layer.outputOf] takes
// them. An edit of the outputs of heads multiplies the contexts by numbers and adds others to the
// sum, so no head is projected by itself.
func (b *Block) joinedContext() *Node {
	context := b.Context()
	if b.inRows != nil {
		context = b.inRows(context)
	}
	if e, ok := b.layer.edits[trace.HeadOutput]; ok {
		context = Mul(context, e.Keep)
	}
	return JoinHeads(context)
}

// tapped is x, the tensor of a tap, under the edits of the pass. It is kept for a pass that records
// it.
func (b *Block) tapped(tap trace.Tap, x *Node) *Node {
	x = b.layer.Edited(tap, x)
	if b.inner == nil {
		b.inner = map[trace.Tap]*Node{}
	}
	b.inner[tap] = x
	return x
}

// Finish computes the output of the block, unless a mixing has done so.
func Finish(b *Block) {
	if b.Output == nil {
		b.Output = b.after(b.AttentionOutput, b.Input, b.tapped)
	}
}

// AfterEach evaluates the rest of the block, [Block.After], for S changed attention outputs of each
// target, [B,N,S,D], and returns the residual streams after the block, [B,N,S,D].
//
// If the block has no output yet, AfterEach computes it together with them, so that the weights are
// read once. In a decode step the true attention output takes the place of the last source, a slot
// that [run.Session.spare] keeps free; elsewhere it adds one row.
func (b *Block) AfterEach(changed *Node) *Node {
	x := InsertAxes(b.Input, 2)
	if b.Output != nil {
		return b.After(changed, x)
	}
	sources := changed.Shape().Dimensions[2]
	others := changed
	if b.own != nil {
		others = SliceAxis(changed, 2, AxisRange(0, sources-1))
	}
	all := b.After(Concatenate([]*Node{others, InsertAxes(b.AttentionOutput, 2)}, 2), x)
	b.Output = Squeeze(SliceAxis(all, 2, AxisRange(-1)), 2)
	return SliceAxis(all, 2, AxisRange(0, sources))
}

// After returns the residual stream x̃ after the block, given an attention output a and the block's
// input x. All three are [...,D]; N is a norm and m the feed-forward part:
//
//	pre-norm   z = x + a,     x̃ = z + m(N z)   (with NormAfter: z = x + N a, x̃ = z + N m(N z);
//	                                            a ResidualScale multiplies what is added)
//	post-norm  z = N(x + a),  x̃ = N(z + m(z))
//	parallel   x̃ = x + a + m(N x)
//
// Value Zeroing evaluates it again with a changed attention output. Edits of what comes after the
// attention act again.
func (b *Block) After(attentionOutput, x *Node) *Node {
	return b.after(attentionOutput, x, b.layer.Edited)
}

// after is [Block.After], which sends the tensors of taps on its way through tapped.
func (b *Block) after(attentionOutput, x *Node, tapped func(trace.Tap, *Node) *Node) *Node {
	after := b.wholeAfter(attentionOutput, x, tapped)
	if b.active == nil {
		return after
	}
	return WhereActive(b, after, BroadcastToShape(x, after.Shape()))
}

// wholeAfter is [Block.after] for targets on which the layer works.
func (b *Block) wholeAfter(attentionOutput, x *Node, tapped func(trace.Tap, *Node) *Node) *Node {
	l := b.layer
	middle := func(z *Node) *Node { return tapped(trace.HiddenAfterAttention, z) }
	mlp := func(x *Node) *Node { return tapped(trace.FeedForwardOutput, l.MLP(x)) }
	switch l.Spec.Order {
	case spec.PostNorm:
		z := middle(l.Norm(Add(x, attentionOutput), "attention-norm"))
		if l.Spec.Stack(l.Number) == spec.Decoding {
			return z
		}
		return l.Norm(Add(z, mlp(z)), "mlp-norm")
	case spec.Parallel:
		return Add(Add(x, mlp(l.Norm(x, l.ParallelNorm()))), attentionOutput)
	}
	if l.Spec.NormedResidual {
		x = l.Norm(x, "attention-norm")
	}
	z := middle(Add(x, l.Norm(attentionOutput, "attention-after-norm")))
	if l.Spec.Stack(l.Number) == spec.Decoding {
		return z
	}
	u := l.Norm(z, "mlp-norm")
	m := l.Norm(mlp(u), "mlp-after-norm")
	if l.Spec.NormedResidual {
		z = u
	}
	return Add(z, m)
}

// FinalNorm applies the final norm to x [...,D], a residual stream after the block. In all layers
// but the last of a stack, and in models without a final norm, it returns x. Only a mixing that is
// [ReadsFinalNorm] may call it.
func (b *Block) FinalNorm(x *Node) *Node {
	if b.finalNorm == nil {
		return x
	}
	return b.finalNorm(x)
}

// Context is attention × value in each head, [B,H,N,E].
func (b *Block) Context() *Node {
	return b.layer.Edited(trace.Context, b.layer.relevance.product(b.WeightedValues(b.Attention)))
}

// WeightedValues returns Σ_s attention[t,s] v_s in each head, [B,H,N,E], for any weights of the
// shape of attention, [B,H,N,S].
func (b *Block) WeightedValues(attention *Node) *Node {
	if b.own == nil {
		return b.layer.weighted(attention, b.sources.Value)
	}
	at := b.own.at()
	own := ReduceAndKeep(Mul(attention, at), ReduceSum, -1) // [B,H,1,1]
	past := b.layer.weighted(Mul(attention, OneMinus(at)), b.own.past.Value)
	return Add(past, b.layer.weighted(own, b.own.Value))
}

// ProjectContext is the output projection of a context [B,H,N,E], without its bias, [B,N,D].
func (b *Block) ProjectContext(context *Node) *Node {
	return b.layer.Linear(JoinHeads(context), "output")
}

// Values is the value vector of each source in every head, [B,H,S,E].
func (b *Block) Values() *Node { return b.layer.PerHead(b.sources.Value) }

// Einsum is graph.Einsum for use in a mixing; see [Layer.einsum].
func (b *Block) Einsum(equation string, x, y *Node) *Node { return b.layer.einsum(equation, x, y) }

// Cache is the keys and values of one layer, [B,G,S,E] each. Slots that hold no token yet have any
// finite numbers.
type Cache struct{ Key, Value *Node }
