package spec

import "errors"

// BlockSize is how many numbers that are next to each other in a row share a scale in [Blocks].
const BlockSize = 32

// Blocks is consecutive numbers of a matrix as a checkpoint has quantised them. Number i is
//
//	Scale[i/BlockSize]·Codes[i] + Min[i/BlockSize]
//
// in float32 arithmetic, where the product is exact, so that it does not matter whether it is
// rounded before the sum.
type Blocks struct {
	Codes      []uint8
	Scale, Min []float32
}

// Quantized reads matrices that a checkpoint has quantised. Rows are those of the matrix with the
// axis of its outputs first, [out,in], and of a table over the vocabulary, [V,W].
type Quantized interface {
	// Bits returns how many bits the codes of p have, at most 8. It returns 0 if p is not
	// quantised, or in a way that [Blocks] cannot say.
	Bits(p Param) int
	// ReadBlocks fills b with rows of p, from row first on: as many as have len(b.Codes) numbers.
	// It returns an error that wraps [ErrNoBlocks] if p must be read as float32 instead.
	ReadBlocks(p Param, first int, b Blocks) error
}

// ErrNoBlocks is the error of a matrix that must be read as float32 although its checkpoint has
// quantised it, because a number of it is not finite.
var ErrNoBlocks = errors.New("a number is not finite")
