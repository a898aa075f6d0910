package render

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// Graph is a graph of a [Board]: nodes in columns from the left and levels from the bottom up, and
// edges that lead up.
type Graph struct {
	// Title stands over it, and Alt is its name for those who cannot see it.
	Title, Alt string
	// Hint is the readout where nothing is chosen, and Outside that of a word without a node.
	Hint, Outside string
	// Quiet is the name of the switch that shows what is quiet, "" for none, and ShowsQuiet
	// reports whether it is on at first.
	Quiet      string
	ShowsQuiet bool
	// Columns and Levels are its size, and Axis is the title of its levels.
	Columns, Levels float64
	Axis            string
	Nodes           []GraphNode
	// Edges are drawn in this order.
	Edges []GraphEdge
	// Parts has for each node what it has from nodes below it, in rising order. Percent reports
	// whether sizes are read in per cent.
	Parts   [][]GraphPart
	Percent bool
	// Layers are the names left of each level and the next, and Names those below each column.
	Layers []string
	Names  []GraphName
	// Gaps are the levels at which layers are left out.
	Gaps []float64
	// Marks explains the drawing of a page, and Keys are the lines of a figure.
	Marks string
	Keys  []GraphKey
	// Ends are a word of the text and the node it opens, if it has no node of its own.
	Ends [2]int
}

// GraphNode is a node. Its middle is so many columns from the left and levels from the bottom.
type GraphNode struct {
	Column, Level float64
	// Label stands in the box of a node; one without label is a dot, a large one if it is strong.
	// Hidden nodes are not drawn, and can be chosen.
	Label                 string
	Strong, Quiet, Hidden bool
	// Name is its name in lists, and Place what a readout adds where it is. Has and Feeds begin the
	// lists of what it has, and of what has something from it; "" for no list.
	Name, Place, Has, Feeds string
	// Token is its word of the text, -1 for none.
	Token int
}

// GraphEdge is an edge from one node to another one.
type GraphEdge struct {
	From, To int
	// Side is -1 for an edge into the left part of a box, 1 for one into the right part.
	Side float64
	// Width is at most 1, and Step is its colour, see [StepColors]; 0 is grey. Dashed edges are
	// thin and black.
	Width         float64
	Step          int
	Quiet, Dashed bool
}

// GraphPart is what a node has from another one.
type GraphPart struct {
	From int
	Size float64
}

// GraphName is the name of a column.
type GraphName struct {
	Name          string
	Strong, Quiet bool
}

// GraphKey explains edges that look like one.
type GraphKey struct {
	Text string
	Edge GraphEdge
}

// Curve returns the start, the controls and the end of an edge for nodes at places at, y downwards,
// whose boxes are wide and tall, where levels are high: it leaves and enters both upright. Between
// nodes above each other it passes those between them.
func (g *Graph) Curve(
	e GraphEdge, at func(column, level float64) [2]float64, wide, tall, high float64,
) [4][2]float64 {
	a, b := g.Nodes[e.From], g.Nodes[e.To]
	from, to := at(a.Column, a.Level), at(b.Column, b.Level)
	from[1] -= tall / 2
	to[0], to[1] = to[0]+e.Side*wide/3, to[1]+tall/2
	bend, aside := (from[1]-to[1])/2, 0.0
	if from[0] == to[0] && from[1]-to[1] > high {
		aside, bend = min(wide, wide/2+(from[1]-to[1])/8), high/2
	}
	return [4][2]float64{
		from, {from[0] + aside, from[1] - bend}, {to[0] + aside, to[1] + bend}, to,
	}
}

// Color returns the colour of an edge on white.
func (e GraphEdge) Color(palette string) chart.RGB {
	switch {
	case e.Dashed:
		return chart.Black
	case e.Step == 0:
		return rgbOf(dimInk)
	}
	color, _ := StepColors(palette, e.Step)
	return color
}

// The sizes of a graph in pixels: the least room at the left, that above the highest level, a box
// of a node, and letters.
const (
	graphLeft, graphTop         = 34, 12
	graphBoxWide, graphBoxHigh  = 44, 18
	graphLetters, graphLetterAt = 12, 8
)

// graphSize has the places of a graph on a page, in pixels: the room at the left, the sizes of a
// column, of a level and of a box, and its own.
type graphSize struct {
	left, wide, high, boxWide, boxHigh, width, height float64
}

func (g *Graph) size() graphSize {
	s := graphSize{left: graphLeft, wide: min(max(math.Floor(1000/g.Columns), 24), 64),
		high: min(max(math.Floor(600/g.Levels), 20), 60)}
	if g.boxed() {
		s.wide = min(max(900/g.Columns, graphBoxWide+graphTop), 3*graphBoxWide)
		s.high, s.boxWide, s.boxHigh = 3*graphBoxHigh, graphBoxWide, graphBoxHigh
	}
	below := 0
	for _, name := range g.Layers {
		s.left = max(s.left, float64(graphTop+graphLetterAt*Width(name)))
	}
	for _, name := range g.Names {
		below = max(below, graphLetterAt*Width(name.Name))
	}
	s.width = math.Ceil(s.left + g.Columns*s.wide + graphTop)
	s.height = math.Ceil(2*graphTop + s.boxHigh + g.Levels*s.high + float64(below))
	return s
}

// boxed reports whether nodes are boxes.
func (g *Graph) boxed() bool { return len(g.Nodes) > 0 && g.Nodes[0].Label != "" }

// at returns a place in the graph.
func (s graphSize) at(levels float64) func(column, level float64) [2]float64 {
	return func(column, level float64) [2]float64 {
		return [2]float64{
			math.Round(s.left + column*s.wide),
			math.Round(graphTop + s.boxHigh/2 + (levels-level)*s.high),
		}
	}
}

// short writes a place in the image.
func short(x float64) string { return strconv.FormatFloat(math.Round(10*x)/10, 'f', -1, 64) }

// colorOr returns a colour of a page, and the one that an image has by itself.
func colorOr(name, hex string) string { return "var(--" + name + "," + hex + ")" }

// svg returns the graph as the address of an SVG. It is an image of its own, so that it also stands
// where SVG within HTML is removed; the script takes it out of its image, where it has the colours
// of the page.
func (g *Graph) svg(colors theme) string {
	s := g.size()
	at := s.at(g.Levels)
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g">`,
		s.width, s.height, s.width, s.height)
	for _, gap := range g.Gaps {
		p(`<path stroke="%s" stroke-dasharray="2 4" d="M%g %sH%g"/>`, colorOr("faint", dimInk),
			s.left, short(at(0, gap)[1]), s.width)
	}
	quiet := ` class="hm-quiet"`
	if !g.ShowsQuiet {
		quiet += ` display="none"`
	}
	b.WriteString(`<g class="hm-edges" fill="none"><path`)
	last := "" // edges that look alike are one path
	for _, e := range g.Edges {
		if look := e.look(colors, quiet); look != last {
			if last != "" {
				b.WriteString(`"/><path`)
			}
			b.WriteString(look + ` d="`)
			last = look
		}
		c := g.Curve(e, at, s.boxWide, s.boxHigh, s.high)
		if b.WriteString("M" + short(c[0][0]) + " " + short(c[0][1])); c[0][0] == c[1][0] &&
			c[0][0] == c[3][0] {
			b.WriteString("V" + short(c[3][1]))
			continue
		}
		for i, place := range c[1:] {
			b.WriteString([]string{"C", " ", " "}[i] + short(place[0]) + " " + short(place[1]))
		}
	}
	if last == "" {
		b.WriteString(` d="`)
	}
	p(`"/></g><g fill="%s" font-family="sans-serif" font-size="%d" text-anchor="middle">`,
		colorOr("faint", "#808080"), graphLetters)
	for _, n := range g.Nodes {
		x, y := at(n.Column, n.Level)[0], at(n.Column, n.Level)[1]
		attributes := ""
		if n.Quiet {
			attributes = quiet
		}
		switch {
		case n.Hidden:
		case n.Label != "":
			p(`<rect x="%s" y="%s" width="%g" height="%g" rx="4" fill="%s" stroke="%s"/>`+
				`<text x="%s" y="%s" fill="%s">%s</text>`, short(x-s.boxWide/2),
				short(y-s.boxHigh/2), s.boxWide, s.boxHigh, colorOr("page", sheet),
				colorOr("dim", dimInk), short(x), short(y+4), colorOr("ink", ink),
				html.EscapeString(n.Label))
		case n.Strong:
			p(`<circle cx="%s" cy="%s" r="6" fill="%s"/>`, short(x), short(y),
				colorOr("n3", colors.below[2]))
		default:
			p(`<circle cx="%s" cy="%s" r="2"%s/>`, short(x), short(y), attributes)
		}
	}
	p(`</g><g fill="%s" font-family="sans-serif" font-size="%d" text-anchor="end">`,
		colorOr("ink", ink), graphLetters)
	for k, name := range g.Layers {
		p(`<text x="%g" y="%s">%s</text>`, s.left-10, short(at(0, float64(k)+.5)[1]+4),
			html.EscapeString(name))
	}
	for i, name := range g.Names {
		place, dim := at(float64(i)+.5, 0), ""
		if name.Quiet {
			dim = ` fill="` + colorOr("dim", ink) + `"`
		}
		p(`<text class="hm-name" transform="translate(%s %s)rotate(-90)"%s>%s</text>`,
			short(place[0]+4), short(place[1]+graphTop), dim, html.EscapeString(name.Name))
	}
	b.WriteString("</g></svg>")
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(b.String()))
}

// look returns the attributes of an edge.
func (e GraphEdge) look(colors theme, quiet string) string {
	color, more := colorOr("faint", dimInk), ""
	switch {
	case e.Dashed:
		return ` stroke="` + colorOr("ink", ink) + `" stroke-width="1.6" stroke-dasharray="4 3"`
	case e.Step > 0:
		color = colorOr(stepClass(e.Step), colors.above[e.Step-1])
	case e.Step < 0:
		color = colorOr(stepClass(e.Step), colors.below[-e.Step-1])
	}
	if e.Quiet {
		more = quiet
	}
	return fmt.Sprintf(` stroke="%s" stroke-width="%.1f"%s`, color, max(.3, 7*e.Width), more)
}

//go:embed boardgraph.js
var graphSource string

var graphScript = script(scaleSource + matrixSource + graphSource)

// graphData is what the script needs beyond the elements of the page. Its texts are visible names;
// see [Visible].
type graphData struct {
	ID         string   `json:"id"`
	Palettes   []string `json:"palettes"`
	Title      string   `json:"title"`
	Hint       string   `json:"hint"`
	Outside    string   `json:"outside"`
	Quiet      string   `json:"quiet"`
	ShowsQuiet bool     `json:"showsQuiet"`
	Percent    bool     `json:"percent"`
	Ends       [2]int   `json:"ends"`
	// High is the distance of levels in pixels, and Box the height of a box.
	High float64 `json:"high"`
	Box  float64 `json:"box"`
	// Nodes are a place in pixels, Token, Name, Place, Has and Feeds of each node, and Parts for
	// each node how many nodes further each part comes from, and its size in thousandths.
	Nodes [][7]any `json:"nodes"`
	Parts [][]int  `json:"parts"`
}

// leastPart is the size from which on a part is named.
const leastPart = .005

func (g *Graph) data(p *picture, kind string) graphData {
	s := g.size()
	d := graphData{
		ID:       hashOf(p.e.Model.Hash + "\x00" + p.e.Prompt.Text + "\x00" + kind),
		Palettes: PaletteNames(), Title: g.Title, Hint: g.Hint, Outside: g.Outside, Quiet: g.Quiet,
		ShowsQuiet: g.ShowsQuiet, Percent: g.Percent, Ends: g.Ends, High: s.high, Box: s.boxHigh,
	}
	for _, n := range g.Nodes {
		place := s.at(g.Levels)(n.Column, n.Level)
		d.Nodes = append(d.Nodes, [7]any{
			place[0], place[1], n.Token, n.Name, n.Place, n.Has, n.Feeds,
		})
	}
	for _, parts := range g.Parts {
		list, from := []int{}, 0
		for _, part := range parts {
			if math.Abs(part.Size) >= leastPart || g.Percent {
				list = append(list, part.From-from, int(math.Round(1000*part.Size)))
				from = part.From
			}
		}
		d.Parts = append(d.Parts, list)
	}
	return d
}

// graphLayout is how a page shows a board with a graph in place of a table.
func (p *Board) graphLayout(b *board) layout {
	s := p.Graph.size()
	return layout{
		class: "hm-graphs", script: graphScript, isOpen: true,
		fixed: fmt.Sprintf(`<div class="hm-scroll" style="overflow-x:auto">`+
			`<div class="hm-graph"><img alt="%s" width="%g" height="%g" style="max-width:none" `+
			`src="%s"></div></div><div class="hm-dim" style="color:%s;font-size:12px">%s</div>`,
			html.EscapeString(p.Graph.Alt), s.width, s.height, p.Graph.svg(b.theme), dimInk,
			html.EscapeString(p.Graph.Marks)),
		data: inWhole(func() any { return p.Graph.data(p.picture, p.Kind) }),
	}
}
