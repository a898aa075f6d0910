package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() {
	RegisterMixing("value-zeroing", valueZeroing{})
	RegisterMixing("value-zeroing-euclidean", valueZeroing{euclidean: true})
	RegisterMixing("value-zeroing-final-norm", valueZeroing{afterFinalNorm: true})
	RegisterMixing("value-zeroing-euclidean-final-norm",
		valueZeroing{euclidean: true, afterFinalNorm: true})
}

// valueZeroing is how far the output of a block moves when the value vector of one source is set to
// zero in all heads while queries and keys stay (Mohebbi et al. 2023, §3):
//
//	C[t,s] = 1 - cos(x̃_t without s, x̃_t)
//	         or with euclidean ‖x̃_t without s - x̃_t‖₂ (as in Inseq)
//	x̃_t without s = After(a_t - Σ_h α^h[t,s] v^h_s W_O^h, x_t)
//
// To remove the contribution of s from the context is the same as to zero its value, so only the
// rest of the block is evaluated again. In the last layer of a stack x̃ is compared before the norm
// after it, as in the authors' programs for decoders, or with afterFinalNorm after that norm, as in
// Inseq; in a model without one the two agree. For one head alone the value is zeroed in that head
// only.
// Each head apart gives [B,H,N,S] and costs H times as much. A pair of target and source costs one
// pass through the rest of the block.
type valueZeroing struct{ euclidean, afterFinalNorm bool }

func (v valueZeroing) Mix(b *Block, heads trace.Heads) *Node {
	without, output := b.OutputsWithoutSource(heads) // [B,N,KS,D], [B,N,D]
	whole := InsertAxes(output, 2)                   // [B,N,1,D]
	if v.afterFinalNorm {
		without, whole = b.FinalNorm(without), b.FinalNorm(whole)
	}
	distance := cosineDistance(without, whole) // [B,N,KS]
	if v.euclidean {
		distance = vectorLength(Sub(without, whole))
	}
	if heads.Fusion != trace.EachHead {
		return Mul(distance, b.Visible())
	}
	dims := b.Attention.Shape().Dimensions                          // [B,H,N,S]
	byHead := Reshape(distance, dims[0], dims[2], dims[1], dims[3]) // [B,N,H,S]
	byHead = TransposeAllAxes(byHead, 0, 2, 1, 3)                   // [B,H,N,S]
	return Mul(byHead, InsertAxes(b.Visible(), 1))
}

func (valueZeroing) Check(heads trace.Heads) error { return checkTogether("value-zeroing", heads) }

func (valueZeroing) PerPair() bool { return true }

func (valueZeroing) SharesOutput() {}

func (valueZeroing) ZeroesSources() {}

func (v valueZeroing) ReadsFinalNorm() bool { return v.afterFinalNorm }

// cosineDistance is 1 - cos(a,b) over the last axis, computed as ‖a/|a| - b/|b|‖²/2, in [0,2]. The
// difference 1 - cos would lose most of its digits in float32.
func cosineDistance(a, b *Node) *Node {
	return MulScalar(ReduceSum(Square(Sub(unit(a), unit(b))), -1), 0.5)
}

// unit divides by the length along the last axis; the zero vector stays zero.
func unit(x *Node) *Node {
	return Div(x, MaxScalar(InsertAxes(vectorLength(x), -1), 1e-30))
}
