package checkpoint

import "math"

// Float16 is an IEEE 754 binary16 number as bits: 1 sign bit, 5 exponent bits (bias 15), 10
// fraction bits.
type Float16 uint16

// NewFloat16 returns the nearest Float16. If two are equally near, it returns the one whose last
// bit is 0. Values from 65520 on become infinity. NaN stays NaN and keeps the upper bits of its
// payload.
func NewFloat16(x float32) Float16 {
	bits := math.Float32bits(x)
	sign := Float16(bits >> 16 & 0x8000)
	exponent := int(bits >> 23 & 0xff)
	fraction := bits & 0x7fffff
	switch {
	case exponent == 0xff && fraction != 0:
		return sign | 0x7e00 | Float16(fraction>>13)
	case exponent > 127+15:
		return sign | 0x7c00
	case exponent < 127-25: // below half the smallest subnormal, 2^-25
		return sign
	case exponent < 127-14: // subnormal: the leading 1 moves into the fraction
		return sign | Float16(roundShift(fraction|0x800000, 126-exponent))
	}
	// If rounding carries out of the fraction, the exponent grows by 1, which is right; the largest
	// values become infinity.
	return sign | Float16(roundShift(uint32(exponent-127+15)<<23|fraction, 13))
}

// Float32 returns the same number as float32, which is always exact.
func (h Float16) Float32() float32 {
	sign := uint32(h&0x8000) << 16
	exponent := uint32(h >> 10 & 0x1f)
	fraction := uint32(h & 0x3ff)
	switch exponent {
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	case 0: // subnormal or zero: fraction · 2^-24, exact in float32
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	}
	return math.Float32frombits(sign | (exponent-15+127)<<23 | fraction<<13)
}

// BFloat16 is the upper half of a float32 as bits: 1 sign bit, 8 exponent bits, 7 fraction bits.
type BFloat16 uint16

// Float32 returns the same number as float32, which is always exact.
func (b BFloat16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }

// roundShift returns x / 2^n rounded to the nearest integer, ties to even. n is from 1 to 31.
func roundShift(x uint32, n int) uint32 {
	q, rest, half := x>>n, x&(1<<n-1), uint32(1)<<(n-1)
	if rest > half || (rest == half && q&1 == 1) {
		q++
	}
	return q
}
