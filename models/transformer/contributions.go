package transformer

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Contributions are the vectors whose sum over the sources is the attention output without its bias, [B,K,N,S,D]:
//
//	f[t,s] = Σ_h α^h[t,s] v^h_s W_O^h
//
// K is 1, for all heads together or one alone, and H for each head apart. It is as large as a mixing that is [Mixing.PerPair] may make
// it, since such a one sees few targets at a time.
func (b *Block) Contributions(heads trace.Heads) *Node {
	attention, value, w := b.Attention, b.Values(), b.OutputWeight() // [B,H,N,S], [B,H,S,E], [H,E,D]
	if heads.Fusion == trace.OneHead {
		only := AxisRange(heads.Head, heads.Head+1)
		attention, value, w = SliceAxis(attention, 1, only), SliceAxis(value, 1, only), SliceAxis(w, 0, only)
	}
	together := heads.Fusion == trace.MeanHeads
	if dims := attention.Shape().Dimensions; together && dims[2] == 1 {
		return b.contributionsOfOne(attention, value)
	}
	moved := b.moved(value, w) // [B,K,S,D]
	if !together {
		return Mul(InsertAxes(attention, -1), InsertAxes(moved, 2))
	}
	return b.headSum(attention, moved)
}

// headSum is Σ_h attention_h × moved_h, [B,1,N,S,D] of [B,H,N,S] and [B,H,S,D]. As a product it is twice as fast in pure Go; a compiler sums
// as it goes, without an array for each head.
func (b *Block) headSum(attention, moved *Node) *Node {
	if backendName(attention.Graph().Backend()) == "go" {
		return InsertAxes(Einsum("bhns,bhsd->bnsd", attention, moved), 1)
	}
	var sum *Node
	for h := range b.spec.Heads {
		at := AxisRange(h, h+1)
		f := Mul(InsertAxes(SliceAxis(attention, 1, at), -1), InsertAxes(SliceAxis(moved, 1, at), 2)) // [B,1,N,S,D]
		if sum == nil {
			sum = f
			continue
		}
		sum = Add(sum, f)
	}
	return sum
}

// contributionsOfOne are those of a single target, [B,1,1,S,D], for which one wide product is less than moving every head's value.
func (b *Block) contributionsOfOne(attention, value *Node) *Node {
	weighted := Mul(InsertAxes(Squeeze(attention, 2), -1), value) // [B,H,S,E]
	return InsertAxes(b.linear(b.joined(weighted), "output"), 1, 1)
}

// moved is each source's value through its head's slice of the output projection, [B,H,S,D] of [B,H,S,E] and [H,E,D].
func (b *Block) moved(value, w *Node) *Node {
	if b.narrow(value) {
		return ReduceSum(Mul(InsertAxes(value, -1), InsertAxes(w, 0, 1)), 3)
	}
	byHead := b.Einsum("hbse,hed->hbsd", TransposeAllAxes(value, 1, 0, 2, 3), w)
	return TransposeAllAxes(byHead, 1, 0, 2, 3)
}

// Self is 1 where the source is the target itself and 0 elsewhere, [1,N,S].
func (b *Block) Self() *Node {
	dims := b.Attention.Shape().Dimensions
	shape := shapes.Make(dtypes.Int32, 1, dims[2], dims[3])
	target := Iota(b.Attention.Graph(), shape, 1)
	if b.first != nil {
		target = Add(target, b.first)
	}
	return ConvertDType(Equal(target, Iota(b.Attention.Graph(), shape, 2)), dtypes.Float32)
}

// part is how far a contribution is followed into the block.
type part int

const (
	attentionPart part = iota // f, what the attention puts out
	residualPart              // f + δx, what the residual stream holds behind it
	normPart                  // the same behind the norm on the stream, if there is one
	blockPart                 // the same behind the block, around its feed-forward part
)

// parts are the contributions followed up to a place in the block, [B,K,N,S,D]; their sum over the sources is what is there, but for biases.
func (b *Block) parts(upTo part, heads trace.Heads) *Node {
	f := b.Contributions(heads)
	if upTo == attentionPart {
		return f
	}
	own := InsertAxes(b.Self(), 1, -1) // [1,1,N,S,1]
	f = Add(b.entering(f), Mul(own, perTarget(b.residual())))
	if upTo >= normPart {
		f = b.behindNorm(f)
	}
	if upTo == blockPart {
		f = b.behindBlock(f)
	}
	return f
}

// entering is a part of the attention output as it meets the residual.
func (b *Block) entering(f *Node) *Node {
	if b.spec.Order == PreNorm && b.spec.NormAfter {
		return b.normed(f, b.AttentionOutput, "attention-after-norm")
	}
	return f
}

// residual is what the attention output meets, [B,N,D].
func (b *Block) residual() *Node {
	if b.spec.Order == PreNorm && b.spec.NormedResidual {
		return b.norm(b.Input, "attention-norm")
	}
	return b.Input
}

// sum is the attention output and the residual, [B,N,D].
func (b *Block) sum() *Node {
	a := b.AttentionOutput
	if b.spec.Order == PreNorm && b.spec.NormAfter {
		a = b.norm(a, "attention-after-norm")
	}
	return Add(a, b.residual())
}

// behindNorm is a part of [Block.sum] behind the norm that the residual stream goes through next, if there is one.
func (b *Block) behindNorm(f *Node) *Node {
	switch {
	case b.spec.Order == PostNorm:
		return b.normed(f, b.sum(), "attention-norm")
	case b.spec.Order == PreNorm && b.spec.NormedResidual:
		return b.normed(f, b.sum(), "mlp-norm")
	}
	return f
}

// behindBlock is a part of what stands behind that norm, behind the block.
func (b *Block) behindBlock(f *Node) *Node {
	if b.spec.Order != PostNorm {
		return f
	}
	z := b.norm(b.sum(), "attention-norm")
	return b.normed(f, Add(z, b.mlp(z)), "mlp-norm")
}

// normed is part [B,K,N,S,D] of whole [B,N,D] through the layer's norm of that name, what the norm divides by being that of the whole:
// linear in part, without the bias.
func (b *Block) normed(part, whole *Node, name string) *Node {
	return normed(b.spec, part, perTarget(whole), b.w.in(name+"."))
}

// normed is [norm] of whole, of which part is a part, without the bias: (part - its mean)/√(variance of the whole + ε)·g.
func normed(s *Spec, part, whole *Node, w Weights) *Node {
	if !s.RMS {
		part = centred(part)
	}
	return Mul(Mul(part, inverseSpread(s, whole)), gain(s, part, w))
}

// perTarget makes x [B,N,D] fit [B,K,N,S,D].
func perTarget(x *Node) *Node { return InsertAxes(x, 1, 2) }
