package codes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/spec"
)

// WithQuantized returns weights by name from those that a graph gets. A matrix that is kept in
// codes is what numbers makes of it; nothing is computed that nothing needs. [Product.Columns] and
// [Gathered] find the codes of a matrix by the name that it has in the graph.
func WithQuantized(
	at map[string]*Node, numbers func(name string, q Quantized) *Node,
) Weights {
	return func(name string) *Node {
		if at[name] != nil {
			return at[name]
		}
		q := formsIn(name, func(name string) *Node {
			if n := at[name]; n != nil {
				return n.WithAlias(name)
			}
			return nil
		})
		if q != nil {
			at[name] = numbers(name, q)
		}
		return at[name]
	}
}

// Quantized is a matrix in codes, in a graph: its forms, one below the other.
type Quantized []FormNodes

// FormNodes are the arrays of a form; those that it does not have are nil. Numbers of 16 bits are
// codes without a scale.
type FormNodes struct{ Codes, high, scale, min, parts, minParts, levels *Node }

// formsIn returns the forms of an array by the names of theirs; nil if there are none.
func formsIn(array string, of func(name string) *Node) (q Quantized) {
	for {
		own := FormName(array, len(q))
		f := FormNodes{
			Codes: of(own + codesSuffix), high: of(own + highSuffix),
			scale: of(own + scaleSuffix), min: of(own + minSuffix),
			parts: of(own + partsSuffix), minParts: of(own + minPartsSuffix),
			levels: of(own + levelsSuffix),
		}
		for _, half := range []string{float16Suffix, bfloat16Suffix} {
			if f.Codes == nil {
				f.Codes = of(own + half)
			}
		}
		if f.Codes == nil {
			return q
		}
		q = append(q, f)
	}
}

// Nodes are the arrays that the form has, where they are kept.
func (f *FormNodes) Nodes() []**Node {
	all := []**Node{&f.Codes, &f.high, &f.scale, &f.min, &f.parts, &f.minParts, &f.levels}
	return slices.DeleteFunc(all, func(x **Node) bool { return *x == nil })
}

// Each is what change makes of every array that has an axis of rows.
func (f FormNodes) Each(change func(x *Node) *Node) FormNodes {
	for _, x := range f.Nodes() {
		if x != &f.levels {
			*x = change(*x)
		}
	}
	return f
}

// QuantizedOf returns the codes of w for a product in the graph, nil if it is not kept in codes, or
// if the host multiplies.
func QuantizedOf(w *Node) Quantized {
	if MultipliesOnHost(w.Graph()) {
		return nil
	}
	return codesOf(w)
}

// codesOf returns the codes of w, nil if it is not kept in codes.
func codesOf(w *Node) Quantized {
	if w.GetAlias() == "" {
		return nil
	}
	return formsIn(w.GetAlias(), w.Graph().GetNodeByAlias)
}

// chunk is P. A form whose factors have parts has blocks of 256 numbers, one a chunk.
func (f FormNodes) chunk() int {
	if f.scale == nil {
		return 1
	}
	if f.parts != nil {
		return 256 / spec.BlockSize
	}
	return f.scale.Shape().Dimensions[4]
}

// level is the codes of block p of each of the chunks of so many blocks, less that of the number 0:
// [...,32]. Its constants are its own, so that the body of a loop may compute it; see
// [graph.turnBody].
func (f FormNodes) level(p, chunk int) *Node {
	code, lower := (*Node)(nil), 0
	for _, plane := range []*Node{f.Codes, f.high} {
		if plane == nil {
			continue
		}
		axis := plane.Rank() - 2
		rows := plane.Shape().Dimensions[axis]
		bits := rows * 8 / chunk
		part := Squeeze(SliceAxis(plane, axis, AxisElem(p%rows)), axis)
		if shift := p / rows * bits; shift > 0 {
			part = BitwiseShiftRightLogical(part, Const(part.Graph(), uint8(shift)))
		}
		if bits < 8 {
			part = BitwiseAnd(part, Const(part.Graph(), uint8(1<<bits-1)))
		}
		if code == nil {
			code, lower = part, bits
		} else {
			part = BitwiseShiftLeft(part, Const(part.Graph(), uint8(lower)))
			code, lower = BitwiseOr(code, part), lower+bits
		}
	}
	zero := 1 << (lower - 1)
	if f.levels != nil {
		code, zero = f.levelOf(code), 128
	}
	if f.min != nil {
		return Float(code)
	}
	return Sub(Float(code), Const(code.Graph(), float32(zero)))
}

// levelOf is the level of each code: the first one and, for every code from k on, the difference
// between levels k and k-1, in 8 bits.
func (f FormNodes) levelOf(code *Node) *Node {
	at := func(k int) *Node { return Reshape(SliceAxis(f.levels, 0, AxisElem(k))) }
	sum := BroadcastToShape(at(0), code.Shape())
	for k := 1; k < 16; k++ {
		more := BroadcastToShape(Sub(at(k), at(k-1)), code.Shape())
		from := GreaterOrEqual(code, Const(code.Graph(), uint8(k)))
		none := BroadcastToShape(Const(code.Graph(), uint8(0)), more.Shape())
		sum = Add(sum, Where(from, more, none))
	}
	return sum
}

// block is block p of every chunk in float32, [out,a,b,j,32].
func (f FormNodes) block(p int) *Node {
	if f.scale == nil {
		return Float(Squeeze(f.Codes, 4))
	}
	x := f.level(p, f.chunk())
	shape := x.Shape().Clone()
	factor := func(blocks, parts *Node) *Node { // [out,a,b,j,1 or 2,1]
		if parts == nil {
			return InsertAxes(Float(SliceAxis(blocks, 4, AxisElem(p))), -1)
		}
		each := parts.Shape().Dimensions[4] / f.chunk()
		own := SliceAxis(parts, 4, AxisRange(p*each, (p+1)*each))
		return InsertAxes(Mul(Float(own), Float(blocks)), -1)
	}
	scale := factor(f.scale, f.parts)
	dims := append(slices.Clone(scale.Shape().Dimensions[:5]), -1)
	x = Mul(Reshape(x, dims...), scale)
	if f.min != nil {
		x = Add(x, factor(f.min, f.minParts))
	}
	return Reshape(x, shape.Dimensions...)
}

// after is the matrix, which a graph cannot compute before x: the numbers of a matrix then take
// memory that those of an earlier one have left. Their scales, or numbers of 16 bits, are selected
// by a condition on x that holds for every finite number.
func (q Quantized) after(x *Node) (later Quantized) {
	first := StopGradient(Reshape(SliceAxis(Reshape(x, -1), 0, AxisElem(0))))
	finite := NotEqual(first, Infinity(x.Graph(), x.DType(), 1))
	for _, f := range q {
		selected := &f.scale
		if f.scale == nil {
			selected = &f.Codes
		}
		*selected = Where(BroadcastToShape(finite, shapes.Make(dtypes.Bool,
			(*selected).Shape().Dimensions...)), *selected, ZerosLike(*selected))
		later = append(later, f)
	}
	return later
}

// Numbers is the matrix in float32, [out,in].
func (q Quantized) Numbers() *Node {
	var all []*Node
	for _, f := range q {
		var blocks []*Node
		for p := range f.chunk() {
			blocks = append(blocks, InsertAxes(f.block(p), 4)) // [out,a,b,j,1,32]
		}
		all = append(all, Reshape(joined(blocks, 4), f.Codes.Shape().Dimensions[0], -1))
	}
	return joined(all, 0)
}

// Named is [Quantized.Numbers] with a name in the graph.
func Named(name string, q Quantized) *Node { return q.Numbers().WithAlias(name) }

// rows are the rows of the matrix for ids [...], in codes; ids are counted in one axis, [N]. The
// matrix has one form.
func (q Quantized) rows(ids *Node) Quantized {
	at := Reshape(ids, -1, 1)
	return Quantized{q[0].Each(func(x *Node) *Node { return Gather(x, at) })}
}

// times is the matrix times x [in], [out,1].
func (q Quantized) times(x *Node) *Node {
	var all []*Node
	for _, f := range q {
		dims := f.Codes.Shape().Dimensions
		x := Reshape(x, 1, dims[1], dims[2], dims[3], f.chunk(), spec.BlockSize)
		var sum *Node // [out,1]
		for from := 0; from < dims[1]; from += 32 {
			some := func(x *Node) *Node {
				return SliceAxis(x, 1, AxisRange(from, min(from+32, dims[1])))
			}
			sum = plus(sum, f.Each(some).times(some(x)))
		}
		all = append(all, sum)
	}
	return joined(all, 0)
}

// leftTogether is how many rows [Quantized.LeftTimes] adds in one loop. With more of them LLVM no
// longer uses vectors.
const leftTogether = 8

// LeftTimes is x, [1,1,out], times the matrix from the left, [1,1,in], where it has one form of
// numbers of 16 bits and its rows are a multiple of [leftTogether]; nil elsewhere, and for another
// number of vectors. A few rows are added in one loop as they are read, so that no number of the
// matrix is written to memory, and then the sums.
func (q Quantized) LeftTimes(x *Node) *Node {
	if len(q) != 1 || q[0].scale != nil || x.Shape().Dimensions[0] > 1 {
		return nil
	}
	codes := q[0].Codes // [out,a,b,j,1,32]
	out := codes.Shape().Dimensions[0]
	if out%leftTogether != 0 {
		return nil
	}
	var sum *Node // [out/8,a,b,j,1,32]
	for k := range leftTogether {
		rows := AxisRange(k*out/leftTogether, (k+1)*out/leftTogether)
		factor := Reshape(SliceAxis(x, 2, rows), -1, 1, 1, 1, 1, 1)
		sum = plus(sum, Mul(Float(SliceAxis(codes, 0, rows)), factor))
	}
	return Reshape(ReduceSum(sum, 0), 1, 1, -1)
}

// times is the matrix times x [1,a,b,j,P,32], [out,1]. It is one sum in one loop, so that no number
// of the matrix is written to memory.
func (f FormNodes) times(x *Node) *Node {
	var sum *Node // [out,a,b,1,32]
	for j := range f.Codes.Shape().Dimensions[3] {
		at := func(x *Node) *Node { return SliceAxis(x, 3, AxisElem(j)) }
		own := f.Each(at)
		for p := range f.chunk() {
			of := Squeeze(SliceAxis(at(x), 4, AxisElem(p)), 4)
			sum = plus(sum, Mul(own.block(p), of))
		}
	}
	return Reshape(ReduceSum(sum, 1, 2, 3, 4), -1, 1)
}

// FormKey is the part of the key of a graph that names which of its weights are kept in codes, and
// how: layers of one model may differ in this.
func FormKey(names []string, weights []*tensors.Tensor) string {
	var b strings.Builder
	for i, name := range names {
		if strings.Contains(name, "#") {
			fmt.Fprintf(&b, " %d:%s%v", i, name[strings.LastIndex(name, "#"):],
				weights[i].Shape().Dimensions)
		}
	}
	return b.String()
}

// Gathered returns the rows of a table for ids [...], [...,width].
func Gathered(table, ids *Node) *Node {
	if q := codesOf(table); q != nil {
		dims := append(slices.Clone(ids.Shape().Dimensions), table.Shape().Dimensions[1])
		return Reshape(q.rows(ids).Numbers(), dims...)
	}
	return Float(Gather(table, InsertAxes(ids, -1)))
}

// OfExperts is one matrix of the matrices of all experts that an array has in codes, or of the
// chosen ones: gate and up are [XF,D], and down is [D,XF].
func (q Quantized) OfExperts(array string, experts int, chosen *Node, down bool) *Node {
	name := array
	if chosen != nil {
		name += fmt.Sprint("@", chosen.Id())
	}
	if down {
		name += "@down"
	}
	if matrix := q[0].Codes.Graph().GetNodeByAlias(name); matrix != nil {
		return matrix
	}
	named := func(x, as *Node) *Node {
		return x.WithAlias(name + strings.TrimPrefix(as.GetAlias(), array))
	}
	f := q[0].Each(func(all *Node) *Node {
		x := OfExperts(all, experts, chosen)
		dims := append([]int{-1}, all.Shape().Dimensions[1:]...)
		if down { // [X,D,a,...] becomes [D,X·a,...]
			axes := []int{1, 0, 2, 3, 4, 5, 6}[:x.Rank()]
			dims[0], dims[1] = x.Shape().Dimensions[1], -1
			x = TransposeAllAxes(x, axes...)
		}
		return named(Reshape(x, dims...), all)
	})
	if f.levels != nil {
		f.levels = named(Identity(f.levels), f.levels)
	}
	return Quantized{f}.Numbers().WithAlias(name)
}

// OfExperts is what the chosen experts have of an array of all experts [XF,...], [X,F,...]; all of
// it if chosen is nil.
func OfExperts(all *Node, experts int, chosen *Node) *Node {
	dims := all.Shape().Dimensions
	x := Reshape(all, append([]int{experts, dims[0] / experts}, dims[1:]...)...)
	if chosen == nil {
		return x
	}
	return Gather(x, chosen)
}
