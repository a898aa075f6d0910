package spec

import "errors"

// BlockSize is how many codes that are next to each other in a row are in bytes of their own. Every
// block of a [Coding] has a multiple of it.
const BlockSize = 32

// Coding is how a checkpoint has quantised a matrix. Numbers that are next to each other in a row
// are in blocks with a scale. A number is, in float32 arithmetic,
//
//	scale·part·(code - zero) + min·part of min
//
// where scale·part and its product with the code are exact, so that it does not matter whether
// they are rounded before the sum. The zero Coding is that of a matrix that is not quantised.
type Coding struct {
	// Bits is how many bits a code has: 2, 3, 4, 5, 6 or 8. With 16 there are no blocks to read:
	// the numbers themselves are float16 numbers or, with Powers, bfloat16 numbers.
	Bits int
	// Block is how many numbers share a scale: [BlockSize], or 256.
	Block int
	// Part is how many numbers of a block share a factor of the scale, 16 or 32; 0 means that there
	// are none.
	Part int
	// Min is whether there are minima. Without them zero is half of the codes, or 128 with Levels;
	// with them it is 0.
	Min bool
	// Levels are the values of the 16 codes, one a byte; "" means that codes are values.
	Levels string
	// Powers is whether scales, or numbers of 16 bits, are bfloat16 numbers, as powers of two are;
	// others are float16 numbers.
	Powers bool
}

// Zero is the code, or the level, of the number 0.
func (c Coding) Zero() int {
	switch {
	case c.Min:
		return 0
	case c.Levels != "":
		return 128
	}
	return 1 << (c.Bits - 1)
}

// Blocks is consecutive numbers of a matrix as a checkpoint has quantised them: a code a number, a
// scale and, with [Coding.Min], a minimum a block, and with [Coding.Part] the factors of both.
type Blocks struct {
	Codes          []uint8
	Scale, Min     []float32
	Parts, MinPart []int8
}

// Make returns room for so many numbers, whole blocks.
func (c Coding) Make(numbers int) Blocks {
	b := Blocks{Codes: make([]uint8, numbers), Scale: make([]float32, numbers/c.Block)}
	if c.Min {
		b.Min = make([]float32, len(b.Scale))
	}
	if c.Part > 0 {
		b.Parts = make([]int8, numbers/c.Part)
	}
	if c.Part > 0 && c.Min {
		b.MinPart = make([]int8, len(b.Parts))
	}
	return b
}

// Of returns so many numbers of b from number first on, whole blocks, without a copy.
func (c Coding) Of(b Blocks, first, numbers int) Blocks {
	from, to := first/c.Block, (first+numbers)/c.Block
	of := Blocks{Codes: b.Codes[first : first+numbers], Scale: b.Scale[from:to]}
	if c.Min {
		of.Min = b.Min[from:to]
	}
	if c.Part > 0 {
		from, to = first/c.Part, (first+numbers)/c.Part
		of.Parts = b.Parts[from:to]
		if c.Min {
			of.MinPart = b.MinPart[from:to]
		}
	}
	return of
}

// Numbers fills dst with the numbers of b.
func (c Coding) Numbers(dst []float32, b Blocks) {
	part, zero := c.Block, c.Zero()
	if c.Part > 0 {
		part = c.Part
	}
	for i := 0; i*part < len(dst); i++ {
		scale, low := b.Scale[i*part/c.Block], float32(0)
		if c.Min {
			low = b.Min[i*part/c.Block]
		}
		if c.Part > 0 {
			scale *= float32(b.Parts[i])
		}
		if c.Part > 0 && c.Min {
			low *= float32(b.MinPart[i])
		}
		codes, to := b.Codes[i*part:][:part], dst[i*part:][:part]
		switch {
		case c.Levels != "":
			for k, code := range codes {
				to[k] = scale * float32(int(c.Levels[code])-zero)
			}
		case c.Min:
			for k, code := range codes {
				to[k] = float32(scale*float32(code)) + low
			}
		default:
			for k, code := range codes {
				to[k] = scale * float32(int(code)-zero)
			}
		}
	}
}

// Quantized reads matrices that a checkpoint has quantised. Rows are those of the matrix with the
// axis of its outputs first, [out,in], and of a table over the vocabulary, [V,W].
type Quantized interface {
	// Coding returns how p is quantised.
	Coding(p Param) Coding
	// ReadBlocks fills b with rows of p, from row first on: as many as have len(b.Codes) numbers.
	// It returns an error that wraps [ErrNoBlocks] if p must be read as float32 instead.
	ReadBlocks(p Param, first int, b Blocks) error
}

// ErrNoBlocks is the error of a matrix that must be read as float32 although its checkpoint has
// quantised it, because a number of it is not finite.
var ErrNoBlocks = errors.New("a number is not finite")
