package certificate

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// comparison gathers the worst error of many arrays.
type comparison struct {
	check     Check
	tolerance float64
	// factor multiplies the tolerance of the numbers that come next; worstFactor is that of the
	// worst error.
	factor, worstFactor float64
}

// compared starts a check.
func compared(name string, tolerance float64) *comparison {
	check := Check{Name: name, Tolerance: Error(tolerance), Where: "nowhere"}
	return &comparison{check: check, tolerance: tolerance, factor: 1, worstFactor: 1}
}

// by multiplies the tolerance of the numbers that come next by a factor.
func (c *comparison) by(factor float64) *comparison {
	c.factor = factor
	return c
}

// array compares got with want. axes has a letter for each of the sizes in shape, row-major, and in
// names the array.
func (c *comparison) array(in string, got, want []float32, axes string, shape []int) {
	if len(got) != len(want) {
		c.check.Worst, c.check.Where = Error(math.Inf(1)), fmt.Sprintf("%s, of which there are "+
			"%d numbers and not %d", in, len(got), len(want))
		return
	}
	largest := 1.0
	for _, x := range want {
		largest = max(largest, math.Abs(float64(x)))
	}
	for i := range want {
		c.number(math.Abs(float64(got[i])-float64(want[i]))/largest,
			func() string { return in + place(axes, shape, i) })
	}
	c.check.Compared += len(want)
}

// number takes one error.
func (c *comparison) number(e float64, where func() string) {
	if math.IsNaN(e) {
		e = math.Inf(1)
	}
	if e/c.factor > float64(c.check.Worst)/c.worstFactor || c.check.Where == "nowhere" {
		c.check.Worst, c.check.Where, c.worstFactor = Error(e), where(), c.factor
		c.check.Tolerance = Error(c.factor * c.tolerance)
	}
}

// axisNames are the words for the letters of axes.
var axisNames = map[rune]string{
	'L': "layer", 'H': "head", 'T': "target", 'S': "source", 'D': "component", 'E': "component",
	'V': "token", 'K': "class", '3': "term",
}

// place returns where element i of an array stands, in words.
func place(axes string, shape []int, i int) string {
	var parts []string
	for k := len(shape) - 1; k >= 0; k-- {
		parts = append(parts, fmt.Sprintf("%s %d", axisNames[rune(axes[k])], i%shape[k]))
		i /= shape[k]
	}
	slices.Reverse(parts)
	return " " + strings.Join(parts, ", ")
}
