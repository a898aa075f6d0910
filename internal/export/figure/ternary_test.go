package figure

import (
	"math"
	"testing"
)

// The corners of the triangle are (0,0), (1,0) and (½,√3/2), and its middle is their mean.
func TestPlace(t *testing.T) {
	for _, c := range []struct{ a, b, c, x, y float64 }{
		{1, 0, 0, 0, 0},
		{0, 2, 0, 1, 0},
		{0, 0, 3, 0.5, math.Sqrt(3) / 2},
		{1, 1, 1, 0.5, math.Sqrt(3) / 6},
		{0, 0, 0, 0.5, math.Sqrt(3) / 6},
	} {
		x, y := place(c.a, c.b, c.c)
		if math.Abs(x-c.x) > 1e-15 || math.Abs(y-c.y) > 1e-15 {
			t.Errorf("place(%v,%v,%v) = %v,%v; want %v,%v", c.a, c.b, c.c, x, y, c.x, c.y)
		}
	}
}
