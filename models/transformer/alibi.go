package transformer

import "math"

// AlibiSlopes returns the slope of each of H heads (Press, Smith and Lewis 2022, §3; for H not a power of two as in BLOOM):
//
//	H a power of two:  m_h = 2^(-8(h+1)/H)
//	otherwise:         those of the power c below H, then 2^(-4(2k+1)/c), k = 0, 1, ...
//
// Computed in float64 and rounded once. It panics if heads is not positive.
func AlibiSlopes(heads int) []float32 {
	if heads < 1 {
		panic("transformer: AlibiSlopes needs at least one head")
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

// alibi returns what ALiBi adds to the score of source j in head h, [H,S], with the rounding and scaling of s.
func (s *Spec) alibi(sources int) []float32 {
	bias := make([]float32, s.Heads*sources)
	scale := float32(1 / math.Sqrt(float64(s.HeadWidth)))
	for h, m := range s.AlibiSlopes {
		for j := range sources {
			b := m * float32(j)
			if s.AlibiRounded {
				b = roundBFloat16(roundBFloat16(m) * float32(j))
			}
			if s.AlibiScaled {
				b *= scale
			}
			bias[h*sources+j] = b
		}
	}
	return bias
}

// roundBFloat16 returns the bfloat16 nearest to a finite x, ties to even.
func roundBFloat16(x float32) float32 {
	b := math.Float32bits(x)
	b += 0x7fff + b>>16&1
	return math.Float32frombits(b &^ 0xffff)
}
