package render

import (
	"math"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// color is one entry of a ramp: a background and a text colour that is legible on it.
type color struct {
	background, text rgb
}

// rgb is an sRGB colour.
type rgb = chart.RGB

// undefined is the colour of NaN.
var undefined = color{chart.Missing, chart.Black}

// steps is the number of colours from neutral to full.
const steps = 64

// The arms of the ramp, those of files; see [chart.Ramp].
var (
	positive = arm(1)
	negative = arm(-1)
)

// ramp returns the colour of x: 0 is neutral, 1 the deepest blue, -1 the deepest rust. Values
// beyond are clamped, and NaN is grey. Shares use only the positive half, signed values both.
func ramp(x float64) color {
	switch {
	case math.IsNaN(x):
		return undefined
	case x < 0:
		return negative[step(-x)]
	}
	return positive[step(x)]
}

// step returns the entry of an arm for x ≥ 0.
func step(x float64) int { return int(math.Round(min(x, 1) * steps)) }

// arm returns the colours of one sign from neutral to full.
func arm(sign float64) (colors [steps + 1]color) {
	for i := range colors {
		background := chart.Ramp(sign * float64(i) / steps)
		colors[i] = color{background, chart.Legible(background)}
	}
	return colors
}
