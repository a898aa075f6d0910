package figure

import (
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/message"
)

// maxEdges is how many edges of a flow graph are drawn, the widest of them.
const maxEdges = 4000

// leastEdge is the width below which an edge is not drawn.
const leastEdge = 0.02

var (
	pathColor = chart.RGB{0xc2, 0x55, 0x0f}
	cutColor  = chart.RGB{0xb0, 0x00, 0x20}
)

// Graph returns the drawing of a flow graph (Abnar and Zuidema 2020, Figure 1): layers from left to
// right, a line of nodes for each token, and edges as thick as they are wide. The widest path and
// the minimum cut between the ends of the flow are marked. texts are the tokens of the graph,
// predicted is what the target predicts, and model is the name of the model. It returns an error if
// the texts do not fit.
func Graph(g *attribution.FlowGraph, texts []string, predicted, model string) (Drawing, error) {
	L := len(g.Layers)
	if len(texts) != g.Tokens || L == 0 || len(g.Widths) != L*g.Tokens*g.Tokens || g.Cut == nil ||
		g.Cut.Target >= g.Tokens || g.Cut.Source >= g.Tokens {
		return Drawing{}, fmt.Errorf("figure: the graph has %d tokens and %d widths of %d layers, "+
			"and there are %d texts", g.Tokens, len(g.Widths), L, len(texts))
	}
	return Drawing{draw: func(p *page, y float64) float64 {
		return p.graph(g, texts, predicted, model, y)
	}}, nil
}

// edge is an edge of a drawing: target u after layer l and source v before it.
type edge struct {
	l, u, v int
	width   float64
}

func (p *page) graph(
	g *attribution.FlowGraph, texts []string, predicted, model string, y float64,
) float64 {
	cut := g.Cut
	title := fmt.Sprintf("flow from “%s” to “%s”", name(texts[cut.Source]),
		name(texts[cut.Target]))
	if predicted != "" {
		title += fmt.Sprintf(", which predicts “%s”", name(predicted))
	}
	y = p.heading(title+": "+format(cut.Flow, 3),
		fmt.Sprintf("layers %d to %d · %s", g.Layers[0], g.Layers[len(g.Layers)-1],
			modelName(model)), y)
	small := style{scale: 0.92}
	wide := 0.0
	last := shownTokens(g)
	for _, t := range texts[:last] {
		wide = max(wide, p.textWidth(name(t), small))
	}
	wide = min(wide, p.width/5)
	left := margin + wide + 0.8*p.size
	step := (p.width - left - margin - 1.5*p.size) / float64(len(g.Layers))
	high := max(1.35*p.size, min(4*p.size, 0.35*p.width/float64(last)))
	if last > 60 {
		high = max(0.4*p.size, 600/float64(last))
	}
	node := func(level, token int) point {
		return point{left + step*float64(level), y + high*(float64(token)+0.5)}
	}
	every := max(1, int(p.size/high+0.99))
	for i := 0; i < last; i += every {
		s := style{scale: 0.92, align: 1}
		if i == cut.Source {
			s.bold, s.color = true, pathColor
		}
		p.text(left-0.6*p.size, node(0, i).y+0.3*p.size, p.cut(name(texts[i]), wide, s), s)
	}
	edges, omitted := graphEdges(g, last)
	for _, e := range edges {
		p.edge(node(e.l+1, e.u), node(e.l, e.v), e.width*0.3*high,
			chart.RampOf(p.palette, 0.12+0.7*min(e.width, 1)))
	}
	p.markPath(g, node, high)
	for _, e := range cut.Edges {
		l := slices.Index(g.Layers, e.Layer)
		if l < 0 || e.Target >= last || e.Source >= last {
			continue
		}
		p.edge(node(l+1, e.Target), node(l, e.Source), 0.9, cutColor, 2, 1.5)
	}
	radius := min(0.16*high, 0.16*step, 2.2)
	for level := range len(g.Layers) + 1 {
		for token := range last {
			q := node(level, token)
			p.disc(q.x, q.y, radius, chart.RGB{0x3a, 0x7d, 0x44}, 1)
		}
	}
	q := node(len(g.Layers), cut.Target)
	p.disc(q.x, q.y, 2*radius, pathColor, 1)
	q = node(0, cut.Source)
	p.disc(q.x, q.y, 2*radius, pathColor, 1)
	y += high * float64(last)
	p.graphAxis(g, node, y)
	y += 3.1 * p.size
	return p.graphLegend(g, omitted, y)
}

// shownTokens returns how many tokens are drawn: those up to the target, if no edge leads to a
// later one.
func shownTokens(g *attribution.FlowGraph) int {
	for l := range g.Layers {
		for u := range g.Cut.Target + 1 {
			for v := g.Cut.Target + 1; v < g.Tokens; v++ {
				if g.Width(l, u, v) > 0 {
					return g.Tokens
				}
			}
		}
	}
	return g.Cut.Target + 1
}

// graphEdges returns the edges to draw, the narrowest first, and how many are left out.
func graphEdges(g *attribution.FlowGraph, tokens int) (edges []edge, left int) {
	for l := range g.Layers {
		for u := range tokens {
			for v := range tokens {
				w := g.Width(l, u, v)
				if w >= leastEdge {
					edges = append(edges, edge{l, u, v, w})
				} else if w > 0 {
					left++
				}
			}
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int {
		switch {
		case a.width < b.width:
			return -1
		case a.width > b.width:
			return 1
		}
		return 0
	})
	if n := len(edges) - maxEdges; n > 0 {
		edges, left = edges[n:], left+n
	}
	return edges, left
}

// edge draws an edge as a curve that leaves and enters its nodes sidewards.
func (p *page) edge(from, to point, wide float64, color chart.RGB, dashes ...float64) {
	middle := (from.x + to.x) / 2
	if from.y == to.y {
		p.line([]point{from, to}, max(wide, 0.15), color, dashes...)
		return
	}
	p.curve(from, point{middle, from.y}, point{middle, to.y}, to, max(wide, 0.15), color,
		dashes...)
}

// markPath draws the widest path.
func (p *page) markPath(g *attribution.FlowGraph, node func(level, token int) point, high float64) {
	L := len(g.Layers)
	for k := 0; k+1 < len(g.Path) && k < L; k++ {
		l := L - 1 - k
		w := g.Width(l, g.Path[k], g.Path[k+1])
		p.edge(node(l+1, g.Path[k]), node(l, g.Path[k+1]), max(0.9, w*0.3*high), pathColor)
	}
}

// graphAxis writes the layers below the nodes: what stands left of a number goes into that layer.
func (p *page) graphAxis(g *attribution.FlowGraph, node func(level, token int) point, y float64) {
	L := len(g.Layers)
	s := style{scale: 0.85, align: 0.5}
	step := node(1, 0).x - node(0, 0).x
	every := max(1, int(p.textWidth("00 ", s)/step+0.99))
	for l := 0; l < L; l += every {
		p.text((node(l, 0).x+node(l+1, 0).x)/2, y+0.9*p.size, fmt.Sprint(g.Layers[l]), s)
	}
	p.text((node(0, 0).x+node(L, 0).x)/2, y+2.1*p.size, "layer", style{scale: 0.92, align: 0.5})
}

// graphLegend explains the marks.
func (p *page) graphLegend(g *attribution.FlowGraph, left int, y float64) float64 {
	y += 0.4 * p.size
	x, s := float64(margin), style{scale: 0.92}
	widest := 1.0
	for k := 0; k+1 < len(g.Path); k++ {
		widest = min(widest, g.Width(len(g.Layers)-1-k, g.Path[k], g.Path[k+1]))
	}
	for _, key := range []struct {
		text   string
		color  chart.RGB
		wide   float64
		dashes []float64
	}{
		{"edge, as thick as it is wide", chart.RampOf(p.palette, 0.6), 2, nil},
		{"widest path, " + format(widest, 2), pathColor, 1.4, nil},
		{
			"minimum cut, " + message.Count(len(g.Cut.Edges), "edge"), cutColor, 0.9,
			[]float64{2, 1.5},
		},
	} {
		if x > margin && x+2.6*p.size+p.textWidth(key.text, s) > p.width-margin {
			x, y = margin, y+lineHeight*p.size
		}
		p.line([]point{{x, y - 0.3*p.size}, {x + 2*p.size, y - 0.3*p.size}}, key.wide, key.color,
			key.dashes...)
		p.text(x+2.4*p.size, y, key.text, s)
		x += 3.6*p.size + p.textWidth(key.text, s)
	}
	y += 0.3 * p.size
	if left > 0 {
		y = p.notes([]string{fmt.Sprintf("%s narrower than %s %s not drawn.",
			message.Count(left, "edge"), format(leastEdge, 2), message.IsOrAre(left))}, y)
	}
	return y
}
