package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { RegisterMixing("mixing-ratio", mixingRatio{}) }

// mixingRatio is how much of a target comes from other tokens than itself, by the lengths of the
// two parts (Kobayashi et al. 2021, mixing ratio):
//
//	mixed_t = ‖Σ_{s≠t} g f[t,s]‖,  kept_t = ‖g(f[t,t] + x_t)‖
//	C[t,t]  = mixed_t / (mixed_t + kept_t),  C[t,s] = 0 for s ≠ t
//
// f and g are those of norms-residual-norm. It is one number per target and not a map: a measured
// residual, for use with the rows of another mixing. It is 0 for a target that sees only itself. It
// costs two more output projections and two more weighted sums of values.
type mixingRatio struct{}

func (mixingRatio) Mix(b *Block, _ trace.Heads) *Node {
	self := b.Self()                               // [1,N,S]
	added := func(sources, residual *Node) *Node { // [B,1,N,1]
		weights := Mul(b.ValueWeights(), InsertAxes(sources, 1))
		context := b.ProjectContext(b.WeightedValues(weights)) // [B,N,D]
		f := b.AddedPart(InsertAxes(context, 1, 2))            // [B,1,N,1,D]
		return vectorLength(b.NormedPart(Add(f, InsertAxes(residual, 1, 2))))
	}
	mixed := added(OneMinus(self), ZerosLike(b.Input))
	kept := added(self, b.Residual())
	// Two zero vectors have the ratio 0.
	ratio := Div(mixed, MaxScalar(Add(mixed, kept), 1e-30))
	return Mul(Squeeze(ratio, 1), self) // [B,N,S]
}

func (mixingRatio) Check(heads trace.Heads) error {
	if heads.Fusion == trace.MeanHeads {
		return nil
	}
	return pkg.Errorf("mixing-ratio is of what all heads put out together; "+
		"heads %s do not apply", heads)
}

func (mixingRatio) PerPair() bool { return false }
