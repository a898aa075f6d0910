package render

import (
	"math"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// colors returns the colours of a step on a light page: that of a cell and that of letters on it.
// Step 0 is white with black letters.
func (t theme) colors(step int) (cell, ink chart.RGB) {
	switch {
	case step > 0:
		return rgbOf(t.above[step-1]), rgbOf(letters[step-1])
	case step < 0:
		return rgbOf(t.below[-step-1]), rgbOf(letters[-step-1])
	}
	return chart.White, chart.Black
}

// rgbOf returns a colour from its hex digits after a #.
func rgbOf(hex string) chart.RGB {
	n, _ := strconv.ParseUint(hex[1:], 16, 32) // the themes are valid
	return chart.RGB{uint8(n >> 16), uint8(n >> 8), uint8(n)}
}

// columnsOf returns the columns with a source of row t by any method.
func (d *drawing) columnsOf(t int) []TextColumn {
	n := 0
	for n < len(d.columns) && d.columns[n].From < d.rowSources(t) {
		n++
	}
	return d.columns[:n]
}

// rowSources returns how many sources row t has by any method.
func (d *drawing) rowSources(t int) (n int) {
	for i := range d.views {
		if v := &d.views[i]; v.has(t) {
			n = max(n, v.sources(t))
		}
	}
	return n
}

// strongestIn returns the token of a column before end with the largest size: a grey one only if
// there is no other, -1 if there is none.
func strongestIn(
	c TextColumn, end int, size func(j int) float64, grey func(j int) bool,
) int {
	best := -1
	for j := c.From; j < min(c.To, end); j++ {
		if best < 0 || !grey(j) && (grey(best) || size(j) > size(best)) {
			best = j
		}
	}
	return best
}

// strongestIn returns the source of a column with the largest size in row t: a sink or a hidden one
// only if there is no other, -1 if there is none.
func (p *picture) strongestIn(v *view, t int, c TextColumn) int {
	if !v.has(t) {
		return -1
	}
	return strongestIn(c, v.sources(t),
		func(j int) float64 { return math.Abs(v.colors.at(v.at(t, j))) },
		func(j int) bool { return p.grey(v, t, j) })
}

// stepBegins returns the value at which the colour of a step begins, with two significant digits,
// in the unit of cells. least is the place on the scale at which the first colours begin.
func (v *view) stepBegins(step int, least float64) string {
	s := v.colors
	if step == 0 {
		if s.lift {
			return "1"
		}
		return "0"
	}
	place := max(stepsAt[max(step, -step)-1], least)
	sign, end := "", ""
	switch {
	case s.lift && step < 0:
		sign = "÷"
	case s.lift:
		sign = "×"
	case step < 0:
		sign = "−"
	}
	if s.lift {
		return sign + significant(math.Pow(s.limit, place))
	}
	if s.percent {
		end = " %"
	}
	return sign + significant(s.scaled(place*s.limit)) + end
}

// significant returns a positive number with two significant digits.
func significant(x float64) string {
	text := strconv.FormatFloat(x, 'e', 1, 64)
	rounded, _ := strconv.ParseFloat(text, 64)
	exponent, _ := strconv.Atoi(text[strings.Index(text, "e")+1:])
	if exponent < -4 || exponent > 4 {
		return text
	}
	return strconv.FormatFloat(rounded, 'f', max(1-exponent, 0), 64)
}
