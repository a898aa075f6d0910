package transformer

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
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
		return d.scaled(x)
	}
	return d.norm(d.relevance.activated(d.spec.HeadActivation, d.dense(x, "head-transform"), d.w),
		"head-norm.")
}

// scaled is x times the scale of the logits.
func (d *builder) scaled(x *Node) *Node {
	if d.spec.LogitScale == 0 {
		return x
	}
	return MulScalar(x, d.spec.LogitScale)
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
	if d.spec.HeadTransform {
		x = d.transformed(x)
	}
	if d.spec.ClassifierDense {
		x = d.relevance.activated(d.spec.HeadActivation, d.dense(x, "classifier-dense"), d.w)
	}
	return d.dense(x, "classifier")
}

// head returns the scores of the residual stream after the last block, [B,T,D]: [B,T,V], [B,K] or
// [B,T,K].
func (d *builder) head(x *Node) *Node {
	x = d.final(x)
	switch {
	case d.spec.Head == spec.ClassifierHead:
		return d.classes(d.readRow(x))
	case d.spec.Classifies():
		return d.classes(x)
	}
	return d.logits(x)
}

// readRow is the row of x, [B,N,D], at which a classifier reads each text, [B,D]: the only row, or
// that of [spec.Spec.ReadsAt], or the mean of all rows.
func (d *builder) readRow(x *Node) *Node {
	dims := x.Shape().Dimensions
	if d.spec.MeanPooled {
		return d.meanRow(x)
	}
	if dims[1] == 1 || d.spec.Bidirectional {
		return Squeeze(SliceAxis(x, 1, AxisRange(0, 1)), 1)
	}
	slots := Iota(x.Graph(), shapes.Make(dtypes.Int32, dims[:2]...), 1)
	counts := LessThan(slots, d.length)
	if d.real != nil {
		counts = GreaterThan(d.real, ZerosLike(d.real))
	}
	for _, id := range d.spec.Padding {
		counts = LogicalAnd(counts, NotEqual(d.ids, Scalar(x.Graph(), dtypes.Int32, id)))
	}
	at := ReduceMax(Where(counts, slots, ZerosLike(slots)), 1) // [B]
	return Squeeze(rowsAt(x, at), 1)
}

// meanRow is the mean of the rows of x, [B,N,D], that are tokens, [B,D].
func (d *builder) meanRow(x *Node) *Node {
	tokens := d.real // [B,N]
	if tokens == nil {
		dims := x.Shape().Dimensions[:2]
		slots := Iota(x.Graph(), shapes.Make(dtypes.Int32, dims...), 1)
		tokens = ConvertDType(LessThan(slots, d.length), x.DType())
	}
	sum := ReduceSum(Mul(x, InsertAxes(tokens, -1)), 1)
	return Div(sum, ReduceAndKeep(tokens, ReduceSum, -1))
}

// denseBias reports whether a layer of the head has a bias.
func (d *builder) denseBias(name string) bool {
	switch name {
	case "classifier":
		return d.spec.HeadBias
	case "head-transform":
		return !d.spec.HeadDenseUnbiased
	}
	return true
}

// dense is x W + b for a layer of the head, without b for one that has none.
func (d *builder) dense(x *Node, name string) *Node {
	y := d.product.with(x, d.w(name+".weight"), 0)
	if !d.denseBias(name) {
		return y
	}
	return Add(y, alignLast(d.w(name+".bias"), y))
}

// capped is c·tanh(x/c), or x if c is 0.
func capped(x *Node, c float64) *Node {
	if c == 0 {
		return x
	}
	return MulScalar(Tanh(MulScalar(x, 1/c)), c)
}

// headAt is what the head computes for one target of each text, at positions [B], of x [B,N,D]:
// [B,K]. A head that reads the mean of all targets ignores positions.
func (d *builder) headAt(x, positions *Node) *Node {
	if d.spec.MeanPooled {
		return d.head(x)
	}
	return Reshape(d.head(rowsAt(x, positions)), x.Shape().Dimensions[0], -1)
}
