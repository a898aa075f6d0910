package figure

import (
	"fmt"
	"math"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/message"
)

// Maps returns what every token of a text (target) has from every token (source), as a square for
// each of up to twelve layers, the first one at the bottom left. All have one scale. The names of
// the tokens stand beside the squares where there is room for all. Maps returns an error if the map
// does not fit the text.
func Maps(r render.Maps) (Drawing, error) {
	s, err := newSquares(r)
	if err != nil {
		return Drawing{}, err
	}
	d := Drawing{draw: func(p *page, y float64) float64 { return p.squares(s, y) }}
	if s.open.Diverging {
		d.warnings = []string{"Print in grey does not tell values below 0 from those above."}
	}
	return d, nil
}

// Map returns the layer that [render.Maps] opens as a matrix: a row for each target, a column for
// each source, with the colours of [Maps]. In a decoder there is no value of later sources. Map
// returns an error as [Maps] does.
func Map(r render.Maps) (Drawing, error) {
	s, err := newSquares(r)
	if err != nil {
		return Drawing{}, err
	}
	m := &chart.Matrix{Rows: s.names, Columns: s.names, Muted: s.open.Sinks}
	for i := range s.names {
		for j := range s.names {
			x := s.at(s.open.Open, i, j)
			if j > i && !r.Explanation.Model.Bidirectional {
				x = math.NaN()
			}
			m.Data = append(m.Data, x)
		}
	}
	return noted(&chart.Chart{
		Kind: chart.Heatmap, Title: r.Method + ", " + s.open.Names[s.open.Open],
		Subtitle: modelNote(r.Explanation), Matrix: m, X: chart.Axis{Title: "source"},
		Y: chart.Axis{Title: "target"}, Color: s.color(),
	}, s.sinks())
}

// squares are the maps of layers.
type squares struct {
	maps  render.Maps
	open  render.OpenedMaps
	lift  bool
	names []string // of the tokens, [T]
}

func newSquares(r render.Maps) (squares, error) {
	open, err := r.Opened()
	if err != nil {
		return squares{}, err
	}
	return squares{
		maps: r, open: open, lift: r.Map.Quantity == attribution.Lift,
		names: tokenNames(r.Explanation)[:r.Map.Shape[1]],
	}, nil
}

// at returns how much target i has from source j at a level, as it is coloured: a lift by its
// logarithm, infinity not at all, and 0 where the target does not see the source.
func (s squares) at(level, i, j int) float64 {
	if !s.maps.Explanation.Model.Bidirectional && j > i {
		return 0
	}
	x := s.maps.Map.Row(level, i)[j]
	if s.lift {
		x = math.Log2(x)
	}
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return x
}

// step returns the step of colour of a cell.
func (s squares) step(level, i, j int) int {
	if s.open.Sinks[j] && (s.maps.Explanation.Model.Bidirectional || j <= i) {
		return mutedStep
	}
	return stepOf(s.at(level, i, j) / s.open.Limit)
}

// color is the scale of all layers.
func (s squares) color() chart.Scale {
	unit := s.maps.Map.Unit
	if s.lift {
		unit = "lift, log2 (0 = uniform attention)"
	}
	return chart.Scale{
		Title: unit, Diverging: s.open.Diverging, Max: s.open.Limit,
		Percent: s.maps.Map.Quantity == attribution.Share,
	}
}

// sinks says which tokens are grey.
func (s squares) sinks() []string {
	return sinkNotes(s.names, s.open.Sinks, "most rows")
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

// squares draws a square for each of up to twelve layers.
func (p *page) squares(s squares, y float64) float64 {
	levels, T := s.open.Levels, len(s.names)
	rows := (len(levels) + squaresAcross[p.width] - 1) / squaresAcross[p.width]
	across := (len(levels) + rows - 1) / rows
	layers := message.Count(len(s.open.Names), "layer")
	if len(levels) < len(s.open.Names) {
		layers = fmt.Sprintf("%d of %s", len(levels), layers)
	}
	y = p.heading(s.maps.Method, strings.Join(nonEmpty(
		layers+": rows are targets, columns sources, from the first token on",
		modelNote(s.maps.Explanation)), " · "), y)

	label := style{scale: 0.92}
	wide := 0.0
	for _, name := range s.names {
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
	for k, level := range levels {
		at := place(k)
		p.text(at.x, at.y-0.3*p.size, s.open.Names[level], style{scale: 0.92})
		p.rect(at.x, at.y, side, side, chart.RampOf(p.palette, 0))
		mosaic(T, cellsOfMap, at, side, func(i, j int) int { return s.step(level, i, j) }, shades)
		for i := 0; named && k%across == 0 && i < T; i++ {
			p.text(at.x-3, at.y+(float64(i)+0.5)*cell+0.33*label.scale*p.size,
				p.cut(s.names[i], wide, label), style{scale: label.scale, align: 1})
		}
		below := at.y + side
		if named && k < across { // no other one is below it
			below = p.uprightNames(s.names, at.x, below, cell, func(int) float64 { return 0 })
		}
		end = max(end, below)
	}
	p.fillSteps(shades)
	for k := range levels {
		at := place(k)
		p.frame(at.x, at.y, side, side, 0.4, gray)
	}
	p.text(margin+0.9*p.size, y+head+side/2, "target",
		style{scale: 0.92, align: 0.5, angle: 90})
	p.text(left+side/2, end+1.2*p.size, "source", style{scale: 0.92, align: 0.5})
	y = p.colorBar(&chart.Chart{Kind: chart.Heatmap, Color: s.color()}, margin, end+1.6*p.size)
	notes := s.sinks()
	if !named {
		notes = append(notes, "There is no room for the names of the tokens; a figure of one "+
			"layer has them.")
	}
	return p.notes(notes, y)
}
