package codes

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
)

// Product is how a graph multiplies activations by weights. A matrix in half precision meets
// activations in that precision, as its checkpoint was trained, and sums in float32. A product is
// always one of two matrices, which libraries compute fastest.
type Product struct {
	// OutFirst is whether the matrices of layers are held [out,in] and not [in,out].
	OutFirst bool
	// Always is nil, or a condition that is true at run time; see [Product.Isolated].
	Always *Node
	// Trained is whether weights are isolated as well, because autodiff multiplies them.
	Trained bool
	// StraightThrough is whether the derivative of rounding to half precision is taken as 1.
	StraightThrough bool
	// Last is whether the product is the end of the graph.
	Last bool
}

// manyRows is how many rows of activations make x·W faster than (W·x)ᵀ, which has to be
// transposed: a number between 80 and 256 on a processor with AVX-512.
const manyRows = 192

// With multiplies the last axis of x [...,K] by axis of the matrix w.
func (p Product) With(x, w *Node, axis int) *Node {
	dims := slices.Clone(x.Shape().Dimensions)
	last := len(dims) - 1
	rows := Reshape(x, -1, dims[last])
	dims[last] = w.Shape().Dimensions[1-axis]
	if axis == 1 {
		if made := p.byHost(rows, w); made != nil {
			return Reshape(made, dims...)
		}
	}
	if p.OutFirst && axis == 1 && rows.Shape().Dimensions[0] < manyRows {
		return Reshape(Transpose(p.Columns(rows, 1, w), 0, 1), dims...)
	}
	return Reshape(p.Dot(rows, 1, w, axis), dims...)
}

// Layer multiplies the last axis of x by a matrix of a layer.
func (p Product) Layer(x, w *Node) *Node {
	if p.OutFirst {
		return p.With(x, w, 1)
	}
	return p.With(x, w, 0)
}

// LayerColumns multiplies the first axis of x [in,m] by a matrix of a layer, [out,m].
func (p Product) LayerColumns(x, w *Node) *Node {
	if p.OutFirst {
		return p.Columns(x, 0, w)
	}
	return p.Dot(w, 0, x, 0)
}

// Columns is w [out,in] times x, whose axis is in: [out,m].
func (p Product) Columns(x *Node, axis int, w *Node) *Node {
	return p.ColumnsAfter(x, x, axis, w)
}

// ColumnsAfter is [Product.Columns], where a matrix in codes is multiplied by a single column as it
// is, and computed in float32 for more of them. Its numbers are computed after earlier is, and may
// take the memory that those of another matrix had until then.
func (p Product) ColumnsAfter(earlier, x *Node, axis int, w *Node) *Node {
	rows := x // [m,in]
	if axis == 0 {
		rows = transposed(x)
	}
	if made := p.byHost(rows, w); made != nil {
		return transposed(made)
	}
	if q := QuantizedOf(w); q != nil {
		if x.Shape().Dimensions[1-axis] == 1 {
			return q.times(p.Isolated(x))
		}
		w = q.after(earlier).Numbers()
	}
	return p.Dot(w, 1, x, axis)
}

// Dot sums over xAxis of x and yAxis of y: [x's other axis, y's other axis].
func (p Product) Dot(x *Node, xAxis int, y *Node, yAxis int) *Node {
	half := x.DType() != y.DType()
	if half {
		dtype := dtypes.Float32
		for _, n := range []*Node{x, y} {
			if n.DType() != dtypes.Float32 {
				dtype = n.DType()
			}
		}
		if p.StraightThrough {
			return p.Dot(p.rounded(x, dtype), xAxis, p.rounded(y, dtype), yAxis)
		}
		x, y = ConvertDType(x, dtype), ConvertDType(y, dtype)
		if p.Always != nil { // a CPU, which has no products in half precision
			// Isolated, or the rounding would be left out.
			x, y, half = Float(p.Isolated(x)), Float(p.Isolated(y)), false
		} else if smallInGo(x, xAxis, y) {
			x, y, half = Float(x), Float(y), false
		}
	}
	d := Dot(p.Isolated(x), p.Isolated(y))
	if half {
		d = d.WithAccumulatorDType(dtypes.Float32).WithOutputDType(dtypes.Float32)
	}
	result := Settled(d.General([]int{xAxis}, nil, []int{yAxis}, nil))
	if p.Last {
		return result
	}
	return p.Isolated(result)
}

// smallInGo reports whether a product is one of fewer than 2^22 terms in pure Go. In bfloat16 these
// go to the kernels for AVX2 of gomlx/compute v0.1.3 where the processor has no AVX-512. One of
// them takes 8 of every 16 terms, where the sum is over the last axis of both matrices; the other
// one reads up to 16 bytes after the end of a matrix, which may end the program. The same sums in
// float32 are right. A graph does not know the processor, so all of them compute these in float32.
func smallInGo(x *Node, xAxis int, y *Node) bool {
	const few = 1 << 22
	terms := x.Shape().Size() / max(1, x.Shape().Dimensions[xAxis]) * y.Shape().Size()
	return BackendName(x.Graph().Backend()) == "go" && terms < few
}

// rounded is x rounded to the numbers of dtype, in float32, with the derivative of x.
func (p Product) rounded(x *Node, dtype dtypes.DType) *Node {
	if x.DType() == dtype {
		return Float(x)
	}
	// Exactly: the two are within a factor of 2.
	return Add(x, StopGradient(Sub(Float(p.Isolated(ConvertDType(x, dtype))), x)))
}

// Isolated is x, selected by the condition always, unless x is an input of the graph. XLA on a CPU
// gives products to oneDNN together with the arithmetic around them, and ends the program over
// combinations that oneDNN does not know. It never includes a selection. Without always the result
// is x itself.
func (p Product) Isolated(x *Node) *Node {
	if p.Always == nil || x.Type() == NodeTypeParameter && !p.Trained {
		return x
	}
	return Where(BroadcastToShape(p.Always, shapes.Make(dtypes.Bool, x.Shape().Dimensions...)), x,
		ZerosLike(x))
}
