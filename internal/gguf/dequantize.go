package gguf

import (
	"encoding/binary"
	"math"

	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// The functions here convert whole blocks of one type, len(dst) numbers. Every product is converted
// to float32 before a sum, which keeps a compiler from computing both in one instruction with one
// rounding; so the results are those of NumPy on every machine.

// half returns the float16 number at b.
func half(b []byte) float32 { return checkpoint.Float16(binary.LittleEndian.Uint16(b)).Float32() }

func fromF32(dst []float32, b []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

func fromF16(dst []float32, b []byte) {
	for i := range dst {
		dst[i] = half(b[2*i:])
	}
}

func fromBF16(dst []float32, b []byte) {
	for i := range dst {
		dst[i] = checkpoint.BFloat16(binary.LittleEndian.Uint16(b[2*i:])).Float32()
	}
}

// fromQ4_0 reads blocks of a scale and 32 numbers of 4 bits: the low halves of 16 bytes, then the
// high halves.
func fromQ4_0(dst []float32, b []byte) {
	for ; len(dst) > 0; dst, b = dst[32:], b[18:] {
		d, q, to := half(b), b[2:18], dst[:32]
		for i, x := range q {
			to[i] = d * float32(int(x&15)-8)
			to[i+16] = d * float32(int(x>>4)-8)
		}
	}
}

// fromQ4_1 is [fromQ4_0] with a minimum after the scale.
func fromQ4_1(dst []float32, b []byte) {
	for ; len(dst) > 0; dst, b = dst[32:], b[20:] {
		d, m, q, to := half(b), half(b[2:]), b[4:20], dst[:32]
		for i, x := range q {
			to[i] = float32(d*float32(x&15)) + m
			to[i+16] = float32(d*float32(x>>4)) + m
		}
	}
}

// fromQ5_0 reads blocks of a scale, 32 fifth bits and 32 numbers of 4 bits.
func fromQ5_0(dst []float32, b []byte) {
	for ; len(dst) > 0; dst, b = dst[32:], b[22:] {
		d, high, q, to := half(b), binary.LittleEndian.Uint32(b[2:]), b[6:22], dst[:32]
		for i, x := range q {
			to[i] = d * float32(int(uint32(x&15)|high>>i&1<<4)-16)
			to[i+16] = d * float32(int(uint32(x>>4)|high>>(i+16)&1<<4)-16)
		}
	}
}

// fromQ5_1 is [fromQ5_0] with a minimum after the scale.
func fromQ5_1(dst []float32, b []byte) {
	for ; len(dst) > 0; dst, b = dst[32:], b[24:] {
		d, m := half(b), half(b[2:])
		high, q, to := binary.LittleEndian.Uint32(b[4:]), b[8:24], dst[:32]
		for i, x := range q {
			to[i] = float32(d*float32(uint32(x&15)|high>>i&1<<4)) + m
			to[i+16] = float32(d*float32(uint32(x>>4)|high>>(i+16)&1<<4)) + m
		}
	}
}

// fromQ8_0 reads blocks of a scale and 32 signed bytes.
func fromQ8_0(dst []float32, b []byte) {
	for ; len(dst) > 0; dst, b = dst[32:], b[34:] {
		d, q, to := half(b), b[2:34], dst[:32]
		for i, x := range q {
			to[i] = float32(int8(x)) * d
		}
	}
}

// levels are the values of the 16 codes of IQ4_NL.
var levels = [16]float32{
	-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
}

// fromIQ4NL is [fromQ4_0] with levels that are closer near 0.
func fromIQ4NL(dst []float32, b []byte) {
	for ; len(dst) > 0; dst, b = dst[32:], b[18:] {
		d, q, to := half(b), b[2:18], dst[:32]
		for i, x := range q {
			to[i] = d * levels[x&15]
			to[i+16] = d * levels[x>>4]
		}
	}
}

// fromQ2K reads blocks of 16 bytes, each with the scale and the minimum of 16 numbers; 256 numbers
// of 2 bits; and the scales of the scales and of the minima. Of 32 bytes with numbers, the lowest
// bits are the first 32 numbers.
func fromQ2K(dst []float32, b []byte) {
	for ; len(dst) > 0; dst, b = dst[256:], b[84:] {
		d, dmin := half(b[80:]), half(b[82:])
		for part := range 16 {
			scale := float32(d * float32(b[part]&15))
			low := float32(dmin * float32(b[part]>>4))
			q, shift := b[16+part/8*32+part%2*16:][:16], part/2%4*2
			to := dst[part*16:][:16]
			for i, x := range q {
				to[i] = float32(scale*float32(x>>shift&3)) - low
			}
		}
	}
}

// fromQ3K reads blocks of 256 third bits, 256 numbers of 2 bits, 16 scales of 6 bits and the scale
// of the scales. A third bit of 0 means that 4 is subtracted.
func fromQ3K(dst []float32, b []byte) {
	for ; len(dst) > 0; dst, b = dst[256:], b[110:] {
		d, packed := half(b[108:]), b[96:108]
		for part := range 16 {
			scale := packed[part%8]>>(part/8*4)&15 | packed[8+part%4]>>(part/4*2)&3<<4
			by := float32(d * float32(int(scale)-32))
			q, shift := b[32+part/8*32+part%2*16:][:16], part/2%4*2
			third := b[part%2*16:][:16]
			to := dst[part*16:][:16]
			for i, x := range q {
				n := int(x>>shift&3) - int(^third[i]>>(part/2)&1<<2)
				to[i] = by * float32(n)
			}
		}
	}
}

// scaleMin returns scale and minimum of part i of 8, 6 bits each, from the 12 bytes that hold all.
func scaleMin(b []byte, i int) (scale, low byte) {
	if i < 4 {
		return b[i] & 63, b[i+4] & 63
	}
	return b[i+4]&15 | b[i-4]>>6<<4, b[i+4]>>4 | b[i]>>6<<4
}

// fromQ4K reads blocks of the scales of scales and minima, 8 pairs of a scale and a minimum, and
// 256 numbers of 4 bits. Of 32 bytes with numbers, the low halves are the first 32 numbers.
func fromQ4K(dst []float32, b []byte) {
	for ; len(dst) > 0; dst, b = dst[256:], b[144:] {
		d, dmin := half(b), half(b[2:])
		for part := range 8 {
			scale, low := scaleMin(b[4:16], part)
			by, minus := float32(d*float32(scale)), float32(dmin*float32(low))
			q, shift, to := b[16+part/2*32:][:32], part%2*4, dst[part*32:][:32]
			for i, x := range q {
				to[i] = float32(by*float32(x>>shift&15)) - minus
			}
		}
	}
}

// fromQ5K is [fromQ4K] with 256 fifth bits before the numbers.
func fromQ5K(dst []float32, b []byte) {
	for ; len(dst) > 0; dst, b = dst[256:], b[176:] {
		d, dmin, high := half(b), half(b[2:]), b[16:48]
		for part := range 8 {
			scale, low := scaleMin(b[4:16], part)
			by, minus := float32(d*float32(scale)), float32(dmin*float32(low))
			q, shift, to := b[48+part/2*32:][:32], part%2*4, dst[part*32:][:32]
			for i, x := range q {
				n := x>>shift&15 | high[i]>>part&1<<4
				to[i] = float32(by*float32(n)) - minus
			}
		}
	}
}

// fromQ6K reads blocks of 256 numbers of 4 bits, their 256 upper 2 bits, 16 scales of 8 bits and
// the scale of the scales. Of 64 bytes with numbers, the low halves are the first 64 numbers.
func fromQ6K(dst []float32, b []byte) {
	for ; len(dst) > 0; dst, b = dst[256:], b[210:] {
		d, scales := half(b[208:]), b[192:208]
		for part := range 8 {
			q, shift := b[part/4*64+part%2*32:][:32], part/2%2*4
			high, up, to := b[128+part/4*32:][:32], part%4*2, dst[part*32:][:32]
			by := [2]float32{
				d * float32(int8(scales[part*2])), d * float32(int8(scales[part*2+1])),
			}
			for i, x := range q {
				n := int(x>>shift&15|high[i]>>up&3<<4) - 32
				to[i] = by[i/16] * float32(n)
			}
		}
	}
}
