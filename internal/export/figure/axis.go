package figure

import (
	"math"
	"strconv"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

var (
	gray  = chart.RGB{0x55, 0x55, 0x55}
	faint = chart.RGB{0xdd, 0xdd, 0xdd}
	// mutedColor is that of sinks and hidden columns.
	mutedColor = chart.RGB{0xe6, 0xe6, 0xe6}
)

// ticks returns about n round numbers from low to high, and their texts. The step is 1, 2 or 5
// times a power of ten, and at least 1 if they are whole.
func ticks(low, high float64, n int, whole bool) (at []float64, texts []string) {
	if !(high > low) {
		return []float64{low}, []string{format(low, 3)}
	}
	raw := (high - low) / float64(max(n, 1))
	power := math.Floor(math.Log10(raw))
	step := math.Pow(10, power)
	for _, f := range []float64{1, 2, 5, 10} {
		if f*math.Pow(10, power) >= raw*(1-1e-9) {
			step = f * math.Pow(10, power)
			break
		}
	}
	if whole {
		step = max(step, 1)
	}
	digits := int(max(0, -math.Floor(math.Log10(step)+1e-9)))
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step; i++ {
		v := i * step
		if v == 0 {
			v = 0 // not a negative zero
		}
		at = append(at, v)
		if digits > 4 || math.Abs(v) >= 1e6 {
			texts = append(texts, strconv.FormatFloat(v, 'g', 3, 64))
		} else {
			texts = append(texts, strconv.FormatFloat(v, 'f', digits, 64))
		}
	}
	return at, texts
}

// format writes a number with some significant digits and without trailing zeros.
func format(v float64, digits int) string { return strconv.FormatFloat(v, 'g', digits, 64) }

// frame is the area of a plot with linear axes.
type frame struct {
	x, y, w, h             float64
	low, high, lowY, highY float64
	reversedX, reversedY   bool
}

func (f frame) at(x, y float64) point {
	u, v := (x-f.low)/(f.high-f.low), (y-f.lowY)/(f.highY-f.lowY)
	if f.reversedX {
		u = 1 - u
	}
	if !f.reversedY {
		v = 1 - v
	}
	return point{f.x + u*f.w, f.y + v*f.h}
}

// inside reports whether a point lies in the frame; axes can be shorter than the data.
func (f frame) inside(x, y float64) bool {
	const slack = 1e-9
	dx, dy := slack*(f.high-f.low), slack*(f.highY-f.lowY)
	return x >= f.low-dx && x <= f.high+dx && y >= f.lowY-dy && y <= f.highY+dy
}

// span collects the range of data.
type span struct{ low, high float64 }

func newSpan() span { return span{math.Inf(1), math.Inf(-1)} }

func (s *span) see(v float64) {
	if !math.IsNaN(v) {
		s.low, s.high = min(s.low, v), max(s.high, v)
	}
}

// ends returns the ends of an axis: those that it asks for, or else those of the data with a
// margin.
func (s span) ends(a chart.Axis, fromZero bool) (low, high float64) {
	low, high = s.low, s.high
	if !(low <= high) {
		low, high = 0, 1
	}
	if fromZero {
		low, high = min(low, 0), max(high, 0)
	}
	if low == high {
		low, high = low-0.5, high+0.5
	}
	margin := 0.04 * (high - low)
	if !fromZero || low < 0 {
		low -= margin
	}
	if !fromZero || high > 0 {
		high += margin
	}
	if a.Min != nil {
		low = *a.Min
	}
	if a.Max != nil {
		high = *a.Max
	}
	if !(high > low) {
		high = low + 1
	}
	return low, high
}
