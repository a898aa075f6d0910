package transformer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/spec"
)

// A quantised matrix [out,in] is kept in codes, three arrays whose names end in these. A row is in
// blocks of 32 numbers; number = scale·code + min. The axes are
//
//	codes [out,a,b,j,32]   scale and min [out,a,b,j,P,1]
//
// in the order of the numbers of a row, except that one byte of codes holds P codes: with P = 2,
// codes of 4 bits, its lower half is a number of one block and its upper half that of the next. The
// scale of the latter is a 16th, so that the code need not be shifted. a, b and j are chosen by
// [tilesOf].
//
// Nothing is kept in float32 beside codes. A graph with products of several columns computes the
// numbers of the matrices that it reads, one after another; to keep them would take 32 bits a number
// instead of 6 or 10.
const (
	codesSuffix = ".codes"
	scaleSuffix = ".scale"
	minSuffix   = ".min"
)

// keepsQuantized is whether matrices are kept as their checkpoint has quantised them. It pays where
// XLA compiles for a CPU, because a token on the cache is bound by reading the weights. In pure Go
// the library's products with codes take longer than reading float32.
func keepsQuantized(m *Model) bool { return m.outFirst() && m.DType == dtypes.Float32 }

// form is how a matrix is kept in codes.
type form struct {
	out, in int
	perByte int    // P
	tiles   [3]int // a, b and j
	// columns is how it is kept by columns too, nil if it is not; see [columnCodes].
	columns *form
}

// formOf returns how an array is kept in codes, and whether it can be. All parts must be quantised.
// It is the matrix of a layer with the outputs first, or a table over the vocabulary.
func formOf(a array, q spec.Quantized) (form, bool) {
	if !a.outFirst && a.name != "embedding" && a.name != "head" {
		return form{}, false
	}
	bits := 0
	for _, p := range a.parts {
		n := q.Bits(p)
		if n == 0 {
			return form{}, false
		}
		bits = max(bits, n)
	}
	shape := a.shape()
	f, ok := codesOf(shape[0], shape[1], bits)
	if strings.HasSuffix(a.name, ".output.weight") {
		if columns, ok := codesOf(shape[1], shape[0], bits); ok {
			f.columns = &columns
		}
	}
	return f, ok
}

// codesOf returns how a matrix of so many bits a number is kept in codes, and whether it can be.
func codesOf(out, in, bits int) (form, bool) {
	f := form{out: out, in: in, perByte: 1}
	blocks := in / spec.BlockSize
	if in%spec.BlockSize != 0 {
		return form{}, false
	}
	if bits <= 4 && blocks%2 == 0 {
		f.perByte = 2
	}
	var ok bool
	f.tiles, ok = tilesOf(blocks / f.perByte)
	return f, ok
}

// tilesOf returns a, b and j with a·b·j = n for a product that XLA makes fast code for:
//
//   - A sum over more than 32 numbers of one axis would become two operations, and the matrix would
//     be written to memory in between; so a and b are at most 32.
//   - The innermost loop, over the 32 numbers of a block, adds j products at a time. With few of
//     them LLVM writes 32 copies of its body instead of using vectors; so j is large, but no more
//     than 6, because it takes time to compile.
func tilesOf(n int) (tiles [3]int, ok bool) {
	for j := 6; j > 0; j-- {
		for b := 32; b > 0; b-- {
			if a := n / (b * j); a*b*j == n && a <= 32 {
				return [3]int{a, b, j}, true
			}
		}
	}
	return tiles, false
}

// shapes returns the shapes of the codes, and of scales and minima.
func (f form) shapes() (codes, scales shapes.Shape) {
	a, b, j := f.tiles[0], f.tiles[1], f.tiles[2]
	return shapes.Make(dtypes.Uint8, f.out, a, b, j, spec.BlockSize),
		shapes.Make(dtypes.Float32, f.out, a, b, j, f.perByte, 1)
}

// bytes is what all arrays take.
func (f form) bytes() int64 {
	codes, scales := f.shapes()
	bytes := int64(codes.Size()) + 2*4*int64(scales.Size())
	if f.columns != nil {
		codes, scales := f.columnShapes()
		bytes += int64(codes.Size()) + 2*4*int64(scales.Size())
	}
	return bytes
}

// loadQuantized makes the tensors of an array. It returns an error that wraps [spec.ErrNoBlocks] if
// the array must be loaded as float32.
func (m *Model) loadQuantized(a array, f form, q spec.Quantized) (_ []weight, err error) {
	codes, scales := f.shapes()
	made := []weight{{name: a.name + codesSuffix}, {name: a.name + scaleSuffix}, {name: a.name +
		minSuffix}}
	all := []shapes.Shape{codes, scales, scales}
	columns := len(made)
	if f.columns != nil {
		for _, suffix := range []string{codesSuffix, scaleSuffix, minSuffix} {
			made = append(made, weight{name: byColumns + a.name + suffix})
		}
		codes, scales := f.columnShapes()
		all = append(all, codes, scales, scales)
	}
	defer func() {
		if err != nil {
			for _, w := range made {
				free(w.tensor)
			}
		}
	}()
	flat := make([]any, len(made))
	for i, shape := range all {
		t, err := tensors.FromShapeForBackend(m.backend, 0, shape)
		if err != nil {
			return nil, pkg.Errorf("%s: %w", a.name, err)
		}
		made[i].tensor = t
	}
	to := filling{form: f}
	if err := withFlat(made, flat, func() error {
		to.codes, to.scale, to.low = flat[0].([]uint8), flat[1].([]float32), flat[2].([]float32)
		if f.columns != nil {
			at := flat[columns:]
			to.byColumn = spec.Blocks{
				Codes: at[0].([]uint8), Scale: at[1].([]float32), Min: at[2].([]float32),
			}
		}
		return to.fill(a, q)
	}); err != nil {
		return nil, err
	}
	for _, w := range made {
		if err := w.tensor.ToDevice(m.backend, 0); err != nil {
			return nil, pkg.Errorf("%s: %w", w.name, err)
		}
	}
	return made, nil
}

// withFlat calls use while flat has the numbers of all tensors.
func withFlat(all []weight, flat []any, use func() error) error {
	if len(all) == 0 {
		return use()
	}
	var err error
	return errors.Join(all[0].tensor.MutableFlatData(func(data any) {
		flat[0] = data
		err = withFlat(all[1:], flat[1:], use)
	}), err)
}

// filling is where the numbers of an array go.
type filling struct {
	form
	codes      []uint8
	scale, low []float32
	byColumn   spec.Blocks
}

// fill reads the parts of an array, one after another: their outputs are rows.
func (to filling) fill(a array, q spec.Quantized) error {
	const together = 64
	codes := make([]uint8, together*to.in)
	row, blocks := 0, to.in/spec.BlockSize
	for _, p := range a.parts {
		rows := p.Size() / to.in
		for first := 0; first < rows; first += together {
			n := min(together, rows-first)
			piece := spec.Blocks{
				Codes: codes[:n*to.in],
				Scale: to.scale[row*blocks:][:n*blocks], Min: to.low[row*blocks:][:n*blocks],
			}
			if err := q.ReadBlocks(p, first, piece); err != nil {
				return err
			}
			to.put(row, piece)
			row += n
		}
	}
	return nil
}

// put writes rows from a row on. Their scales and minima are in place.
func (to filling) put(row int, b spec.Blocks) {
	if to.columns != nil {
		to.putColumns(row, b)
	}
	pack(to.codes[row*to.in/to.perByte:], b.Codes, to.perByte)
	for i := 1; to.perByte == 2 && i < len(b.Scale); i += 2 {
		b.Scale[i] /= 16
	}
}

// pack writes codes, perByte of them in a byte.
func pack(to, codes []uint8, perByte int) {
	if perByte == 1 {
		copy(to, codes)
		return
	}
	const size = spec.BlockSize
	for ; len(codes) > 0; to, codes = to[size:], codes[2*size:] {
		lower, upper := codes[:size], codes[size:2*size]
		for i := range lower {
			to[i] = lower[i] | upper[i]<<4
		}
	}
}

// withQuantized returns weights by name from those that a graph gets. A matrix that is kept in
// codes alone is computed in float32, unless nothing needs it. [product.columns] and [gathered]
// find the codes of a matrix by the name that it has in the graph.
func withQuantized(at map[string]*Node) byName {
	named := map[string]bool{}
	return func(name string) *Node {
		q := quantized{at[name+codesSuffix], at[name+scaleSuffix], at[name+minSuffix]}
		if q.codes == nil || named[name] {
			return at[name]
		}
		named[name] = true
		q.codes.WithAlias(name + codesSuffix)
		q.scale.WithAlias(name + scaleSuffix)
		q.low.WithAlias(name + minSuffix)
		if at[name] == nil {
			at[name] = q.numbers()
		}
		return at[name].WithAlias(name)
	}
}

// quantized is a matrix in codes, in a graph.
type quantized struct{ codes, scale, low *Node }

// quantizedOf returns the codes of w, and whether it is kept in codes.
func quantizedOf(w *Node) (quantized, bool) {
	find := func(suffix string) *Node { return w.Graph().GetNodeByAlias(w.GetAlias() + suffix) }
	if w.GetAlias() == "" || find(codesSuffix) == nil {
		return quantized{}, false
	}
	return quantized{find(codesSuffix), find(scaleSuffix), find(minSuffix)}, true
}

// masks are the bits of the P codes in a byte.
func (q quantized) masks() []uint8 { return masksOf(q.scale.Shape().Dimensions[4]) }

// masksOf are the bits of so many codes in a byte.
func masksOf(perByte int) []uint8 {
	if perByte == 1 {
		return []uint8{0xff}
	}
	return []uint8{0x0f, 0xf0}
}

// numbers is the matrix in float32, [out,in].
func (q quantized) numbers() *Node {
	var parts []*Node
	for _, mask := range q.masks() {
		parts = append(parts, InsertAxes(selected(q.codes, mask), 4)) // [out,a,b,j,1,32]
	}
	codes := parts[0]
	if len(parts) > 1 {
		codes = Concatenate(parts, 4)
	}
	return Reshape(Add(Mul(float(codes), q.scale), q.low), q.codes.Shape().Dimensions[0], -1)
}

// selected is the code in each byte that a mask selects.
func selected(codes *Node, mask uint8) *Node {
	if mask == 0xff {
		return codes
	}
	return BitwiseAnd(codes, Const(codes.Graph(), mask))
}

// rows are the rows of the matrix for ids [...], in codes; ids are counted in one axis, [N].
func (q quantized) rows(ids *Node) quantized {
	at := Reshape(ids, -1, 1)
	return quantized{Gather(q.codes, at), Gather(q.scale, at), Gather(q.low, at)}
}

// times is the matrix times x [in], [out,1]. It is one sum in one loop, so that no number of the
// matrix is written to memory.
func (q quantized) times(x *Node) *Node {
	dims := q.scale.Shape().Dimensions
	x = Reshape(x, 1, dims[1], dims[2], dims[3], dims[4], spec.BlockSize)
	masks := q.masks()
	var sum *Node // [out,a,b,1,32]
	for j := range dims[3] {
		for p, mask := range masks {
			at := func(y *Node) *Node { // [·,a,b,1,·]
				return Squeeze(SliceAxis(SliceAxis(y, 3, AxisElem(j)), 4, AxisElem(p)), 4)
			}
			codes := selected(SliceAxis(q.codes, 3, AxisElem(j)), mask)
			numbers := Add(Mul(float(codes), at(q.scale)), at(q.low))
			term := Mul(numbers, at(x))
			if sum == nil {
				sum = term
			} else {
				sum = Add(sum, term)
			}
		}
	}
	return Reshape(ReduceSum(sum, 1, 2, 3, 4), -1, 1)
}

// formKey is the part of the key of a graph that names which of its weights are kept in codes, and
// how: layers of one model may differ in this.
func formKey(names []string, weights []*tensors.Tensor) string {
	var b strings.Builder
	for i, name := range names {
		if strings.HasSuffix(name, codesSuffix) {
			fmt.Fprintf(&b, " %d:%v", i, weights[i].Shape().Dimensions)
		}
	}
	return b.String()
}

// Bytes returns how many bytes the weights of a model take, with the matrices of q in codes, as
// where XLA computes on a CPU; q may be nil.
func Bytes(s *spec.Spec, dtype dtypes.DType, q spec.Quantized) int64 {
	bytes := int64(0)
	for _, a := range fused(s.Params(), true) {
		if q != nil && dtype == dtypes.Float32 {
			if f, ok := formOf(a, q); ok {
				bytes += f.bytes()
				continue
			}
		}
		for _, p := range a.parts {
			bytes += int64(p.Size()) * int64(dtype.Size())
		}
	}
	return bytes
}

// WeightBytes returns how many bytes the weights take.
func (m *Model) WeightBytes() int64 {
	bytes := int64(0)
	for _, w := range m.weights {
		bytes += int64(w.tensor.Shape().Size()) * int64(w.tensor.DType().Size())
	}
	return bytes
}

// loadArray makes the tensors of an array, in codes if q is not nil and has them.
func (m *Model) loadArray(a array, load spec.Loader, q spec.Quantized) ([]weight, error) {
	if q != nil {
		if f, ok := formOf(a, q); ok {
			all, err := m.loadQuantized(a, f, q)
			if !errors.Is(err, spec.ErrNoBlocks) {
				return all, err
			}
		}
	}
	t, err := m.load(a, load)
	return []weight{{a.name, t}}, err
}
