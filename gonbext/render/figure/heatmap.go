package figure

import (
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// heatmap draws a matrix with the names of its rows and columns and its scale.
func (p *page) heatmap(c *chart.Chart, y float64) float64 {
	m := c.Matrix
	rows, columns := len(m.Rows), len(m.Columns)
	if rows == 0 || columns == 0 {
		return p.paragraph(margin, y, p.width-2*margin, "There is nothing to show.", style{})
	}
	names := style{scale: 0.92}
	// Names take at most a third of the width, notes a fifth.
	wide, notes := 0.0, 0.0
	for _, r := range m.Rows {
		wide = max(wide, p.textWidth(r, names))
	}
	for _, n := range m.RowNotes {
		notes = max(notes, p.textWidth(n, style{scale: 0.85}))
	}
	wide, notes = min(wide, p.width/3), min(notes, p.width/5)
	left := margin + wide + 4
	if c.Y.Title != "" {
		left += 1.4 * p.size
	}
	right := float64(margin)
	if notes > 0 {
		right += notes + 4
	}
	cell := min((p.width-left-right)/float64(columns), 3*p.size)
	high := min(max(cell, 1.25*p.size), 1.8*p.size)
	if rows > 80 { // as for a long text
		high = max(2, 500/float64(rows))
	}
	p.cells(c, left, y, cell, high)
	p.markCells(c, left, y, cell, high)
	p.rowNames(m, left-4, y, wide, high)
	for i, n := range m.RowNotes {
		p.text(left+cell*float64(columns)+4, y+(float64(i)+0.5)*high+0.3*p.size,
			p.cut(n, notes, style{scale: 0.85}), style{scale: 0.85, color: gray})
	}
	bottom := y + high*float64(rows)
	p.text(margin+0.9*p.size, y+high*float64(rows)/2,
		p.cut(c.Y.Label(), max(high*float64(rows), 5*p.size), names),
		style{scale: 0.92, align: 0.5, angle: 90})
	end := p.uprightNames(m.Columns, left, bottom, cell, func(j int) float64 {
		strongest := 0.0
		for i := range rows {
			if v := math.Abs(m.At(i, j)); v > strongest {
				strongest = v
			}
		}
		return strongest
	})
	p.text(left+cell*float64(columns)/2, end+1.2*p.size, c.X.Label(),
		style{scale: 0.92, align: 0.5})
	below := p.colorBar(c, margin, end+1.8*p.size)
	if len(c.Series) > 0 {
		below = p.keys(c, below)
	}
	return below
}

// shapes is how many symbols have a shape of their own; those after them are digits.
const shapes = chart.Dashes

// markCells draws the markers of a heatmap on its cells.
func (p *page) markCells(c *chart.Chart, x, y, wide, high float64) {
	radius := 0.3 * min(wide, high)
	for k, s := range c.Series {
		for i := range s.Y {
			at := point{x + (s.X[i]+0.5)*wide, y + (s.Y[i]+0.5)*high}
			symbol := 0
			if s.Symbols != nil {
				symbol = s.Symbols[i]
			}
			if symbol < shapes {
				p.marker(at.x, at.y, radius, symbol, c.SeriesColor(k), 1)
				continue
			}
			p.text(at.x, at.y+radius, fmt.Sprint(symbol), style{
				scale: 3 * radius / p.size, align: 0.5, color: c.SeriesColor(k), bold: true,
			})
		}
	}
}

// cells draws the cells of a heatmap. Neighbours of one colour are one rectangle, which keeps files
// of long texts small.
func (p *page) cells(c *chart.Chart, x, y, wide, high float64) {
	m, limit := c.Matrix, c.Limit()
	columns := len(m.Columns)
	color := func(i, j int) chart.RGB {
		if m.Muted != nil && m.Muted[j] {
			return chart.Muted
		}
		return c.Color.At(m.At(i, j), limit, p.palette)
	}
	for i := range m.Rows {
		for j := 0; j < columns; {
			first, fill := j, color(i, j)
			for j++; j < columns && color(i, j) == fill; j++ {
			}
			p.rect(x+float64(first)*wide, y+float64(i)*high, float64(j-first)*wide, high, fill)
		}
	}
	p.numbers(c, x, y, wide, high, color)
	p.frame(x, y, wide*float64(columns), high*float64(len(m.Rows)), 0.5, gray)
}

// numbers writes the numbers into the cells if all of them fit.
func (p *page) numbers(
	c *chart.Chart, x, y, wide, high float64, color func(i, j int) chart.RGB,
) {
	m := c.Matrix
	if len(c.Series) > 0 {
		return // markers would cover them
	}
	s := style{scale: 0.75, align: 0.5}
	texts := make([]string, len(m.Data))
	for i, v := range m.Data {
		switch {
		case math.IsNaN(v):
		case c.Color.Percent:
			texts[i] = format(math.Round(100*v), 3)
		default:
			texts[i] = format(v, 2)
		}
		if p.textWidth(texts[i], s) > wide-2 || high < p.size {
			return
		}
	}
	for i, text := range texts {
		row, column := i/len(m.Columns), i%len(m.Columns)
		s.color = chart.Legible(color(row, column))
		p.text(x+(float64(column)+0.5)*wide, y+(float64(row)+0.5)*high+0.27*p.size, text, s)
	}
}

// rowNames writes the names of rows; of very many, those that fit.
func (p *page) rowNames(m *chart.Matrix, x, y, limit, high float64) {
	s := style{scale: 0.92, align: 1}
	every := max(1, int(math.Ceil(p.size/high)))
	for i := 0; i < len(m.Rows); i += every {
		p.text(x, y+(float64(i)+0.5)*high+0.3*p.size, p.cut(m.Rows[i], limit, s), s)
	}
}

// leastScale is the smallest size of names, in sizes of the page's text.
const leastScale = 0.62

// uprightNames writes the names of columns upright below y and returns the y below the longest. If
// columns are narrow the names are smaller, and where that is not enough, only the columns with the
// greatest weight have one.
func (p *page) uprightNames(
	names []string, x, y, wide float64, weight func(j int) float64,
) float64 {
	s := style{scale: min(0.92, max(leastScale, wide/p.size/1.05)), align: 1, angle: 90}
	order := make([]int, len(names))
	for j := range order {
		order[j] = j
	}
	if weight != nil {
		slices.SortStableFunc(order, func(a, b int) int {
			switch wa, wb := weight(a), weight(b); {
			case wa > wb:
				return -1
			case wa < wb:
				return 1
			}
			return 0
		})
	}
	var taken []float64
	longest := 0.0
	limit := 9 * p.size
	for _, j := range order {
		at := x + (float64(j)+0.5)*wide
		if slices.ContainsFunc(taken, func(t float64) bool {
			return math.Abs(t-at) < 0.98*s.scale*p.size
		}) {
			continue
		}
		taken = append(taken, at)
		name := p.cut(names[j], limit, s)
		p.text(at+0.33*s.scale*p.size, y+3, name, s)
		longest = max(longest, p.textWidth(name, s))
	}
	return y + 3 + longest
}
