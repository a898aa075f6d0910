package figure

import (
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

var nodeColor = chart.RGB{0x3a, 0x7d, 0x44}

// graph draws a graph below y, with the names of its columns below it and the key of its lines, and
// returns where the key ends.
func (p *page) graph(g *render.Graph, y float64) float64 {
	left, boxes := float64(margin), style{align: 0.5}
	if g.Layers != nil {
		left += p.leftOf(g.Layers)
	}
	wide := min((p.width-left-margin)/g.Columns, 6*p.size)
	high := max(0.95*p.size, min(3*p.size, 0.6*p.width/g.Levels))
	box, tall, thick := 0.0, 0.0, 0.45*p.size
	for _, n := range g.Nodes {
		if n.Label != "" {
			box = max(box, p.textWidth(n.Label, boxes)+0.5*p.size)
		}
	}
	if box > 0 {
		left = (p.width - wide*g.Columns) / 2
		high = max(2.2*p.size, min(3.5*p.size, 1.2*p.width/g.Levels))
		if box > 0.96*wide { // letters fit into the columns, whatever the number of heads
			boxes.scale = max(0.3, 0.96*wide/box)
			box *= boxes.scale
		}
		tall = 1.3 * p.textSize(boxes)
	} else {
		wide = min(wide, 4*p.size)
		thick = 0.2 * wide
		y += p.size
	}
	y += tall / 2
	right, bottom := left+wide*g.Columns, y+high*g.Levels
	at := func(column, level float64) [2]float64 {
		return [2]float64{left + wide*column, bottom - high*level}
	}
	for _, gap := range g.Gaps {
		height := at(0, gap)[1]
		p.line([]point{{left, height}, {right, height}}, 0.5, gray, 1, 2)
	}
	for _, e := range g.Edges {
		if e.Quiet && !g.ShowsQuiet {
			continue
		}
		c := g.Curve(e, at, box, tall, high)
		width, dashes := p.stroke(e, thick)
		p.curve(point{c[0][0], c[0][1]}, point{c[1][0], c[1][1]}, point{c[2][0], c[2][1]},
			point{c[3][0], c[3][1]}, width, e.Color(p.palette), dashes...)
	}
	radius := min(0.16*high, 0.16*wide, 2.2)
	for _, n := range g.Nodes {
		q := at(n.Column, n.Level)
		switch {
		case n.Hidden:
		case n.Label != "":
			p.rect(q[0]-box/2, q[1]-tall/2, box, tall, chart.RGB{0xff, 0xff, 0xff})
			p.frame(q[0]-box/2, q[1]-tall/2, box, tall, 0.5, gray)
			p.text(q[0], q[1]+0.35*p.textSize(boxes), n.Label, boxes)
		case n.Strong:
			p.disc(q[0], q[1], 2*radius, render.GraphEdge{Step: -3}.Color(p.palette), 1)
		default:
			p.disc(q[0], q[1], radius, nodeColor, 1)
		}
	}
	if g.Layers != nil {
		p.graphAxis(g, at)
	}
	var names []string
	for _, n := range g.Names {
		names = append(names, n.Name)
	}
	if bottom += tall / 2; names != nil {
		bottom = p.uprightNames(names, left, bottom+2*radius, wide, func(i int) float64 {
			if g.Names[i].Strong {
				return 2
			}
			return 1
		})
	}
	return p.lineKeys(bottom+1.2*p.size, g, thick) + 0.3*p.size
}

// stroke returns how wide an edge is where one of width 1 is as wide as thick, and its dashes.
func (p *page) stroke(e render.GraphEdge, thick float64) (width float64, dashes []float64) {
	if e.Dashed {
		return 0.9, []float64{2, 1.5}
	}
	return max(0.15, e.Width*thick), nil
}

// graphAxis writes the names of the layers left of the nodes, the first one at the bottom.
func (p *page) graphAxis(g *render.Graph, at func(column, level float64) [2]float64) {
	s := style{scale: 0.85, align: 1}
	x, high := at(0.5, 0)[0]-p.size, at(0, 0)[1]-at(0, 1)[1]
	every := max(1, int(p.size/high+0.99))
	for k := 0; k < len(g.Layers); k += every {
		p.text(x, at(0, float64(k)+0.5)[1]+0.3*p.size, g.Layers[k], s)
	}
	p.text(margin+0.9*p.size, at(0, g.Levels/2)[1], g.Axis,
		style{scale: 0.92, align: 0.5, angle: 90})
}

// lineKeys writes the keys of lines beside each other, and returns where their last line ends.
func (p *page) lineKeys(y float64, g *render.Graph, thick float64) float64 {
	x, s := float64(margin), style{scale: 0.92}
	key := func(text string, wide float64, color chart.RGB, dashes []float64) {
		if x > margin && x+2.6*p.size+p.textWidth(text, s) > p.width-margin {
			x, y = margin, y+lineHeight*p.size
		}
		p.line([]point{{x, y - 0.3*p.size}, {x + 2*p.size, y - 0.3*p.size}}, wide, color, dashes...)
		p.text(x+2.4*p.size, y, text, s)
		x += 3.6*p.size + p.textWidth(text, s)
	}
	for _, k := range g.Keys {
		wide, dashes := p.stroke(k.Edge, thick)
		key(k.Text, wide, k.Edge.Color(p.palette), dashes)
	}
	if g.Gaps != nil {
		key("layers left out", 0.5, gray, []float64{1, 2})
	}
	return y
}
