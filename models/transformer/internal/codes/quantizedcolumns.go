package codes

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// ByColumns begins the names of the arrays of [ColumnCodes].
const ByColumns = "by-columns."

// ColumnCodes is a quantised matrix [out,in] that is kept in codes by columns as well, in a graph.
// Products from the left, xW, sum over a column, and XLA makes fast code only for sums over numbers
// that are next to each other in memory. The output projections are kept so, because the parts of a
// logit read them from the left for each token. Of their forms each has
//
//	codes, high  [in,a,b,j,P·w/8,32]
//	scale, min   [in/block,out]
//	parts, part of min  [in/part,out]
//
// The axes of codes are those of a matrix [in,out] in rows. The numbers of one block of the
// checkpoint, which share a scale, are in as many columns, so each number of a column has its own.
type ColumnCodes Quantized

// columnArrays are the arrays of the form by columns.
func (f form) columnArrays() []keptArray {
	return append(f.columns.codes(), f.columns.factors(func(each int) []int {
		return []int{f.in / each, f.out}
	})...)
}

// putColumns writes rows from a row on into the arrays by columns.
func (to filling) putColumns(row int, b spec.Blocks) {
	f, kept := to.columns, to.columns.kept()
	size := f.chunk * spec.BlockSize // numbers in a chunk
	for i := range len(b.Codes) / to.in {
		o := row + i
		at := place32{o / size, o % size / spec.BlockSize, o % spec.BlockSize, f.in / size}
		f.pack(to.byColumn, kept, at, b.Codes[i*to.in:][:to.in])
	}
	putFactors(to.byColumn, to.Coding, b, func(i, each int) int {
		perRow := to.in / each
		return i%perRow*to.out + row + i/perRow
	})
}

// ColumnsOf returns the codes by columns of the matrix of that name, nil if a graph has none.
func ColumnsOf(w Weights, name string) ColumnCodes {
	return ColumnCodes(formsIn(ByColumns+name, w))
}

// Times is x [out] times the matrix, [1,in]:
//
//	y_i = Σ_o (code[i,o] - zero)·(scale[i,o] x_o) + Σ_o min[i,o] x_o
//
// Like [Quantized.times] it is one sum in one loop.
func (q ColumnCodes) Times(x *Node) (sum *Node) {
	x = Reshape(x, 1, -1)
	for _, f := range q {
		rows := f.rowsByColumn()
		sum = plus(sum, f.timesColumns(SliceAxis(x, 1, AxisRange(0, rows))))
		if rows < x.Shape().Dimensions[1] {
			x = SliceAxis(x, 1, AxisRange(rows))
		}
	}
	return Reshape(sum, 1, -1)
}

// rowsByColumn is how many rows the form has, out.
func (f FormNodes) rowsByColumn() int { return f.scale.Shape().Dimensions[1] }

// timesColumns is x [1,out] times the rows of one form, [in].
func (f FormNodes) timesColumns(x *Node) *Node {
	dims := f.Codes.Shape().Dimensions // in,a,b,j,·,32
	in, a, b, j, out := dims[0], dims[1], dims[2], dims[3], f.rowsByColumn()
	chunk := out / (a * b * j * spec.BlockSize)
	factor := func(blocks, parts *Node) *Node { // times x, [groups,out]
		scaled := Mul(Float(blocks), x)
		if parts == nil {
			return scaled
		}
		groups, all := scaled.Shape().Dimensions[0], parts.Shape().Dimensions[0]
		each := Reshape(Float(parts), groups, all/groups, out)
		return Reshape(Mul(each, InsertAxes(scaled, 1)), all, out)
	}
	scaled := factor(f.scale, f.parts)
	groups := scaled.Shape().Dimensions[0]
	scaled = Reshape(scaled, groups, 1, a, b, j, chunk, spec.BlockSize)
	var sum *Node // [groups,in/groups]
	for from := 0; from < a; from += 32 {
		var terms *Node // [groups,in/groups,a,b,1,32]
		some := func(x *Node, axis int) *Node {
			return SliceAxis(x, axis, AxisRange(from, min(from+32, a)))
		}
		for k := range j {
			own := f
			for _, plane := range []**Node{&own.Codes, &own.high} {
				if *plane != nil {
					*plane = SliceAxis(some(*plane, 1), 3, AxisElem(k))
				}
			}
			by := SliceAxis(some(scaled, 2), 4, AxisElem(k))
			for p := range chunk {
				level := own.level(p, chunk)
				level = Reshape(level, append([]int{groups, in / groups},
					level.Shape().Dimensions[1:]...)...)
				of := Squeeze(SliceAxis(by, 5, AxisElem(p)), 5)
				terms = plus(terms, Mul(level, of))
			}
		}
		sum = plus(sum, ReduceSum(terms, 2, 3, 4, 5))
	}
	if f.min != nil {
		least := ReduceAndKeep(factor(f.min, f.minParts), ReduceSum, -1) // [groups of minima,1]
		sum = Add(Reshape(sum, least.Shape().Dimensions[0], -1), least)
	}
	return Reshape(sum, in)
}
