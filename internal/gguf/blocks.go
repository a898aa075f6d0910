package gguf

import (
	"encoding/binary"

	"github.com/headwater-ml/headwater/models/spec"
)

// The functions here read whole blocks of one type as [spec.Blocks], with the same numbers as the
// conversion to float32.

// inBlocks is how a type is read as codes.
type inBlocks struct {
	bits int
	read func(to spec.Blocks, b []byte)
}

// quantized are the types whose numbers have a scale for each [spec.BlockSize] of them. Q2_K, Q3_K
// and Q6_K have one for 16.
var quantized = map[Type]inBlocks{
	Q4_0:  {4, blocksOf(18, readQ4_0)},
	Q4_1:  {4, blocksOf(20, readQ4_1)},
	Q5_0:  {5, blocksOf(22, readQ5_0)},
	Q5_1:  {5, blocksOf(24, readQ5_1)},
	Q8_0:  {8, blocksOf(34, readQ8_0)},
	Q4K:   {4, readQ4K},
	Q5K:   {5, readQ5K},
	IQ4NL: {8, blocksOf(18, readIQ4NL)},
}

// blocksOf returns a function that reads blocks of so many bytes, each with [spec.BlockSize] codes,
// with a function for one of them, which returns scale and minimum.
func blocksOf(size int, read func(codes []uint8, b []byte) (scale, low float32),
) func(spec.Blocks, []byte) {
	return func(to spec.Blocks, b []byte) {
		for i := range to.Scale {
			codes := to.Codes[i*spec.BlockSize:][:spec.BlockSize]
			to.Scale[i], to.Min[i] = read(codes, b[i*size:][:size])
		}
	}
}

// halves writes the low halves of 16 bytes, then the high halves.
func halves(codes []uint8, b []byte) {
	for i, x := range b[:16] {
		codes[i], codes[i+16] = x&15, x>>4
	}
}

// fifths adds fifth bits.
func fifths(codes []uint8, high uint32) {
	for i := range codes {
		codes[i] |= uint8(high >> i & 1 << 4)
	}
}

func readQ4_0(codes []uint8, b []byte) (scale, low float32) {
	halves(codes, b[2:])
	return half(b), -8 * half(b)
}

func readQ4_1(codes []uint8, b []byte) (scale, low float32) {
	halves(codes, b[4:])
	return half(b), half(b[2:])
}

func readQ5_0(codes []uint8, b []byte) (scale, low float32) {
	halves(codes, b[6:])
	fifths(codes, binary.LittleEndian.Uint32(b[2:]))
	return half(b), -16 * half(b)
}

func readQ5_1(codes []uint8, b []byte) (scale, low float32) {
	halves(codes, b[8:])
	fifths(codes, binary.LittleEndian.Uint32(b[4:]))
	return half(b), half(b[2:])
}

// readQ8_0 reads signed bytes. Code 0 is -128.
func readQ8_0(codes []uint8, b []byte) (scale, low float32) {
	for i, x := range b[2:34] {
		codes[i] = x ^ 0x80
	}
	return half(b), -128 * half(b)
}

// readIQ4NL writes the level of each number, from -128 on.
func readIQ4NL(codes []uint8, b []byte) (scale, low float32) {
	halves(codes, b[2:])
	for i, x := range codes {
		codes[i] = uint8(int(levels[x]) + 128)
	}
	return half(b), -128 * half(b)
}

// readQ4K reads blocks of 256 numbers, [fromQ4K].
func readQ4K(to spec.Blocks, b []byte) {
	for i := range to.Scale {
		part := i % 8
		block := b[i/8*144:][:144]
		setScaleMin(to, i, block)
		q, shift := block[16+part/2*32:][:32], part%2*4
		for k, x := range q {
			to.Codes[i*32+k] = x >> shift & 15
		}
	}
}

// readQ5K reads blocks of 256 numbers, [fromQ5K].
func readQ5K(to spec.Blocks, b []byte) {
	for i := range to.Scale {
		part := i % 8
		block := b[i/8*176:][:176]
		setScaleMin(to, i, block)
		q, high, shift := block[48+part/2*32:][:32], block[16:48], part%2*4
		for k, x := range q {
			to.Codes[i*32+k] = x>>shift&15 | high[k]>>part&1<<4
		}
	}
}

// setScaleMin sets scale and minimum of block i, a part of a block of Q4_K or Q5_K.
func setScaleMin(to spec.Blocks, i int, b []byte) {
	scale, low := scaleMin(b[4:16], i%8)
	to.Scale[i], to.Min[i] = half(b)*float32(scale), -(half(b[2:]) * float32(low))
}

// Bits returns how many bits the codes of a tensor have that [Weights.ReadBlocks] can read, and 0
// for other tensors.
func (w *Weights) Bits(name string) int {
	t, err := w.lookup(name)
	if err != nil || len(t.shape) != 2 {
		return 0
	}
	return quantized[t.kind].bits
}

// ReadBlocks fills b with rows of a tensor, from row first on: as many as have len(b.Codes)
// numbers. The rows are in the order that they had before the conversion. It returns an error if
// [Weights.Bits] is 0, if there are not as many rows, or if the file cannot be read.
func (w *Weights) ReadBlocks(b spec.Blocks, name string, first int) error {
	t, err := w.lookup(name)
	if err != nil {
		return err
	}
	of, ok := quantized[t.kind]
	if !ok || len(t.shape) != 2 {
		return w.fail("tensor %s of type %v has no blocks of %d numbers with a scale", quoted(name),
			t.kind, spec.BlockSize)
	}
	rows, in := t.shape[0], t.shape[1]
	n := len(b.Codes) / in
	if first < 0 || first > rows || n > rows-first || n*in != len(b.Codes) ||
		len(b.Scale) != len(b.Codes)/spec.BlockSize || len(b.Min) != len(b.Scale) {
		return w.fail("tensor %s has %d rows of %d numbers, not %d numbers from row %d on",
			quoted(name), rows, in, len(b.Codes), first)
	}
	heads, paired := w.pairedRows(name)
	if !paired {
		return t.readBlocks(of, b, first*in)
	}
	if heads < 1 || rows%heads != 0 || rows/heads%2 != 0 {
		return w.unevenHeads(name, rows, heads)
	}
	for i := range n {
		row := pairedRow(first+i, rows/heads)
		if err := t.readBlocks(of, blocksFrom(b, i*in, in), row*in); err != nil {
			return err
		}
	}
	return nil
}

// blocksFrom is n numbers of b from number first on, whole blocks.
func blocksFrom(b spec.Blocks, first, n int) spec.Blocks {
	from, to := first/spec.BlockSize, (first+n)/spec.BlockSize
	return spec.Blocks{
		Codes: b.Codes[first : first+n], Scale: b.Scale[from:to], Min: b.Min[from:to],
	}
}

// readBlocks reads numbers from number first on, whole blocks of the type.
func (t tensor) readBlocks(of inBlocks, to spec.Blocks, first int) error {
	format := formats[t.kind]
	size, bytes := format.block, int64(format.bytes)
	base := t.part.data + t.offset
	begin, end := int64(first/size), int64((first+len(to.Codes))/size)
	done := 0
	err := t.part.raw.Each(base+begin*bytes, base+end*bytes, pieceBlocks*bytes,
		func(b []byte) error {
			n := len(b) / int(bytes) * size
			of.read(blocksFrom(to, done, n), b)
			done += n
			return nil
		})
	if err != nil {
		return pkg.Errorf("%s: %w", t.part.raw.Name(), err)
	}
	return nil
}
