package codes

import (
	"math"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/dtypes/float16"

	"github.com/headwater-ml/headwater/models/spec"
)

// hostForm is a form whose numbers the host computes, with its arrays by suffix.
type hostForm struct {
	form
	arrays map[string]any
}

// unpacking is how a block of 32 numbers is computed: a code has bits of one or two planes, and
// each half of the block has a scale and a minimum.
type unpacking struct {
	planes       [2]plane
	zero         float32
	scale, least [2]float32
}

// plane is where a block has bits of its codes in a chunk: in 32 bytes from one on, above so many
// others, and in a code they are above so many.
type plane struct {
	first             int
	shift, mask, over uint8
}

// unpack computes the numbers of a block of 32; see [unpacking].
var unpack = unpackPlain

// clearRegisters clears the upper halves of the vector registers; see [Settled].
var clearRegisters = func() {}

// unpackPlain is unpack without vector registers.
func unpackPlain(dst *[32]float32, low, high *[32]uint8, u *unpacking) {
	a, b := u.planes[0], u.planes[1]
	for i := range dst {
		code := low[i]>>a.shift&a.mask | high[i]>>b.shift&b.mask<<b.over
		dst[i] = u.scale[i/16]*(float32(code)-u.zero) + u.least[i/16]
	}
}

// onProcessors gives all processors a part of n, in whole units but for the last part.
func onProcessors(n, unit int, part func(from, to int)) {
	units := (n + unit - 1) / unit
	each := (units + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0) * unit
	var all sync.WaitGroup
	for from := 0; from < n; from += each {
		all.Go(func() { part(from, min(n, from+each)) })
	}
	all.Wait()
}

// numbers fills dst with whole rows from a row on, on all processors.
func (f *hostForm) numbers(dst []float32, row int) {
	onProcessors(len(dst)/f.in, 1, func(from, to int) {
		f.rowsInto(dst[from*f.in:to*f.in], row+from)
	})
}

// rowsInto is numbers on one processor.
func (f *hostForm) rowsInto(dst []float32, row int) {
	const size = spec.BlockSize
	clearRegisters()
	if f.Bits == 16 {
		halves, number := bits16(f.arrays[float16Suffix]), fromFloat16
		if f.Powers {
			halves, number = bits16(f.arrays[bfloat16Suffix]), fromBFloat16
		}
		for i, x := range halves[row*f.in:][:len(dst)] {
			dst[i] = number(x)
		}
		return
	}
	planes := [2][]uint8{make([]uint8, size), make([]uint8, size)} // without bits
	var strides [2]int                                             // bytes of a chunk
	blocks := make([]unpacking, f.chunk)                           // of a chunk
	for p := range blocks {
		u, lower := &blocks[p], 0
		for i, bits := range f.planes {
			rows := f.chunk * bits / 8
			planes[i], strides[i] = f.arrays[planeSuffixes[i]].([]uint8), rows*size
			u.planes[i] = plane{p % rows * size, uint8(p / rows * bits), 1<<bits - 1, uint8(lower)}
			lower += bits
		}
		if u.zero = float32(f.Zero()); f.wide && !f.Min {
			u.zero = 128
		}
	}
	number := fromFloat16
	if f.Powers {
		number = fromBFloat16
	}
	scales, minima := bits16(f.arrays[scaleSuffix]), bits16(f.arrays[minSuffix])
	parts, _ := f.arrays[partsSuffix].([]int8)
	minParts, _ := f.arrays[minPartsSuffix].([]int8)
	each, halves := f.chunk*size/f.Block, 1 // scales of a chunk, parts of a block of 32
	if f.Part > 0 {
		halves = size / f.Part
	}
	chunk := row * f.in / size / f.chunk
	last, scale, least := -1, float32(0), float32(0) // of the block before
	for ; len(dst) > 0; chunk++ {
		low, high := planes[0][chunk*strides[0]:], planes[1][chunk*strides[1]:]
		for p := range blocks {
			u := &blocks[p]
			if at := chunk*each + p*each/f.chunk; at != last {
				last, scale = at, number(scales[at])
				if minima != nil {
					least = number(minima[at])
				}
			}
			u.scale, u.least = [2]float32{scale, scale}, [2]float32{least, least}
			if parts != nil {
				at := (chunk*f.chunk + p) * halves
				u.scale[0], u.scale[1] = scale*float32(parts[at]), scale*float32(parts[at+halves-1])
				if minParts != nil {
					u.least[0] = least * float32(minParts[at])
					u.least[1] = least * float32(minParts[at+halves-1])
				}
			}
			unpack((*[size]float32)(dst), (*[size]uint8)(low[u.planes[0].first:]),
				(*[size]uint8)(high[u.planes[1].first:]), u)
			dst = dst[size:]
		}
	}
}

// A product of many rows of activations is computed in tiles: tileRows rows of activations times
// tileColumns rows of a matrix. The activations of a tile are in two halves, [2,in,halfTile].
// At most fewRows rows take less time one by one.
const (
	halfTile    = 16
	tileRows    = 2 * halfTile
	tileColumns = 4
	fewRows     = 10
)

// tiled are the tiles of rows x [m,in]: [tiles,2,in,halfTile]. If the last rows are few, they are
// in no tile; else their tile ends with zeros.
func tiled(x []float32, in int) []float32 {
	rows := len(x) / in
	tiles := make([]float32, (rows+tileRows-1-fewRows)/tileRows*tileRows*in)
	onProcessors(len(tiles)/in/halfTile, 1, func(from, to int) {
		for t := from; t < to; t++ {
			tile := tiles[t*in*halfTile:][:in*halfTile]
			for at := 0; at < in; at += 64 { // few columns, which stay in the cache
				for r := range min(halfTile, rows-t*halfTile) {
					for k, v := range x[(t*halfTile+r)*in:][at:min(in, at+64)] {
						tile[(at+k)*halfTile+r] = v
					}
				}
			}
		}
	})
	return tiles
}

// times fills y, whose rows have so many numbers, from its begin on with x times the transposed
// matrix, on all processors; tiles are those of x. Every row of the matrix is in float32 for a
// moment only.
func (f *hostForm) times(y, x, tiles []float32, width int) {
	all := len(x) / f.in
	together := max(8, 4096/f.in) // rows whose numbers stay in the cache next to the processor
	if len(tiles) > 0 {
		together = max(tileColumns, 1<<17/f.in/tileColumns*tileColumns) // in the one after it
	}
	onProcessors(f.out, tileColumns, func(from, to int) {
		numbers := make([]float32, min(together, to-from)*f.in)
		var tile [tileRows * tileColumns]float32
		for row := from; row < to; row += together {
			n := min(together, to-row)
			f.rowsInto(numbers[:n*f.in], row)
			whole := n / tileColumns * tileColumns
			at := 0
			for t := tiles; len(t) > 0; t, at = t[tileRows*f.in:], at+tileRows {
				for i := 0; i < whole; i += tileColumns {
					multiplyTile(&tile, t[:tileRows*f.in], numbers[i*f.in:][:tileColumns*f.in])
					for r := range min(tileRows, all-at) {
						to := y[(at+r)*width+row+i:][:tileColumns]
						for c := range to {
							to[c] = tile[c*tileRows+r]
						}
					}
				}
			}
			for r := range all {
				for i := range n {
					if r >= at || i >= whole {
						y[r*width+row+i] = dot(numbers[i*f.in:][:f.in], x[r*f.in:][:f.in])
					}
				}
			}
		}
	})
}

// multiplyTile fills y [tileColumns,tileRows] with rows of a matrix, w [tileColumns,in], times the
// activations of a tile, x; see [unpack].
var multiplyTile = multiplyTilePlain

// multiplyTilePlain is multiplyTile without vector registers.
func multiplyTilePlain(y *[tileRows * tileColumns]float32, x, w []float32) {
	in := len(w) / tileColumns
	for c := range tileColumns {
		for first := 0; first < tileRows; first += halfTile {
			var sums [halfTile]float32
			for k, v := range w[c*in:][:in] {
				for r, u := range (*[halfTile]float32)(x[first*in+k*halfTile:]) {
					sums[r] += u * v
				}
			}
			copy(y[c*tileRows+first:], sums[:])
		}
	}
}

// dot is the sum of the products of x and y, which have a multiple of 32 numbers; see [unpack].
var dot = func(x, y []float32) float32 {
	var sums [8]float32
	for ; len(x) > 0; x, y = x[8:], y[8:] {
		x, y := (*[8]float32)(x), (*[8]float32)(y)
		for i := range sums {
			sums[i] += x[i] * y[i]
		}
	}
	return sums[0] + sums[4] + (sums[1] + sums[5]) + (sums[2] + sums[6]) + (sums[3] + sums[7])
}

// bits16 are the bits of an array of numbers of 16 bits, nil for another one.
func bits16(array any) []uint16 {
	switch all := array.(type) {
	case []float16.Float16:
		return unsafe.Slice((*uint16)(unsafe.SliceData(all)), len(all))
	case []bfloat16.BFloat16:
		return unsafe.Slice((*uint16)(unsafe.SliceData(all)), len(all))
	}
	return nil
}

// fromBFloat16 is a bfloat16 number: the upper half of a float32 number.
func fromBFloat16(x uint16) float32 { return math.Float32frombits(uint32(x) << 16) }

// fromFloat16 is a finite float16 number: its bits are those of a float32 number but for the
// exponent, which is 112 smaller.
func fromFloat16(x uint16) float32 {
	const scale = 0x1p112
	return math.Float32frombits(uint32(x&0x8000)<<16|uint32(x&0x7fff)<<13) * scale
}
