package spec

import (
	"fmt"
	"math"
	"slices"
)

// Rotary is how queries and keys are turned by their position p (Su et al. 2021, §3.2): of the
// first R components of a head, the pair (i, i+R/2) is turned by the angle p·f_i and multiplied by
// Scale. The other components stay as they are.
type Rotary struct {
	// Frequencies is f, [R/2], in radians per position.
	Frequencies []float32
	// LongFrequencies is [R/2] or nil. It replaces Frequencies when the text has more tokens than
	// Original (the long-context Phi-3 models).
	LongFrequencies []float32
	// Original is the number of tokens that LongFrequencies and Stretch start from.
	Original int
	// Stretch, if above 0, divides f_i by r^(2i/(R-2)) in a text of n tokens, with
	// r = max(1, Stretch·n/Original - (Stretch-1)): dynamic NTK scaling. Keys that are in the
	// cache already are not turned again when the text grows.
	Stretch float64
	// Scale multiplies cosine and sine (YaRN, the long-context Phi-3 models); 0 means 1.
	Scale float64
	// Neighbours makes pair i the components 2i and 2i+1 (GPT-J, Cohere, GLM).
	Neighbours bool
	// QueryGrowth β, if above 0, multiplies a query by 1 + β·log(1 + ⌊p/Original⌋) (Ministral 3).
	QueryGrowth float64
}

// Width returns R, how many components of a head are turned.
func (r *Rotary) Width() int { return 2 * len(r.Frequencies) }

// check returns the problem of a rotary embedding for heads of s, or "". r may be nil.
func (r *Rotary) check(s *Spec) string {
	if r == nil {
		return ""
	}
	if r.Width() < 2 || r.Width() > s.HeadWidth {
		return fmt.Sprintf("rotary width %d is not in 2..%d, the width of a head", r.Width(),
			s.HeadWidth)
	}
	if r.LongFrequencies != nil && len(r.LongFrequencies) != len(r.Frequencies) {
		return fmt.Sprintf("%d long rotary frequencies for %d", len(r.LongFrequencies),
			len(r.Frequencies))
	}
	for _, f := range slices.Concat(r.Frequencies, r.LongFrequencies) {
		if !(math.Abs(float64(f)) <= MaxScale) {
			return fmt.Sprintf("rotary frequency %v is not a number up to %g", f, float64(MaxScale))
		}
	}
	// Stretching divides by Original and by R-2. The negated comparison also refuses NaN.
	if r.Original < 0 || r.Stretch > 0 && (r.Original == 0 || r.Width() == 2) ||
		!(r.Stretch >= 0 && r.Stretch <= MaxScale) {
		return fmt.Sprintf("rotary stretch %v of width %d from %d tokens on is not supported",
			r.Stretch, r.Width(), r.Original)
	}
	if !(r.QueryGrowth >= 0 && r.QueryGrowth <= MaxScale) || r.QueryGrowth > 0 && r.Original == 0 {
		return fmt.Sprintf("query growth %v from %d tokens on is not supported", r.QueryGrowth,
			r.Original)
	}
	if !(r.Scale >= 0 && r.Scale <= MaxScale) {
		return fmt.Sprintf("rotary scale %v is not in 0..%g", r.Scale, float64(MaxScale))
	}
	return ""
}

// RotaryFrequencies returns f_i = θ^(-2i/width) for i < width/2 (Su et al. 2021, §3.2.2), in
// radians per position. Callers scale them in float64 and round once.
func RotaryFrequencies(theta float64, width int) []float64 {
	f := make([]float64, width/2)
	for i := range f {
		f[i] = math.Pow(theta, -2*float64(i)/float64(width))
	}
	return f
}
