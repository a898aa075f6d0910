package figure

import (
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/message"
)

var (
	pathColor = chart.RGB{0xc2, 0x55, 0x0f}
	cutColor  = chart.RGB{0xb0, 0x00, 0x20}
	nodeColor = chart.RGB{0x3a, 0x7d, 0x44}
	sinkColor = chart.RGB{0x9a, 0xa1, 0xac}
)

// Graph returns the drawing of a flow graph (Abnar and Zuidema 2020, Figure 1): layers from the
// bottom up, a column of nodes for each token, and edges as thick as they are wide. It has the
// parts of the page of [render.Flow], by the same rules: the edges that the target reaches, without
// those to sinks unless they are asked for, the flow from each token beside its name, the widest
// path and the minimum cut.
// The error is that of [render.Flow.Check].
func Graph(f render.Flow) (Drawing, error) {
	d, err := f.Drawing()
	if err != nil {
		return Drawing{}, err
	}
	return Drawing{draw: func(p *page, y float64) float64 { return p.graph(f, d, y) }}, nil
}

func (p *page) graph(f render.Flow, d render.FlowDrawing, y float64) float64 {
	g, cut := f.Graph, f.Graph.Cut
	y = p.heading(d.Title, strings.Join(d.Caption, " · "), y)
	if d.Silence != "" { // before the reader believes the number
		y = p.paragraph(margin, y, p.width-2*margin, d.Silence, style{bold: true}) + 0.4*p.size
	}
	rows, layers := float64(len(d.Tokens)), float64(len(d.Layers))
	var names []string
	for _, l := range d.Layers {
		names = append(names, f.Explanation.Model.LayerLabel(g.Layers[l]))
	}
	left := margin + p.leftOf(names)
	wide := min((p.width-left-margin)/rows, 4*p.size)
	high := max(0.95*p.size, min(3*p.size, 0.6*p.width/layers))
	y += p.size
	node := func(level, row int) point {
		return point{left + wide*(float64(row)+0.5), y + high*(layers-float64(level))}
	}
	strengths := make([]float64, len(d.Tokens))
	for i, j := range d.Tokens {
		strengths[i] = 1
		if j == cut.Source || j == cut.Target {
			strengths[i] = 2
		}
	}
	for _, e := range d.Edges {
		color, _ := render.StepColors(p.palette, e.Step)
		if e.Step == 0 {
			color = sinkColor
		}
		p.edge(node(e.Layer+1, e.Target), node(e.Layer, e.Source), e.Width*0.2*wide, color)
	}
	for k := 0; k+1 < len(g.Path); k++ { // the widest path
		l := len(g.Layers) - 1 - k
		if at, i, j, ok := d.Place(l, g.Path[k], g.Path[k+1]); ok {
			w := g.Width(l, g.Path[k], g.Path[k+1])
			p.edge(node(at+1, i), node(at, j), max(0.9, w*0.2*wide), pathColor)
		}
	}
	for _, e := range cut.Edges {
		if k, i, j, ok := d.Place(slices.Index(g.Layers, e.Layer), e.Target, e.Source); ok {
			p.edge(node(k+1, i), node(k, j), 0.9, cutColor, 2, 1.5)
		}
	}
	radius := min(0.16*high, 0.16*wide, 2.2)
	for level, reached := range d.Reached {
		for i, j := range d.Tokens {
			q := node(level, i)
			switch {
			case level == 0 && j == cut.Source,
				level == len(d.Layers) && j == cut.Target:
				p.disc(q.x, q.y, 2*radius, pathColor, 1)
			case reached[i]:
				p.disc(q.x, q.y, radius, nodeColor, 1)
			}
		}
	}
	p.graphAxis(names, d.Layers, node, left+wide*rows)
	y = p.uprightNames(d.Labels, left, y+high*layers+2*radius, wide,
		func(i int) float64 { return strengths[i] }) + 0.8*p.size
	return p.graphLegend(g, d, y)
}

// edge draws an edge as a curve that leaves and enters its nodes upright.
func (p *page) edge(from, to point, wide float64, color chart.RGB, dashes ...float64) {
	middle := (from.y + to.y) / 2
	if from.x == to.x {
		p.line([]point{from, to}, max(wide, 0.15), color, dashes...)
		return
	}
	p.curve(from, point{from.x, middle}, point{to.x, middle}, to, max(wide, 0.15), color,
		dashes...)
}

// graphAxis writes the names of the layers left of the nodes, the first one at the bottom: the
// edges below a name go into that layer. A dashed line stands where layers are left out, up to
// right.
func (p *page) graphAxis(
	names []string, layers []int, node func(level, row int) point, right float64,
) {
	L := len(layers)
	s := style{scale: 0.85, align: 1}
	x, high := node(0, 0).x-p.size, node(0, 0).y-node(1, 0).y
	every := max(1, int(p.size/high+0.99))
	for k := 0; k < L; k += every {
		p.text(x, node(k, 0).y-high/2+0.3*p.size, names[k], s)
	}
	for k := 1; k < L; k++ {
		if at := node(k, 0); layers[k-1] != layers[k]-1 {
			p.line([]point{at, {right, at.y}}, 0.5, gray, 2, 2)
		}
	}
	p.text(margin+0.9*p.size, (node(0, 0).y+node(L, 0).y)/2, "layer",
		style{scale: 0.92, align: 0.5, angle: 90})
}

// graphLegend explains the marks, and names the parts that the drawing leaves out.
func (p *page) graphLegend(g *attribution.FlowGraph, d render.FlowDrawing, y float64) float64 {
	color, _ := render.StepColors(p.palette, 4)
	widest := 1.0
	for k := 0; k+1 < len(g.Path); k++ {
		widest = min(widest, g.Width(len(g.Layers)-1-k, g.Path[k], g.Path[k+1]))
	}
	y = p.lineKeys(y+0.4*p.size, []lineKey{
		{text: "edge, as thick as it is wide", wide: 2, color: color},
		{text: "widest path, " + format(widest, 2), wide: 1.4, color: pathColor},
		{
			text: "minimum cut, " + message.Count(len(g.Cut.Edges), "edge"), wide: 0.9,
			color: cutColor, dashes: []float64{2, 1.5},
		},
	})
	y += 0.3 * p.size
	return p.notes([]string{"The number beside a name is the flow from it." + d.Note}, y)
}

// lineKey explains a kind of lines.
type lineKey struct {
	text   string
	wide   float64
	color  chart.RGB
	dashes []float64
}

// lineKeys writes the keys of lines beside each other, and returns where their last line ends.
func (p *page) lineKeys(y float64, keys []lineKey) float64 {
	x, s := float64(margin), style{scale: 0.92}
	for _, key := range keys {
		if x > margin && x+2.6*p.size+p.textWidth(key.text, s) > p.width-margin {
			x, y = margin, y+lineHeight*p.size
		}
		p.line([]point{{x, y - 0.3*p.size}, {x + 2*p.size, y - 0.3*p.size}}, key.wide, key.color,
			key.dashes...)
		p.text(x+2.4*p.size, y, key.text, s)
		x += 3.6*p.size + p.textWidth(key.text, s)
	}
	return y
}
