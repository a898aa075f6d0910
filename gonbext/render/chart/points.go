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
