package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { RegisterMixing("alti", alti{}) }

// alti is how much closer each source's vector brings the sum to the attention's output, in the
// distance ‖·‖₁ (Ferrando et al. 2022, §3):
//
//	y_t = Σ_s T_t(x_s),  T_t(x_s) = g(f[t,s] + δ_ts x_t)
//	C[t,s] = max(0, ‖y_t‖₁ - ‖y_t - T_t(x_s)‖₁)
//
// f and g are those of norms-residual-norm: g is the norm after the attention in a post-norm
// block, and the identity in a pre-norm one (as in Ferrando et al. 2023). The biases of projection
// and norm are in no T and not in y, as in the authors' later programs; their program of 2022 has
// them in y. All heads are taken together.
type alti struct{}

func (alti) Mix(b *Block, heads trace.Heads) *Node {
	parts := Squeeze(streamParts(b, normPart, heads), 1) // [B,N,S,D]
	y := ReduceAndKeep(parts, ReduceSum, 2)              // [B,N,1,D]
	// The difference comes before the sum over D: a difference of two sums would round more.
	closer := ReduceSum(Sub(Abs(y), Abs(Sub(y, parts))), -1) // [B,N,S]
	return MaxScalar(closer, 0)
}

func (alti) Check(heads trace.Heads) error {
	if heads.Fusion == trace.MeanHeads {
		return nil
	}
	return pkg.Errorf("alti compares what all heads put out together; heads %s do not apply", heads)
}

func (alti) PerPair() bool { return true }
