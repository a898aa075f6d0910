package transformer

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { RegisterMixing("alti", alti{}) }

// alti is how much nearer to the output of the attention each source's vector brings it, in the sum of absolute values (Ferrando et al.
// 2022, §3):
//
//	C[t,s] = max(0, ‖y_t‖₁ - ‖y_t - T_t(x_s)‖₁),  T_t(x_s) = g(f[t,s] + δ_ts x_t),  y_t = Σ_s T_t(x_s)
//
// with f and g as in norms-residual-norm: the norm behind the attention in a post-norm block, and none in a pre-norm one (as in Ferrando
// et al. 2023). The biases of projection and norm are in no T and not in y, as in the authors' later programs; that of 2022 has them in y.
// Heads are taken together.
type alti struct{}

func (alti) Mix(b *Block, heads trace.Heads) *Node {
	parts := Squeeze(b.parts(normPart, heads), 1)            // [B,N,S,D]
	y := ReduceAndKeep(parts, ReduceSum, 2)                  // [B,N,1,D]
	nearer := ReduceSum(Sub(Abs(y), Abs(Sub(y, parts))), -1) // [B,N,S]; the difference first, which rounds less than that of sums
	return MaxScalar(nearer, 0)
}

func (alti) Check(heads trace.Heads) error {
	if heads.Fusion == trace.MeanHeads {
		return nil
	}
	return fmt.Errorf("transformer: alti compares what all heads put out together; heads %s do not apply", heads)
}

func (alti) PerPair() bool { return true }
