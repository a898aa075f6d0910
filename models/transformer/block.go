package transformer

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does
)

// Block is one layer in one graph: what a mixing and a tap may read. N targets, S sources.
type Block struct {
	// Input is the residual stream of the targets before the block, [B,N,D].
	Input *Node
	// Key and Value are those of the sources, [B,G,S,E]; head h reads group h·G/H.
	Key, Value *Node
	// Scores is the attention before softmax, without the mask, [B,H,N,S].
	Scores *Node
	// Attention is its masked softmax, rows sum to 1, [B,H,N,S].
	Attention *Node
	// AttentionOutput is Σ_h context_h W_O^h + b_O, [B,N,D].
	AttentionOutput *Node
	// Output is the residual stream after the block, [B,N,D]; nil for a mixing that is [SharesOutput].
	Output *Node

	spec  *Spec
	layer int
	w     Weights
	// query is [B,H,N,E]; queryContent and queryBias build its part without the bias and that of the bias alone.
	query                   *Node
	queryContent, queryBias func() *Node
	// turning is nil without rotary positions, alibi [B or 1,H,1,S] without ALiBi.
	turning *turning
	alibi   *Node
	// first is the slot of the first target, an int32 scalar; nil is 0.
	first *Node
	// visible is 1 where a target may see a source, [B or 1,1,N,S].
	visible *Node
	product product
	// relevance is whether the graph is differentiated for relevance.
	relevance relevance
	// finalNorm is the norm behind the last layer, nil in the others and where there is none.
	finalNorm func(x *Node) *Node
	// own is set where the only target stands behind a cache.
	own *ownSlot
}

// ownSlot is what a target contributes to the sources that it sees, apart from those before it, so that the cache is read where it lies
// and never copied.
type ownSlot struct {
	cache       // of the target, [1,G,1,E]
	past  cache // [1,G,S,E]
	slot  *Node // where the target stands, an int32 scalar
}

// at is 1 in the target's slot, [1,1,1,S].
func (o *ownSlot) at() *Node {
	slots := Iota(o.slot.Graph(), shapes.Make(dtypes.Int32, 1, 1, 1, o.past.key.Shape().Dimensions[2]), 3)
	return ConvertDType(Equal(slots, o.slot), dtypes.Float32)
}

// attend fills the block from its query, key and value up to its attention output.
func (b *Block) attend() {
	b.Scores = b.scaledDot(b.query)
	if b.alibi != nil {
		b.Scores = Add(b.Scores, b.alibi)
	}
	b.Scores = b.relevance.capped(b.Scores, b.spec.ScoreCap)
	b.Attention = Softmax(Add(b.Scores, MulScalar(OneMinus(b.visible), masked)), -1)
	b.AttentionOutput = b.outputBias(b.linear(b.joined(b.Context()), "output"))
}

// finish computes the output, unless it is there.
func (b *Block) finish() {
	if b.Output == nil {
		b.Output = b.After(b.AttentionOutput, b.Input)
	}
}

// AfterEach is the rest of the block from each of the attention outputs changed, [B,N,S,D], on; see [Block.After]. If the block has no
// output yet, it is computed among them, so that the weights are read once for all: in the place of the last source behind a cache, which
// is free there (see [Session.spare]), and in one more elsewhere.
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

// After is the rest of the block from the attention output a on, both arguments [...,D], N a norm and m the feed-forward part:
//
//	pre-norm   z = x + a,     x̃ = z + m(N z)   (with norms behind both: z = x + N a, x̃ = z + N m(N z))
//	post-norm  z = N(x + a),  x̃ = N(z + m(z))
//	parallel   x̃ = x + a + m(N x)
//
// It is what Value Zeroing evaluates again with a changed attention output.
func (b *Block) After(attentionOutput, x *Node) *Node {
	switch b.spec.Order {
	case PostNorm:
		z := b.norm(Add(x, attentionOutput), "attention-norm")
		return b.norm(Add(z, b.mlp(z)), "mlp-norm")
	case Parallel:
		name := "mlp-norm"
		if b.spec.SharedNorm {
			name = "attention-norm"
		}
		return Add(Add(x, b.mlp(b.norm(x, name))), attentionOutput)
	}
	if b.spec.NormAfter {
		attentionOutput = b.norm(attentionOutput, "attention-after-norm")
	}
	if b.spec.NormedResidual {
		x = b.norm(x, "attention-norm")
	}
	z := Add(x, attentionOutput)
	u := b.norm(z, "mlp-norm")
	m := b.mlp(u)
	if b.spec.NormAfter {
		m = b.norm(m, "mlp-after-norm")
	}
	if b.spec.NormedResidual {
		z = u
	}
	return Add(z, m)
}

// FinalNorm is x [...,D], which stands behind the block, through the final norm in the last layer, if there is one, and x itself elsewhere.
// It is there for a mixing that is [ReadsFinalNorm].
func (b *Block) FinalNorm(x *Node) *Node {
	if b.finalNorm == nil {
		return x
	}
	return b.finalNorm(x)
}

// mlp is the feed-forward part: down(f(up x)), or down(f(gate x) · up x).
func (b *Block) mlp(x *Node) *Node {
	if b.product.outFirst {
		return b.mlpColumns(x)
	}
	if b.spec.Gated {
		return b.mlpDense(b.relevance.product(Mul(b.activated(b.mlpDense(x, "gate")), b.mlpDense(x, "up"))), "down")
	}
	return b.mlpDense(b.activated(b.mlpDense(x, "up")), "down")
}

// mlpColumns is mlp with the activations in columns, so that what lies between two products need not be turned.
func (b *Block) mlpColumns(x *Node) *Node {
	dims := x.Shape().Dimensions
	rows := Reshape(x, -1, dims[len(dims)-1])
	dense := func(x *Node, axis int, name string) *Node { // [out,m]
		y := b.product.columns(x, axis, b.w(name+".weight"))
		if !b.spec.MLPBias {
			return y
		}
		return Add(y, InsertAxes(float(b.w(name+".bias")), -1))
	}
	up := dense(rows, 1, "up")
	if b.spec.Gated {
		up = b.relevance.product(Mul(b.activated(dense(rows, 1, "gate")), up))
	} else {
		up = b.activated(up)
	}
	return Reshape(Transpose(dense(up, 0, "down"), 0, 1), dims...)
}

// Context is attention × value per head, [B,H,N,E].
func (b *Block) Context() *Node {
	if b.own == nil {
		return b.relevance.product(b.weighted(b.Attention, b.Value))
	}
	at := b.own.at()
	own := ReduceAndKeep(Mul(b.Attention, at), ReduceSum, -1) // [1,H,1,1]
	return Add(b.weighted(Mul(b.Attention, OneMinus(at)), b.own.past.value), b.weighted(own, b.own.value))
}

// narrow is whether kv [B,G,S,E] has one source or one component, so that what it is multiplied with is no product of matrices; the
// libraries that XLA calls do not take all of those for one.
func (b *Block) narrow(kv *Node) bool {
	dims := kv.Shape().Dimensions
	return dims[2] == 1 || dims[3] == 1
}

// weighted is attention [B,H,N,S] × value [B,G,S,E], [B,H,N,E].
func (b *Block) weighted(attention, value *Node) *Node {
	if b.narrow(value) {
		return ReduceSum(Mul(InsertAxes(attention, -1), InsertAxes(b.each(value), 2)), 3)
	}
	if b.spec.Groups() == b.spec.Heads {
		return b.Einsum("bhns,bhse->bhne", attention, value)
	}
	context := b.Einsum("bgrns,bgse->bgrne", b.grouped(attention), value)
	dims := attention.Shape().Dimensions
	return Reshape(context, dims[0], dims[1], dims[2], b.spec.HeadWidth)
}

// Values is the value vector of each source in every head, [B,H,S,E].
func (b *Block) Values() *Node { return b.each(b.Value) }

// each gives every head what its group has: [B,H,S,E] of [B,G,S,E].
func (b *Block) each(kv *Node) *Node {
	if b.spec.Groups() == b.spec.Heads {
		return kv
	}
	dims := kv.Shape().Dimensions
	each := BroadcastToDims(InsertAxes(kv, 2), dims[0], dims[1], b.spec.Heads/dims[1], dims[2], dims[3])
	return Reshape(each, dims[0], b.spec.Heads, dims[2], dims[3])
}

// HeadOutput is each head's context through its slice of the output projection, without the bias, [B,H,N,D]:
// Σ_h HeadOutput_h + b_O is the attention output.
func (b *Block) HeadOutput() *Node {
	context := TransposeAllAxes(b.Context(), 1, 0, 2, 3) // [H,B,N,E]
	if b.spec.HeadWidth == 1 {                           // see narrow
		return TransposeAllAxes(Mul(context, InsertAxes(b.OutputWeight(), 1)), 1, 0, 2, 3)
	}
	byHead := b.Einsum("hbne,hed->hbnd", context, b.OutputWeight())
	return TransposeAllAxes(byHead, 1, 0, 2, 3)
}

// OutputWeight is the output projection W_O by head, [H,E,D].
func (b *Block) OutputWeight() *Node {
	w := float(b.w("output.weight"))
	if b.product.outFirst {
		w = Transpose(w, 0, 1)
	}
	return Reshape(w, b.spec.Heads, b.spec.HeadWidth, b.spec.Width)
}

// Terms are the three parts of the scores, [B,H,3,N,S], masked entries 0; their sum is the exact score, before it is capped:
//
//	content = (W_q u_i)·k_j/√E,  query-bias = b_q·k_j/√E,  alibi = slope·j
//
// Under rotary positions both vectors are turned first, and a norm of the query divides both parts by that of their sum.
func (b *Block) Terms() *Node {
	content := b.scaledDot(b.queryContent())
	bias, alibi := ZerosLike(content), ZerosLike(content)
	if b.spec.ProjectionBias {
		bias = b.scaledDot(b.queryBias())
	}
	if b.alibi != nil {
		alibi = BroadcastToShape(b.alibi, content.Shape())
	}
	terms := Stack([]*Node{content, bias, alibi}, 2)
	return Mul(terms, InsertAxes(b.visible, 2))
}

// MaskedScores is Scores with 0 where the target cannot see the source, [B,H,N,S].
func (b *Block) MaskedScores() *Node { return Mul(b.Scores, b.visible) }

// Visible is 1 where a target may see a source and 0 elsewhere, [B or 1,N,S].
func (b *Block) Visible() *Node { return Squeeze(b.visible, 1) }

// turned normalises part [B,H,N,E] of the query or key by the RMS of the whole, if the spec says so, and turns it by its position.
func (b *Block) turned(part, whole *Node, name string) *Node {
	if b.spec.QueryKeyNorm {
		gain := alignLast(b.w(name+"-norm.gain"), part)
		if b.spec.NormOffset != 0 {
			gain = AddScalar(gain, b.spec.NormOffset)
		}
		part = Mul(Mul(part, b.relevance.scale(inverseRMS(b.spec, whole))), gain)
	}
	if b.turning != nil {
		part = b.turning.turn(part)
	}
	return part
}

// scaledDot returns q·k times the spec's scale, [B,H,N,S], for q [B,H,N,E].
func (b *Block) scaledDot(q *Node) *Node {
	scale := b.spec.ScoreScale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(b.spec.HeadWidth))
	}
	if b.spec.ScoreByLayer {
		scale /= float64(b.layer + 1)
	}
	q = MulScalar(q, scale) // and not the scores, which are more
	if b.own == nil {
		return b.relevance.product(b.dot(q, b.Key))
	}
	past, own, at := b.dot(q, b.own.past.key), b.dot(q, b.own.key), b.own.at()
	return Add(Mul(past, OneMinus(at)), Mul(own, at))
}

// dot is q [B,H,N,E] · key [B,G,S,E], [B,H,N,S].
func (b *Block) dot(q, key *Node) *Node {
	if b.narrow(key) {
		return ReduceSum(Mul(InsertAxes(q, 3), InsertAxes(b.each(key), 2)), -1)
	}
	if b.spec.Groups() == b.spec.Heads {
		return b.Einsum("bhne,bhse->bhns", q, key)
	}
	dims := q.Shape().Dimensions
	scores := b.Einsum("bgrne,bgse->bgrns", b.grouped(q), key)
	return Reshape(scores, dims[0], dims[1], dims[2], -1)
}

// Einsum is graph.Einsum for use in a mixing: a product of matrices that stands alone. XLA on a CPU ends the program over some of those
// that do not; see package models/xla.
func (b *Block) Einsum(equation string, x, y *Node) *Node {
	return b.product.isolated(Einsum(equation, b.product.isolated(x), b.product.isolated(y)))
}

// projections are query, key and value of every target, [B,N,HE or GE], and what the query is made of.
type projections struct{ query, key, value, queryContent, queryBias *Node }

// project projects u, [B,N,D].
func (b *Block) project(u *Node, fused bool) (p projections) {
	inner, group := b.spec.Heads*b.spec.HeadWidth, b.spec.Groups()*b.spec.HeadWidth
	if !fused {
		p = projections{query: b.dense(u, "query"), key: b.dense(u, "key"), value: b.dense(u, "value")}
		return p
	}
	content := b.linear(u, "qkv")
	all := b.biased(content, "qkv", b.spec.ProjectionBias)
	part := func(x *Node, from, to int) *Node { return SliceAxis(x, -1, AxisRange(from, to)) }
	p = projections{
		query: part(all, 0, inner), key: part(all, inner, inner+group), value: part(all, inner+group, inner+2*group),
		queryContent: part(content, 0, inner),
	}
	if b.spec.ProjectionBias {
		p.queryBias = part(float(b.w("qkv.bias")), 0, inner)
	}
	return p
}

// grouped splits the heads of x [B,H,...,...] by the group that they read, [B,G,H/G,...,...].
func (b *Block) grouped(x *Node) *Node {
	dims, groups := x.Shape().Dimensions, b.spec.Groups()
	return Reshape(x, dims[0], groups, dims[1]/groups, dims[2], dims[3])
}

// heads splits [B,N,HE] into [B,H,N,E].
func (b *Block) heads(x *Node, heads int) *Node {
	dims := x.Shape().Dimensions
	return TransposeAllAxes(Reshape(x, dims[0], dims[1], heads, b.spec.HeadWidth), 0, 2, 1, 3)
}

// joined is the inverse of heads.
func (b *Block) joined(x *Node) *Node {
	dims := x.Shape().Dimensions
	return Reshape(TransposeAllAxes(x, 0, 2, 1, 3), dims[0], dims[2], b.spec.Heads*b.spec.HeadWidth)
}

// norm applies the layer's norm of that name.
func (b *Block) norm(x *Node, name string) *Node {
	return b.relevance.norm(b.spec, x, b.w.in(name+"."))
}

// activated applies the activation of the feed-forward part.
func (b *Block) activated(x *Node) *Node { return b.relevance.activated(b.spec.Activation, x) }

// linear is x W for the layer's projection of that name, [...,out].
func (b *Block) linear(x *Node, name string) *Node {
	return b.product.layer(x, b.w(name+".weight"))
}

// dense is x W + b for query, key or value.
func (b *Block) dense(x *Node, name string) *Node {
	return b.biased(b.linear(x, name), name, b.spec.ProjectionBias)
}

// outputBias adds the bias of the output projection, if there is one.
func (b *Block) outputBias(x *Node) *Node { return b.biased(x, "output", b.spec.OutputBias) }

// mlpDense is x W + b for a projection of the feed-forward part.
func (b *Block) mlpDense(x *Node, name string) *Node {
	return b.biased(b.linear(x, name), name, b.spec.MLPBias)
}

// biased adds the bias of that name if there is one.
func (b *Block) biased(y *Node, name string, is bool) *Node {
	if !is {
		return y
	}
	return Add(y, alignLast(b.w(name+".bias"), y))
}
