package figure

import (
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// Maps returns the drawing of [render.Maps.Drawn]: a square for each layer, the first one at the
// bottom left. The names of the tokens stand beside the squares where there is room for all.
func Maps(d render.Drawn) Drawing {
	drawing := Drawing{draw: func(p *page, y float64) float64 { return p.squares(d, y) }}
	if d.Steps[0].Step < 0 {
		drawing.warnings = []string{"Print in grey does not tell values below 0 from those above."}
	}
	return drawing
}

const (
	// cellsOfMap is how many cells the square of a layer has in a row at most; see mosaic.
	cellsOfMap = 60
	// mapGap is the distance of two squares, in sizes of the text.
	mapGap = 0.8
)

// squaresAcross is how many squares stand side by side at most, by the size of the figure: a slide
// is wide and not high.
var squaresAcross = map[float64]int{
	widths[render.Column][0]: 3, widths[render.Double][0]: 4, widths[render.Slide][0]: 6,
}

// squares draws a square for each layer.
func (p *page) squares(d render.Drawn, y float64) float64 {
	names := columnNames(d)
	count, T := len(d.Panels), len(names)
	rows := (count + squaresAcross[p.width] - 1) / squaresAcross[p.width]
	across := (count + rows - 1) / rows
	y = p.caption(d, y)

	label := nameStyle
	wide := 0.0
	for _, name := range names {
		wide = max(wide, p.textWidth(name, label))
	}
	wide = min(wide, p.width/6)
	gap := mapGap * p.size
	sideBeside := func(left float64) float64 {
		return min((p.width-margin-left-gap*float64(across-1))/float64(across), 0.5*p.width)
	}
	left := margin + 1.4*p.size + wide + 3
	side := sideBeside(left)
	named := side/float64(T) >= 1.05*leastScale*p.size
	if !named {
		left = margin + 1.4*p.size
		side = sideBeside(left)
	}
	cell := side / float64(T)
	label.scale = min(label.scale, cell/p.size/1.05)

	head, line := lineHeight*p.size, side+0.4*p.size+lineHeight*p.size // of a line of squares
	place := func(k int) point {
		return point{left + (side+gap)*float64(k%across), y + head + line*float64(rows-1-k/across)}
	}
	shades := map[int][][]point{}
	end := 0.0
	for k, one := range d.Panels {
		at := place(k)
		p.text(at.x, at.y-0.3*p.size, one.Name, nameStyle)
		p.rect(at.x, at.y, side, side, chart.White)
		mosaic(T, cellsOfMap, at, side, func(i, j int) int {
			c := one.Rows[i].Cells[j]
			return squareStep(c.Step, d.Columns[j].Grey, c.Measured)
		}, shades)
		for i := 0; named && k%across == 0 && i < T; i++ {
			p.text(at.x-3, at.y+(float64(i)+0.5)*cell+0.33*label.scale*p.size,
				p.cut(names[i], wide, label), style{scale: label.scale, align: 1})
		}
		below := at.y + side
		if named && k < across { // no other one is below it
			below = p.uprightNames(names, at.x, below, cell, func(int) float64 { return 0 })
		}
		end = max(end, below)
	}
	p.fillSteps(shades)
	for k := range d.Panels {
		at := place(k)
		p.frame(at.x, at.y, side, side, 0.4, gray)
	}
	p.text(margin+0.9*p.size, y+head+side/2, d.Target,
		style{scale: 0.92, align: 0.5, angle: 90})
	p.text(left+side/2, end+1.2*p.size, d.Source, style{scale: 0.92, align: 0.5})
	y = p.steps(d, false, end+1.6*p.size)
	notes := d.Notes
	if !named {
		notes = append(notes, "There is no room for the names of the tokens; a figure of one "+
			"layer has them.")
	}
	return p.notes(notes, y)
}
