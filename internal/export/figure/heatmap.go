package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// heatmap draws the matrix of a chart, with its scale.
func (p *page) heatmap(c *chart.Chart, y float64) float64 {
	if len(c.Matrix.Data) == 0 {
		return p.paragraph(margin, y, p.width-2*margin, "There is nothing to show.", style{})
	}
	below := p.colorBar(c, margin, p.matrices(p.drawnOf(c), y))
	if len(c.Series) > 0 {
		below = p.keys(c, below)
	}
	return below
}

// drawnOf returns the matrix of a chart as those of pictures are, each cell in the colour of its
// number. Steps tell how strong a cell is, and those below 0 that it is hatched.
func (p *page) drawnOf(c *chart.Chart) render.Drawn {
	m, limit, decimals := c.Matrix, c.Limit(), decimalsOf(c)
	d := render.Drawn{Target: c.Y.Label(), Source: c.X.Label(), Panels: []render.DrawnPanel{{}}}
	for _, name := range m.Columns {
		d.Columns = append(d.Columns, render.DrawnColumn{Name: name})
	}
	for i, name := range m.Rows {
		row := render.DrawnRow{Name: name}
		if m.RowNotes != nil {
			row.Beside = m.RowNotes[i]
		}
		for j, column := range m.Columns {
			v, muted := m.At(i, j), m.Muted != nil && m.Muted[j]
			own := &render.DrawnChartCell{Color: mutedColor, Title: column + " " + format(v, 3)}
			cell := render.DrawnCell{Measured: muted || !math.IsNaN(v), Chart: own}
			if !muted {
				own.Color = c.Color.At(v, limit, p.palette)
			}
			switch {
			case muted || !cell.Measured:
			case hatched(c.Color, v, limit):
				cell.Step = min(-1, int(12*v/limit))
			default:
				cell.Step = int(12 * math.Abs(v) / limit)
			}
			if len(c.Series) == 0 { // markers would cover numbers
				cell.Number = numberIn(c, v, decimals)
			}
			row.Cells = append(row.Cells, cell)
		}
		d.Panels[0].Rows = append(d.Panels[0].Rows, row)
	}
	for k, s := range c.Series {
		for i := range s.Y {
			one := render.DrawnMarker{Color: c.SeriesColor(k), Title: titleOf(c.Point(k, i))}
			if s.Symbols != nil {
				one.Symbol = s.Symbols[i]
			}
			cell := d.Panels[0].Rows[int(s.Y[i])].Cells[int(s.X[i])].Chart
			cell.Markers = append(cell.Markers, one)
		}
	}
	return d
}

// shapes is how many symbols have a shape of their own; those after them are digits.
const shapes = chart.Dashes

// markCell draws the markers of a cell whose middle is at a point.
func (p *page) markCell(markers []render.DrawnMarker, at point, radius float64) {
	for _, m := range markers {
		if m.Symbol < shapes {
			p.marker(at.x, at.y, radius, m.Symbol, m.Color, 1)
			p.entitle(m.Title)
			continue
		}
		p.text(at.x, at.y+radius, fmt.Sprint(m.Symbol), style{
			scale: 3 * radius / p.size, align: 0.5, color: m.Color, bold: true,
		})
	}
}

// runOf names cells of a row, a few of many.
func runOf(cells []render.DrawnCell) string {
	const few = 6
	var all []string
	for _, c := range cells[:min(len(cells), few)] {
		all = append(all, c.Chart.Title)
	}
	if len(cells) > few {
		all = append(all, "…")
	}
	return strings.Join(all, ", ")
}

// numberStyle is how numbers look in cells.
var numberStyle = style{scale: 0.75, align: 0.5}

// numberIn returns what stands in a cell of a chart.
func numberIn(c *chart.Chart, v float64, decimals int) string {
	switch {
	case math.IsNaN(v):
		return ""
	case c.Color.Percent:
		return format(math.Round(100*v)+0, 3) // + 0 makes no difference but of -0
	case decimals < 0:
		return format(v, 2)
	}
	return fixedNumber(v, decimals)
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
