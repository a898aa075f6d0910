package graph

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// projections are the query [B,N,HE], key and value [B,N,GE] of every target. queryContent
// [B,N,HE] and queryBias [HE] are the parts of the query; they are nil unless the weights are
// fused.
type projections struct{ query, key, value, queryContent, queryBias *Node }

// project projects u [B,N,D]. fused is whether query, key and value are one array of weights.
func (l *Layer) project(u *Node, fused bool) (p projections) {
	if t := l.Spec.Latent; t != nil {
		return l.projectLatent(t, u)
	}
	inner, group := l.Spec.Heads*l.Spec.HeadWidth, l.Spec.Groups()*l.Spec.HeadWidth
	if !fused {
		clipped := func(name string) *Node {
			return l.relevance.clipped(l.dense(u, name), l.Spec.ProjectionClip)
		}
		return projections{query: clipped("query"), key: clipped("key"), value: clipped("value")}
	}
	content := l.relevance.clipped(l.Linear(u, "qkv"), l.Spec.ProjectionClip)
	all := l.biased(content, "qkv", l.Spec.ProjectionBias)
	part := func(x *Node, from, to int) *Node { return SliceAxis(x, -1, AxisRange(from, to)) }
	p = projections{
		query:        part(all, 0, inner),
		key:          part(all, inner, inner+group),
		value:        part(all, inner+group, inner+2*group),
		queryContent: part(content, 0, inner),
	}
	if l.Spec.ProjectionBias {
		p.queryBias = part(codes.Float(l.W("qkv.bias")), 0, inner)
	}
	return p
}

// Grouped splits the heads of x [B,H,·,·] by the group that they read, [B,G,H/G,·,·].
func (l *Layer) Grouped(x *Node) *Node {
	dims, groups := x.Shape().Dimensions, l.Spec.Groups()
	return Reshape(x, dims[0], groups, dims[1]/groups, dims[2], dims[3])
}

// PerHead repeats the keys or values of each group for its heads: [B,G,S,E] becomes [B,H,S,E].
func (l *Layer) PerHead(kv *Node) *Node {
	if l.Spec.Groups() == l.Spec.Heads {
		return kv
	}
	dims := kv.Shape().Dimensions
	repeated := BroadcastToDims(InsertAxes(kv, 2), // [B,G,H/G,S,E]
		dims[0], dims[1], l.Spec.Heads/dims[1], dims[2], dims[3])
	return Reshape(repeated, dims[0], l.Spec.Heads, dims[2], dims[3])
}

// outputWeight is the output projection W_O by head, [H,E,D].
func (l *Layer) outputWeight() *Node {
	w := codes.Float(l.W("output.weight"))
	if l.Product.OutFirst {
		w = Transpose(w, 0, 1)
	}
	return Reshape(w, l.Spec.Heads, l.Spec.ValueWidth(), l.Spec.Width)
}

// projectHeads is x [B,H,N,E] of each head through its slice of the output projection, without the
// bias, [B,H,N,D]: for x the context, the sum over the heads + b_O is the attention output.
func (l *Layer) projectHeads(x *Node) *Node {
	x = TransposeAllAxes(x, 1, 0, 2, 3) // [H,B,N,E]
	if l.Spec.ValueWidth() == 1 {       // see [Narrow]
		return TransposeAllAxes(Mul(x, InsertAxes(l.outputWeight(), 1)), 1, 0, 2, 3)
	}
	byHead := l.einsum("hbne,hed->hbnd", x, l.outputWeight())
	return TransposeAllAxes(byHead, 1, 0, 2, 3)
}

// outputOf is the attention output of contexts of all heads, [B,N,...,HE], before an edit of it,
// [B,N,...,D].
func (l *Layer) outputOf(contexts *Node) *Node {
	output := outputBias(l, l.Linear(contexts, "output"))
	if e, ok := l.edits[trace.HeadOutput]; ok {
		output = EditNodes{Value: ReduceSum(e.Value, 1)}.Of(output)
	}
	return output
}

// outputBias adds the bias of the output projection, if there is one.
func outputBias(l *Layer, x *Node) *Node { return l.biased(x, "output", l.Spec.OutputBias) }

// weighted is attention [B,H,N,S] × value [B,G,S,E], [B,H,N,E].
func (l *Layer) weighted(attention, value *Node) *Node {
	if Narrow(value) {
		return ReduceSum(Mul(InsertAxes(attention, -1), InsertAxes(l.PerHead(value), 2)), 3)
	}
	if l.Spec.Groups() == l.Spec.Heads {
		return l.einsum("bhns,bhse->bhne", attention, value)
	}
	context := l.einsum("bgrns,bgse->bgrne", l.Grouped(attention), value)
	dims := attention.Shape().Dimensions
	return Reshape(context, dims[0], dims[1], dims[2], l.Spec.ValueWidth())
}

// einsum is graph.Einsum. It keeps the product apart from the operations around it: XLA on a CPU
// ends the program over some products that it fuses; see package models/xla.
func (l *Layer) einsum(equation string, x, y *Node) *Node {
	product := Einsum(equation, l.Product.Isolated(x), l.Product.Isolated(y))
	return l.Product.Isolated(codes.Settled(product))
}

// Narrow reports whether kv [B,G,S,E] has one source or one component. A product with it is then
// not one of two matrices, and the libraries that XLA calls reject some of these.
func Narrow(kv *Node) bool {
	dims := kv.Shape().Dimensions
	return dims[2] == 1 || dims[3] == 1
}

// splitHeads splits [B,N,HE] into [B,H,N,E], for any E.
func splitHeads(x *Node, heads int) *Node {
	dims := x.Shape().Dimensions
	return TransposeAllAxes(Reshape(x, dims[0], dims[1], heads, dims[2]/heads), 0, 2, 1, 3)
}

// JoinHeads is the inverse of splitHeads.
func JoinHeads(x *Node) *Node {
	dims := x.Shape().Dimensions
	return Reshape(TransposeAllAxes(x, 0, 2, 1, 3), dims[0], dims[2], dims[1]*dims[3])
}
