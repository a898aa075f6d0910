package render

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"math"
)

// levels is the number of colours from the weakest that stands out to the strongest. A value below
// half a step, [StandsOut] of the limit of the scale, has no colour.
const levels = 6

// StandsOut is the least value that stands out, in parts of the limit of its scale: a twelfth.
// Pages colour it, and figures hatch it if it is below 0.
const StandsOut = 1.0 / (2 * levels)

// The colours of sinks and of values that are not numbers, in every palette.
const (
	sinkStyle = "background:#8884"
	nanStyle  = "background:#888a"
)

// The paints of a cell beyond the steps -levels to levels.
const (
	sinkPaint = levels + 1
	nanPaint  = levels + 2
	// dividerPaint is a thin line in an image, of the colour of nanPaint.
	dividerPaint = levels + 3
)

// step returns the paint of v on a scale: 0 for none, 1 to levels above the neutral value, -levels
// to -1 below it, or nanPaint.
func (s scale) step(v float64) int {
	x := s.at(v)
	if math.IsNaN(x) {
		return nanPaint
	}
	return int(math.Round(levels * x))
}

// grid is a matrix of paints, [rows][columns].
type grid [][]int

// paletteIndex returns the entry of a palette of images for a paint.
func paletteIndex(paint int) uint8 {
	switch {
	case paint == sinkPaint:
		return 2*levels + 1
	case paint == nanPaint || paint == dividerPaint:
		return 2*levels + 2
	case paint < 0:
		return uint8(levels - paint)
	}
	return uint8(paint)
}

// png returns the grid as the address of a PNG with cells of w × h pixels. Negative cells are
// hatched: every fourth diagonal is left out.
func (g grid) png(colors *palette, w, h int) string {
	columns := 0
	if len(g) > 0 {
		columns = len(g[0])
	}
	bounds := image.Rect(0, 0, max(columns*w, 1), max(len(g)*h, 1))
	picture := image.NewPaletted(bounds, colors.image())
	for i, row := range g {
		for j, paint := range row {
			index := paletteIndex(paint)
			if index == 0 {
				continue
			}
			left, right := j*w, (j+1)*w
			if paint == dividerPaint {
				left, right = left+w*3/8, left+w*3/8+max(w/4, 1)
			}
			for y := i * h; y < (i+1)*h; y++ {
				line := picture.Pix[y*picture.Stride:]
				for x := left; x < right; x++ {
					if paint >= 0 || (x+y)%4 != 0 {
						line[x] = index
					}
				}
			}
		}
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	_ = encoder.Encode(&b, picture) // a buffer takes everything, and the size is positive
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}
