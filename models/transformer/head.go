package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// logits returns the scores of the vocabulary for final [...,D], [...,V]:
//
//	W_V t(x) + b,  t the identity or norm(f(W x + b))
func (d *builder) logits(final *Node) *Node {
	x := d.product.with(d.transformed(final), d.table(), 1)
	if d.spec.HeadBias {
		x = Add(x, alignLast(d.w("head-bias"), x))
	}
	return d.relevance.capped(x, d.spec.LogitCap)
}

// logitColumns is logits for final [B,N,D], with a column for each target, [V,B·N].
func (d *builder) logitColumns(final *Node) *Node {
	x := d.transformed(final)
	p := d.product
	p.last = !d.spec.HeadBias && d.spec.LogitCap == 0
	x = p.columns(Reshape(x, -1, d.spec.Embedded()), 1, d.table())
	if d.spec.HeadBias {
		x = Add(x, InsertAxes(float(d.w("head-bias")), -1))
	}
	return capped(x, d.spec.LogitCap)
}

// transformed is the input of the output projection.
func (d *builder) transformed(x *Node) *Node {
	if !d.spec.HeadTransform {
		return x
	}
	return d.norm(d.relevance.activated(d.spec.HeadActivation, d.dense(x, "head-transform")),
		"head-norm.")
}

// table is the output projection, [V,W].
func (d *builder) table() *Node {
	if d.spec.TiedHead {
		return d.w("embedding")
	}
	return d.w("head")
}

// classes returns the scores of the classes for x [...,D], [...,K].
func (d *builder) classes(x *Node) *Node {
	if d.spec.ClassifierDense {
		x = d.relevance.activated(d.spec.HeadActivation, d.dense(x, "classifier-dense"))
	}
	return d.dense(x, "classifier")
}

// head returns the scores of the residual stream after the last block, [B,T,D]: [B,T,V], [B,K] or
// [B,T,K].
func (d *builder) head(x *Node) *Node {
	x = d.final(x)
	switch d.spec.Head {
	case spec.ClassifierHead:
		return d.classes(Squeeze(SliceAxis(x, 1, AxisRange(0, 1)), 1))
	case spec.TokenHead:
		return d.classes(x)
	}
	return d.logits(x)
}

// dense is x W + b for a layer of the head.
func (d *builder) dense(x *Node, name string) *Node {
	y := d.product.with(x, d.w(name+".weight"), 0)
	return Add(y, alignLast(d.w(name+".bias"), y))
}

// capped is c·tanh(x/c), or x if c is 0.
func capped(x *Node, c float64) *Node {
	if c == 0 {
		return x
	}
	return MulScalar(Tanh(MulScalar(x, 1/c)), c)
}
