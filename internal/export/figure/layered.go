package figure

import "github.com/headwater-ml/headwater/gonbext/render/chart"

// The colours of the graph of Abnar and Zuidema (2020).
var (
	layeredNode = chart.RGB{0x4c, 0x9a, 0x4c}
	layeredEdge = chart.RGB{0x1b, 0x2f, 0x6b}
)

// layered draws a graph of tokens through layers: layers from left to right, a line of nodes for
// each token, and edges as thick as their weights.
func (p *page) layered(c *chart.Chart, y float64) float64 {
	g := c.Graph
	names := style{scale: 0.92, align: 1}
	wide := 0.0
	for _, t := range g.Tokens {
		wide = max(wide, p.textWidth(t, names))
	}
	wide = min(wide, p.width/4)
	left := margin + 1.4*p.size + wide + 0.8*p.size
	step := (p.width - left - margin - p.size) / float64(g.Layers())
	high := min(1.9*p.size, 400/float64(len(g.Tokens)))
	node := func(level, token int) point {
		return point{left + step*float64(level), y + high*(float64(token)+0.5)}
	}
	every := max(1, int(p.size/high+0.99))
	for t := 0; t < len(g.Tokens); t += every {
		p.text(left-0.7*p.size, node(0, t).y+0.3*p.size, p.cut(g.Tokens[t], wide, names), names)
	}
	for _, e := range g.Edges() {
		p.shapes = append(p.shapes, shape{
			points: []point{node(e.L+1, e.T), node(e.L, e.S)},
			line:   max(0.2, 0.3*high*e.Weight), color: layeredEdge,
			alpha: 0.25 + 0.65*e.Weight,
		})
		p.entitle(g.Tokens[e.T] + " ← " + g.Tokens[e.S] + ", weight " + format(e.Weight, 3))
	}
	for level := range g.Layers() + 1 {
		for t := range g.Tokens {
			q := node(level, t)
			p.disc(q.x, q.y, 0.22*p.size, layeredNode, 1)
		}
	}
	bottom := y + high*float64(len(g.Tokens))
	for level := range g.Layers() + 1 {
		p.text(node(level, 0).x, bottom+0.9*p.size, format(float64(level), 3),
			style{scale: 0.85, align: 0.5})
	}
	p.text(margin+0.9*p.size, (y+bottom)/2, c.Y.Label(), style{scale: 0.92, align: 0.5, angle: 90})
	p.text((node(0, 0).x+node(g.Layers(), 0).x)/2, bottom+2.1*p.size, c.X.Label(),
		style{scale: 0.92, align: 0.5})
	return bottom + 2.4*p.size
}
