package codes

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/dtypes/float16"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// A quantised matrix [out,in] is kept in codes alone: nothing is kept in float32 beside them. A
// graph with products of several columns computes the numbers of the matrices that it reads, one
// after another.
//
// The parts of an array that are quantised in the same way are a [form], its rows. Each form is a
// few arrays whose names end in the number of the form and in these; see [spec.Coding]. A row is in
// chunks of P·32 numbers, a·b·j of them; a, b and j are chosen by [tilesOf]:
//
//	codes, high  [out,a,b,j,P·w/8,32]  w bits of each code, the lower ones first
//	scale, min   [out,a,b,j,C]         C is how many blocks of the checkpoint a chunk has
//	parts, part of min  [out,a,b,j,P·32/part]
//	levels       [16]
//	float16, bfloat16  [out,a,b,j,1,32]  numbers of 16 bits as they are, with none of the others
//
// Row r of a chunk of codes has those of its blocks of 32 numbers r, r+R, r+2R and so on, R of the
// rows, the first in the lowest bits.
const (
	codesSuffix    = ".codes"
	highSuffix     = ".high"
	scaleSuffix    = ".scale"
	minSuffix      = ".min"
	partsSuffix    = ".parts"
	minPartsSuffix = ".parts-of-min"
	levelsSuffix   = ".levels"
	float16Suffix  = ".float16"
	bfloat16Suffix = ".bfloat16"
)

var planeSuffixes = []string{codesSuffix, highSuffix}

// FormName is the beginning of the names of the arrays of form i of an array.
func FormName(array string, i int) string { return fmt.Sprintf("%s#%d", array, i) }

// form is how rows of an array are kept in codes.
type form struct {
	spec.Coding
	params  []spec.Param
	out, in int
	chunk   int    // P, blocks of 32 numbers
	planes  []int  // how many bits of a code the arrays of codes have
	tiles   [3]int // a, b and j
	// wide is whether codes are kept in 8 bits, because the row does not fill its last chunk.
	// Without minima they are then levels whose zero is 128.
	wide bool
	// levelsWide is whether levels are kept and not codes: their numbers are computed by the host.
	levelsWide bool
	// Columns is how it is kept by columns too, nil if it is not; see [ColumnCodes].
	columns *form
}

// formsOf returns how an array is kept in codes, nil if it cannot be: all parts must be quantised.
// It is the matrix of a layer with the outputs first, or a table over the vocabulary. The matrices
// of experts are below each other in one form, and all have the outputs first, down too.
func formsOf(a array, q spec.Quantized) (all []form) {
	if !a.outFirst && !a.stacked && a.name != "embedding" && a.name != "head" {
		return nil
	}
	for _, p := range a.parts {
		coding := q.Coding(p)
		out, in := p.Shape[0], p.Shape[len(p.Shape)-1]
		if a.outFirst || a.stacked {
			out, in = in, out
		}
		if coding.Bits == 0 || in%coding.Block != 0 {
			return nil
		}
		if last := len(all) - 1; last >= 0 && all[last].Coding == coding {
			all[last].params = append(all[last].params, p)
			all[last].out += out
			continue
		}
		all = append(all, form{Coding: coding, params: []spec.Param{p}, out: out, in: in})
	}
	if a.stacked && len(all) > 1 { // one expert is chosen as another is
		return nil
	}
	_, inGo := q.(onHost)
	for i := range all {
		f := all[i]
		all[i].levelsWide = inGo && f.Levels != ""
		all[i].lay(f.Block / spec.BlockSize) // so that a chunk of a larger block has one scale
		if strings.HasSuffix(a.name, ".output.weight") && f.out%spec.BlockSize == 0 &&
			f.Bits < 16 && !inGo {
			f.out, f.in = f.in, f.out
			f.lay(1)
			all[i].columns = &f
		}
	}
	return all
}

// lay chooses the sizes of the arrays of codes, for rows of f.in numbers and chunks of at least so
// many blocks of 32.
func (f *form) lay(least int) {
	f.planes = map[int][]int{2: {2}, 3: {2, 1}, 4: {4}, 5: {4, 1}, 6: {4, 2}, 8: {8}}[f.Bits]
	blocks := f.in / spec.BlockSize
	f.chunk = 1
	if f.planes != nil {
		f.chunk = max(least, 8/slices.Min(f.planes))
	}
	if f.wide = blocks%f.chunk != 0 || f.levelsWide; f.wide {
		f.planes, f.chunk = []int{8}, 1
	}
	f.tiles = tilesOf(blocks/f.chunk, max(1, 12/f.chunk))
}

// tilesOf returns a, b and j with a·b·j = n for a product that XLA makes fast code for:
//
//   - A sum over more than 32 numbers of one axis would become two operations, and the matrix would
//     be written to memory in between; so b is at most 32, and of a at most 32 are added at a time.
//   - The innermost loop, over the 32 numbers of a block, adds the blocks of j chunks at a time.
//     With few of them LLVM writes 32 copies of its body instead of using vectors; so j is large,
//     but at most the given number or 6, because it takes time to compile.
func tilesOf(n, most int) (tiles [3]int) {
	for j := min(6, most); j > 0; j-- {
		for b := min(32, n); b > 0; b-- {
			if a := n / (b * j); a*b*j == n && (a <= 32 || j == 1 && tiles[0] == 0) {
				if tiles = [3]int{a, b, j}; a <= 32 {
					return tiles
				}
			}
		}
	}
	return tiles
}

// keptArray is an array of a form.
type keptArray struct {
	suffix string
	shape  shapes.Shape
}

// codes are the arrays of codes.
func (f form) codes() (all []keptArray) {
	for i, bits := range f.planes {
		all = append(all, keptArray{planeSuffixes[i], shapes.Make(dtypes.Uint8, f.out, f.tiles[0],
			f.tiles[1], f.tiles[2], f.chunk*bits/8, spec.BlockSize)})
	}
	return all
}

// arrays are all arrays of the form by rows.
func (f form) arrays() []keptArray {
	return append(f.codes(), f.factors(func(each int) []int {
		return []int{f.out, f.tiles[0], f.tiles[1], f.tiles[2], f.chunk * spec.BlockSize / each}
	})...)
}

// factors are the arrays beside the codes. shape is that of one that has a factor for each so many
// numbers.
func (f form) factors(shape func(each int) []int) (all []keptArray) {
	dtype, half := dtypes.Float16, float16Suffix
	if f.Powers {
		dtype, half = dtypes.BFloat16, bfloat16Suffix
	}
	add := func(suffix string, dtype dtypes.DType, dims []int) {
		all = append(all, keptArray{suffix, shapes.Make(dtype, dims...)})
	}
	if f.Bits == 16 {
		add(half, dtype, append(shape(spec.BlockSize), spec.BlockSize))
		return all
	}
	add(scaleSuffix, dtype, shape(f.Block))
	if f.Min {
		add(minSuffix, dtype, shape(f.Block))
	}
	if f.Part > 0 {
		add(partsSuffix, dtypes.Int8, shape(f.Part))
		if f.Min {
			add(minPartsSuffix, dtypes.Int8, shape(f.Part))
		}
	}
	if f.Levels != "" && !f.wide {
		add(levelsSuffix, dtypes.Uint8, []int{len(f.Levels)})
	}
	return all
}

// loadQuantized makes the tensors of an array. It returns an error that wraps [spec.ErrNoBlocks] if
// the array must be loaded as float32.
func (h *Held) loadQuantized(a array, forms []form, load spec.Loader, q spec.Quantized) (
	made []weight, err error,
) {
	defer func() {
		if err != nil {
			for _, w := range made {
				host.Free(w.Tensor)
			}
			made = nil
		}
	}()
	for i, f := range forms {
		rows, all := f.arrays(), f.arrays()
		if f.columns != nil {
			all = append(all, f.columnArrays()...)
		}
		var own []weight
		for k, kept := range all {
			name := FormName(a.name, i) + kept.suffix
			if k >= len(rows) {
				name = ByColumns + name
			}
			t, err := tensors.FromShapeForBackend(h.Backend, 0, kept.shape)
			if err != nil {
				return made, pkg.Errorf("%s: %w", name, err)
			}
			own, made = append(own, weight{name, t}), append(made, weight{name, t})
		}
		flat := make([]any, len(own))
		if err := withFlat(own, flat, func() error {
			to := filling{form: f, rows: map[string]any{}, byColumn: map[string]any{}}
			for k, kept := range all {
				if k < len(rows) {
					to.rows[kept.suffix] = flat[k]
				} else {
					to.byColumn[kept.suffix] = flat[k]
				}
			}
			if h.Hosted != nil {
				h.mu.Lock()
				h.Hosted[a.name] = append(h.Hosted[a.name], &hostForm{f, to.rows})
				h.mu.Unlock()
			}
			if f.Bits == 16 {
				return f.fillHalf(flat[0], a.outFirst || a.stacked, load)
			}
			return to.fill(q)
		}); err != nil {
			return made, err
		}
		for _, w := range own {
			if err := w.Tensor.ToDevice(h.Backend, 0); err != nil {
				return made, pkg.Errorf("%s: %w", w.Name, err)
			}
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
	return errors.Join(all[0].Tensor.MutableFlatData(func(data any) {
		flat[0] = data
		err = withFlat(all[1:], flat[1:], use)
	}), err)
}

// fillHalf reads the parameters of a form of 16 bits, one after another: their outputs are rows.
func (f form) fillHalf(flat any, outFirst bool, load spec.Loader) error {
	to := place{flat: flat, row: f.in, outFirst: outFirst}
	for _, p := range f.params {
		if err := to.fill(p, load); err != nil {
			return err
		}
		to.column += p.Size() / f.in
	}
	return nil
}

// filling is where the numbers of a form go, by the suffixes of the arrays.
type filling struct {
	form
	rows, byColumn map[string]any
}

// fill reads the parameters of the form, one after another: their outputs are rows.
func (to filling) fill(q spec.Quantized) error {
	for _, kept := range []map[string]any{to.rows, to.byColumn} {
		for _, suffix := range planeSuffixes {
			if plane, ok := kept[suffix].([]uint8); ok {
				clear(plane) // bits are added, and memory of XLA may have been used before
			}
		}
		if levels, ok := kept[levelsSuffix].([]uint8); ok {
			copy(levels, to.Levels)
		}
	}
	const together = 64
	room := to.Make(together * to.in)
	row := 0
	for _, p := range to.params {
		rows := p.Size() / to.in
		for first := 0; first < rows; first += together {
			n := min(together, rows-first)
			piece := to.Of(room, 0, n*to.in)
			if err := q.ReadBlocks(p, first, piece); err != nil {
				return err
			}
			to.put(row, piece)
			if to.columns != nil {
				to.putColumns(row, piece)
			}
			row += n
		}
	}
	return nil
}

// put writes rows from a row on.
func (to filling) put(row int, b spec.Blocks) {
	const size = spec.BlockSize
	first, kept := row*to.in/size, to.kept()
	for i := range len(b.Codes) / size {
		chunk, block := (first+i)/to.chunk, (first+i)%to.chunk
		to.pack(to.rows, kept, place32{chunk: chunk, block: block}, b.Codes[i*size:][:size])
	}
	putFactors(to.rows, to.Coding, b, func(i, each int) int { return row*to.in/each + i })
}

// putFactors writes the factors of b into their arrays; factor i of those that are for so many
// numbers goes to the place at.
func putFactors(to map[string]any, c spec.Coding, b spec.Blocks, at func(i, each int) int) {
	for suffix, factors := range map[string][]float32{scaleSuffix: b.Scale, minSuffix: b.Min} {
		switch array := to[suffix].(type) {
		case []float16.Float16:
			for i, x := range factors {
				array[at(i, c.Block)] = float16Of(x)
			}
		case []bfloat16.BFloat16:
			for i, x := range factors {
				array[at(i, c.Block)] = bfloat16.FromFloat32(x)
			}
		}
	}
	parts := map[string][]int8{partsSuffix: b.Parts, minPartsSuffix: b.MinPart}
	for suffix, factors := range parts {
		if array, ok := to[suffix].([]int8); ok {
			for i, x := range factors {
				array[at(i, c.Part)] = x
			}
		}
	}
}

// float16Of is x, a float16 number. FromFloat32 of gomlx/compute v0.1.3 is wrong for those below
// 2^-14.
func float16Of(x float32) float16.Float16 {
	const (
		smallest = 1 << 24  // its reciprocal is the smallest number above 0
		bias     = 127 - 15 // of exponents, of which float16 has 1 to 30
	)
	// Most numbers have one of these exponents, and all their bits but some that are 0.
	if bits := math.Float32bits(x); bits>>23&0xff-bias-1 < 30 {
		return float16.FromBits(uint16(bits>>16&0x8000) | uint16(bits&^(1<<31)>>13-bias<<10))
	}
	if size := math.Abs(float64(x)); size < 1.0/(1<<14) {
		return float16.FromBits(uint16(math.Float32bits(x)>>16&0x8000) | uint16(size*smallest))
	}
	return float16.FromFloat32(x)
}

// kept is what is kept for each code.
func (f form) kept() *[256]uint8 {
	var kept [256]uint8
	for i := range kept {
		switch kept[i] = uint8(i); {
		case f.wide && f.Levels != "":
			kept[i] = f.Levels[i%len(f.Levels)]
		case f.wide && !f.Min:
			kept[i] = uint8(i + 128 - f.Zero())
		}
	}
	return &kept
}

// place32 is where codes go: to a block of a chunk, from its number first on. Every further one is
// so many chunks after the one before; 0 means that it is the next number.
type place32 struct{ chunk, block, first, step int }

// pack writes codes.
func (f form) pack(to map[string]any, kept *[256]uint8, at place32, codes []uint8) {
	lower := 0 // bits in the planes before
	for i, bits := range f.planes {
		plane, rows := to[planeSuffixes[i]].([]uint8), f.chunk*bits/8
		first := (at.chunk*rows+at.block%rows)*spec.BlockSize + at.first
		step := max(1, at.step*rows*spec.BlockSize)
		mask, shift := uint8(1<<bits-1), at.block/rows*bits
		for k, code := range codes {
			plane[first+k*step] |= kept[code] >> lower & mask << shift
		}
		lower += bits
	}
}

// loadArray makes the tensors of an array, in codes if q is not nil and has them.
func (h *Held) loadArray(a array, load spec.Loader, q spec.Quantized) ([]weight, error) {
	if q != nil {
		if forms := formsOf(a, q); forms != nil {
			all, err := h.loadQuantized(a, forms, load, q)
			if !errors.Is(err, spec.ErrNoBlocks) {
				return all, err
			}
		}
	}
	t, err := h.load(a, load)
	return []weight{{a.name, t}}, err
}

// OnHost returns q for a model whose matrices pure Go keeps in codes, and nil for one that it keeps
// in float32: where that takes at most 600 MB, because reading it is fastest, and where there are
// experts, whose matrices are not multiplied one by one.
func OnHost(s *spec.Spec, q spec.Quantized) spec.Quantized {
	if layers, others := Bytes(s, dtypes.Float32, nil); q == nil || s.Mixture != nil ||
		layers+others <= HostFloats {
		return nil
	}
	return onHost{q}
}

// HostFloats is for how many bytes of weights pure Go keeps float32.
var HostFloats = int64(600e6) // tests set others

// onHost are codes that the host multiplies. No matrix is kept by columns as well.
type onHost struct{ spec.Quantized }
