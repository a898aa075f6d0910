package transformer

import (
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// norm normalises the last axis of x and multiplies it by the gain g, to which the spec may add an
// offset:
//
//	(x - mean x)/√(variance x + ε)·g + b,  or with RMS  x/√(mean x² + ε)·g
func norm(s *spec.Spec, x *Node, w byName) *Node {
	if !s.NormBias() {
		return normedPart(s, x, x, w)
	}
	gain := gain(s, x, w)
	return fusedOnGo(x, func() *Node {
		return BackendFusedLayerNorm(x, []int{-1}, s.NormEpsilon, Reshape(gain, -1),
			float(w("bias")))
	}, func() *Node {
		centred := Sub(x, ReduceAndKeep(x, ReduceMean, -1))
		variance := ReduceAndKeep(Square(centred), ReduceMean, -1)
		normal := Div(centred, Sqrt(AddScalar(variance, s.NormEpsilon)))
		return Add(Mul(normal, gain), alignLast(w("bias"), x))
	})
}

// inverseRMS returns 1/√(mean x² + ε) over the last axis, [...,1].
func inverseRMS(s *spec.Spec, x *Node) *Node {
	return Reciprocal(Sqrt(AddScalar(ReduceAndKeep(Square(x), ReduceMean, -1), s.NormEpsilon)))
}

// gain is what a norm multiplies by, to broadcast against the last axis of x.
func gain(s *spec.Spec, x *Node, w byName) *Node {
	if s.NoNormGain {
		return ScalarOne(x.Graph(), dtypes.Float32)
	}
	gain := alignLast(w("gain"), x)
	if s.NormOffset != 0 {
		gain = AddScalar(gain, s.NormOffset)
	}
	return gain
}

// inverseSpread is 1/σ of x, the factor of a norm, [...,1].
func inverseSpread(s *spec.Spec, x *Node) *Node {
	if !s.RMS {
		x = centred(x)
	}
	return inverseRMS(s, x)
}

// centred is x minus its mean over the last axis.
func centred(x *Node) *Node { return Sub(x, ReduceAndKeep(x, ReduceMean, -1)) }

// normedPart is the part of norm(whole) that comes from part:
//
//	(part - mean part)/√(variance of whole + ε)·g
//
// The parts of whole give norm(whole) without its bias. Both have their width as last axis.
func normedPart(s *spec.Spec, part, whole *Node, w byName) *Node {
	if !s.RMS {
		part = centred(part)
	}
	return Mul(Mul(part, inverseSpread(s, whole)), gain(s, part, w))
}

// perTarget makes x [B,N,D] fit [B,K,N,S,D].
func perTarget(x *Node) *Node { return InsertAxes(x, 1, 2) }

// norm applies the layer's norm of that name. Without it, it returns x, as it is added.
func (l *Layer) norm(x *Node, name string) *Node {
	if !l.spec.HasNorm(l.number, name) {
		return l.asAdded(x, name)
	}
	return l.relevance.norm(l.spec, x, l.w.in(name+"."))
}

// asAdded is x, or x times the scale of the spec where the norm of that name would come before the
// residual is added.
func (l *Layer) asAdded(x *Node, name string) *Node {
	if l.spec.ResidualScale == 0 || !strings.HasSuffix(name, "-after-norm") {
		return x
	}
	return MulScalar(x, l.spec.ResidualScale)
}

// normedPart is a part [B,K,N,S,D] of whole [B,N,D] through the layer's norm of that name, with the
// spread of the whole and without the bias.
func (l *Layer) normedPart(part, whole *Node, name string) *Node {
	if !l.spec.HasNorm(l.number, name) {
		return l.asAdded(part, name)
	}
	return normedPart(l.spec, part, perTarget(whole), l.w.in(name+"."))
}

// headNorm is the norm of queries or keys of part [B,H,N,E], by the spread of the whole.
func (l *Layer) headNorm(part, whole *Node, name string) *Node {
	gain, heads, axes := float(l.w(name+"-norm.gain")), part.Shape().Dimensions[1], []int{-1}
	if l.spec.JointQueryKeyNorm {
		axes = []int{1, 3}
	}
	if gain.Shape().Size() == l.spec.HeadWidth {
		heads = 1 // share them
	}
	gain = Reshape(gain, 1, heads, 1, l.spec.HeadWidth)
	if l.spec.NormOffset != 0 {
		gain = AddScalar(gain, l.spec.NormOffset)
	}
	mean := func(x *Node) *Node { return ReduceAndKeep(x, ReduceMean, axes...) }
	if !l.spec.RMS {
		part, whole = Sub(part, mean(part)), Sub(whole, mean(whole))
	}
	inverse := Reciprocal(Sqrt(AddScalar(mean(Square(whole)), l.spec.NormEpsilon)))
	return Mul(Mul(part, l.relevance.scale(inverse)), gain)
}
