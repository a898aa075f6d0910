package transformer

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { RegisterMixing("mixing-ratio", mixingRatio{}) }

// mixingRatio is how much of a target comes from other tokens than itself, by the lengths of the two parts (Kobayashi et al. 2021, mixing ratio):
//
//	C[t,t] = r_t = ‖Σ_{s≠t} g f[t,s]‖ / (‖Σ_{s≠t} g f[t,s]‖ + ‖g(f[t,t] + x_t)‖),  C[t,s] = 0 elsewhere
//
// with f and g as in norms-residual-norm. It is a number a target and no map: what a measured residual needs, to be put under the rows of
// another mixing. It costs one more product by the output projection and one more weighted sum of values, and is 0 for a target that
// sees itself alone.
type mixingRatio struct{}

func (mixingRatio) Mix(b *Block, _ trace.Heads) *Node {
	value := b.Value
	if b.own != nil {
		value = b.own.past.value
	}
	self := b.Self()
	others := b.weighted(Mul(b.Attention, OneMinus(InsertAxes(self, 1))), value) // [B,H,N,E]
	added := func(context *Node) *Node {                                         // [B,1,N,1,D]
		return b.entering(perTarget(b.linear(b.joined(context), "output")))
	}
	mixed := length(b.behindNorm(added(others)))                                                // [B,1,N,1]
	kept := length(b.behindNorm(Add(added(Sub(b.Context(), others)), perTarget(b.residual())))) // [B,1,N,1]
	ratio := Div(mixed, MaxScalar(Add(mixed, kept), 1e-30))
	return Mul(Squeeze(ratio, 1), self) // [B,N,S]
}

func (mixingRatio) Check(heads trace.Heads) error {
	if heads.Fusion == trace.MeanHeads {
		return nil
	}
	return fmt.Errorf("transformer: mixing-ratio is of what all heads put out together; heads %s do not apply", heads)
}

func (mixingRatio) PerPair() bool { return false }

// length is that along the last axis.
func length(x *Node) *Node { return Sqrt(ReduceSum(Square(x), -1)) }
