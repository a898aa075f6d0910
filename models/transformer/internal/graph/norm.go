package graph

import (
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// Norm normalises the last axis of x and multiplies it by the gain g, to which the spec may add an
// offset:
//
//	(x - mean x)/√(variance x + ε)·g + b,  or with RMS  x/√(mean x² + ε)·g
func Norm(s *spec.Spec, x *Node, w codes.Weights) *Node {
	if !s.NormBias() {
		return NormedPart(s, x, x, w)
	}
	gain := Gain(s, x, w)
	return codes.FusedOnGo(x, func() *Node {
		return BackendFusedLayerNorm(x, []int{-1}, s.NormEpsilon, Reshape(gain, -1),
			codes.Float(w("bias")))
	}, func() *Node {
		centred := Sub(x, ReduceAndKeep(x, ReduceMean, -1))
		variance := ReduceAndKeep(Square(centred), ReduceMean, -1)
		normal := Div(centred, Sqrt(AddScalar(variance, s.NormEpsilon)))
		return Add(Mul(normal, gain), codes.AlignLast(w("bias"), x))
	})
}

// inverseRMS returns 1/√(mean x² + ε) over the last axis, [...,1].
func inverseRMS(s *spec.Spec, x *Node) *Node {
	return Reciprocal(Sqrt(AddScalar(ReduceAndKeep(Square(x), ReduceMean, -1), s.NormEpsilon)))
}

// Gain is what a norm multiplies by, to broadcast against the last axis of x.
func Gain(s *spec.Spec, x *Node, w codes.Weights) *Node {
	if s.NoNormGain {
		return ScalarOne(x.Graph(), dtypes.Float32)
	}
	gain := codes.AlignLast(w("gain"), x)
	if s.NormOffset != 0 {
		gain = AddScalar(gain, s.NormOffset)
	}
	return gain
}

// InverseSpread is 1/σ of x, the factor of a norm, [...,1].
func InverseSpread(s *spec.Spec, x *Node) *Node {
	if !s.RMS {
		x = Centred(x)
	}
	return inverseRMS(s, x)
}

// Centred is x minus its mean over the last axis.
func Centred(x *Node) *Node { return Sub(x, ReduceAndKeep(x, ReduceMean, -1)) }

// NormedPart is the part of norm(whole) that comes from part:
//
//	(part - mean part)/√(variance of whole + ε)·g
//
// The parts of whole give norm(whole) without its bias. Both have their width as last axis.
func NormedPart(s *spec.Spec, part, whole *Node, w codes.Weights) *Node {
	if !s.RMS {
		part = Centred(part)
	}
	return Mul(Mul(part, InverseSpread(s, whole)), Gain(s, part, w))
}

// perTarget makes x [B,N,D] fit [B,K,N,S,D].
func perTarget(x *Node) *Node { return InsertAxes(x, 1, 2) }

// Norm applies the layer's norm of that name. Without it, it returns x, as it is added.
func (l *Layer) Norm(x *Node, name string) *Node {
	if !l.Spec.HasNorm(l.Number, name) {
		return l.AsAdded(x, name)
	}
	return l.relevance.norm(l.Spec, x, l.W.In(name+"."))
}

// AsAdded is x, or x times the scale of the spec where the norm of that name would come before the
// residual is added.
func (l *Layer) AsAdded(x *Node, name string) *Node {
	if l.Spec.ResidualScale == 0 || !strings.HasSuffix(name, "-after-norm") {
		return x
	}
	return MulScalar(x, l.Spec.ResidualScale)
}

// normedPart is a part [B,K,N,S,D] of whole [B,N,D] through the layer's norm of that name, with the
// spread of the whole and without the bias.
func (l *Layer) normedPart(part, whole *Node, name string) *Node {
	if !l.Spec.HasNorm(l.Number, name) {
		return l.AsAdded(part, name)
	}
	return NormedPart(l.Spec, part, perTarget(whole), l.W.In(name+"."))
}

// headNorm is the norm of queries or keys of part [B,H,N,E], by the spread of the whole.
func (l *Layer) headNorm(part, whole *Node, name string) *Node {
	gain, heads, axes := codes.Float(l.W(name+"-norm.gain")), part.Shape().Dimensions[1], []int{-1}
	if l.Spec.JointQueryKeyNorm {
		axes = []int{1, 3}
	}
	if gain.Shape().Size() == l.Spec.HeadWidth {
		heads = 1 // share them
	}
	gain = Reshape(gain, 1, heads, 1, l.Spec.HeadWidth)
	if l.Spec.NormOffset != 0 {
		gain = AddScalar(gain, l.Spec.NormOffset)
	}
	mean := func(x *Node) *Node { return ReduceAndKeep(x, ReduceMean, axes...) }
	if !l.Spec.RMS {
		part, whole = Sub(part, mean(part)), Sub(whole, mean(whole))
	}
	inverse := Reciprocal(Sqrt(AddScalar(mean(Square(whole)), l.Spec.NormEpsilon)))
	return Mul(Mul(part, l.relevance.scale(inverse)), gain)
}

// norm is the norm whose weights have a prefix.
func (d *Builder) norm(x *Node, prefix string) *Node {
	return d.relevance.norm(d.Spec, x, d.W.In(prefix))
}
