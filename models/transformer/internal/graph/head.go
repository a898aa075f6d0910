package graph

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// Logits returns the scores of the vocabulary for final [...,D], [...,V]:
//
//	W_V t(x) + b,  t the identity or norm(f(W x + b))
func (d *Builder) Logits(final *Node) *Node {
	x := d.Product.With(d.transformed(final), d.Table(), 1)
	if d.Spec.HeadBias {
		x = Add(x, codes.AlignLast(d.W("head-bias"), x))
	}
	return d.relevance.capped(x, d.Spec.LogitCap)
}

// LogitColumns is logits for final [B,N,D], with a column for each target, [V,B·N].
func (d *Builder) LogitColumns(final *Node) *Node {
	x := d.transformed(final)
	p := d.Product
	p.Last = !d.Spec.HeadBias && d.Spec.LogitCap == 0
	x = p.Columns(Reshape(x, -1, d.Spec.Embedded()), 1, d.Table())
	if d.Spec.HeadBias {
		x = Add(x, InsertAxes(codes.Float(d.W("head-bias")), -1))
	}
	return capped(x, d.Spec.LogitCap)
}

// transformed is the input of the output projection.
func (d *Builder) transformed(x *Node) *Node {
	if !d.Spec.HeadTransform {
		return d.Scaled(x)
	}
	return d.norm(d.relevance.activated(d.Spec.HeadActivation, d.Dense(x, "head-transform"), d.W),
		"head-norm.")
}

// Scaled is x times the scale of the logits.
func (d *Builder) Scaled(x *Node) *Node {
	if d.Spec.LogitScale == 0 {
		return x
	}
	return MulScalar(x, d.Spec.LogitScale)
}

// Table is the output projection, [V,W].
func (d *Builder) Table() *Node {
	if d.Spec.TiedHead {
		return d.W("embedding")
	}
	return d.W("head")
}

// classes returns the scores of the classes for x [...,D], [...,K].
func (d *Builder) classes(x *Node) *Node {
	if d.Spec.HeadTransform {
		x = d.transformed(x)
	}
	if d.Spec.ClassifierDense {
		x = d.relevance.activated(d.Spec.HeadActivation, d.Dense(x, "classifier-dense"), d.W)
	}
	return d.Dense(x, "classifier")
}

// Head returns the scores of the residual stream after the last block, [B,T,D]: [B,T,V], [B,K] or
// [B,T,K].
func (d *Builder) Head(x *Node) *Node {
	x = d.Final(x)
	switch {
	case d.Spec.Head == spec.ClassifierHead:
		return d.classes(d.readRow(x))
	case d.Spec.Classifies():
		return d.classes(x)
	}
	return d.Logits(x)
}

// readRow is the row of x, [B,N,D], at which a classifier reads each text, [B,D]: the only row, or
// that of [spec.Spec.ReadsAt], or the mean of all rows.
func (d *Builder) readRow(x *Node) *Node {
	dims := x.Shape().Dimensions
	if d.Spec.MeanPooled {
		return d.meanRow(x)
	}
	if dims[1] == 1 || d.Spec.Bidirectional {
		return Squeeze(SliceAxis(x, 1, AxisRange(0, 1)), 1)
	}
	slots := Iota(x.Graph(), shapes.Make(dtypes.Int32, dims[:2]...), 1)
	counts := LessThan(slots, d.Length)
	if d.Real != nil {
		counts = GreaterThan(d.Real, ZerosLike(d.Real))
	}
	for _, id := range d.Spec.Padding {
		counts = LogicalAnd(counts, NotEqual(d.IDs, Scalar(x.Graph(), dtypes.Int32, id)))
	}
	at := ReduceMax(Where(counts, slots, ZerosLike(slots)), 1) // [B]
	return Squeeze(rowsAt(x, at), 1)
}

// meanRow is the mean of the rows of x, [B,N,D], that are tokens, [B,D].
func (d *Builder) meanRow(x *Node) *Node {
	tokens := d.Real // [B,N]
	if tokens == nil {
		dims := x.Shape().Dimensions[:2]
		slots := Iota(x.Graph(), shapes.Make(dtypes.Int32, dims...), 1)
		tokens = ConvertDType(LessThan(slots, d.Length), x.DType())
	}
	sum := ReduceSum(Mul(x, InsertAxes(tokens, -1)), 1)
	return Div(sum, ReduceAndKeep(tokens, ReduceSum, -1))
}

// DenseBias reports whether a layer of the head has a bias.
func (d *Builder) DenseBias(name string) bool {
	switch name {
	case "classifier":
		return d.Spec.HeadBias
	case "head-transform":
		return !d.Spec.HeadDenseUnbiased
	}
	return true
}

// Dense is x W + b for a layer of the head, without b for one that has none.
func (d *Builder) Dense(x *Node, name string) *Node {
	y := d.Product.With(x, d.W(name+".weight"), 0)
	if !d.DenseBias(name) {
		return y
	}
	return Add(y, codes.AlignLast(d.W(name+".bias"), y))
}

// capped is c·tanh(x/c), or x if c is 0.
func capped(x *Node, c float64) *Node {
	if c == 0 {
		return x
	}
	return MulScalar(Tanh(MulScalar(x, 1/c)), c)
}

// HeadAt is what the head computes for one target of each text, at positions [B], of x [B,N,D]:
// [B,K]. A head that reads the mean of all targets ignores positions.
func (d *Builder) HeadAt(x, positions *Node) *Node {
	if d.Spec.MeanPooled {
		return d.Head(x)
	}
	return Reshape(d.Head(rowsAt(x, positions)), x.Shape().Dimensions[0], -1)
}

// Final applies the final norm and the projection back to the width of the embedding to x [...,D],
// if the spec has them, and returns [...,D or W].
func (d *Builder) Final(x *Node) *Node {
	if !d.Spec.NoFinalNorm {
		x = d.norm(x, finalNorm)
	}
	if d.Spec.ProjectsOut() {
		x = d.Product.With(x, d.W("head-projection.weight"), 0)
	}
	return x
}

// finalNorm is the prefix of the weights of the norm after the last layer.
const finalNorm = "final-norm."
