package figure

import (
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// measured is the colour of cells below the first step.
var measured = chart.RGB{0xf4, 0xf5, 0xf7}

// Matrix returns the matrix of a method: a row for each generated token, a column for each prompt
// token and each generated one before it, with the columns, folds and colours of a page, at the
// level that a picture shows, and notes on sinks and silent rows below it. Matrix returns an error
// if the explanation does not have the method or nothing to draw.
func Matrix(
	e *attribution.Explanation, method string, filter attribution.Filter,
) (Drawing, error) {
	d, err := render.Heatmap{Explanation: e, Filter: filter}.Drawn(method)
	if err != nil {
		return Drawing{}, err
	}
	return Drawing{draw: func(p *page, y float64) float64 {
		y = p.rows(d, p.heading(method, caption(e, d), y))
		return p.notes(d.Notes, p.steps(d, true, y))
	}}, nil
}

// caption names the layer of values and the model.
func caption(e *attribution.Explanation, d render.Drawn) string {
	return strings.Join(nonEmpty(d.Layer, modelTitle(e), e.Model.Note), " · ")
}

// rows draws the matrix of a method below y and returns the y below the titles of its axes.
func (p *page) rows(d render.Drawn, y float64) float64 {
	names, small := style{scale: 0.92}, style{scale: 0.85, color: gray}
	wide, notes := 0.0, 0.0 // of names, at most a third of the page, and of layers, a fifth
	m := &chart.Matrix{}
	for _, r := range d.Rows {
		m.Rows = append(m.Rows, r.Name)
		wide = max(wide, p.textWidth(r.Name, names))
		notes = max(notes, p.textWidth(r.Layer, small)+4)
	}
	for _, c := range d.Columns {
		m.Columns = append(m.Columns, c.Name)
	}
	wide, notes = min(wide, p.width/3), min(notes, p.width/5)
	left := margin + wide + 4 + 1.4*p.size
	cell := min((p.width-left-margin-notes)/float64(len(d.Columns)), 3*p.size)
	high := min(max(cell, 1.25*p.size), 1.8*p.size)
	if len(d.Rows) > 80 { // as for a long text
		high = max(2, 500/float64(len(d.Rows)))
	}
	tall := high * float64(len(d.Rows))
	if p.textWidth(d.Target, names) > max(tall, 5*p.size) {
		y = p.paragraph(margin, y, p.width-2*margin, d.Target+" ↓", names) + 0.2*p.size
		left -= 1.4 * p.size
	} else {
		p.text(margin+0.9*p.size, y+1.3*p.size+tall/2, d.Target,
			style{scale: 0.92, align: 0.5, angle: 90})
	}
	y = p.speakers(d.Columns, left, y, cell)
	p.stepCells(d, left, y, cell, high)
	p.rowNames(m, left-4, y, wide, high)
	for i, r := range d.Rows {
		p.text(left+cell*float64(len(d.Columns))+4, y+(float64(i)+0.5)*high+0.3*p.size,
			p.cut(r.Layer, notes, small), small)
	}
	if first := slices.IndexFunc(d.Columns, func(c render.DrawnColumn) bool {
		return c.Generated
	}); first > 0 {
		x := left + cell*float64(first)
		p.line([]point{{x, y}, {x, y + tall}}, 1, gray)
	}
	end := p.uprightNames(m.Columns, left, y+tall, cell, func(j int) (strongest float64) {
		for _, r := range d.Rows {
			strongest = max(strongest, float64(r.Cells[j].Step), -float64(r.Cells[j].Step))
		}
		return strongest
	})
	middle := max(left+cell*float64(len(d.Columns))/2, margin+p.textWidth(d.Source, names)/2)
	p.text(middle, end+1.2*p.size, d.Source, style{scale: 0.92, align: 0.5})
	return end + 1.8*p.size
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
func (p *page) stepCells(d render.Drawn, x, y, wide, high float64) {
	numbers := high >= p.size
	for i, r := range d.Rows {
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
			}
		}
		for j, c := range r.Cells {
			numbers = numbers && (d.Columns[j].Folded ||
				p.textWidth(c.Number, numberStyle) <= wide-2)
		}
	}
	p.hatchSteps(d, x, y, wide, high)
	for i, r := range d.Rows {
		for j, c := range r.Cells {
			if !numbers || d.Columns[j].Folded {
				continue
			}
			s := numberStyle
			fill, ink := render.StepColors(p.palette, c.Step)
			if s.color = ink; c.Step == 0 {
				s.color = gray
			}
			at := point{x + (float64(j)+0.5)*wide, y + (float64(i)+0.5)*high}
			if c.Step < 0 { // no line runs through it
				room := p.textWidth(c.Number, s) + 1
				p.rect(at.x-room/2, at.y-0.36*p.size, room, 0.72*p.size, fill)
			}
			p.text(at.x, at.y+0.27*p.size, c.Number, s)
		}
	}
}

// cellColor returns the colour of a cell; ok is false if it has no value.
func (p *page) cellColor(c render.DrawnCell) (fill chart.RGB, ok bool) {
	if fill, _ = render.StepColors(p.palette, c.Step); c.Step == 0 {
		fill = measured
	}
	return fill, c.Number != ""
}

// hatchSteps draws lines over the cells below 0, where these are large enough.
func (p *page) hatchSteps(d render.Drawn, x, y, wide, high float64) {
	below := func(c render.DrawnCell) bool { return c.Step < 0 }
	if !slices.ContainsFunc(d.Rows, func(r render.DrawnRow) bool {
		return slices.ContainsFunc(r.Cells, below)
	}) {
		return
	}
	if min(wide, high) < leastHatched {
		p.small = true
		return
	}
	p.hatch(x, y, wide, high, len(d.Columns), len(d.Rows), func(i, j int) (chart.RGB, bool) {
		c := d.Rows[i].Cells[j]
		fill, _ := p.cellColor(c)
		return hatchOn(fill), below(c) && !d.Columns[j].Folded
	})
}

// steps draws the colours of a scale, each with the number at which it begins, and what they mean.
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
		fill, _ := p.cellColor(render.DrawnCell{Step: step.Step, Number: step.Begins})
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
// underlined, the tokens generated so far if their values are known, folded as on a page. What
// stands out has the colour of its step; what is below 0 has a dotted line. Strip returns an error
// if the explanation does not have the method or the token.
func Strip(
	e *attribution.Explanation, method string, t int, filter attribution.Filter,
) (Drawing, error) {
	d, err := render.Heatmap{Explanation: e, Filter: filter}.Drawn(method)
	if err != nil {
		return Drawing{}, err
	}
	if err := checkToken(e, t); t != AllTokens && err != nil {
		return Drawing{}, err
	}
	return Drawing{draw: func(p *page, y float64) float64 {
		y = p.heading(method, caption(e, d), y)
		generated := false
		for i, r := range d.Rows {
			if t == AllTokens || t == i {
				y = p.strip(r, y)
				generated = generated || slices.ContainsFunc(r.Text, func(
					token render.DrawnToken,
				) bool {
					return token.Generated
				})
			}
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
