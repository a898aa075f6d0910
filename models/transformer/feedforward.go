package transformer

import . "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

// mlp is the feed-forward part of x [...,D].
func (l *Layer) mlp(x *Node) *Node {
	if m := l.spec.MixtureOf(l.number); m != nil {
		return l.mixture(m, x)
	}
	return l.feedForward(x)
}

// feedForward is down(f(up x)), or down(f(gate x) · up x) if gated, for x [...,D].
func (l *Layer) feedForward(x *Node) *Node {
	if l.product.outFirst && l.expertWeights == nil && !multipliesOnHost(x.Graph()) {
		return l.mlpColumns(x)
	}
	if l.spec.Gated {
		gated := l.gated(l.mlpDense(x, "gate"), l.mlpDense(x, "up"))
		return l.mlpDense(l.byExpert(gated), "down")
	}
	return l.mlpDense(l.byExpert(l.activated(l.mlpDense(x, "up"))), "down")
}

// mlpColumns is feedForward with a column per target, so that nothing is transposed between the two
// products.
func (l *Layer) mlpColumns(x *Node) *Node {
	dims := x.Shape().Dimensions
	rows := Reshape(x, -1, dims[len(dims)-1])
	dense := func(earlier, x *Node, axis int, name string) *Node { // [out,m]
		y := l.product.columnsAfter(earlier, x, axis, l.w(name+".weight"))
		if !l.spec.MLPBias {
			return y
		}
		return Add(y, InsertAxes(float(l.w(name+".bias")), -1))
	}
	up := dense(rows, rows, 1, "up")
	if l.spec.Gated {
		up = l.gated(dense(up, rows, 1, "gate"), up)
	} else {
		up = l.activated(up)
	}
	return Reshape(Transpose(dense(up, up, 0, "down"), 0, 1), dims...)
}

// gated is the product f(gate)·up, with the limits and the offset of the spec.
func (l *Layer) gated(gate, up *Node) *Node {
	up = l.relevance.clipped(up, l.spec.InnerLimit)
	if l.spec.UpOffset != 0 {
		up = AddScalar(up, l.spec.UpOffset)
	}
	gate = l.activated(l.relevance.limited(gate, l.spec.InnerLimit))
	return l.relevance.product(Mul(gate, up))
}

// activated applies the activation of the feed-forward part.
func (l *Layer) activated(x *Node) *Node {
	if a := l.spec.SwishScale; a != 0 {
		return MulScalar(l.relevance.activated(l.spec.Activation, MulScalar(x, a), l.w), 1/a)
	}
	return l.relevance.activated(l.spec.Activation, x, l.w)
}

// mlpDense is x W + b for a projection of the feed-forward part.
func (l *Layer) mlpDense(x *Node, name string) *Node {
	if l.expertWeights != nil && name == "down" && l.spec.MLPBias {
		return Add(l.linear(x, name), l.expertBiases())
	}
	return l.biased(l.linear(x, name), name, l.spec.MLPBias)
}

// parallelNorm is the name of the norm before the feed-forward part in the parallel order.
func (l *Layer) parallelNorm() string {
	if l.spec.SharedNorm {
		return "attention-norm"
	}
	return "mlp-norm"
}
