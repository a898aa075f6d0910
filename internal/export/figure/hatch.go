package figure

import (
	"math"
	"slices"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// Cells below 0 are hatched, as in the page, and cells without a value have a dot, so that signs
// are seen in grey too. Cells of less than leastHatched points have neither.
const (
	leastHatched = 2.5
	// hatchStep is the distance of two lines, along a row, in points, and hatchLine their width.
	hatchStep = 4.0
	hatchLine = 0.45
)

// hatchOn is the colour of lines on a cell: white on dark cells and dark grey on light ones, which
// black numbers can be read on.
func hatchOn(cell chart.RGB) chart.RGB {
	if cell.Legible() == chart.White {
		return chart.White
	}
	return chart.RGB{0x6e, 0x6e, 0x6e}
}

// hatched reports whether a value is hatched on a scale with this limit: those that have no colour
// in a page are not.
func hatched(s chart.Scale, value, limit float64) bool {
	return s.Diverging && value <= -render.StandsOut*limit
}

// dots puts a dot on each cell of a chart without a value.
func (p *page) dots(rows []render.DrawnRow, x, y, wide, high float64) {
	var dots [][]point
	for i, r := range rows {
		for j, c := range r.Cells {
			if c.Chart != nil && !c.Measured && min(wide, high) >= leastHatched {
				cx, cy := x+(float64(j)+0.5)*wide, y+(float64(i)+0.5)*high
				const r = 0.55
				dots = append(dots, []point{
					{cx - r, cy - r}, {cx + r, cy - r}, {cx + r, cy + r}, {cx - r, cy + r},
				})
			}
		}
	}
	p.fill(dots, gray)
	p.dotted = p.dotted || len(dots) > 0
}

// hatch draws lines over cells, from the bottom left to the top right; on reports whether a cell
// has them, and returns their colour. A line goes on from cell to cell where the colour is the
// same.
func (p *page) hatch(
	x, y, wide, high float64, columns, rows int, on func(i, j int) (chart.RGB, bool),
) {
	p.hatching = true
	lines := map[chart.RGB][][]point{}
	var colors []chart.RGB // in the order in which they came, which maps do not keep
	width, height := wide*float64(columns), high*float64(rows)
	first := math.Ceil((x + y) / hatchStep)
	for k := first; k*hatchStep < x+y+width+height; k++ {
		sum := k * hatchStep // of the coordinates of each point of the line
		from, to := max(x, sum-y-height), min(x+width, sum-y)
		cuts := []float64{from, to}
		for j := range columns {
			cuts = append(cuts, x+float64(j)*wide)
		}
		for i := range rows {
			cuts = append(cuts, sum-y-float64(i)*high)
		}
		slices.Sort(cuts)
		var open []point
		var color chart.RGB
		flush := func() {
			if open != nil {
				if lines[color] == nil {
					colors = append(colors, color)
				}
				lines[color] = append(lines[color], open)
			}
			open = nil
		}
		for n := 1; n < len(cuts); n++ {
			a, b := max(cuts[n-1], from), min(cuts[n], to)
			if b-a < 0.05 { // of a corner, which is not seen
				continue
			}
			middle := (a + b) / 2
			i, j := int((sum-middle-y)/high), int((middle-x)/wide)
			ink, is := on(min(max(i, 0), rows-1), min(max(j, 0), columns-1))
			if open != nil && (!is || ink != color) {
				flush()
			}
			switch {
			case !is:
			case open == nil:
				color, open = ink, []point{hundredth(a, sum-a), hundredth(b, sum-b)}
			default:
				open[1] = hundredth(b, sum-b)
			}
		}
		flush()
	}
	for _, color := range colors {
		for some := range slices.Chunk(lines[color], 100) { // see fill
			p.shapes = append(p.shapes, shape{
				points: some[0], more: some[1:], color: color, alpha: 1, line: hatchLine,
			})
		}
	}
}

// hundredth is a point at hundredths of a point, which are short in a file.
func hundredth(x, y float64) point {
	return point{math.Round(100*x) / 100, math.Round(100*y) / 100}
}

// hatchKey explains the cells that [hatched] hatches.
const hatchKey = "; hatched: below 0 by a twelfth of the scale or more"

// markKey explains the marks on cells, "" if there are none.
func (p *page) markKey() string {
	switch {
	case p.hatching && p.dotted:
		return hatchKey + "; ·: no value"
	case p.hatching:
		return hatchKey
	case p.small:
		return "; cells are too small to be hatched where they are below 0"
	case p.dotted:
		return "; ·: no value"
	}
	return ""
}
