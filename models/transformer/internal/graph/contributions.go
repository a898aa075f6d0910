package graph

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// Contributions are the vectors f[t,s] whose sum over the sources is the attention output without
// its bias, [B,K,N,S,D]:
//
//	f[t,s] = Σ_h α^h[t,s] v^h_s W_O^h
//
// (Kobayashi et al. 2020, §3.) Under edits, f is multiplied by what they multiply by on the way,
// and what they add comes from no source. K is 1 for all heads together or for one head, and H for
// each head apart. Only a mixing that is [Mixing.PerPair] may call it: such a mixing sees few
// targets at a time, and the array would not fit the memory for all of them.
func (b *Block) Contributions(heads trace.Heads) *Node {
	attention := b.ValueWeights()                  // [B,H,N,S]
	value, w := b.Values(), b.layer.outputWeight() // [B,H,S,E], [H,E,D]
	if heads.Fusion == trace.OneHead {
		only := AxisRange(heads.Head, heads.Head+1)
		attention = SliceAxis(attention, 1, only)
		value, w = SliceAxis(value, 1, only), SliceAxis(w, 0, only)
	}
	together := heads.Fusion == trace.MeanHeads
	if dims := attention.Shape().Dimensions; together && dims[2] == 1 {
		return b.contributionsToOne(attention, value)
	}
	projected := projectedValues(b.layer, value, w) // [B,K,S,D]
	if !together {
		return Mul(InsertAxes(attention, -1), InsertAxes(projected, 2))
	}
	return sumHeads(b.layer, attention, projected)
}

// ValueWeights are the numbers by which the values of the sources, projected, add up to the
// attention output, [B,H,N,S]: the attention, times what edits multiply contexts, outputs of heads
// and that output by. What an edit adds comes from no source.
func (b *Block) ValueWeights() *Node {
	read := b.readByHeads()
	if e, ok := b.layer.edits[trace.AttentionOutput]; ok {
		read = Mul(read, InsertAxes(e.Keep, 1))
	}
	return read
}

// readByHeads is ValueWeights without an edit of the attention output, [B,H,N,S]: the values add up
// to the outputs of heads.
func (b *Block) readByHeads() *Node {
	read := b.Attention
	for _, tap := range []trace.Tap{trace.Context, trace.HeadOutput} {
		if e, ok := b.layer.edits[tap]; ok {
			read = Mul(read, e.Keep)
		}
	}
	return read
}

// sumHeads is Σ_h attention_h × projected_h, [B,1,N,S,D], of [B,H,N,S] and [B,H,S,D]. In pure Go
// one product is twice as fast. A compiler sums head by head and needs no array for each of them.
func sumHeads(l *Layer, attention, projected *Node) *Node {
	if codes.BackendName(attention.Graph().Backend()) == "go" {
		return InsertAxes(codes.Settled(Einsum("bhns,bhsd->bnsd", attention, projected)), 1)
	}
	var sum *Node
	for h := range l.Spec.Heads {
		at := AxisRange(h, h+1)
		f := Mul(InsertAxes(SliceAxis(attention, 1, at), -1),
			InsertAxes(SliceAxis(projected, 1, at), 2)) // [B,1,N,S,D]
		if sum == nil {
			sum = f
			continue
		}
		sum = Add(sum, f)
	}
	return sum
}

// contributionsToOne are the contributions to a single target, [B,1,1,S,D]. One wide product then
// costs less than the projection of every head's values.
func (b *Block) contributionsToOne(attention, value *Node) *Node {
	weighted := Mul(InsertAxes(Squeeze(attention, 2), -1), value) // [B,H,S,E]
	return InsertAxes(b.ProjectContext(weighted), 1, 1)
}

// projectedValues is each source's value through its head's slice w [H,E,D] of the output
// projection, v^h_s W_O^h, [B,H,S,D]; value is [B,H,S,E].
func projectedValues(l *Layer, value, w *Node) *Node {
	if Narrow(value) {
		return ReduceSum(Mul(InsertAxes(value, -1), InsertAxes(w, 0, 1)), 3)
	}
	byHead := l.einsum("hbse,hed->hbsd", TransposeAllAxes(value, 1, 0, 2, 3), w)
	return TransposeAllAxes(byHead, 1, 0, 2, 3)
}

// WithoutSource is the attention output of every target without the contribution of each source,
// [B,N,S,D], for heads together or one head; for each head apart it is [B,N,HS,D], and an output
// lacks the contribution of one source through one head. It is an argument for [Block.AfterEach].
//
// Over all heads the source is taken out of the context, before the projection: if a target has one
// source only, exactly nothing is left. A difference after the projection would leave a rounding
// error, which a norm could make large.
func (b *Block) WithoutSource(heads trace.Heads) *Node {
	if heads.Fusion != trace.MeanHeads {
		without := Sub(perTarget(b.AttentionOutput), b.Contributions(heads)) // [B,K,N,S,D]
		dims := without.Shape().Dimensions
		byTarget := TransposeAllAxes(without, 0, 2, 1, 3, 4) // [B,N,K,S,D]
		return Reshape(byTarget, dims[0], dims[2], dims[1]*dims[3], dims[4])
	}
	value := TransposeAllAxes(b.Values(), 0, 2, 1, 3)          // [B,S,H,E]
	attention := TransposeAllAxes(b.readByHeads(), 0, 2, 3, 1) // [B,N,S,H]
	dims := attention.Shape().Dimensions
	weighted := Mul(InsertAxes(value, 1), InsertAxes(attention, -1)) // [B,N,S,H,E]
	weighted = Reshape(weighted, dims[0], dims[1], dims[2], -1)
	context := InsertAxes(b.joinedContext(), 2) // [B,N,1,HE]
	return b.layer.Edited(trace.AttentionOutput, b.layer.outputOf(Sub(context, weighted)))
}

// Self is 1 where the source is the target itself and 0 elsewhere, [B or 1,N,S].
func (b *Block) Self() *Node {
	dims := b.Attention.Shape().Dimensions
	shape := shapes.Make(dtypes.Int32, 1, dims[2], dims[3])
	target := Iota(b.Attention.Graph(), shape, 1)
	if b.first != nil {
		target = Add(target, eachText(b.first, 3))
	}
	return ConvertDType(Equal(target, Iota(b.Attention.Graph(), shape, 2)), dtypes.Float32)
}

// Residual is what the attention output is added to, [B,N,D]: the input of the block, or its norm.
func (b *Block) Residual() *Node {
	if b.layer.Spec.Order == spec.PreNorm && b.layer.Spec.NormedResidual {
		return b.layer.Norm(b.Input, "attention-norm")
	}
	return b.Input
}

// AddedPart carries a part f of the attention output, [B,K,N,S,D], to the place where the residual
// is added: through the norm after the attention, if there is one (Gemma). Like [Block.NormedPart]
// and [Block.OutputPart] it is linear, because it divides by the spread of the whole and not of
// the part, and it leaves out biases, which belong to no part.
func (b *Block) AddedPart(f *Node) *Node {
	if b.layer.Spec.Order == spec.PreNorm {
		return b.layer.normedPart(f, b.AttentionOutput, "attention-after-norm")
	}
	return f
}

// HeadsAdded are the parts of what the attention adds to the residual that come from each head,
// [B,H,N,D].
func HeadsAdded(b *Block) *Node {
	// in and out [B,H,N,1,D]
	return Squeeze(b.AddedPart(InsertAxes(b.headOutputs(), 3)), 3)
}

// headOutputs are the contexts through their slices of the output projection, [B,H,N,D].
func (b *Block) headOutputs() *Node {
	return b.layer.Edited(trace.HeadOutput, b.layer.projectHeads(b.Context()))
}

// NormedPart carries a part of the sum of attention output and residual, [B,K,N,S,D], through the
// norm that the residual stream passes next, if there is one. In a pre-norm or parallel block
// there is none, unless the residual is the output of its norm. It is multiplied by what an edit of
// the stream after the attention multiplies by.
func (b *Block) NormedPart(f *Node) *Node {
	l := b.layer
	if l.Spec.Order == spec.PostNorm {
		f = l.normedPart(f, AttentionSum(b), "attention-norm")
	}
	if e, ok := l.edits[trace.HiddenAfterAttention]; ok {
		f = Mul(f, perTarget(e.Keep))
	}
	if l.Spec.Order == spec.PreNorm && l.Spec.NormedResidual {
		return l.normedPart(f, AttentionSum(b), "mlp-norm")
	}
	return f
}

// OutputPart carries a part that [Block.NormedPart] returned to the end of the block, around the
// feed-forward part and through the norm after it, if there is one, [B,K,N,S,D].
func (b *Block) OutputPart(f *Node) *Node {
	l := b.layer
	if l.Spec.Order != spec.PostNorm || l.Spec.Stack(l.Number) == spec.Decoding {
		return f
	}
	return l.normedPart(f, SumBeforeNorm(b), "mlp-norm")
}

// AttentionSum is the attention output plus the residual, [B,N,D]: in a pre-norm block the stream
// after the attention.
func AttentionSum(b *Block) *Node {
	l := b.layer
	a := b.AttentionOutput
	if l.Spec.Order == spec.PreNorm {
		a = l.Norm(a, "attention-after-norm")
	}
	sum := Add(a, b.Residual())
	if l.Spec.Order == spec.PreNorm {
		return l.Edited(trace.HiddenAfterAttention, sum)
	}
	return sum
}
