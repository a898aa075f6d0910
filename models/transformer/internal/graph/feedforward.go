package graph

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// MLP is the feed-forward part of x [...,D].
func (l *Layer) MLP(x *Node) *Node {
	if m := l.Spec.MixtureOf(l.Number); m != nil {
		return l.mixture(m, x)
	}
	return l.feedForward(x)
}

// feedForward is down(f(up x)), or down(f(gate x) · up x) if gated, for x [...,D].
func (l *Layer) feedForward(x *Node) *Node {
	if l.Product.OutFirst && l.ExpertWeights == nil && !codes.MultipliesOnHost(x.Graph()) {
		return l.mlpColumns(x)
	}
	if l.Spec.Gated {
		gated := l.gated(l.MLPDense(x, "gate"), l.MLPDense(x, "up"))
		return l.MLPDense(l.ByExpert(gated), "down")
	}
	return l.MLPDense(l.ByExpert(l.activated(l.MLPDense(x, "up"))), "down")
}

// mlpColumns is feedForward with a column per target, so that nothing is transposed between the two
// products.
func (l *Layer) mlpColumns(x *Node) *Node {
	dims := x.Shape().Dimensions
	rows := Reshape(x, -1, dims[len(dims)-1])
	dense := func(earlier, x *Node, axis int, name string) *Node { // [out,m]
		y := l.Product.ColumnsAfter(earlier, x, axis, l.W(name+".weight"))
		if !l.Spec.MLPBias {
			return y
		}
		return Add(y, InsertAxes(codes.Float(l.W(name+".bias")), -1))
	}
	up := dense(rows, rows, 1, "up")
	if l.Spec.Gated {
		up = l.gated(dense(up, rows, 1, "gate"), up)
	} else {
		up = l.activated(up)
	}
	return Reshape(Transpose(dense(up, up, 0, "down"), 0, 1), dims...)
}

// gated is the product f(gate)·up, with the limits and the offset of the spec.
func (l *Layer) gated(gate, up *Node) *Node {
	up = l.relevance.clipped(up, l.Spec.InnerLimit)
	if l.Spec.UpOffset != 0 {
		up = AddScalar(up, l.Spec.UpOffset)
	}
	gate = l.activated(l.relevance.limited(gate, l.Spec.InnerLimit))
	return l.relevance.product(Mul(gate, up))
}

// activated applies the activation of the feed-forward part.
func (l *Layer) activated(x *Node) *Node {
	if a := l.Spec.SwishScale; a != 0 {
		return MulScalar(l.relevance.activated(l.Spec.Activation, MulScalar(x, a), l.W), 1/a)
	}
	return l.relevance.activated(l.Spec.Activation, x, l.W)
}

// MLPDense is x W + b for a projection of the feed-forward part.
func (l *Layer) MLPDense(x *Node, name string) *Node {
	if l.ExpertWeights != nil && name == "down" && l.Spec.MLPBias {
		return Add(l.Linear(x, name), l.ExpertBiases())
	}
	return l.biased(l.Linear(x, name), name, l.Spec.MLPBias)
}

// ParallelNorm is the name of the norm before the feed-forward part in the parallel order.
func (l *Layer) ParallelNorm() string {
	if l.Spec.SharedNorm {
		return "attention-norm"
	}
	return "mlp-norm"
}
