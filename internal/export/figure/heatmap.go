package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
	upright := c.Y.Title != ""
	if upright {
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
	if upright && p.textWidth(c.Y.Label(), names) > max(high*float64(rows), 5*p.size) {
		upright = false
		y = p.paragraph(margin, y, p.width-2*margin, c.Y.Label()+" ↓", names) + 0.2*p.size
	}
	p.cells(c, left, y, cell, high, len(c.Series) == 0) // markers would cover numbers
	p.markCells(c, left, y, cell, high)
	p.rowNames(m.Rows, false, left-4, y, wide, high)
	for i, n := range m.RowNotes {
		p.text(left+cell*float64(columns)+4, y+(float64(i)+0.5)*high+0.3*p.size,
			p.cut(n, notes, style{scale: 0.85}), style{scale: 0.85, color: gray})
	}
	bottom := y + high*float64(rows)
	if upright {
		p.text(margin+0.9*p.size, y+high*float64(rows)/2, c.Y.Label(),
			style{scale: 0.92, align: 0.5, angle: 90})
	}
	end := p.uprightNames(m.Columns, left, bottom, cell, func(j int) float64 {
		largest := 0.0
		for i := range rows {
			v := math.Abs(m.At(i, j))
			if v > largest && (m.Muted == nil || !m.Muted[j]) {
				largest = v
			}
		}
		return largest
	})
	middle := max(left+cell*float64(columns)/2, margin+p.textWidth(c.X.Label(), names)/2)
	p.text(middle, end+1.2*p.size, c.X.Label(), style{scale: 0.92, align: 0.5})
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
				p.entitle(titleOf(c.Point(k, i)))
				continue
			}
			p.text(at.x, at.y+radius, fmt.Sprint(symbol), style{
				scale: 3 * radius / p.size, align: 0.5, color: c.SeriesColor(k), bold: true,
			})
		}
	}
}

// cells draws the cells of a heatmap, with their numbers if these are wanted and fit. Neighbours of
// one colour are one rectangle, which keeps files of long texts small.
func (p *page) cells(c *chart.Chart, x, y, wide, high float64, numbers bool) {
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
			p.entitle(m.Rows[i] + " ← " + runOf(m, i, first, j))
		}
	}
	p.marks(c, x, y, wide, high, color)
	if numbers {
		p.numbers(c, x, y, wide, high, color)
	}
	p.frame(x, y, wide*float64(columns), high*float64(len(m.Rows)), 0.5, gray)
}

// runOf names the cells of a row in columns [first,end) with their numbers, a few of many.
func runOf(m *chart.Matrix, row, first, end int) string {
	const few = 6
	var all []string
	for j := first; j < min(end, first+few); j++ {
		all = append(all, m.Columns[j]+" "+format(m.At(row, j), 3))
	}
	if end > first+few {
		all = append(all, "…")
	}
	return strings.Join(all, ", ")
}

// numberStyle is how numbers look in cells.
var numberStyle = style{scale: 0.75, align: 0.5}

// numbers writes the numbers into the cells if all of them fit.
func (p *page) numbers(
	c *chart.Chart, x, y, wide, high float64, color func(i, j int) chart.RGB,
) {
	s := numberStyle
	for i, text := range p.numberTexts(c, wide, high) {
		row, column := i/len(c.Matrix.Columns), i%len(c.Matrix.Columns)
		fill := color(row, column)
		s.color = chart.Legible(fill)
		at := point{x + (float64(column)+0.5)*wide, y + (float64(row)+0.5)*high}
		muted := c.Matrix.Muted != nil && c.Matrix.Muted[column]
		if !muted && hatched(c.Color, c.Matrix.Data[i], c.Limit()) { // no line runs through it
			room := p.textWidth(text, s) + 1
			p.rect(at.x-room/2, at.y-0.36*p.size, room, 0.72*p.size, fill)
		}
		p.text(at.x, at.y+0.27*p.size, text, s)
	}
}

// numberTexts returns the numbers of cells, nil unless all of them fit.
func (p *page) numberTexts(c *chart.Chart, wide, high float64) []string {
	m := c.Matrix
	texts := make([]string, len(m.Data))
	decimals := decimalsOf(c)
	for i, v := range m.Data {
		switch {
		case math.IsNaN(v):
		case c.Color.Percent:
			texts[i] = format(math.Round(100*v)+0, 3) // + 0 makes no difference but of -0
		case decimals < 0:
			texts[i] = format(v, 2)
		default:
			texts[i] = fixedNumber(v, decimals)
		}
		if p.textWidth(texts[i], numberStyle) > wide-2 || high < p.size {
			return nil
		}
	}
	return texts
}

// decimalsOf returns how many decimals all numbers of a heatmap have: as many as give the largest
// colour two digits or three, and none if the scale is that of this heatmap alone and all numbers
// are whole. It is -1 where that would be long numbers.
func decimalsOf(c *chart.Chart) int {
	broken := func(v float64) bool { return v != math.Trunc(v) && !math.IsNaN(v) }
	limit := c.Limit()
	switch {
	case !(limit > 1e-4 && limit < 1e5):
		return -1
	case c.Color.Max == 0 && !slices.ContainsFunc(c.Matrix.Data, broken):
		return 0
	}
	return max(0, 2-int(math.Ceil(math.Log10(limit))))
}

// fixedNumber writes a number with so many decimals; 0 has no sign.
func fixedNumber(v float64, decimals int) string {
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// rowNames writes the names of rows; of very many, those that fit, and layer 0 also where it is the
// last row. total reports whether the first row is a sum, which has its name in any case.
func (p *page) rowNames(names []string, total bool, x, y, limit, high float64) {
	s := style{scale: 0.92, align: 1}
	every := max(1, int(math.Ceil(p.size/high)))
	first := 0
	if last := len(names) - 1; last >= 0 && names[last] == "0" {
		first = last % every
	}
	for i, name := range names {
		named := i%every == first
		if total {
			named = i == 0 || named && i >= every
		}
		if named {
			p.text(x, y+(float64(i)+0.5)*high+0.3*p.size, p.cut(name, limit, s), s)
		}
	}
}

// leastScale is the smallest size of names, in sizes of the page's text.
const leastScale = 0.62

// uprightNames writes the names of columns upright below y and returns the y below the longest. If
// columns are narrow the names are smaller, and where that is not enough, the strongest columns
// have one and a remark counts them: weight(j) is the strength of column j.
func (p *page) uprightNames(
	names []string, x, y, wide float64, weight func(j int) float64,
) float64 {
	s := style{scale: min(0.92, max(leastScale, wide/p.size/1.05)), align: 1, angle: 90}
	apart := 0.98 * s.scale * p.size
	columns, weights := make([]float64, len(names)), make([]float64, len(names))
	named := make([]int, len(names))
	for j := range names {
		named[j], columns[j], weights[j] = j, x+(float64(j)+0.5)*wide, weight(j)
	}
	slices.SortStableFunc(named, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	at := columns
	if wide < apart {
		named, at = strongest(columns, weights, named, apart, x, x+wide*float64(len(names)))
		lead := 1.6 * p.size
		for _, j := range named { // a name is not always below its column
			p.line([]point{{columns[j], y + 1}, {at[j], y + lead}}, 0.35, gray)
		}
		y += lead
	}
	limit := 9 * p.size
	longest := 0.0
	for _, j := range named {
		name := p.cut(names[j], limit, s)
		p.text(at[j]+0.33*s.scale*p.size, y+3, name, s)
		longest = max(longest, p.textWidth(name, s))
	}
	y += 3 + longest
	if len(named) < len(names) {
		remark := fmt.Sprintf("%d of %d columns are named, the strongest first.", len(named),
			len(names))
		y = p.paragraph(x, y+0.3*p.size, p.width-margin-x, remark, style{scale: 0.85, color: gray})
	}
	return y
}

// strongest chooses the columns that have names where there is no room for all, and the place of
// each name: near its column, at least apart from the others, between low and high.
// columns are the places of all columns, and order has the strongest first, as weights say. A
// column has no name if that name, or one before it, would be far from its column, or if the column
// has hardly a colour.
func strongest(
	columns, weights []float64, order []int, apart, low, high float64,
) (named []int, at []float64) {
	at = slices.Clone(columns)
	far := 6 * apart
	room := int((high - low) / apart)
	for _, j := range order {
		if len(named) >= room || weights[j] < 0.05*weights[order[0]] {
			break
		}
		i, _ := slices.BinarySearch(named, j)
		more := slices.Insert(slices.Clone(named), i, j)
		wanted := make([]float64, len(more))
		for k, column := range more {
			wanted[k] = columns[column]
		}
		places := spread(wanted, apart, low+apart/2, high-apart/2)
		moved := 0.0
		for k, place := range places {
			moved = max(moved, math.Abs(place-wanted[k]))
		}
		if moved > far {
			continue
		}
		named = more
		for k, column := range more {
			at[column] = places[k]
		}
	}
	return named, at
}

// spread returns the places nearest to those wanted, which ascend, that are at least apart from
// each other and between low and high: the least squares, by pooling neighbours that are too near.
func spread(wanted []float64, apart, low, high float64) []float64 {
	type pool struct{ sum, n float64 }
	mean := func(p pool) float64 { return p.sum / p.n }
	var pools []pool
	for i, w := range wanted {
		pools = append(pools, pool{w - float64(i)*apart, 1})
		for n := len(pools); n > 1 && mean(pools[n-1]) < mean(pools[n-2]); n-- {
			pools[n-2].sum += pools[n-1].sum
			pools[n-2].n += pools[n-1].n
			pools = pools[:n-1]
		}
	}
	high -= float64(len(wanted)-1) * apart
	var places []float64
	for _, p := range pools {
		for range int(p.n) {
			places = append(places, min(max(mean(p), low), high)+float64(len(places))*apart)
		}
	}
	return places
}
