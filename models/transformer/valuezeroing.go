package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() {
	RegisterMixing("value-zeroing", valueZeroing{})
	RegisterMixing("value-zeroing-euclidean", valueZeroing{euclidean: true})
	RegisterMixing("value-zeroing-final-norm", valueZeroing{finalNorm: true})
	RegisterMixing("value-zeroing-euclidean-final-norm", valueZeroing{euclidean: true, finalNorm: true})
}

// valueZeroing is how far the output of a block moves when the value vector of one source is zeroed in all heads, queries
// and keys untouched (Mohebbi et al. 2023, §3):
//
//	C[t,s] = 1 - cos(x̃_t without s, x̃_t), or with euclidean ‖x̃_t without s - x̃_t‖₂ (as Inseq offers)
//	x̃_t without s = After(a_t - Σ_h α^h[t,s] v^h_s W_O^h, x_t)
//
// Removing the contribution of s from the context equals zeroing its value, so the rest of the block is all that is evaluated again.
// The cosine is the stable form ‖a/|a| - b/|b|‖²/2, because 1-cos cancels in float32. In the last layer x̃ is compared before the
// final norm (as in the authors' programs for decoders), or with finalNorm behind it (as in Inseq); a model without one makes no
// difference. One head alone zeroes the value in that head only; each head apart is [B,H,N,S] and costs as much for every head.
type valueZeroing struct{ euclidean, finalNorm bool }

func (v valueZeroing) Mix(b *Block, heads trace.Heads) *Node {
	without := b.AfterEach(b.withoutSource(heads)) // [B,N,KS,D]
	whole := InsertAxes(b.Output, 2)               // [B,N,1,D]
	if v.finalNorm {
		without, whole = b.FinalNorm(without), b.FinalNorm(whole)
	}
	distance := cosineDistance(without, whole) // [B,N,KS]
	if v.euclidean {
		distance = length(Sub(without, whole))
	}
	if heads.Fusion != trace.EachHead {
		return Mul(distance, b.Visible())
	}
	dims := b.Attention.Shape().Dimensions // [B,H,N,S]
	byHead := TransposeAllAxes(Reshape(distance, dims[0], dims[2], dims[1], dims[3]), 0, 2, 1, 3)
	return Mul(byHead, b.visible)
}

// withoutSource is the attention output of every target without that of each source, [B,N,S,D], or [B,N,HS,D] with each head's apart.
// Over all heads the source is taken out of the context, before the projection: what a target takes from its only source is then left as
// exactly nothing, and not as a rounding error that a norm behind the projection would blow up.
func (b *Block) withoutSource(heads trace.Heads) *Node {
	if heads.Fusion != trace.MeanHeads {
		without := Sub(perTarget(b.AttentionOutput), b.Contributions(heads)) // [B,K,N,S,D]
		dims := without.Shape().Dimensions
		return Reshape(TransposeAllAxes(without, 0, 2, 1, 3, 4), dims[0], dims[2], dims[1]*dims[3], dims[4])
	}
	value := TransposeAllAxes(b.Values(), 0, 2, 1, 3)      // [B,S,H,E]
	attention := TransposeAllAxes(b.Attention, 0, 2, 3, 1) // [B,N,S,H]
	dims := attention.Shape().Dimensions
	weighted := Mul(InsertAxes(value, 1), InsertAxes(attention, -1))                  // [B,N,S,H,E]
	weighted = Reshape(weighted, dims[0], dims[1], dims[2], dims[3]*b.spec.HeadWidth) // [B,N,S,HE]
	context := InsertAxes(b.joined(b.Context()), 2)                                   // [B,N,1,HE]
	return b.outputBias(b.linear(Sub(context, weighted), "output"))
}

func (valueZeroing) Check(heads trace.Heads) error { return checkTogether("value-zeroing", heads) }

func (valueZeroing) PerPair() bool { return true }

func (valueZeroing) SharesOutput() {}

func (v valueZeroing) ReadsFinalNorm() bool { return v.finalNorm }

// cosineDistance is 1 - cos(a,b) over the last axis as ‖a/|a| - b/|b|‖²/2, in [0,2].
func cosineDistance(a, b *Node) *Node {
	return MulScalar(ReduceSum(Square(Sub(unit(a), unit(b))), -1), 0.5)
}

// unit divides by the length along the last axis; the zero vector stays zero.
func unit(x *Node) *Node {
	return Div(x, MaxScalar(InsertAxes(length(x), -1), 1e-30))
}
