package figure

import (
	"math"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// A square of tokens × tokens has few steps of colour, so that neighbours are one shape. Step 0 is
// neutral, and mosaicSteps the deepest colour; those below 0 are of values below 0.
const (
	mosaicSteps = 12
	mutedStep   = mosaicSteps + 1 // a sink
	missingStep = mosaicSteps + 2 // no number
)

// stepOf returns the step of a value in parts of the deepest one.
func stepOf(x float64) int {
	if math.IsNaN(x) {
		return missingStep
	}
	return int(math.Round(mosaicSteps * min(max(x, -1), 1)))
}

// depth says which step stands for a cell of several tokens: the deepest colour, then a sink.
func depth(step int) int {
	switch step {
	case mutedStep:
		return 1
	case missingStep:
		return 2
	}
	return 2 * max(step, -step)
}

// mosaic adds the rectangles of a square of tokens × tokens to those of each step of colour. The
// square has at most so many cells in a row; a cell of several tokens has the deepest of their
// colours. step returns the step of target i and source j.
func mosaic(
	tokens, most int, at point, size float64, step func(i, j int) int, to map[int][][]point,
) {
	side := min(tokens, most)
	cells := make([]int, side*side)
	for i := range tokens {
		for j := range tokens {
			cell := &cells[i*side/tokens*side+j*side/tokens]
			if s := step(i, j); depth(s) > depth(*cell) {
				*cell = s
			}
		}
	}
	unit := size / float64(side)
	taken := make([]bool, side*side)
	for k, step := range cells {
		if step == 0 || taken[k] {
			continue
		}
		// The widest rectangle of this colour from here, and then the highest one.
		row, first, last, bottom := k/side, k%side, k%side, k/side
		for last+1 < side && cells[row*side+last+1] == step && !taken[row*side+last+1] {
			last++
		}
		same := func(row int) bool {
			for j := first; j <= last; j++ {
				if cells[row*side+j] != step || taken[row*side+j] {
					return false
				}
			}
			return true
		}
		for bottom+1 < side && same(bottom+1) {
			bottom++
		}
		for i := row; i <= bottom; i++ {
			for j := first; j <= last; j++ {
				taken[i*side+j] = true
			}
		}
		x, y := at.x+unit*float64(first), at.y+unit*float64(row)
		right, low := at.x+unit*float64(last+1), at.y+unit*float64(bottom+1)
		to[step] = append(to[step], []point{{x, y}, {right, y}, {right, low}, {x, low}})
	}
}

// fillSteps fills the rectangles of all steps.
func (p *page) fillSteps(shades map[int][][]point) {
	p.fill(shades[mutedStep], chart.Muted)
	p.fill(shades[missingStep], chart.Missing)
	for step := -mosaicSteps; step <= mosaicSteps; step++ {
		p.fill(shades[step], chart.RampOf(p.palette, float64(step)/mosaicSteps))
	}
}
