package figure

import (
	"fmt"
	"math"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// Edges returns the drawing of the edges that carry a difference between two prompts: layers from
// the bottom up, a column for each head, and edges as thick as their scores are large. It has what
// the page of [render.Patch] has, by the same rules. The error is that of
// [render.Patch.DrawnEdges].
func Edges(r render.Patch) (Drawing, error) {
	d, err := r.DrawnEdges()
	if err != nil {
		return Drawing{}, err
	}
	return Drawing{draw: func(p *page, y float64) float64 { return p.edges(d, y) }}, nil
}

// edgeMost is how thick the strongest edge is, in sizes of text.
const edgeMost = 0.45

func (p *page) edges(d render.EdgeDrawing, y float64) float64 {
	y = p.heading(d.Title, strings.Join(d.Caption, " · "), y)
	wide := min((p.width-2*margin)/d.Columns, 6*p.size)
	left := (p.width - wide*d.Columns) / 2
	high := max(2.2*p.size, min(3.5*p.size, 1.2*p.width/d.Levels))
	s := style{align: 0.5}
	node := 0.0
	for _, n := range d.Nodes {
		node = max(node, p.textWidth(n.Name, s)+0.5*p.size)
	}
	if node > 0.96*wide { // letters fit into the columns, whatever the number of heads
		s.scale = max(0.3, 0.96*wide/node)
		node *= s.scale
	}
	tall := 1.3 * p.textSize(s)
	y += tall / 2
	at := func(n render.DrawnNode) point {
		return point{left + wide*n.Column, y + high*(d.Levels-n.Level)}
	}
	for _, gap := range d.Gaps {
		q := at(render.DrawnNode{Level: gap})
		p.line([]point{q, {left + wide*d.Columns, q.y}}, 0.5, gray, 1, 2)
	}
	for _, e := range d.Edges {
		from, to := at(d.Nodes[e.Sender]), at(d.Nodes[e.Receiver])
		c := e.Curve([2]float64{from.x, from.y - tall/2},
			[2]float64{to.x + e.Side*node/3, to.y + tall/2}, high, node)
		q := [4]point{}
		for i := range c {
			q[i] = point{c[i][0], c[i][1]}
		}
		color, _ := render.StepColors(p.palette, e.Step)
		p.curve(q[0], q[1], q[2], q[3], e.Width*edgeMost*p.size, color)
	}
	for _, n := range d.Nodes {
		q := at(n)
		p.rect(q.x-node/2, q.y-tall/2, node, tall, chart.RGB{0xff, 0xff, 0xff})
		p.frame(q.x-node/2, q.y-tall/2, node, tall, 0.5, gray)
		p.text(q.x, q.y+0.35*p.textSize(s), n.Name, s)
	}
	y += high*d.Levels + tall/2 + 1.2*p.size
	return p.notes(d.Notes, p.edgeKeys(d, y)+0.3*p.size)
}

// edgeKeys explains the colours and the thickness of edges and the dotted lines, as far as they are
// there.
func (p *page) edgeKeys(d render.EdgeDrawing, y float64) float64 {
	var strongest [2]render.DrawnEdge // for and against
	for _, e := range d.Edges {       // the strongest comes last
		if e.Step > 0 {
			strongest[0] = e
		} else {
			strongest[1] = e
		}
	}
	var keys []lineKey
	for i, means := range []string{
		"carries the difference, as thick as its score", "works against the answer",
	} {
		if e := strongest[i]; e.Step != 0 {
			color, _ := render.StepColors(p.palette, e.Step)
			keys = append(keys, lineKey{
				text: fmt.Sprintf("%s, at most %.1f %%", means, math.Abs(100*e.Score)),
				wide: e.Width * edgeMost * p.size, color: color,
			})
		}
	}
	if d.Gaps != nil {
		keys = append(keys, lineKey{"layers left out", 0.5, gray, []float64{1, 2}})
	}
	return p.lineKeys(y, keys) + 0.3*p.size
}
