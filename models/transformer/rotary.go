package transformer

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does
)

// Rotary says how queries and keys are turned by their position p (Su et al. 2021, §3.2, in the split-half form): of the first R
// components of a head, the pair (i, i+R/2) is turned by the angle p·f_i and multiplied by Scale; the rest stays.
type Rotary struct {
	// Frequencies is f [R/2], radians a position.
	Frequencies []float32
	// LongFrequencies is [R/2] or nil: they serve instead when the text has more tokens than Original (Phi-3's long models).
	LongFrequencies []float32
	Original        int
	// Stretch, if it is above 0, divides f_i by r^(2i/(R-2)), r = max(1, Stretch·n/Original - (Stretch-1)) in a text of n tokens: the
	// dynamic form of NTK scaling. Keys that are in the cache by then stay as they were turned.
	Stretch float64
	// Scale multiplies cosine and sine; 0 is 1 (YaRN, Phi-3's long models).
	Scale float64
}

// Width returns R, how many components of a head are turned.
func (r *Rotary) Width() int { return 2 * len(r.Frequencies) }

// check returns what does not fit the heads of s in r, which may be nil; the empty text if it fits.
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
	if r.Original < 0 || r.Original == 0 && r.Stretch > 0 || r.Width() == 2 && r.Stretch > 0 || !(r.Stretch >= 0 && r.Stretch <= MaxScale) {
		return fmt.Sprintf("rotary stretch %v of width %d from %d tokens on is not supported",
			r.Stretch, r.Width(), r.Original)
	}
	if !(r.Scale >= 0 && r.Scale <= MaxScale) {
		return fmt.Sprintf("rotary scale %v is not in 0..%g", r.Scale, float64(MaxScale))
	}
	return ""
}

// RotaryFrequencies returns θ^(-2i/width) for i < width/2, the frequencies of Su et al. 2021, computed in float64 and rounded once.
func RotaryFrequencies(theta float64, width int) []float64 {
	f := make([]float64, width/2)
	for i := range f {
		f[i] = math.Pow(theta, -2*float64(i)/float64(width))
	}
	return f
}

// turning is the cosine and sine of every position, [B or 1,1,N,R/2] each.
type turning struct{ cos, sin *Node }

// turning returns what turns targets at positions [B or 1,N], of a text of length tokens (an int32 scalar).
func (r *Rotary) turning(positions, length *Node) turning {
	g := positions.Graph()
	half := len(r.Frequencies)
	f := Const(g, r.Frequencies) // [R/2]
	if r.LongFrequencies != nil {
		long := GreaterThan(length, Scalar(g, dtypes.Int32, r.Original))
		f = Where(BroadcastToDims(long, half), Const(g, r.LongFrequencies), f)
	}
	if r.Stretch > 0 {
		f = Mul(f, r.stretched(length))
	}
	at := InsertAxes(ConvertDType(positions, dtypes.Float32), 1, -1) // [B,1,N,1]
	angle := Mul(at, Reshape(f, 1, 1, 1, half))                      // [B,1,N,R/2]
	t := turning{cos: Cos(angle), sin: Sin(angle)}
	if r.Scale != 0 && r.Scale != 1 {
		t = turning{cos: MulScalar(t.cos, r.Scale), sin: MulScalar(t.sin, r.Scale)}
	}
	return t
}

// stretched returns what [Rotary.Stretch] multiplies frequencies by, [R/2].
func (r *Rotary) stretched(length *Node) *Node {
	exponents := make([]float32, len(r.Frequencies))
	for i := range exponents {
		exponents[i] = -2 * float32(i) / float32(r.Width()-2)
	}
	n := ConvertDType(length, dtypes.Float32)
	ratio := MaxScalar(AddScalar(MulScalar(n, r.Stretch/float64(r.Original)), 1-r.Stretch), 1)
	return Exp(Mul(Const(length.Graph(), exponents), Log(ratio)))
}

// turn turns x [B,H,N,E].
func (t turning) turn(x *Node) *Node {
	half, width := t.cos.Shape().Dimensions[3], x.Shape().Dimensions[3]
	a := SliceAxis(x, -1, AxisRange(0, half))
	b := SliceAxis(x, -1, AxisRange(half, 2*half))
	parts := []*Node{
		Sub(Mul(a, t.cos), Mul(b, t.sin)),
		Add(Mul(b, t.cos), Mul(a, t.sin)),
	}
	if 2*half < width {
		parts = append(parts, SliceAxis(x, -1, AxisRange(2*half, width)))
	}
	return Concatenate(parts, -1)
}
