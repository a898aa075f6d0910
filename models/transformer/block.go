package transformer

import (
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// Block is one layer in a graph, for N targets over S sources. Its exported fields and methods are
// what a [Mixing] may read; the mixings of this package use nothing else. Shapes are in the legend
// of the package comment.
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
	sources cache
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
	// to its rows, [1,H,M,E]; see [prefixTree].
	inRows func(context *Node) *Node
	// finalNorm is the norm after the last layer of a stack, nil in other layers and in models
	// without one.
	finalNorm func(x *Node) *Node
	// projected is nil unless a tile gets what many targets share; see [projectedSources].
	projected *projectedSources
	// cached is nil except in decode steps that read a [projectedCache].
	cached *cachedSources
	// own is set in a decode step, for the only target, which follows a cache.
	own *ownSlot
}

// ownSlot holds the key and value of each text's one target in a decode step apart from the cache.
// The graph then reads the cache where it is and never copies it.
type ownSlot struct {
	cache       // of the target, [B,G,1,E]
	past  cache // [B,G,S,E]; the slot of the target holds any finite numbers
	slot  *Node // of the target, an int32 scalar or [B]
}

// at is 1 in the target's slot and 0 elsewhere, [B or 1,1,1,S].
func (o *ownSlot) at() *Node {
	sources := o.past.key.Shape().Dimensions[2]
	slots := Iota(o.slot.Graph(), shapes.Make(dtypes.Int32, 1, 1, 1, sources), 3)
	return ConvertDType(Equal(slots, eachText(o.slot, 4)), dtypes.Float32)
}

// attend computes everything from the scores to the attention output:
//
//	scores = q·k/√E (+ ALiBi, capped),  attention = softmax(scores + mask)
//	attention output = context W_O + b_O
func (b *Block) attend() {
	b.Scores = b.scaledDot(b.query)
	if b.alibi != nil {
		b.Scores = Add(b.Scores, b.alibi)
	}
	b.Scores = b.layer.relevance.capped(b.Scores, b.layer.spec.ScoreCap)
	mask := forEachHead(b, MulScalar(OneMinus(b.visible), masked))
	b.Attention = b.layer.softmax(Add(b.Scores, mask))
	if e, ok := b.layer.edits[trace.Attention]; ok {
		b.Attention = Mul(e.of(b.Attention), b.visible)
	} else if b.active != nil { // a row without sources is 0
		b.Attention = Mul(b.Attention, b.visible)
	}
	b.AttentionOutput = b.tapped(trace.AttentionOutput, b.attentionOutput())
}

// attentionOutput is Σ_h context_h W_O^h + b_O, [B,N,D].
func (b *Block) attentionOutput() *Node { return b.layer.outputOf(b.joinedContext()) }

// joinedContext are the contexts of all heads side by side, [B,N,HE], as [Block.outputOf] takes
// them. An edit of the outputs of heads multiplies the contexts by numbers and adds others to the
// sum, so no head is projected by itself.
func (b *Block) joinedContext() *Node {
	context := b.Context()
	if b.inRows != nil {
		context = b.inRows(context)
	}
	if e, ok := b.layer.edits[trace.HeadOutput]; ok {
		context = Mul(context, e.keep)
	}
	return joinHeads(context)
}

// outputOf is the attention output of contexts of all heads, [B,N,...,HE], before an edit of it,
// [B,N,...,D].
func (l *Layer) outputOf(contexts *Node) *Node {
	output := l.outputBias(l.linear(contexts, "output"))
	if e, ok := l.edits[trace.HeadOutput]; ok {
		output = editNodes{value: ReduceSum(e.value, 1)}.of(output)
	}
	return output
}

// edited is x, the tensor of a tap, under the edits of the pass.
func (l *Layer) edited(tap trace.Tap, x *Node) *Node {
	if e, ok := l.edits[tap]; ok {
		return e.of(x)
	}
	return x
}

// tapped is x, the tensor of a tap, under the edits of the pass. It is kept for a pass that records
// it.
func (b *Block) tapped(tap trace.Tap, x *Node) *Node {
	x = b.layer.edited(tap, x)
	if b.inner == nil {
		b.inner = map[trace.Tap]*Node{}
	}
	b.inner[tap] = x
	return x
}

// finish computes the output of the block, unless a mixing has done so.
func (b *Block) finish() {
	if b.Output == nil {
		b.Output = b.after(b.AttentionOutput, b.Input, b.tapped)
	}
}

// AfterEach evaluates the rest of the block, [Block.After], for S changed attention outputs of each
// target, [B,N,S,D], and returns the residual streams after the block, [B,N,S,D].
//
// If the block has no output yet, AfterEach computes it together with them, so that the weights are
// read once. In a decode step the true attention output takes the place of the last source, a slot
// that [Session.spare] keeps free; elsewhere it adds one row.
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
	return b.after(attentionOutput, x, b.layer.edited)
}

// after is [Block.After], which sends the tensors of taps on its way through tapped.
func (b *Block) after(attentionOutput, x *Node, tapped func(trace.Tap, *Node) *Node) *Node {
	after := b.wholeAfter(attentionOutput, x, tapped)
	if b.active == nil {
		return after
	}
	return b.whereActive(after, BroadcastToShape(x, after.Shape()))
}

// wholeAfter is [Block.after] for targets on which the layer works.
func (b *Block) wholeAfter(attentionOutput, x *Node, tapped func(trace.Tap, *Node) *Node) *Node {
	middle := func(z *Node) *Node { return tapped(trace.HiddenAfterAttention, z) }
	mlp := func(x *Node) *Node { return tapped(trace.FeedForwardOutput, b.layer.mlp(x)) }
	switch b.layer.spec.Order {
	case spec.PostNorm:
		z := middle(b.layer.norm(Add(x, attentionOutput), "attention-norm"))
		if b.layer.spec.Stack(b.layer.number) == spec.Decoding {
			return z
		}
		return b.layer.norm(Add(z, mlp(z)), "mlp-norm")
	case spec.Parallel:
		return Add(Add(x, mlp(b.layer.norm(x, b.layer.parallelNorm()))), attentionOutput)
	}
	if b.layer.spec.NormedResidual {
		x = b.layer.norm(x, "attention-norm")
	}
	z := middle(Add(x, b.layer.norm(attentionOutput, "attention-after-norm")))
	if b.layer.spec.Stack(b.layer.number) == spec.Decoding {
		return z
	}
	u := b.layer.norm(z, "mlp-norm")
	m := b.layer.norm(mlp(u), "mlp-after-norm")
	if b.layer.spec.NormedResidual {
		z = u
	}
	return Add(z, m)
}

// sumBeforeNorm is what the norm after the feed-forward part normalises in the post-norm order,
// and with NormedResidual what the norm before it does, [B,N,D], under the edits of the pass. See
// [sumsBeforeNorm].
func (b *Block) sumBeforeNorm() *Node {
	if b.layer.spec.Order == spec.PreNorm {
		return b.attentionSum()
	}
	// [Block.finish] has computed them, unless the output came from elsewhere.
	z, m := b.inner[trace.HiddenAfterAttention], b.inner[trace.FeedForwardOutput]
	if z == nil || m == nil {
		z = b.layer.edited(trace.HiddenAfterAttention, b.layer.norm(b.attentionSum(), "attention-norm"))
		m = b.layer.edited(trace.FeedForwardOutput, b.layer.mlp(z))
	}
	return Add(z, m)
}

// parallelNorm is the name of the norm before the feed-forward part in the parallel order.
func (l *Layer) parallelNorm() string {
	if l.spec.SharedNorm {
		return "attention-norm"
	}
	return "mlp-norm"
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

// mlp is the feed-forward part of x [...,D].
func (l *Layer) mlp(x *Node) *Node {
	if m := l.spec.MixtureOf(l.number); m != nil {
		return l.mixture(m, x)
	}
	return l.feedForward(x)
}

// feedForward is down(f(up x)), or down(f(gate x) · up x) if gated, for x [...,D].
func (l *Layer) feedForward(x *Node) *Node {
	if l.product.outFirst && l.expertWeights == nil && !multipliesOnHost(x.Graph()) {
		return l.mlpColumns(x)
	}
	if l.spec.Gated {
		gated := l.gated(l.mlpDense(x, "gate"), l.mlpDense(x, "up"))
		return l.mlpDense(l.byExpert(gated), "down")
	}
	return l.mlpDense(l.byExpert(l.activated(l.mlpDense(x, "up"))), "down")
}

// mlpColumns is feedForward with a column per target, so that nothing is transposed between the two
// products.
func (l *Layer) mlpColumns(x *Node) *Node {
	dims := x.Shape().Dimensions
	rows := Reshape(x, -1, dims[len(dims)-1])
	dense := func(earlier, x *Node, axis int, name string) *Node { // [out,m]
		y := l.product.columnsAfter(earlier, x, axis, l.w(name+".weight"))
		if !l.spec.MLPBias {
			return y
		}
		return Add(y, InsertAxes(float(l.w(name+".bias")), -1))
	}
	up := dense(rows, rows, 1, "up")
	if l.spec.Gated {
		up = l.gated(dense(up, rows, 1, "gate"), up)
	} else {
		up = l.activated(up)
	}
	return Reshape(Transpose(dense(up, up, 0, "down"), 0, 1), dims...)
}

// gated is the product f(gate)·up, with the limits and the offset of the spec.
func (l *Layer) gated(gate, up *Node) *Node {
	up = l.relevance.clipped(up, l.spec.InnerLimit)
	if l.spec.UpOffset != 0 {
		up = AddScalar(up, l.spec.UpOffset)
	}
	gate = l.activated(l.relevance.limited(gate, l.spec.InnerLimit))
	return l.relevance.product(Mul(gate, up))
}

// Context is attention × value in each head, [B,H,N,E].
func (b *Block) Context() *Node {
	return b.layer.edited(trace.Context, b.layer.relevance.product(b.WeightedValues(b.Attention)))
}

// WeightedValues returns Σ_s attention[t,s] v_s in each head, [B,H,N,E], for any weights of the
// shape of attention, [B,H,N,S].
func (b *Block) WeightedValues(attention *Node) *Node {
	if b.own == nil {
		return b.layer.weighted(attention, b.sources.value)
	}
	at := b.own.at()
	own := ReduceAndKeep(Mul(attention, at), ReduceSum, -1) // [B,H,1,1]
	past := b.layer.weighted(Mul(attention, OneMinus(at)), b.own.past.value)
	return Add(past, b.layer.weighted(own, b.own.value))
}

// ProjectContext is the output projection of a context [B,H,N,E], without its bias, [B,N,D].
func (b *Block) ProjectContext(context *Node) *Node {
	return b.layer.linear(joinHeads(context), "output")
}

// narrow reports whether kv [B,G,S,E] has one source or one component. A product with it is then
// not one of two matrices, and the libraries that XLA calls reject some of these.
func narrow(kv *Node) bool {
	dims := kv.Shape().Dimensions
	return dims[2] == 1 || dims[3] == 1
}

// weighted is attention [B,H,N,S] × value [B,G,S,E], [B,H,N,E].
func (l *Layer) weighted(attention, value *Node) *Node {
	if narrow(value) {
		return ReduceSum(Mul(InsertAxes(attention, -1), InsertAxes(l.perHead(value), 2)), 3)
	}
	if l.spec.Groups() == l.spec.Heads {
		return l.einsum("bhns,bhse->bhne", attention, value)
	}
	context := l.einsum("bgrns,bgse->bgrne", l.grouped(attention), value)
	dims := attention.Shape().Dimensions
	return Reshape(context, dims[0], dims[1], dims[2], l.spec.ValueWidth())
}

// Values is the value vector of each source in every head, [B,H,S,E].
func (b *Block) Values() *Node { return b.layer.perHead(b.sources.value) }

// perHead repeats the keys or values of each group for its heads: [B,G,S,E] becomes [B,H,S,E].
func (l *Layer) perHead(kv *Node) *Node {
	if l.spec.Groups() == l.spec.Heads {
		return kv
	}
	dims := kv.Shape().Dimensions
	repeated := BroadcastToDims(InsertAxes(kv, 2), // [B,G,H/G,S,E]
		dims[0], dims[1], l.spec.Heads/dims[1], dims[2], dims[3])
	return Reshape(repeated, dims[0], l.spec.Heads, dims[2], dims[3])
}

// projectHeads is x [B,H,N,E] of each head through its slice of the output projection, without the
// bias, [B,H,N,D]: for x the context, the sum over the heads + b_O is the attention output.
func (l *Layer) projectHeads(x *Node) *Node {
	x = TransposeAllAxes(x, 1, 0, 2, 3) // [H,B,N,E]
	if l.spec.ValueWidth() == 1 {       // see narrow
		return TransposeAllAxes(Mul(x, InsertAxes(l.outputWeight(), 1)), 1, 0, 2, 3)
	}
	byHead := l.einsum("hbne,hed->hbnd", x, l.outputWeight())
	return TransposeAllAxes(byHead, 1, 0, 2, 3)
}

// outputWeight is the output projection W_O by head, [H,E,D].
func (l *Layer) outputWeight() *Node {
	w := float(l.w("output.weight"))
	if l.product.outFirst {
		w = Transpose(w, 0, 1)
	}
	return Reshape(w, l.spec.Heads, l.spec.ValueWidth(), l.spec.Width)
}

// Einsum is graph.Einsum for use in a mixing; see [Layer.einsum].
func (b *Block) Einsum(equation string, x, y *Node) *Node { return b.layer.einsum(equation, x, y) }

// einsum is graph.Einsum. It keeps the product apart from the operations around
// it: XLA on a CPU ends the program over some products that it fuses; see package models/xla.
func (l *Layer) einsum(equation string, x, y *Node) *Node {
	product := Einsum(equation, l.product.isolated(x), l.product.isolated(y))
	return l.product.isolated(settled(product))
}

// projections are the query [B,N,HE], key and value [B,N,GE] of every target. queryContent
// [B,N,HE] and queryBias [HE] are the parts of the query; they are nil unless the weights are
// fused.
type projections struct{ query, key, value, queryContent, queryBias *Node }

// project projects u [B,N,D]. fused is whether query, key and value are one array of weights.
func (l *Layer) project(u *Node, fused bool) (p projections) {
	if t := l.spec.Latent; t != nil {
		return l.projectLatent(t, u)
	}
	inner, group := l.spec.Heads*l.spec.HeadWidth, l.spec.Groups()*l.spec.HeadWidth
	if !fused {
		clipped := func(name string) *Node {
			return l.relevance.clipped(l.dense(u, name), l.spec.ProjectionClip)
		}
		return projections{query: clipped("query"), key: clipped("key"), value: clipped("value")}
	}
	content := l.relevance.clipped(l.linear(u, "qkv"), l.spec.ProjectionClip)
	all := l.biased(content, "qkv", l.spec.ProjectionBias)
	part := func(x *Node, from, to int) *Node { return SliceAxis(x, -1, AxisRange(from, to)) }
	p = projections{
		query:        part(all, 0, inner),
		key:          part(all, inner, inner+group),
		value:        part(all, inner+group, inner+2*group),
		queryContent: part(content, 0, inner),
	}
	if l.spec.ProjectionBias {
		p.queryBias = part(float(l.w("qkv.bias")), 0, inner)
	}
	return p
}

// grouped splits the heads of x [B,H,·,·] by the group that they read, [B,G,H/G,·,·].
func (l *Layer) grouped(x *Node) *Node {
	dims, groups := x.Shape().Dimensions, l.spec.Groups()
	return Reshape(x, dims[0], groups, dims[1]/groups, dims[2], dims[3])
}

// heads splits [B,N,HE] into [B,H,N,E], for any E.
func splitHeads(x *Node, heads int) *Node {
	dims := x.Shape().Dimensions
	return TransposeAllAxes(Reshape(x, dims[0], dims[1], heads, dims[2]/heads), 0, 2, 1, 3)
}

// joined is the inverse of heads.
func joinHeads(x *Node) *Node {
	dims := x.Shape().Dimensions
	return Reshape(TransposeAllAxes(x, 0, 2, 1, 3), dims[0], dims[2], dims[1]*dims[3])
}

// norm applies the layer's norm of that name. Without it, it returns x, as it is added.
func (l *Layer) norm(x *Node, name string) *Node {
	if !l.spec.HasNorm(l.number, name) {
		return l.asAdded(x, name)
	}
	return l.relevance.norm(l.spec, x, l.w.in(name+"."))
}

// asAdded is x, or x times the scale of the spec where the norm of that name would come before the
// residual is added.
func (l *Layer) asAdded(x *Node, name string) *Node {
	if l.spec.ResidualScale == 0 || !strings.HasSuffix(name, "-after-norm") {
		return x
	}
	return MulScalar(x, l.spec.ResidualScale)
}

// activated applies the activation of the feed-forward part.
func (l *Layer) activated(x *Node) *Node {
	if a := l.spec.SwishScale; a != 0 {
		return MulScalar(l.relevance.activated(l.spec.Activation, MulScalar(x, a), l.w), 1/a)
	}
	return l.relevance.activated(l.spec.Activation, x, l.w)
}

// linear is x W for the layer's projection of that name, [...,out].
func (l *Layer) linear(x *Node, name string) *Node {
	return l.linearIn(x, l.w(name+".weight"), name)
}

// linearIn is x times the layer's projection w of that name, [...,out].
func (l *Layer) linearIn(x, w *Node, name string) *Node {
	if l.expertWeights == nil {
		return l.product.layer(x, w)
	}
	axis := 1 // gate and up are [XF,D], as down is if it is not in codes
	if name == "down" && quantizedOf(w) == nil {
		axis = 0
	}
	return l.product.with(x, w, axis)
}

// dense is x W + b for query, key or value.
func (l *Layer) dense(x *Node, name string) *Node {
	return l.biased(l.linear(x, name), name, l.spec.ProjectionBias)
}

// outputBias adds the bias of the output projection, if there is one.
func (l *Layer) outputBias(x *Node) *Node { return l.biased(x, "output", l.spec.OutputBias) }

// mlpDense is x W + b for a projection of the feed-forward part.
func (l *Layer) mlpDense(x *Node, name string) *Node {
	if l.expertWeights != nil && name == "down" && l.spec.MLPBias {
		return Add(l.linear(x, name), l.expertBiases())
	}
	return l.biased(l.linear(x, name), name, l.spec.MLPBias)
}

// biased adds the bias of that name to y [...,out], if there is one.
func (l *Layer) biased(y *Node, name string, hasBias bool) *Node {
	if !hasBias {
		return y
	}
	return Add(y, alignLast(l.w(name+".bias"), y))
}
