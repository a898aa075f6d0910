package figure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A cell stands in the row of its target and the column of its source, neighbours of one step are
// one rectangle, and a cell of several tokens has the deepest step: colours before sinks,
// and sinks before values without a colour.
func TestMosaic(t *testing.T) {
	type steps [][]int
	corners := func(x, y, right, low float64) []point {
		return []point{{x, y}, {right, y}, {right, low}, {x, low}}
	}
	for name, c := range map[string]struct {
		steps steps
		most  int
		want  map[int][][]point
	}{
		"place": {
			steps{{0, 0, 0}, {0, 0, 0}, {0, 6, 0}},
			10,
			map[int][][]point{6: {corners(11, 22, 21, 32)}},
		},
		"one rectangle": {
			steps{{0, 5, 5}, {0, 5, 5}, {-1, -1, 3}},
			10,
			map[int][][]point{
				5: {corners(11, 2, 31, 22)}, -1: {corners(1, 22, 21, 32)},
				3: {corners(21, 22, 31, 32)},
			},
		},
		"pooled": {
			steps{
				{0, 1, mutedStep, 0},
				{-3, 2, 0, 0},
				{1, 0, 0, measuredStep},
				{0, 0, 0, 0},
			},
			2,
			map[int][][]point{
				-3: {corners(1, 2, 16, 17)}, mutedStep: {corners(16, 2, 31, 17)},
				1: {corners(1, 17, 16, 32)}, measuredStep: {corners(16, 17, 31, 32)},
			},
		},
	} {
		got := map[int][][]point{}
		mosaic(len(c.steps), c.most, point{1, 2}, 30, func(i, j int) int { return c.steps[i][j] },
			got)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(point{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, c := range []struct {
		step     int
		grey, ok bool
		want     int
	}{{3, false, true, 3}, {3, true, true, mutedStep}, {0, false, true, measuredStep}, {0, true, false, 0}} {
		if got := squareStep(c.step, c.grey, c.ok); got != c.want {
			t.Errorf("%+v has step %d", c, got)
		}
	}
}
