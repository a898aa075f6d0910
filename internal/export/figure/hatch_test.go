package figure

import (
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// marked is the page of a heatmap with these values in cells of 10 × 8 points at 0, 0.
func marked(c *chart.Chart) *page {
	p := &page{size: 9}
	p.drawCells(c, 8)
	return p
}

// drawCells draws cells of 10 points × high at 0, 0.
func (p *page) drawCells(c *chart.Chart, high float64) {
	d := p.drawnOf(c)
	p.stepCells(d, d.Panels[0].Rows, 0, 0, 10, high)
}

// TestHatch has lines on the cells below 0 alone, from the bottom left to the top right, which go
// on from one cell to the next, and dots where there is no value. Grey columns have neither.
func TestHatch(t *testing.T) {
	c := &chart.Chart{Kind: chart.Heatmap, Color: chart.Scale{Diverging: true, Max: 1}}
	c.Matrix = &chart.Matrix{
		Rows: []string{"a", "b"}, Columns: []string{"p", "q", "r", "s"},
		Data: []float64{
			0.9, -0.5, -0.5, -1,
			-0.02, math.NaN(), 0, math.NaN(),
		},
		Muted: []bool{false, false, false, true},
	}
	p := marked(c)
	lines, dots := 0, 0
	for _, s := range p.shapes {
		switch {
		case s.line == hatchLine:
			for _, l := range append([][]point{s.points}, s.more...) {
				lines++
				a, b := l[0], l[1]
				if a.x < 10 || b.x > 30 || a.y > 8 || b.y < 0 || a.x >= b.x || a.y <= b.y {
					t.Errorf("line from %v to %v; the cells below 0 are from 10, 0 to 30, 8", a, b)
				}
				if sum := math.Abs(a.x + a.y - b.x - b.y); sum > 0.11 { // of two rounded points
					t.Errorf("line from %v to %v is not at 45°", a, b)
				}
			}
		case s.closed && s.color == gray:
			for _, d := range append([][]point{s.points}, s.more...) {
				if dots++; d[0].x < 10 || d[0].x > 20 || d[0].y < 8 {
					t.Errorf("dot at %v, want one in the cell at 10, 8", d[0])
				}
			}
		}
	}
	// Both cells are one rectangle of 20 × 8: every 4 points from 12 to 36 on x + y.
	if lines != 7 || dots != 1 {
		t.Errorf("%d lines and %d dots, want 7 and 1", lines, dots)
	}
	const want = "; hatched: below 0 by a twelfth of the scale or more; ·: no value"
	if p.markKey() != want {
		t.Errorf("key %q, want %q", p.markKey(), want)
	}
	low := &page{size: 9}
	low.drawCells(c, 2)
	if !strings.Contains(low.markKey(), "too small to be hatched") {
		t.Errorf("of cells of 10 × 2 points the key says %q", low.markKey())
	}
	for value, want := range map[float64]bool{-0.08: false, -1.0 / 12: true, -0.09: true} {
		c.Matrix.Data = []float64{value, 0, 0, 0, 0, 0, 0, 0}
		if got := marked(c).hatching; got != want {
			t.Errorf("%v of 1 is hatched: %v; values from a twelfth are", value, got)
		}
	}
	c.Matrix.Data[0] = -1
	for name, scale := range map[string]chart.Scale{
		"one arm": {Max: 1}, "far below the scale": {Diverging: true, Max: 1000},
	} {
		c.Color = scale
		if p := marked(c); p.hatching {
			t.Errorf("%s: there are lines", name)
		}
	}
}

// TestHatchOn draws white on dark cells and grey on light ones.
func TestHatchOn(t *testing.T) {
	for _, palette := range []string{"", "green-purple", "perceptual"} {
		for _, x := range []float64{-1, -0.7, -0.4, -0.2, -0.1} {
			cell := chart.Ramp(palette, x)
			if apart := math.Abs(hatchOn(cell).Gray() - cell.Gray()); apart < 12 {
				t.Errorf("%q at %v: lines are %.0f of 100 lighter or darker than the cell",
					palette, x, apart)
			}
		}
	}
}
