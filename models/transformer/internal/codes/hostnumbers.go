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

// numbers fills dst with whole rows from a row on, on all processors.
func (f *hostForm) numbers(dst []float32, row int) {
	rows := len(dst) / f.in
	each := (rows + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for from := 0; from < rows; from += each {
		to := min(rows, from+each)
		all.Go(func() { f.rowsInto(dst[from*f.in:to*f.in], row+from) })
	}
	all.Wait()
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
	for ; len(dst) > 0; chunk++ {
		low, high := planes[0][chunk*strides[0]:], planes[1][chunk*strides[1]:]
		for p := range blocks {
			u := &blocks[p]
			at := chunk*each + p*each/f.chunk
			scale, least := number(scales[at]), float32(0)
			if minima != nil {
				least = number(minima[at])
			}
			u.scale, u.least = [2]float32{scale, scale}, [2]float32{least, least}
			if parts != nil {
				at = (chunk*f.chunk + p) * halves
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

// times fills y, whose rows have so many numbers, from its begin on with x times the transposed
// matrix, on all processors. Every row of the matrix is in float32 for a moment only.
func (f *hostForm) times(y, x []float32, width int) {
	n := runtime.GOMAXPROCS(0)
	each := (f.out + n - 1) / n
	var all sync.WaitGroup
	for from := 0; from < f.out; from += each {
		to := min(f.out, from+each)
		all.Go(func() {
			together := max(8, 4096/f.in) // rows whose numbers stay in the cache
			rows := make([]float32, together*f.in)
			for row := from; row < to; row += together {
				n := min(together, to-row)
				f.rowsInto(rows[:n*f.in], row)
				for at := 0; at*f.in < len(x); at++ {
					for i := range n {
						y[at*width+row+i] = dot(rows[i*f.in:][:f.in], x[at*f.in:][:f.in])
					}
				}
			}
		})
	}
	all.Wait()
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
