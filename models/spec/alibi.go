package spec

import "math"

// AlibiSlopes returns the ALiBi slope m_h of each of H heads, [H]:
//
//	H a power of two:  m_h = 2^(-8(h+1)/H)
//	otherwise:         the c slopes of c heads, c the largest power of two below H,
//	                   then 2^(-4(2k+1)/c) for k = 0, 1, ...
//
// (Press, Smith and Lewis 2022, §3; for H not a power of two as in BLOOM.) They are computed in
// float64 and rounded once. It panics if heads is not positive.
func AlibiSlopes(heads int) []float32 {
	if heads < 1 {
		panic("spec: AlibiSlopes needs at least one head")
	}
	c := 1
	for 2*c <= heads {
		c *= 2
	}
	slopes := make([]float32, 0, heads)
	for h := range min(c, heads) {
		slopes = append(slopes, float32(math.Exp2(-8*float64(h+1)/float64(c))))
	}
	for k := 0; len(slopes) < heads; k++ {
		slopes = append(slopes, float32(math.Exp2(-4*float64(2*k+1)/float64(c))))
	}
	return slopes
}
