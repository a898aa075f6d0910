package transformer

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does
)

// Block is one layer in one graph: what a mixing and a tap may read. N targets, S sources.
type Block struct {
	// Input is the residual stream of the targets before the block, [B,N,D].
	Input *Node
	// Key and Value are those of the sources, [B,H,S,E].
	Key, Value *Node
	// Scores is the attention before softmax, without the mask, [B,H,N,S].
	Scores *Node
	// Attention is its masked softmax, rows sum to 1, [B,H,N,S].
	Attention *Node
	// AttentionOutput is Σ_h context_h W_O^h + b_O, [B,N,D].
	AttentionOutput *Node
	// Output is the residual stream after the block, [B,N,D].
	Output *Node

	spec *Spec
	w    Weights
	// query is [B,H,N,E] with its bias; queryContent builds it without.
	query        *Node
	queryContent func() *Node
	// visible is 1 where a target may see a source, [1,1,N,S].
	visible *Node
}

// attend fills the block from its query, key and value on.
func (b *Block) attend() {
	b.Scores = b.scaledDot(b.query)
	if b.spec.Positions == ALiBi {
		b.Scores = Add(b.Scores, b.alibi())
	}
	b.Attention = Softmax(Add(b.Scores, MulScalar(OneMinus(b.visible), masked)), -1)
	b.AttentionOutput = b.dense(b.joined(b.Context()), "output")
	b.Output = b.After(b.AttentionOutput, b.Input)
}

// After is the rest of the block from the attention output on, both arguments [...,D]:
//
//	z = x + a,  x̃ = z + MLP(LN(z))
//
// It is what Value Zeroing evaluates again with a changed attention output.
func (b *Block) After(attentionOutput, x *Node) *Node {
	z := Add(x, attentionOutput)
	u := layerNorm(z, b.w.in("mlp-norm."), b.spec.NormEpsilon)
	return Add(z, b.dense(b.spec.activate(b.dense(u, "up")), "down"))
}

// Context is attention × value per head, [B,H,N,E].
func (b *Block) Context() *Node { return Einsum("bhns,bhse->bhne", b.Attention, b.Value) }

// HeadOutput is each head's context through its slice of the output projection, without the bias, [B,H,N,D]:
// Σ_h HeadOutput_h + b_O is the attention output.
func (b *Block) HeadOutput() *Node {
	context := TransposeAllAxes(b.Context(), 1, 0, 2, 3) // [H,B,N,E]
	byHead := Einsum("hbne,hed->hbnd", context, b.OutputWeight())
	return TransposeAllAxes(byHead, 1, 0, 2, 3)
}

// OutputWeight is the output projection W_O by head, [H,E,D].
func (b *Block) OutputWeight() *Node {
	return Reshape(b.w("output.weight"), b.spec.Heads, b.spec.HeadWidth, b.spec.Width)
}

// Terms are the three parts of the scores, [B,H,3,N,S], masked entries 0; their sum is the exact score:
//
//	content = (W_q u_i)·k_j/√E,  query-bias = b_q·k_j/√E,  alibi = slope·j
func (b *Block) Terms() *Node {
	content := b.scaledDot(b.queryContent())
	bias, alibi := ZerosLike(content), ZerosLike(content)
	if b.spec.Biases {
		q := Reshape(b.w("query.bias"), 1, b.spec.Heads, 1, b.spec.HeadWidth)
		bias = b.scaledDot(BroadcastToShape(q, b.query.Shape()))
	}
	if b.spec.Positions == ALiBi {
		alibi = BroadcastToShape(b.alibi(), content.Shape())
	}
	terms := Stack([]*Node{content, bias, alibi}, 2)
	return Mul(terms, InsertAxes(b.visible, 2))
}

// MaskedScores is Scores with 0 where the target cannot see the source, [B,H,N,S].
func (b *Block) MaskedScores() *Node { return Mul(b.Scores, b.visible) }

// Visible is 1 where target n may see source s and 0 elsewhere, [1,N,S].
func (b *Block) Visible() *Node { return Squeeze(b.visible, 1) }

// scaledDot returns q·k/√E, [B,H,N,S], for q [B,H,N,E].
func (b *Block) scaledDot(q *Node) *Node {
	return MulScalar(Einsum("bhne,bhse->bhns", q, b.Key), 1/math.Sqrt(float64(b.spec.HeadWidth)))
}

// alibi is the position term of every source, [1,H,1,S].
func (b *Block) alibi() *Node {
	sources := b.Key.Shape().Dimensions[2]
	return Reshape(Const(b.Key.Graph(), b.spec.alibi(sources)), 1, b.spec.Heads, 1, sources)
}

// project returns a projection of u [B,N,D] by head, [B,H,N,E].
func (b *Block) project(u *Node, name string) *Node { return b.heads(b.dense(u, name)) }

// heads splits [B,N,HE] into [B,H,N,E].
func (b *Block) heads(x *Node) *Node {
	dims := x.Shape().Dimensions
	return TransposeAllAxes(Reshape(x, dims[0], dims[1], b.spec.Heads, b.spec.HeadWidth), 0, 2, 1, 3)
}

// joined is the inverse of heads.
func (b *Block) joined(x *Node) *Node {
	dims := x.Shape().Dimensions
	return Reshape(TransposeAllAxes(x, 0, 2, 1, 3), dims[0], dims[2], b.spec.Heads*b.spec.HeadWidth)
}

// linear is x W for the layer's projection of that name, [...,out].
func (b *Block) linear(x *Node, name string) *Node { return contractLast(x, b.w(name+".weight"), 0) }

// dense is x W + b.
func (b *Block) dense(x *Node, name string) *Node {
	y := b.linear(x, name)
	if !b.spec.Biases {
		return y
	}
	return Add(y, alignLast(b.w(name+".bias"), y))
}
