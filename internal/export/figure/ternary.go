package figure

import (
	"math"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// ternary draws points in a triangle.
func (p *page) ternary(c *chart.Chart, y float64) float64 {
	side := min(p.width-2*margin-6*p.size, 400)
	left, top := (p.width-side)/2, y+1.6*p.size
	at := func(a, b, third float64) point {
		x, up := place(a, b, third)
		return point{left + side*x, top + side*(triangleHeight-up)}
	}
	line := func(from, to [3]float64, color chart.RGB, wide float64) {
		p.line([]point{at(from[0], from[1], from[2]), at(to[0], to[1], to[2])}, wide, color)
	}
	const parts = 5 // grid lines at each fifth
	for i := 1; i < parts; i++ {
		f := float64(i) / parts
		line([3]float64{f, 1 - f, 0}, [3]float64{f, 0, 1 - f}, faint, 0.5)
		line([3]float64{1 - f, f, 0}, [3]float64{0, f, 1 - f}, faint, 0.5)
		line([3]float64{1 - f, 0, f}, [3]float64{0, 1 - f, f}, faint, 0.5)
	}
	corners := [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	for i, corner := range corners {
		line(corner, corners[(i+1)%3], chart.Black, 0.8)
	}
	p.scatter(c, func(s *chart.Series, i int) (point, bool) {
		bad := math.IsNaN(s.X[i]) || math.IsNaN(s.Y[i]) || math.IsNaN(s.C[i])
		return at(s.X[i], s.Y[i], s.C[i]), !bad
	})
	bottom := top + side*triangleHeight
	p.text(left, bottom+1.3*p.size, c.Corners[0], style{align: 0.5})
	p.text(left+side, bottom+1.3*p.size, c.Corners[1], style{align: 0.5})
	p.text(left+side/2, top-0.5*p.size, c.Corners[2], style{align: 0.5})
	return p.legend(c, bottom+2*p.size)
}

// triangleHeight is the height of the triangle of a ternary plot. Its base goes from (0,0) to
// (1,0).
var triangleHeight = math.Sqrt(3) / 2

// place returns where a point of three shares lies in the triangle: a belongs to the left corner,
// b to the right and c to the top. The shares need not sum to 1; a point whose shares are all 0
// lies in the middle.
func place(a, b, c float64) (x, y float64) {
	sum := a + b + c
	if !(sum > 0) {
		a, b, c, sum = 1, 1, 1, 3
	}
	return (b + c/2) / sum, c / sum * triangleHeight
}
