package graph

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// relevance is whether a graph is built such that its gradient times its input is the relevance of
// AttnLRP (Achtibat et al. 2024, §3). Its numbers are the same, but its derivative is not:
//
//	norm        (x-mean x)/σ·g + b:  1/σ is a constant, also in norms of queries and keys
//	            (identity rule)
//	activation  f(x) = x·(f(x)/x):  f(x)/x is a constant, also for caps (identity rule)
//	product     q·k, attention × value, gate · up, expert × weight:  half of the gradient for each
//	            factor (uniform rule)
//
// Linear layers (ε-rule, ε→0) and softmax (its Taylor expansion) are differentiated as they are.
// Biases, positions, and the constant of the softmax expansion keep their share, so relevances sum
// to a logit minus all of these.
type relevance bool

// norm is [Norm].
func (r relevance) norm(s *spec.Spec, x *Node, w codes.Weights) *Node {
	if !r {
		return Norm(s, x, w)
	}
	y := x
	if !s.RMS {
		y = Centred(x)
	}
	y = Mul(Mul(y, StopGradient(InverseSpread(s, x))), Gain(s, x, w))
	if !s.NormBias() {
		return y
	}
	return Add(y, codes.AlignLast(w("bias"), y))
}

// scale is x, the factor of a vector.
func (r relevance) scale(x *Node) *Node {
	if !r {
		return x
	}
	return StopGradient(x)
}

// activated is f(x).
func (r relevance) activated(f spec.Activation, x *Node, w codes.Weights) *Node {
	if !r {
		return Activate(f, x, w)
	}
	return Mul(x, StopGradient(ActivationSlope(f, x, w)))
}

// capped is [capped].
func (r relevance) capped(x *Node, c float64) *Node {
	if !r || c == 0 {
		return capped(x, c)
	}
	return Mul(x, StopGradient(CapSlope(x, c)))
}

// clipped is x between -c and c, or x if c is 0.
func (r relevance) clipped(x *Node, c float64) *Node {
	switch {
	case c == 0:
		return x
	case bool(r):
		return Mul(x, StopGradient(ClipSlope(x, c)))
	}
	return Mul(x, ClipSlope(x, c))
}

// limited is x, but at most c, or x if c is 0.
func (r relevance) limited(x *Node, c float64) *Node {
	switch {
	case c == 0:
		return x
	case bool(r):
		return Mul(x, StopGradient(LimitSlope(x, c)))
	}
	return MinScalar(x, c)
}

// product is x, a product of two activations.
func (r relevance) product(x *Node) *Node {
	if !r {
		return x
	}
	return IdentityWithCustomGradient(x, func(_, v *Node) *Node { return MulScalar(v, 0.5) })
}

// Differentiate prepares the builder for a graph whose derivative is taken by a rule. Rounding to
// bfloat16 is a staircase whose derivative is 0 almost everywhere, so it is taken as 1.
func (d *Builder) Differentiate(rule trace.Backward) {
	d.relevance = rule == trace.RelevanceGradient
	d.Product.StraightThrough = true
}
