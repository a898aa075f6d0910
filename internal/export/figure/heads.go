package figure

import (
	"fmt"
	"math"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

var pathColor = chart.RGB{0xc2, 0x55, 0x0f}

// Heads returns the attention of every head as a square: rows look at columns, from the first token
// on. Layers are rows of squares, the last one at the top, or, where the squares are larger so,
// columns. One head is framed that looks at a token in particular from where its token is
// predicted, see [render.Heads.OpenHead], and so is the layer that wrote it, if that is known.
// Heads returns an error if the attention does not fit the text or there is no such token.
func Heads(h render.Heads) (Drawing, error) {
	open, err := h.OpenHead(nil)
	if err != nil {
		return Drawing{}, err
	}
	g := headGrid{
		open: open, heads: h.Attention.Shape[1], tokens: h.Attention.Shape[2],
		wrote: h.Explanation.Model.LayerName(max(open.Wrote, 0)),
	}
	for l := range h.Attention.Shape[0] {
		g.layers = append(g.layers, h.Explanation.Model.LayerLabel(l))
	}
	return Drawing{draw: func(p *page, y float64) float64 { return p.headGrid(g, y) }}, nil
}

// headGrid is the attention of all heads.
type headGrid struct {
	open          render.OpenedHead
	layers        []string // names
	wrote         string   // the name of the layer that wrote what is predicted, if that is known
	heads, tokens int
}

// cellsOfHead is how many cells the square of a head has in a row at most; see mosaic.
const cellsOfHead = 24

// headGrid draws a square for each head.
func (p *page) headGrid(g headGrid, y float64) float64 {
	y = p.heading(g.open.Title, strings.Join(g.open.Caption, " · "), y)
	high := 540.0 // a column of a page
	if p.width > widths[render.Column][0] {
		high = min(0.85*p.width, 430)
	}
	const gap = 2
	layers, left, names := float64(len(g.layers)), 3.2*p.size, p.leftOf(g.layers)
	room := p.width - 2*margin
	upright := min((room-names)/float64(g.heads), high/layers)
	lying := min((room-left)/layers, high/float64(g.heads))
	turned, side := false, min(upright, 6*p.size)
	if lying > upright {
		turned, side = true, min(lying, 6*p.size)
	}
	x := margin + names
	if turned {
		x = margin + left
	}
	place := func(layer, head int) point {
		if turned {
			return point{x + side*float64(layer), y + side*float64(head)}
		}
		return point{x + side*float64(head), y + side*float64(len(g.layers)-1-layer)}
	}
	shades := map[int][][]point{}
	for layer := range g.layers {
		for head := range g.heads {
			q := place(layer, head)
			g.shades(layer, head, q, side-gap, shades)
		}
	}
	p.fillSteps(shades)
	for layer := range g.layers {
		for head := range g.heads {
			q := place(layer, head)
			p.frame(q.x, q.y, side-gap, side-gap, 0.25, faint)
		}
	}
	if g.open.Wrote >= 0 {
		a, b := place(g.open.Wrote, 0), place(g.open.Wrote, g.heads-1)
		p.frame(a.x-0.5, a.y-0.5, b.x-a.x+side-gap+1, b.y-a.y+side-gap+1, 0.6, pathColor)
	}
	q := place(g.open.Layer, g.open.Head)
	p.frame(q.x-0.5, q.y-0.5, side-gap+1, side-gap+1, 1.2, pathColor)
	bottom := p.gridNumbers(g, turned, x, y, side, gap)
	y = p.steps(g.open.Drawn, false, bottom+2.5*p.size)
	says := []string{"Framed: " + g.open.Drawn.Notes[0]}
	if g.open.Wrote >= 0 {
		says = append(says, fmt.Sprintf("The long frame: %s, whose attention wrote most of "+
			"the logit of what is predicted.", g.wrote))
	}
	return p.notes(append(says, g.open.Drawn.Notes[1:]...), y)
}

// leftOf is the room for the names of layers at the left, and what they are.
func (p *page) leftOf(layers []string) float64 {
	left := 3.2 * p.size
	for _, name := range layers {
		left = max(left, p.textWidth(name, style{scale: 0.85})+2.2*p.size)
	}
	return left
}

// gridNumbers writes the names of layers and the numbers of heads beside and below squares that
// begin at x and y, and returns where the squares end, or the names below them. Layers go from the
// bottom up, or, turned, to the right.
func (p *page) gridNumbers(g headGrid, turned bool, x, y, side, gap float64) (bottom float64) {
	var across []string
	for head := range g.heads {
		across = append(across, fmt.Sprint(head))
	}
	down, titles := g.layers, [2]string{"head", "layer"}
	line := func(i int) int { return len(down) - 1 - i }
	if turned {
		across, down, titles = down, across, [2]string{"layer", "head"}
		line = func(i int) int { return i }
	}
	every := max(1, int(math.Ceil(1.15*p.size/side)))
	for i := 0; i < len(down); i += every {
		p.text(x-0.4*p.size, y+side*float64(line(i))+(side-gap)/2+0.3*p.size, down[i],
			style{scale: 0.85, align: 1})
	}
	bottom = y + side*float64(len(down))
	p.text(margin+0.9*p.size, (y+bottom)/2, titles[1], style{scale: 0.92, align: 0.5, angle: 90})
	if p.leftOf(across) > 3.2*p.size { // names, and not numbers
		bottom = p.uprightNames(across, x, bottom, side, func(int) float64 { return 1 }) - p.size
	} else {
		every = max(1, int(math.Ceil(p.textWidth("00 ", style{scale: 0.85})/side)))
		for i := 0; i < len(across); i += every {
			p.text(x+side*float64(i)+(side-gap)/2, bottom+0.9*p.size, across[i],
				style{scale: 0.85, align: 0.5})
		}
	}
	p.text(x+side*float64(len(across))/2, bottom+2.1*p.size, titles[0],
		style{scale: 0.92, align: 0.5})
	return bottom
}

// shades adds the rectangles of a head to those of each step of colour.
func (g headGrid) shades(layer, head int, at point, size float64, to map[int][][]point) {
	mosaic(g.tokens, cellsOfHead, at, size, func(i, j int) int {
		return squareStep(g.open.Step(layer, head, i, j))
	}, to)
}
