package chart

import (
	"math"
	"slices"
)

// Bin is one bin of a histogram: [Low,High), the last one with High, and a count for each series.
type Bin struct {
	Low, High float64
	Counts    []int
}

// Histogram returns equal bins over the finite values of all series, or over the ends of the X
// axis. There are none if there are no values.
func (c *Chart) Histogram() []Bin {
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range c.Series {
		for _, v := range s.Y {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if c.X.Min != nil {
		low = *c.X.Min
	}
	if c.X.Max != nil {
		high = *c.X.Max
	}
	if !(low <= high) {
		return nil
	}
	if low == high { // one value: a bin around it
		low, high = low-0.5, high+0.5
	}
	n := c.Bins
	if n == 0 {
		n = defaultBins
	}
	bins := make([]Bin, n)
	for i := range bins {
		bins[i] = Bin{
			Low: low + (high-low)*float64(i)/float64(n), Counts: make([]int, len(c.Series)),
			High: low + (high-low)*float64(i+1)/float64(n),
		}
	}
	for k, s := range c.Series {
		for _, v := range s.Y {
			if v >= low && v <= high {
				i := min(int((v-low)/(high-low)*float64(n)), n-1)
				bins[i].Counts[k]++
			}
		}
	}
	return bins
}

// Height is the height of the triangle of a ternary plot, whose base goes from (0,0) to (1,0).
var Height = math.Sqrt(3) / 2

// Place returns where a point of three shares lies in the triangle: a belongs to the left corner,
// b to the right and c to the top. The shares need not sum to 1; a point whose shares are all 0
// lies in the middle.
func Place(a, b, c float64) (x, y float64) {
	sum := a + b + c
	if !(sum > 0) {
		a, b, c, sum = 1, 1, 1, 3
	}
	return (b + c/2) / sum, c / sum * Height
}

// outlinePoints is how many points the outline of an ellipse has.
const outlinePoints = 72

// Outline returns the points of an ellipse, the first one again at the end.
func (e Ellipse) Outline() (x, y []float64) {
	const n = outlinePoints
	for i := range n + 1 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i%n) / n)
		x, y = append(x, e.X+e.RadiusX*cos), append(y, e.Y+e.RadiusY*sin)
	}
	return x, y
}

// Sorted returns the points of a series in the order of their x, which is how a line connects them.
// Points that are NaN are left out.
func (s Series) Sorted() []int {
	var order []int
	for i := range s.Y {
		if !math.IsNaN(s.X[i]) && !math.IsNaN(s.Y[i]) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case s.X[a] < s.X[b]:
			return -1
		case s.X[a] > s.X[b]:
			return 1
		}
		return 0
	})
	return order
}

// TriangleLine is a side or a grid line of a ternary plot, between two points of three shares.
type TriangleLine struct {
	From, To [3]float64
	Grid     bool
}

// TriangleLines returns the grid lines at each fifth, then the three sides.
func TriangleLines() []TriangleLine {
	var lines []TriangleLine
	const parts = 5
	for i := 1; i < parts; i++ {
		f := float64(i) / parts
		lines = append(lines,
			TriangleLine{[3]float64{f, 1 - f, 0}, [3]float64{f, 0, 1 - f}, true},
			TriangleLine{[3]float64{1 - f, f, 0}, [3]float64{0, f, 1 - f}, true},
			TriangleLine{[3]float64{1 - f, 0, f}, [3]float64{0, 1 - f, f}, true})
	}
	return append(lines,
		TriangleLine{[3]float64{1, 0, 0}, [3]float64{0, 1, 0}, false},
		TriangleLine{[3]float64{0, 1, 0}, [3]float64{0, 0, 1}, false},
		TriangleLine{[3]float64{0, 0, 1}, [3]float64{1, 0, 0}, false})
}
