package transformer

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { RegisterMixing("value-zeroing", valueZeroing{}) }

// valueZeroing is how far the output of a block moves when the value vector of one source is zeroed in all heads, queries
// and keys untouched (Mohebbi et al. 2023, §3):
//
//	C[t,s] = 1 - cos(x̃_t without s, x̃_t)
//	x̃_t without s = After(a_t - Σ_h α^h[t,s] v^h_s W_O^h, x_t)
//
// Removing the contribution of s from the context equals zeroing its value, so the rest of the block is all that is evaluated again;
// it is compared before the final norm. The distance is the stable form ‖a/|a| - b/|b|‖²/2, because 1-cos cancels in float32. Head k
// alone zeroes the value in that head only.
type valueZeroing struct{}

func (valueZeroing) Mix(b *Block, heads trace.Heads) *Node {
	without := b.AfterEach(b.withoutSource(heads))
	return Mul(cosineDistance(without, InsertAxes(b.Output, 2)), b.Visible())
}

// withoutSource is the attention output of every target without that of each source, [B,N,S,D]. Over all heads the source is taken out
// of the context, before the projection: what a target takes from its only source is then left as exactly nothing, and not as a
// rounding error that a norm behind the projection would blow up.
func (b *Block) withoutSource(heads trace.Heads) *Node {
	value := TransposeAllAxes(b.Values(), 0, 2, 1, 3)      // [B,S,H,E]
	attention := TransposeAllAxes(b.Attention, 0, 2, 3, 1) // [B,N,S,H]
	if heads.Fusion == trace.OneHead {
		only := AxisRange(heads.Head, heads.Head+1)
		value, attention = SliceAxis(value, 2, only), SliceAxis(attention, 3, only)
		projection := Squeeze(SliceAxis(b.OutputWeight(), 0, only), 0)   // [E,D]
		weighted := Mul(InsertAxes(value, 1), InsertAxes(attention, -1)) // [B,N,S,1,E]
		removed := b.product.with(Squeeze(weighted, 3), projection, 0)   // [B,N,S,D]
		return Sub(InsertAxes(b.AttentionOutput, 2), removed)
	}
	dims := attention.Shape().Dimensions
	weighted := Mul(InsertAxes(value, 1), InsertAxes(attention, -1))                  // [B,N,S,H,E]
	weighted = Reshape(weighted, dims[0], dims[1], dims[2], dims[3]*b.spec.HeadWidth) // [B,N,S,HE]
	context := InsertAxes(b.joined(b.Context()), 2)                                   // [B,N,1,HE]
	return b.outputBias(b.linear(Sub(context, weighted), "output"))
}

func (valueZeroing) Check(heads trace.Heads) error {
	if heads.Fusion == trace.MeanHeads || heads.Fusion == trace.OneHead {
		return nil
	}
	return fmt.Errorf("transformer: value-zeroing zeroes a value in all heads at once or in one head; heads %s do not apply", heads)
}

func (valueZeroing) PerPair() bool { return true }

func (valueZeroing) SharesOutput() {}

// cosineDistance is 1 - cos(a,b) over the last axis as ‖a/|a| - b/|b|‖²/2, in [0,2].
func cosineDistance(a, b *Node) *Node {
	return MulScalar(ReduceSum(Square(Sub(unit(a), unit(b))), -1), 0.5)
}

// unit divides by the length along the last axis; the zero vector stays zero.
func unit(x *Node) *Node {
	length := Sqrt(ReduceAndKeep(Square(x), ReduceSum, -1))
	return Div(x, MaxScalar(length, 1e-30))
}
