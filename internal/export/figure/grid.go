package figure

import (
	"fmt"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// gridScale is the size of text in a grid of several columns, in sizes of the page's text.
const gridScale = 0.8

// Grid returns the drawing of charts side by side, columns of them in a row, or an error if the
// data of one do not fit its kind.
func Grid(columns int, charts ...chart.Chart) (Drawing, error) {
	var d Drawing
	for i := range charts {
		one, err := Chart(charts[i])
		if err != nil {
			return Drawing{}, fmt.Errorf("chart %d of %d: %w", i, len(charts), err)
		}
		d.warnings = append(d.warnings, one.warnings...)
	}
	columns = min(max(columns, 1), max(len(charts), 1))
	d.draw = func(p *page, y float64) float64 { return p.grid(columns, charts, y) }
	return d, nil
}

// grid draws each chart on a page of its own and moves what is on it to its place.
func (p *page) grid(columns int, charts []chart.Chart, y float64) float64 {
	wide := p.width / float64(columns)
	size := p.size
	if columns > 1 {
		size = max(gridScale*p.size, render.MinFont)
	}
	for first := 0; first < len(charts); first += columns {
		if first > 0 {
			y += p.size
		}
		bottom := y
		for i := first; i < min(first+columns, len(charts)); i++ {
			part := &page{format: p.format, width: wide, size: size, lost: p.lost}
			end := part.chart(&charts[i], y)
			for _, s := range part.shapes {
				for k := range s.points {
					s.points[k].x += wide * float64(i-first)
				}
				p.shapes = append(p.shapes, s)
			}
			bottom = max(bottom, end)
		}
		y = bottom
	}
	return y
}
