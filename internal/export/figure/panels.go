package figure

import (
	"math"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// panels are matrices with the same columns, which stand together and have one scale.
type panels struct {
	list []panel
	// rows and columns are the titles of the axes.
	rows, columns string
	// high is the height of a row that is wanted, in sizes of the text.
	high float64
}

// panel is one of several matrices.
type panel struct {
	title string // in bold
	note  string // after it
	chart chart.Chart
}

// panels draws matrices in a grid of across columns below y: the names of the columns stand below
// those that have no other below them. It returns the y below them.
func (p *page) panels(set panels, across int, y float64) float64 {
	first := set.list[0].chart.Matrix
	names := style{scale: 0.92}
	wide, notes := 0.0, 0.0
	for _, one := range set.list {
		for _, r := range one.chart.Matrix.Rows {
			wide = max(wide, p.textWidth(r, names))
		}
		for _, n := range one.chart.Matrix.RowNotes {
			notes = max(notes, p.textWidth(n, style{scale: 0.85}))
		}
	}
	room := (p.width-2*margin+panelGap)/float64(across) - panelGap // of a panel
	wide, notes = min(wide, room/3), min(notes, room/5)
	if notes > 0 {
		notes += 4
	}
	high := set.high * p.size
	tall := high * float64(len(first.Rows))
	left := wide + 4
	upright := p.textWidth(set.rows, names) <= max(tall, 5*p.size) && tall >= 3*p.size
	if upright {
		left += 1.4 * p.size
	} else {
		y = p.paragraph(margin, y, p.width-2*margin, set.rows+" ↓", names) + 0.2*p.size
	}
	cell := min((room-left-notes)/float64(len(first.Columns)), 3*p.size)
	numbers := true
	for i := range set.list {
		numbers = numbers && p.numberTexts(&set.list[i].chart, cell, high) != nil
	}
	strongest := func(j int) (largest float64) {
		for _, one := range set.list {
			m := one.chart.Matrix
			for i := range m.Rows {
				if v := math.Abs(m.At(i, j)); v > largest && !m.Muted[j] {
					largest = v
				}
			}
		}
		return largest
	}
	bottom, end := y, y
	for i, one := range set.list {
		if i%across == 0 {
			y = bottom
			if i > 0 {
				y += 0.6 * p.size
			}
		}
		start := margin + (room+panelGap)*float64(i%across)
		x, below := start+left, y+lineHeight*p.size
		p.text(start, below-0.3*p.size, p.cut(one.title, room, style{bold: true}),
			style{bold: true})
		if left := p.noteRoom(one.title, room); one.note != "" && left > 0 {
			p.text(start+room-left, below-0.3*p.size, p.cut(one.note, left, noteStyle), noteStyle)
		}
		p.cells(&one.chart, x, below, cell, high, numbers)
		p.rowNames(one.chart.Matrix, x-4, below, wide, high)
		for k, n := range one.chart.Matrix.RowNotes {
			p.text(x+cell*float64(len(first.Columns))+4, below+(float64(k)+0.5)*high+0.3*p.size,
				p.cut(n, notes, style{scale: 0.85}), style{scale: 0.85, color: gray})
		}
		if upright {
			p.text(start+0.9*p.size, below+tall/2, set.rows,
				style{scale: 0.92, align: 0.5, angle: 90})
		}
		below += tall
		if i+across >= len(set.list) {
			below = p.uprightNames(first.Columns, x, below, cell, strongest)
		}
		bottom, end = max(bottom, below), max(end, below)
	}
	title := p.textWidth(set.columns, names) / 2
	middle := max(margin+left+cell*float64(len(first.Columns))/2, margin+title)
	if across > 1 {
		middle = max(p.width/2, margin+title)
	}
	p.text(middle, end+1.2*p.size, set.columns, style{scale: 0.92, align: 0.5})
	return end + 1.8*p.size
}

// noteStyle is how the note of a panel looks.
var noteStyle = style{scale: 0.92, color: gray}

// noteRoom returns how wide the note after the title of a panel may be, in a panel of width room.
func (p *page) noteRoom(title string, room float64) float64 {
	return room - p.textWidth(title, style{bold: true}) - 0.6*p.size
}

// panelGap is the distance of two panels that stand side by side, in points.
const panelGap = 14
