package figure

import (
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("figure")

// measured is the colour of cells below the first step.
var measured = chart.RGB{0xf4, 0xf5, 0xf7}

// Matrix returns the drawing of one or several matrices, with the scale and the notes below them,
// or of a graph, or an error if a matrix has more cells than can be drawn.
func Matrix(d render.Drawn) (Drawing, error) {
	for _, one := range d.Panels {
		if cells := len(one.Rows) * len(d.Columns); cells > chart.MaxPoints {
			return Drawing{}, pkg.Errorf("%d cells; at most %d can be drawn", cells,
				chart.MaxPoints)
		}
	}
	return Drawing{draw: func(p *page, y float64) float64 {
		if y = p.caption(d, y); d.Silence != "" { // before the reader believes the numbers
			y = p.paragraph(margin, y, p.width-2*margin, d.Silence, style{bold: true}) + 0.4*p.size
		}
		if d.Graph != nil {
			return p.notes(d.Notes, p.graph(d.Graph, y))
		}
		y = p.matrices(d, y)
		return p.notes(d.Notes, p.steps(d, true, y))
	}}, nil
}

// caption draws the heading of a picture.
func (p *page) caption(d render.Drawn, y float64) float64 {
	return p.heading(d.Title, strings.Join(d.Caption, " · "), y)
}

// notes draws remarks in small letters.
func (p *page) notes(notes []string, y float64) float64 {
	for _, n := range notes {
		y = p.paragraph(margin, y, p.width-2*margin, n, style{scale: 0.85, color: gray})
	}
	return y
}

// grid are the places of matrices side by side and below each other, all in points.
type grid struct {
	across int // matrices side by side
	// room is the width of a matrix with all beside it, names and notes are those of the names of
	// rows and of their layers, and left is the distance of the cells from its left end.
	room, names, notes, left float64
	// wide and high are the size of a cell.
	wide, high float64
	upright    bool // the title of the rows stands beside them
}

// panelGap is the distance of two matrices that stand side by side, in points.
const panelGap = 14

// The styles of names and of remarks beside them.
var (
	nameStyle = style{scale: 0.92}
	noteStyle = style{scale: 0.85, color: gray}
)

// gridOf finds the places of matrices: side by side where there is room for the names of their
// columns.
func (p *page) gridOf(d render.Drawn) (g grid) {
	rows, columns := 0, float64(len(d.Columns))
	for _, one := range d.Panels {
		rows = max(rows, len(one.Rows))
		for _, r := range one.Rows {
			g.names = max(g.names, p.textWidth(r.Name, nameStyle))
			g.notes = max(g.notes, p.textWidth(r.Beside, noteStyle)+4)
		}
	}
	if g.across = 1; !d.Stacked {
		need := min(g.names, p.width/3) + 3*p.size + 1.1*p.size*columns
		g.across = int((p.width - 2*margin + panelGap) / (need + panelGap))
		g.across = min(max(g.across, 1), len(d.Panels))
	}
	g.room = (p.width-2*margin+panelGap)/float64(g.across) - panelGap
	// Names take at most a third of the width, layers a fifth.
	g.names, g.notes = min(g.names, g.room/3), min(g.notes, g.room/5)
	g.left = g.names + 4
	lines := (len(d.Panels) + g.across - 1) / g.across
	most := 3 * p.size
	if d.Words {
		most = 6 * p.size
	}
	cell := func() float64 { return min((g.room-g.left-g.notes)/columns, most) }
	if g.high = min(max(cell(), 1.25*p.size), 1.8*p.size); rows*lines > 80 { // as for a long text
		g.high = max(2, 500/float64(rows*lines))
	}
	g.upright = d.Target != "" && p.textWidth(d.Target, nameStyle) <= g.high*float64(rows)
	if g.upright {
		g.left += 1.4 * p.size
	}
	g.wide = cell()
	return g
}

// matrices draws the matrices below y, with the names of the columns below those that have no other
// below them, and returns the y below the titles of the axes.
func (p *page) matrices(d render.Drawn, y float64) float64 {
	g := p.gridOf(d)
	if !g.upright && d.Target != "" {
		y = p.paragraph(margin, y, p.width-2*margin, d.Target+" ↓", nameStyle) + 0.2*p.size
	}
	bottom, end := y, y
	for i, one := range d.Panels {
		if i%g.across == 0 {
			if y = bottom; i > 0 {
				y += 0.6 * p.size
			}
		}
		start := margin + (g.room+panelGap)*float64(i%g.across)
		below := p.panelTitle(one, start, y, g.room)
		if one.Name != "" { // the name of a low row is higher than the row
			below += max(0, 0.5*(p.size-g.high))
		}
		if i < g.across {
			below = p.speakers(d.Columns, start+g.left, below, g.wide)
		}
		p.panel(d, one, g, start, below)
		if below += g.high * float64(len(one.Rows)); i+g.across >= len(d.Panels) {
			below = p.uprightNames(columnNames(d), start+g.left, below, g.wide, strengthOf(d))
		}
		bottom, end = max(bottom, below), max(end, below)
	}
	middle := margin + g.left + g.wide*float64(len(d.Columns))/2
	if g.across > 1 {
		middle = p.width / 2
	}
	middle = max(middle, margin+p.textWidth(d.Source, nameStyle)/2)
	p.text(middle, end+1.2*p.size, d.Source, style{scale: 0.92, align: 0.5})
	return end + 1.8*p.size
}

// columnNames returns the names of columns.
func columnNames(d render.Drawn) (names []string) {
	for _, c := range d.Columns {
		names = append(names, c.Name)
	}
	return names
}

// strengthOf returns the deepest colour of each column.
func strengthOf(d render.Drawn) func(j int) float64 {
	strongest := make([]int, len(d.Columns))
	for _, one := range d.Panels {
		for _, r := range one.Rows {
			for j, c := range r.Cells {
				strongest[j] = max(strongest[j], c.Step, -c.Step)
			}
		}
	}
	return func(j int) float64 { return float64(strongest[j]) }
}

// panelTitle draws the name of a matrix and its note, below the name if there is no room after it.
// It returns the y below both.
func (p *page) panelTitle(one render.DrawnPanel, x, y, room float64) float64 {
	if one.Name == "" {
		return y
	}
	bold := style{bold: true}
	y += lineHeight * p.size
	p.text(x, y-0.3*p.size, p.cut(one.Name, room, bold), bold)
	s := style{scale: 0.92, color: gray}
	after := p.textWidth(one.Name, bold) + 0.6*p.size
	if after+p.textWidth(one.Note, s) > room {
		return p.paragraph(x, y, room, one.Note, s)
	}
	p.text(x+after, y-0.3*p.size, one.Note, s)
	return y
}

// panel draws a matrix without the names of its columns from (start,y) on.
func (p *page) panel(d render.Drawn, one render.DrawnPanel, g grid, start, y float64) {
	x, tall := start+g.left, g.high*float64(len(one.Rows))
	if g.upright {
		p.text(start+0.9*p.size, y+tall/2, d.Target, style{scale: 0.92, align: 0.5, angle: 90})
	}
	p.stepCells(d, one.Rows, x, y, g.wide, g.high)
	var names []string
	for i, r := range one.Rows {
		names = append(names, r.Name)
		p.text(x+g.wide*float64(len(d.Columns))+4, y+(float64(i)+0.5)*g.high+0.3*p.size,
			p.cut(r.Beside, g.notes, noteStyle), noteStyle)
	}
	total := len(one.Rows) > 0 && one.Rows[0].Total
	p.rowNames(names, total, x-4, y, g.names, g.high)
	if total {
		at := y + g.high
		p.line([]point{{x, at}, {x + g.wide*float64(len(d.Columns)), at}}, 0.7, gray)
	}
	if first := slices.IndexFunc(d.Columns, func(c render.DrawnColumn) bool {
		return c.Generated
	}); first > 0 {
		at := x + g.wide*float64(first)
		p.line([]point{{at, y}, {at, y + tall}}, 1, gray)
	}
}

// speakers draws a bracket over the columns of each text, with its name where there is room, and
// returns the y below them.
func (p *page) speakers(columns []render.DrawnColumn, x, y, cell float64) float64 {
	s := style{scale: 0.85, align: 0.5, color: gray}
	some := false
	for j := 0; j < len(columns); {
		first := j
		for j++; j < len(columns) && columns[j].Speaker == columns[first].Speaker; j++ {
		}
		name := columns[first].Speaker
		if name == "" {
			continue
		}
		some = true
		from, to := x+cell*float64(first)+1, x+cell*float64(j)-1
		low := y + 1.1*p.size
		p.line([]point{{from, low + 2}, {from, low}, {to, low}, {to, low + 2}}, 0.5, gray)
		if p.textWidth(name, s) <= to-from {
			p.text((from+to)/2, low-0.25*p.size, name, s)
		}
	}
	if !some {
		return y
	}
	return y + 1.1*p.size + 4
}

// stepCells draws the cells, with their numbers if all of them fit. Neighbours of one colour are
// one rectangle, which keeps files of long texts small. Of folded tokens there is a thin line.
func (p *page) stepCells(
	d render.Drawn, rows []render.DrawnRow, x, y, wide, high float64,
) {
	for i, r := range rows {
		for j := 0; j < len(d.Columns); {
			first := j
			fill, ok := p.cellColor(r.Cells[j])
			for j++; j < len(d.Columns) && !d.Columns[first].Folded && !d.Columns[j].Folded; j++ {
				if next, has := p.cellColor(r.Cells[j]); next != fill || has != ok {
					break
				}
			}
			from, to := x+float64(first)*wide, x+float64(j)*wide
			if d.Columns[first].Folded {
				from, to = from+0.3*wide, to-0.3*wide
			}
			if ok {
				p.rect(from, y+float64(i)*high, to-from, high, fill)
				if r.Cells[first].Chart != nil {
					p.entitle(r.Name + " ← " + runOf(r.Cells[first:j]))
				}
			}
		}
	}
	// Cells of a chart may be as pale as the page.
	if len(rows)*len(d.Columns) > 0 && rows[0].Cells[0].Chart != nil {
		p.frame(x, y, wide*float64(len(d.Columns)), high*float64(len(rows)), 0.5, gray)
	}
	p.dots(rows, x, y, wide, high)
	p.hatchSteps(d, rows, x, y, wide, high)
	for i, r := range rows {
		for j, c := range r.Cells {
			if c.Chart != nil {
				middle := point{x + (float64(j)+0.5)*wide, y + (float64(i)+0.5)*high}
				p.markCell(c.Chart.Markers, middle, 0.3*min(wide, high))
			}
			if c.Marked {
				p.frame(x+float64(j)*wide+0.5, y+float64(i)*high+0.5, wide-1, high-1, 0.9,
					chart.Black)
			}
		}
	}
	if d.Words && wide < leastWord*p.size || !d.Words && !p.numbersFit(d, wide, high) {
		return
	}
	for i, r := range rows {
		for j, c := range r.Cells {
			if d.Columns[j].Folded || c.Number == "" {
				continue
			}
			s := numberStyle
			fill, _ := p.cellColor(c)
			switch _, ink := render.StepColors(p.palette, max(min(c.Step, 6), -6)); {
			case c.Chart != nil:
				s.color = fill.Legible()
			case c.Step == 0:
				s.color = gray
			default:
				s.color = ink
			}
			at := point{x + (float64(j)+0.5)*wide, y + (float64(i)+0.5)*high}
			if c.Step < 0 { // no line runs through it
				room := p.textWidth(c.Number, s) + 1
				p.rect(at.x-room/2, at.y-0.36*p.size, room, 0.72*p.size, fill)
			}
			p.text(at.x, at.y+0.27*p.size, p.cut(c.Number, wide-2, s), s)
		}
	}
}

// leastWord is the width from which cells have words, in sizes of the page's text.
const leastWord = 1.8

// numbersFit reports whether all numbers of all matrices fit their cells.
func (p *page) numbersFit(d render.Drawn, wide, high float64) bool {
	for _, one := range d.Panels {
		for _, r := range one.Rows {
			for j, c := range r.Cells {
				if !d.Columns[j].Folded && p.textWidth(c.Number, numberStyle) > wide-2 {
					return false
				}
			}
		}
	}
	return high >= p.size
}

// cellColor returns the colour of a cell; ok is false if it has no value.
func (p *page) cellColor(c render.DrawnCell) (fill chart.RGB, ok bool) {
	if c.Chart != nil {
		return c.Chart.Color, true
	}
	if fill, _ = render.StepColors(p.palette, c.Step); c.Step == 0 {
		fill = measured
	}
	return fill, c.Measured
}

// hatchSteps draws lines over the cells below 0, where these are large enough.
func (p *page) hatchSteps(
	d render.Drawn, rows []render.DrawnRow, x, y, wide, high float64,
) {
	below := func(c render.DrawnCell) bool { return c.Step < 0 }
	if !slices.ContainsFunc(rows, func(r render.DrawnRow) bool {
		return slices.ContainsFunc(r.Cells, below)
	}) {
		return
	}
	if min(wide, high) < leastHatched {
		p.small = true
		return
	}
	p.hatch(x, y, wide, high, len(d.Columns), len(rows), func(i, j int) (chart.RGB, bool) {
		c := rows[i].Cells[j]
		fill, _ := p.cellColor(c)
		return hatchOn(fill), below(c) && !d.Columns[j].Folded
	})
}

// steps draws the colours of a scale, each with the number at which it begins, and their meaning.
// Those below 0 are hatched if cells are.
func (p *page) steps(d render.Drawn, cells bool, y float64) float64 {
	s := style{scale: 0.75, align: 0.5}
	wide := 0.0
	for _, step := range d.Steps {
		wide = max(wide, p.textWidth(step.Begins, s)+3)
	}
	wide = min(wide, (p.width-2*margin)/float64(len(d.Steps)))
	y += 0.3 * p.size
	for k, step := range d.Steps {
		x := margin + wide*float64(k)
		fill, _ := p.cellColor(render.DrawnCell{Step: step.Step})
		p.rect(x, y, wide, 0.9*p.size, fill)
		p.text(x+wide/2, y+1.8*p.size, step.Begins, s)
	}
	key := d.Unit + "; each colour from the number below it on"
	below := slices.IndexFunc(d.Steps, func(s render.DrawnStep) bool { return s.Step == 0 })
	if below > 0 {
		switch {
		case !cells:
			key += "; dotted line: below 0"
		case p.small:
			key += "; cells are too small to be hatched where they are below 0"
		default:
			key += "; hatched: below 0"
			p.hatch(margin, y, wide, 0.9*p.size, below, 1, func(_, j int) (chart.RGB, bool) {
				fill, _ := render.StepColors(p.palette, d.Steps[j].Step)
				return hatchOn(fill), true
			})
		}
	}
	if cells && slices.ContainsFunc(d.Columns, func(c render.DrawnColumn) bool {
		return c.Folded
	}) {
		key += "; ⋯: folded tokens, with the colour of the strongest of them"
	}
	return p.paragraph(margin, y+1.9*p.size, p.width-2*margin, key, style{scale: 0.92})
}

// AllTokens stands for every generated token.
const AllTokens = -1

// Strip returns the text before generated token t, or with [AllTokens] before each: the prompt and,
// underlined, the tokens generated so far if their values are known, folded as on a page. A token
// that stands out has the colour of its step, and below 0 also a dotted line. Strip returns an
// error if there is no such token.
func Strip(d render.Drawn, t int) (Drawing, error) {
	rows := d.Panels[0].Rows
	if t < AllTokens || t >= len(rows) {
		return Drawing{}, pkg.Errorf("token %d; the explanation has tokens 0 to %d", t, len(rows)-1)
	}
	if t != AllTokens {
		rows = rows[t : t+1]
	}
	return Drawing{draw: func(p *page, y float64) float64 {
		y = p.caption(d, y)
		generated := false
		for _, r := range rows {
			y = p.strip(r, y)
			generated = generated || slices.ContainsFunc(r.Text, func(t render.DrawnToken) bool {
				return t.Generated
			})
		}
		y = p.steps(d, false, y)
		if generated {
			y = p.notes([]string{"Underlined: generated tokens."}, y)
		}
		return p.notes(d.Notes, y)
	}}, nil
}

// strip draws the text of one row.
func (p *page) strip(r render.DrawnRow, y float64) float64 {
	y += lineHeight * p.size
	head := "→ " + r.Name
	p.text(margin, y, head, style{bold: true})
	p.text(margin+width(p.shown(head), p.size, true)+0.6*p.size, y, strings.Join(r.Facts, ", "),
		style{scale: 0.92, color: gray})
	y += 1.5 * p.size
	x, left := float64(margin), float64(margin)
	for i, token := range r.Text {
		if token.Speaker != "" { // on a line of its own, after its name
			if i > 0 && x > left {
				y += 1.45 * p.size
			}
			p.text(margin, y, token.Speaker, style{scale: 0.85, color: gray})
			left = margin + 5*p.size
			x = left
		}
		before, after := 1.0, 1.0 // pieces of a word stand together
		if !token.Apart && i > 0 {
			before = 0.3
		}
		if i+1 < len(r.Text) && !r.Text[i+1].Apart {
			after = 0.3
		}
		gap := 0.0
		if token.Apart && x > left {
			gap = 0.28 * p.size
		}
		wide := p.textWidth(token.Text, style{}) + before + after
		if x > left && x+gap+wide > p.width-margin {
			x, y, gap = left, y+1.45*p.size, 0
		}
		x += gap
		fill, ink := render.StepColors(p.palette, max(token.Step, -1))
		if token.Folded {
			ink = gray
		}
		if token.Step != 0 {
			p.rect(x, y-0.95*p.size, wide, 1.25*p.size, fill)
		}
		p.text(x+before, y, token.Text, style{color: ink})
		under := []point{{x + before, y + 0.32*p.size}, {x + wide - after, y + 0.32*p.size}}
		if token.Step < 0 {
			p.line(under, 1, ink, 1, 1)
		} else if token.Generated {
			p.line(under, 0.5, gray)
		}
		if x += wide; token.Breaks {
			x, y = left, y+1.45*p.size
		}
	}
	return y + 0.8*p.size
}
