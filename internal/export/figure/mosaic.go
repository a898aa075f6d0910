package figure

import (
	"github.com/headwater-ml/headwater/gonbext/render"
)

// A square of tokens × tokens has the steps of colour of [render.StepColors], so that neighbours
// are one shape, and two more: measuredStep for values without a colour, mutedStep for sinks.
const (
	deepestStep  = 6
	measuredStep = deepestStep + 1
	mutedStep    = deepestStep + 2
)

// squareStep returns the step of a cell in a square.
func squareStep(step int, grey, ok bool) int {
	switch {
	case !ok:
		return 0
	case grey:
		return mutedStep
	case step == 0:
		return measuredStep
	}
	return step
}

// depth orders the steps that stand for a cell of several tokens: the deepest colour comes first,
// then a sink.
func depth(step int) int {
	switch step {
	case measuredStep:
		return 1
	case mutedStep:
		return 2
	}
	return 3 * max(step, -step)
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
	p.fill(shades[measuredStep], measured)
	p.fill(shades[mutedStep], mutedColor)
	for step := -deepestStep; step <= deepestStep; step++ {
		color, _ := render.StepColors(p.palette, step)
		p.fill(shades[step], color)
	}
}
