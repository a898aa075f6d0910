package graph

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// activations are the activations f without weights. All are 0 at 0.
var activations = [...]struct {
	// slope is f(x)/x, entry by entry: the slope of the line through the origin and (x, f(x))
	// (Modarressi et al. 2023, eq. 10). At 0 it is the limit.
	slope func(x *Node) *Node
	// value is f(x) where x·slope(x) takes longer or is less exact, or nil.
	value func(x *Node) *Node
}{
	spec.GELU:              {slope: geluSlope},
	spec.GELUTanh:          {slope: geluTanhSlope},
	spec.SiLU:              {slope: Sigmoid},
	spec.ReLU:              {reluSlope, positive},
	spec.HyperbolicTangent: {tanhSlope, Tanh},
	spec.ReLUSquared:       {positive, func(x *Node) *Node { return Square(positive(x)) }},
	spec.QuickGELU:         {slope: func(x *Node) *Node { return Sigmoid(MulScalar(x, 1.702)) }},
	spec.ClippedGELU: { // beyond 10 a GELU is x
		func(x *Node) *Node { return Mul(geluSlope(x), LimitSlope(x, 10)) },
		func(x *Node) *Node { return MinScalar(Mul(x, geluSlope(x)), 10) },
	},
	spec.Mish: {slope: func(x *Node) *Node { return Tanh(softplus(x)) }},
	spec.HardSwish: {slope: func(x *Node) *Node {
		return MulScalar(upTo6(AddScalar(x, 3)), 1.0/6)
	}},
	spec.LeakyReLU: {slope: func(x *Node) *Node {
		return Where(GreaterThan(x, ZerosLike(x)), OnesLike(x), MulScalar(OnesLike(x), 0.01))
	}},
	spec.ReLU6: {
		func(x *Node) *Node { return Mul(reluSlope(x), LimitSlope(x, 6)) }, upTo6,
	},
	spec.Identity: {slope: OnesLike},
}

// Activate returns f(x), entry by entry. w has the weights of the activation, if it has any.
func Activate(f spec.Activation, x *Node, w codes.Weights) *Node {
	switch f {
	case spec.XIELU:
		return Mul(x, xieluSlope(x, w))
	case spec.GELU, spec.GELUTanh:
		return codes.FusedOnGo(x, func() *Node { return BackendFusedGelu(x, f == spec.GELU) },
			func() *Node { return Mul(x, activations[f].slope(x)) })
	}
	if value := activations[f].value; value != nil {
		return value(x)
	}
	return Mul(x, activations[f].slope(x))
}

// ActivationSlope returns f(x)/x, entry by entry, and its limit at 0.
func ActivationSlope(f spec.Activation, x *Node, w codes.Weights) *Node {
	if f == spec.XIELU {
		return xieluSlope(x, w)
	}
	return activations[f].slope(x)
}

func geluSlope(x *Node) *Node {
	return MulScalar(OnePlus(Erf(MulScalar(x, math.Sqrt2/2))), 0.5)
}

func geluTanhSlope(x *Node) *Node {
	cubic := Mul(x, AddScalar(MulScalar(Square(x), 0.044715), 1))
	return MulScalar(OnePlus(Tanh(MulScalar(cubic, math.Sqrt(2/math.Pi)))), 0.5)
}

func reluSlope(x *Node) *Node { return ConvertDType(GreaterThan(x, ZerosLike(x)), x.DType()) }

// positive is x, or 0 where x is negative.
func positive(x *Node) *Node { return Max(x, ZerosLike(x)) }

// upTo6 is x between 0 and 6.
func upTo6(x *Node) *Node { return MinScalar(positive(x), 6) }

// softplus is log(1 + exp x).
func softplus(x *Node) *Node { return Add(MaxScalar(x, 0), Log1P(Exp(Neg(Abs(x))))) }

// xieluBeta is the slope of xIELU at 0.
const xieluBeta = 0.5

// xieluSlope is f(x)/x of xIELU (Huang and Schlag 2024), which is αp·x² + βx for x > 0 and
// αn·(exp(x) - 1 - x) + βx below. Each layer has its α, of which the weights are the inverse of
// softplus, and αn is β more.
func xieluSlope(x *Node, w codes.Weights) *Node {
	positive, negative := xieluFactors(x, w)
	y := MinScalar(x, 0)
	// (exp(y) - 1 - y)/y, near 0 by its series, whose next term, y⁶/5040, is below the last digit.
	const near = 0.1
	series := OnePlus(MulScalar(y, 1.0/6))
	for _, n := range []float64{5, 4, 3} {
		series = OnePlus(MulScalar(Mul(y, series), 1/n))
	}
	small := GreaterThan(y, MulScalar(OnesLike(y), -near))
	below := Where(small, MulScalar(Mul(y, series), 0.5),
		AddScalar(Div(AddScalar(Exp(y), -1), Where(small, OnesLike(y), y)), -1))
	return AddScalar(Add(Mul(MaxScalar(x, 0), positive), Mul(below, negative)), xieluBeta)
}

// xieluFactors are αp and αn, of the rank of x.
func xieluFactors(x *Node, w codes.Weights) (positive, negative *Node) {
	alpha := func(name string) *Node { return softplus(codes.Float(w("activation." + name))) }
	positive, negative = alpha("positive"), AddScalar(alpha("negative"), xieluBeta)
	return ExpandLeftToRank(positive, x.Rank()), ExpandLeftToRank(negative, x.Rank())
}

// tanhSlope is tanh(x)/x, and 1-x²/3 near 0.
func tanhSlope(x *Node) *Node {
	const near = 1e-2 // where the next term, 2x⁴/15, is below the last digit of 1
	small := LessThan(Abs(x), MulScalar(OnesLike(x), near))
	return Where(small, OneMinus(MulScalar(Square(x), 1.0/3)),
		Div(Tanh(x), Where(small, OnesLike(x), x)))
}

// CapSlope is capped(x)/x.
func CapSlope(x *Node, c float64) *Node {
	if c == 0 {
		return OnesLike(x)
	}
	return tanhSlope(MulScalar(x, 1/c))
}

// ClipSlope is x between -c and c, divided by x.
func ClipSlope(x *Node, c float64) *Node { return LimitSlope(Abs(x), c) }

// LimitSlope is x, but at most c, divided by x.
func LimitSlope(x *Node, c float64) *Node {
	return MinScalar(Div(MulScalar(OnesLike(x), c), MaxScalar(x, 1e-30)), 1)
}
