package figure

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A cell stands in the row of its target and the column of its source, neighbours of one step are
// one rectangle, and a cell of several tokens has the deepest step: colours before sinks.
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
			steps{{0, 0, 0}, {0, 0, 0}, {0, 12, 0}},
			10,
			map[int][][]point{12: {corners(11, 22, 21, 32)}},
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
				{1, 0, mutedStep, missingStep},
				{0, 0, 0, 0},
			},
			2,
			map[int][][]point{
				-3: {corners(1, 2, 16, 17)}, mutedStep: {corners(16, 2, 31, 17)},
				1: {corners(1, 17, 16, 32)}, missingStep: {corners(16, 17, 31, 32)},
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
	for x, want := range map[float64]int{0: 0, 0.5: 6, 1: 12, 7: 12, -0.25: -3, -9: -12} {
		if got := stepOf(x); got != want {
			t.Errorf("step of %v is %d, want %d", x, got, want)
		}
	}
	if got := stepOf(math.NaN()); got != missingStep {
		t.Errorf("NaN has step %d, want %d", got, missingStep)
	}
}
