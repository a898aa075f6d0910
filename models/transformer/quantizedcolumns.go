package transformer

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// byColumns begins the names of the codes of [columnCodes].
const byColumns = "by-columns."

// columnCodes is a quantised matrix [out,in] that is kept in codes by columns as well, in a graph.
// Products from the left, xW, sum over a column, and XLA makes fast code only for sums over numbers
// that are next to each other in memory. The output projections are kept so, because the parts of a
// logit read them from the left for each token: 0.75 or 1.25 bytes a number instead of 4.
//
//	codes [in,a,b,j,32]   scale and min [in/32,out]
//
// The axes of codes are those of a matrix [in,out] in rows. The numbers of one block of the
// checkpoint, which share a scale, are in as many columns, so each number of a column has its own.
type columnCodes struct{ codes, scale, low *Node }

// columnShapes returns the shapes of the codes by columns, and of their scales and minima.
func (f form) columnShapes() (codes, scales shapes.Shape) {
	codes, _ = f.columns.shapes()
	return codes, shapes.Make(dtypes.Float32, f.in/spec.BlockSize, f.out)
}

// putColumns writes rows from a row on, those before it are there, into the codes by columns. As in
// rows, the scale of a code in the upper half of a byte is a 16th.
func (to filling) putColumns(row int, b spec.Blocks) {
	const size = spec.BlockSize
	column := to.columns.in / to.columns.perByte // bytes
	for i := range len(b.Codes) / to.in {
		o, codes := row+i, b.Codes[i*to.in:][:to.in]
		if block := o / size; to.columns.perByte == 2 && block%2 == 1 {
			for k, code := range codes {
				to.byColumn.Codes[k*column+block/2*size+o%size] |= code << 4
			}
		} else {
			for k, code := range codes {
				to.byColumn.Codes[k*column+block/to.columns.perByte*size+o%size] = code
			}
		}
		blocks := to.in / size
		for k := range blocks {
			scale := b.Scale[i*blocks+k]
			if to.columns.perByte == 2 && o/size%2 == 1 {
				scale /= 16
			}
			to.byColumn.Scale[k*to.out+o] = scale
			to.byColumn.Min[k*to.out+o] = b.Min[i*blocks+k]
		}
	}
}

// codesByColumn returns the codes by columns of the matrix of that name, nil if a graph has none.
func codesByColumn(w byName, name string) *columnCodes {
	name = byColumns + name
	if w(name+codesSuffix) == nil {
		return nil
	}
	return &columnCodes{w(name + codesSuffix), w(name + scaleSuffix), w(name + minSuffix)}
}

// times is x [out] times the matrix, [1,in]:
//
//	y_i = Σ_o code[i,o]·(scale[i/32,o] x_o) + Σ_o min[i/32,o] x_o
//
// Like [quantized.times] it is one sum in one loop.
func (q columnCodes) times(x *Node) *Node {
	dims := q.codes.Shape().Dimensions // in,a,b,j,32
	a, b, j := dims[1], dims[2], dims[3]
	x = Reshape(x, 1, -1)
	blocks, out := dims[0]/spec.BlockSize, x.Shape().Dimensions[1]
	masks := masksOf(out / (a * b * j * spec.BlockSize))
	scaled := Reshape(Mul(q.scale, x), blocks, 1, a, b, j, len(masks), spec.BlockSize)
	codes := Reshape(q.codes, blocks, spec.BlockSize, a, b, j, spec.BlockSize)
	var sum *Node // [in/32,32,a,b,1,32]
	for k := range j {
		for p, mask := range masks {
			of := SliceAxis(SliceAxis(scaled, 4, AxisElem(k)), 5, AxisElem(p))
			term := Mul(float(selected(SliceAxis(codes, 4, AxisElem(k)), mask)), Squeeze(of, 5))
			if sum == nil {
				sum = term
			} else {
				sum = Add(sum, term)
			}
		}
	}
	least := ReduceAndKeep(Mul(q.low, x), ReduceSum, -1) // [in/32,1]
	return Reshape(Add(ReduceSum(sum, 2, 3, 4, 5), least), 1, -1)
}
