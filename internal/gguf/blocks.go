package gguf

import (
	"encoding/binary"
	"math"

	"github.com/headwater-ml/headwater/models/spec"
)

// CodingOf returns how a type keeps a matrix in less than 32 bits a number; it is zero for others.
func CodingOf(t Type) spec.Coding {
	if t == F16 || t == BF16 {
		return spec.Coding{Bits: 16, Block: spec.BlockSize, Powers: t == BF16}
	}
	return codings[t].Coding
}

// coding is how a quantised type is read.
type coding struct {
	spec.Coding
	// read reads one block.
	read func(to spec.Blocks, b []byte)
}

// codings are the quantised types. Minima of _K are subtracted, so their sign changes.
var codings = map[Type]coding{
	Q4_0:  {spec.Coding{Bits: 4, Block: 32}, readQ4_0},
	Q4_1:  {spec.Coding{Bits: 4, Block: 32, Min: true}, readQ4_1},
	Q5_0:  {spec.Coding{Bits: 5, Block: 32}, readQ5_0},
	Q5_1:  {spec.Coding{Bits: 5, Block: 32, Min: true}, readQ5_1},
	Q8_0:  {spec.Coding{Bits: 8, Block: 32}, readQ8_0},
	Q2K:   {spec.Coding{Bits: 2, Block: 256, Part: 16, Min: true}, readQ2K},
	Q3K:   {spec.Coding{Bits: 3, Block: 256, Part: 16}, readQ3K},
	Q4K:   {spec.Coding{Bits: 4, Block: 256, Part: 32, Min: true}, readQ4K},
	Q5K:   {spec.Coding{Bits: 5, Block: 256, Part: 32, Min: true}, readQ5K},
	Q6K:   {spec.Coding{Bits: 6, Block: 256, Part: 16}, readQ6K},
	IQ4NL: {spec.Coding{Bits: 4, Block: 32, Levels: levelsIQ4NL}, readQ4_0},
	MXFP4: {spec.Coding{Bits: 4, Block: 32, Levels: levelsMXFP4, Powers: true}, readMXFP4},
}

// The levels of codes, 128 more than their values. Those of MXFP4 are twice the numbers of 4 bits
// that they stand for.
const (
	// -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113
	levelsIQ4NL = "\x01\x18\x2d\x3f\x4f\x5d\x6a\x76\x81\x8d\x99\xa6\xb5\xc5\xd9\xf1"
	// 0 1 2 3 4 6 8 12 0 -1 -2 -3 -4 -6 -8 -12
	levelsMXFP4 = "\x80\x81\x82\x83\x84\x86\x88\x8c\x80\x7f\x7e\x7d\x7c\x7a\x78\x74"
)

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

// readQ4_0 reads a scale and 32 numbers of 4 bits.
func readQ4_0(to spec.Blocks, b []byte) {
	to.Scale[0] = half(b)
	halves(to.Codes, b[2:])
}

// readQ4_1 is [readQ4_0] with a minimum after the scale.
func readQ4_1(to spec.Blocks, b []byte) {
	to.Scale[0], to.Min[0] = half(b), half(b[2:])
	halves(to.Codes, b[4:])
}

// readQ5_0 reads a scale, 32 fifth bits and 32 numbers of 4 bits.
func readQ5_0(to spec.Blocks, b []byte) {
	to.Scale[0] = half(b)
	halves(to.Codes, b[6:])
	fifths(to.Codes, binary.LittleEndian.Uint32(b[2:]))
}

// readQ5_1 is [readQ5_0] with a minimum after the scale.
func readQ5_1(to spec.Blocks, b []byte) {
	to.Scale[0], to.Min[0] = half(b), half(b[2:])
	halves(to.Codes, b[8:])
	fifths(to.Codes, binary.LittleEndian.Uint32(b[4:]))
}

// readQ8_0 reads a scale and 32 signed bytes. Code 0 is -128.
func readQ8_0(to spec.Blocks, b []byte) {
	to.Scale[0] = half(b)
	for i, x := range b[2:34] {
		to.Codes[i] = x ^ 0x80
	}
}

// readMXFP4 reads the exponent of a scale and 32 numbers of 4 bits. The scale is half of what the
// exponent says, because the levels are twice the numbers.
func readMXFP4(to spec.Blocks, b []byte) {
	to.Scale[0] = float32(math.Ldexp(1, int(b[0])-128))
	halves(to.Codes, b[1:])
}

// readQ2K reads 16 bytes, each with the factors of the scale and of the minimum of 16 numbers; 256
// numbers of 2 bits; the scale and the minimum. Of 32 bytes with numbers, the lowest bits are the
// first 32 numbers.
func readQ2K(to spec.Blocks, b []byte) {
	to.Scale[0], to.Min[0] = half(b[80:]), -half(b[82:])
	for part := range 16 {
		to.Parts[part], to.MinPart[part] = int8(b[part]&15), int8(b[part]>>4)
		q, shift := b[16+part/8*32+part%2*16:][:16], part/2%4*2
		for i, x := range q {
			to.Codes[part*16+i] = x >> shift & 3
		}
	}
}

// readQ3K reads 256 third bits, 256 numbers of 2 bits, 16 factors of 6 bits and the scale.
func readQ3K(to spec.Blocks, b []byte) {
	to.Scale[0] = half(b[108:])
	packed := b[96:108]
	for part := range 16 {
		factor := packed[part%8]>>(part/8*4)&15 | packed[8+part%4]>>(part/4*2)&3<<4
		to.Parts[part] = int8(factor) - 32
		q, shift := b[32+part/8*32+part%2*16:][:16], part/2%4*2
		third := b[part%2*16:][:16]
		for i, x := range q {
			to.Codes[part*16+i] = x>>shift&3 | third[i]>>(part/2)&1<<2
		}
	}
}

// readQ4K reads the scale and the minimum, 8 pairs of their factors, and 256 numbers of 4 bits. Of
// 32 bytes with numbers, the low halves are the first 32 numbers.
func readQ4K(to spec.Blocks, b []byte) {
	readFactors(to, b)
	for part := range 8 {
		q, shift := b[16+part/2*32:][:32], part%2*4
		for i, x := range q {
			to.Codes[part*32+i] = x >> shift & 15
		}
	}
}

// readQ5K is [readQ4K] with 256 fifth bits before the numbers.
func readQ5K(to spec.Blocks, b []byte) {
	readFactors(to, b)
	for part := range 8 {
		q, high, shift := b[48+part/2*32:][:32], b[16:48], part%2*4
		for i, x := range q {
			to.Codes[part*32+i] = x>>shift&15 | high[i]>>part&1<<4
		}
	}
}

// readFactors reads scale and minimum of a block of Q4_K or Q5_K, and their factors of 6 bits.
func readFactors(to spec.Blocks, b []byte) {
	to.Scale[0], to.Min[0] = half(b), -half(b[2:])
	b = b[4:16]
	for i := range 4 {
		to.Parts[i], to.MinPart[i] = int8(b[i]&63), int8(b[i+4]&63)
		to.Parts[i+4] = int8(b[i+8]&15 | b[i]>>6<<4)
		to.MinPart[i+4] = int8(b[i+8]>>4 | b[i+4]>>6<<4)
	}
}

// readQ6K reads 256 numbers of 4 bits, their 256 upper 2 bits, 16 factors of 8 bits and the scale.
// Of 64 bytes with numbers, the low halves are the first 64 numbers.
func readQ6K(to spec.Blocks, b []byte) {
	to.Scale[0] = half(b[208:])
	for i, x := range b[192:208] {
		to.Parts[i] = int8(x)
	}
	for part := range 8 {
		q, shift := b[part/4*64+part%2*32:][:32], part/2%2*4
		high, up := b[128+part/4*32:][:32], part%4*2
		for i, x := range q {
			to.Codes[part*32+i] = x>>shift&15 | high[i]>>up&3<<4
		}
	}
}

// convert converts whole blocks of a quantised type, len(dst) numbers.
func (c coding) convert(dst []float32, b []byte) {
	block := c.Make(c.Block)
	for size := len(b) / (len(dst) / c.Block); len(b) > 0; dst, b = dst[c.Block:], b[size:] {
		c.read(block, b)
		c.Numbers(dst[:c.Block], block)
	}
}

// Coding returns how a matrix, or a stack of matrices, is kept; [Weights.ReadBlocks] reads one that
// is quantised. It is zero for other tensors.
func (w *Weights) Coding(name string) spec.Coding {
	t, err := w.lookup(name)
	if err != nil || len(t.shape) < 2 {
		return spec.Coding{}
	}
	return CodingOf(t.kind)
}

// ReadBlocks fills b with rows of a tensor, from row first on: as many as have len(b.Codes)
// numbers. The rows of a stack are those of all its matrices. Rows are in the order that they had
// before the conversion. It returns an error if [Weights.Coding] is zero, if there are not as many
// rows, or if the file cannot be read.
func (w *Weights) ReadBlocks(b spec.Blocks, name string, first int) error {
	t, err := w.lookup(name)
	if err != nil {
		return err
	}
	of, ok := codings[t.kind]
	if !ok || len(t.shape) < 2 {
		return w.fail("tensor %s of type %v is no quantised matrix", quoted(name), t.kind)
	}
	in := t.shape[len(t.shape)-1]
	rows := t.count / in
	n := len(b.Codes) / in
	if first < 0 || first > rows || n > rows-first || n*in != len(b.Codes) ||
		len(b.Scale) != len(b.Codes)/of.Block {
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
		if err := t.readBlocks(of, of.Of(b, i*in, in), row*in); err != nil {
			return err
		}
	}
	return nil
}

// readBlocks reads numbers from number first on, whole blocks of the type.
func (t tensor) readBlocks(of coding, to spec.Blocks, first int) error {
	bytes := int64(formats[t.kind].bytes)
	base := t.part.data + t.offset
	begin, end := int64(first/of.Block), int64((first+len(to.Codes))/of.Block)
	done := 0
	err := t.part.raw.Each(base+begin*bytes, base+end*bytes, pieceBlocks*bytes,
		func(b []byte) error {
			for ; len(b) > 0; b = b[bytes:] {
				of.read(of.Of(to, done, of.Block), b)
				done += of.Block
			}
			return nil
		})
	if err != nil {
		return pkg.Errorf("%s: %w", t.part.raw.Name(), err)
	}
	return nil
}
