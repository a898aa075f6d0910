package render

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/study/patch"
	"github.com/headwater-ml/headwater/attribution/trace"
)

const (
	// drawnEdges is how many edges a picture draws, and textEdges how many a text lists.
	drawnEdges, textEdges = 40, 20
	// edgesWide is the width of a graph in pixels as far as nodes do not touch, edgeHigh how far
	// apart layers are, and nodeWide and nodeHigh the size of a node.
	edgesWide, edgeHigh, nodeWide, nodeHigh = 900, 54, 44, 18
)

// What a graph of edges shows, and what its numbers are.
const (
	nodesLegend = "Nodes are the embedding, heads (layer and head), feed-forward parts (ff and " +
		"layer) and the logits, from the bottom up. An edge leads into the query (at the left), " +
		"the key (in the middle) or the value (at the right) of a head."
	edgesLegend = nodesLegend + " Its score is which part of the difference would be lost if it " +
		"alone had its value after B, the other prompt, to the first order, by edge attribution " +
		"patching (EAP-IG); below 0 it works against the answer. In a circuit all other edges " +
		"have that value, and its faithfulness is the part of the difference that is left. CPR " +
		"is the area under the faithfulness of circuits with the highest scores, over their " +
		"share of all edges; larger is better. These leave out what works against the answer, " +
		"and so may keep more than 100 %. CMD is the area between 1 and the faithfulness " +
		"of those with the largest absolute scores; 0 is best."
)

// EdgeDrawing is what a picture of patched edges draws, for those who draw it in another form.
type EdgeDrawing struct {
	// Title is the heading, Caption are the parts of the line below it, and Notes are sentences:
	// what the edges show, and what the marks mean.
	Title   string
	Caption []string
	Notes   []string
	// Nodes are the ends of Edges, of which the weakest comes first.
	Nodes []DrawnNode
	Edges []DrawnEdge
	// Columns and Levels are the size of the graph, and Gaps the levels at which layers are left
	// out.
	Columns, Levels float64
	Gaps            []float64
}

// DrawnNode is a node. Its middle is so many columns from the left and levels, which are as high as
// a layer, from the bottom.
type DrawnNode struct {
	Name          string
	Column, Level float64
}

// DrawnEdge is an edge from one of the nodes to another one.
type DrawnEdge struct {
	Sender, Receiver int
	// Side is -1 for an edge into the left part of its receiver, the query, 1 for one into the
	// right part, the value, and 0 for others.
	Side float64
	// Score is that of [patch.Edge]. Width, at most 1, is as large as it is, but so much that it is
	// seen, and Step is its colour, see [StepColors].
	Score, Width float64
	Step         int
}

// Curve returns the start, the controls and the end of an edge between two places, y downwards,
// where levels are high: it leaves and enters both upright. Between nodes above each other it
// passes those between them.
func (e DrawnEdge) Curve(from, to [2]float64, high, node float64) [4][2]float64 {
	bend, aside := (from[1]-to[1])/2, 0.0
	if from[0] == to[0] && from[1]-to[1] >= high {
		aside = min(node, node/2+(from[1]-to[1])/8)
		bend = high / 2
	}
	return [4][2]float64{
		from, {from[0] + aside, from[1] - bend}, {to[0] + aside, to[1] + bend}, to,
	}
}

// mostColumns is how many columns of heads a graph has at most, unless a layer has more of them.
const mostColumns = 16

// edgeDrawing is a picture of patched edges.
type edgeDrawing struct {
	*patchDrawing
	EdgeDrawing
	edges *patch.EdgeResult
}

// openEdges works out what a picture of edges shows. The edges fit. Heads have a column each, and
// feed-forward parts stand at the right; if that were too many columns, the heads of a layer stand
// beside each other.
func (r Patch) openEdges() *edgeDrawing {
	d := &edgeDrawing{patchDrawing: r.begin(), edges: patch.Of(r.Explanation).Edges}
	d.words.title = "Which edges carry the difference between two prompts"
	d.columns = d.fold(make([]float64, max(len(d.tokens), d.sourceCount())))
	shown := d.edges.Strongest[:min(len(d.edges.Strongest), drawnEdges)]
	var nodes []patch.Node
	var layers, heads []int
	strongest := math.SmallestNonzeroFloat64
	for _, e := range shown {
		strongest = max(strongest, math.Abs(e.Score))
		e.Receiver.Through = ""
		nodes = append(nodes, e.Sender, e.Receiver)
	}
	slices.SortFunc(nodes, func(a, b patch.Node) int {
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Head, b.Head))
	})
	nodes = slices.Compact(nodes)
	for _, n := range nodes {
		if n.Kind == patch.HeadNode {
			heads = append(heads, n.Head)
		}
		if n.Kind == patch.HeadNode || n.Kind == patch.FeedForwardNode {
			layers = append(layers, n.Layer)
		}
	}
	slices.Sort(heads)
	heads, layers = slices.Compact(heads), slices.Compact(layers)
	columns, most := map[patch.Node]int{}, 0
	for _, n := range nodes {
		if n.Kind != patch.HeadNode {
			continue
		}
		if columns[n], _ = slices.BinarySearch(heads, n.Head); len(heads) > mostColumns {
			columns[n] = 0
			for other := range columns {
				if other.Layer == n.Layer && other.Head < n.Head {
					columns[n]++
				}
			}
		}
		most = max(most, columns[n]+1)
	}
	d.Columns, d.Levels = float64(most+1), float64(len(layers))+.8
	for _, n := range nodes {
		k, _ := slices.BinarySearch(layers, n.Layer)
		node := DrawnNode{string(n.Kind), d.Columns / 2, float64(k) + .75}
		switch n.Kind {
		case patch.InputNode:
			node.Level = 0
		case patch.LogitsNode:
			node.Level = d.Levels
		case patch.HeadNode:
			node.Name = fmt.Sprintf("%d.%d", n.Layer, n.Head)
			node.Column = float64(columns[n]) + .5
		case patch.FeedForwardNode:
			node.Name = fmt.Sprintf("ff %d", n.Layer)
			node.Column, node.Level = d.Columns-.5, node.Level+.35
		}
		d.Nodes = append(d.Nodes, node)
	}
	for k := 1; k < len(layers); k++ {
		if layers[k] != layers[k-1]+1 {
			d.Gaps = append(d.Gaps, float64(k)+.33)
		}
	}
	for _, e := range slices.Backward(shown) {
		width := e.Score / strongest
		one := DrawnEdge{
			Side:  map[trace.Tap]float64{trace.QueryVector: -1, trace.Value: 1}[e.Receiver.Through],
			Score: e.Score, Width: max(math.Abs(width), .1),
			Step: max(stepOf(math.Abs(width)), 2),
		}
		if width < 0 {
			one.Step = -one.Step
		}
		e.Receiver.Through = ""
		one.Sender, one.Receiver = slices.Index(nodes, e.Sender), slices.Index(nodes, e.Receiver)
		d.Edges = append(d.Edges, one)
	}
	return d
}

// DrawnEdges returns what a picture of edges draws. The error is that of [Patch.Check], or that of
// an explanation without edges.
func (r Patch) DrawnEdges() (EdgeDrawing, error) {
	if err := r.Check(); err != nil {
		return EdgeDrawing{}, err
	}
	if patch.Of(r.Explanation).Edges == nil {
		return EdgeDrawing{}, usagef("places are a matrix and no graph; draw them by Drawn")
	}
	d := r.openEdges()
	say, facts := d.answer()
	d.Title, d.Caption = d.words.title, d.captioned(fmt.Sprintf("the %d edges with the largest "+
		"absolute scores of %s", len(d.Edges), thousands(d.edges.Count)))
	d.Notes = []string{
		plain(say.String()) + ". " + plain(facts.String()) + ".", d.pairs, nodesLegend,
	}
	return d.EdgeDrawing, nil
}

// answer is the sentence and the line below it.
func (d *edgeDrawing) answer() (say, facts Phrase) {
	kept := d.edges.Kept
	say, facts = d.ends()
	say = append(say, piece{text: thousands(kept.Edges), strong: true})
	say.Say(fmt.Sprintf(" of %s edges, those with the largest absolute scores, keep %s of the "+
		"difference", thousands(d.edges.Count), rounded(kept.Faithfulness)))
	for _, c := range d.edges.Circuits {
		if c.Edges < kept.Edges && c.Signed >= patch.KeptPart {
			say.Say(fmt.Sprintf("; of those with the highest scores, %s keep %s",
				thousands(c.Edges), rounded(c.Signed)))
			break
		}
	}
	facts.Say(minus(fmt.Sprintf(", %+.2f if all edges but the %s have what they have after B · "+
		"CPR %.2f, the area under what the highest scores keep · CMD %.3f, the area between that "+
		"of the largest absolute scores and 100 %% · %d runs", kept.Difference,
		thousands(kept.Edges), d.edges.CPR, d.edges.CMD, d.p.Runs)))
	return say, facts
}

// lists are the strongest edges, n at most, and the circuits, in words.
func (d *edgeDrawing) lists(n int) (edges, circuits []string) {
	for _, e := range d.edges.Strongest[:min(n, len(d.edges.Strongest))] {
		edges = append(edges, minus(fmt.Sprintf("%s → %s  %+.1f %%", e.Sender, e.Receiver,
			100*e.Score)))
	}
	for _, c := range d.edges.Circuits {
		circuits = append(circuits, minus(fmt.Sprintf("%s edges (%g %%): the highest scores keep "+
			"%.0f %%, the largest absolute ones %.0f %%", thousands(c.Edges),
			math.Round(1e4*c.Share)/100, 100*c.Signed, 100*c.Absolute)))
	}
	return edges, circuits
}

// write writes the page.
func (d *edgeDrawing) write(b *board) {
	b.drawing = d.drawing
	b.begin("", "")
	b.top()
	var s strings.Builder
	say, facts := d.answer()
	b.writeAnswer(&s, say.html(), facts.html(), make([]int, len(d.tokens)))
	b.WriteString(s.String())
	image, width, height := d.svg(b.theme)
	b.printf(`<div class="hm-after"></div><div class="hm-scroll" style="overflow-x:auto">`+
		`<div class="hm-graph"><img alt="graph of the strongest edges" width="%d" height="%d" `+
		`style="max-width:none" src="%s"></div></div><div class="hm-dim" style="color:%s;`+
		`font-size:12px">%s</div>`, width, height, image, dimInk,
		html.EscapeString(fmt.Sprintf("The %d edges with the largest "+
			"absolute scores, as thick as they are large; in the colour of what works against "+
			"the answer where they are below 0. A node is a head, as layer.head, or ff, the "+
			"feed-forward part of a layer. A dotted line stands where layers are left out.",
			len(d.Edges))))
	b.openDetails(b, "the strongest edges, circuits", true)
	edges, circuits := d.lists(textEdges)
	for _, line := range slices.Concat(circuits, edges, []string{edgesLegend}) {
		b.printf("<div>%s</div>", html.EscapeString(line))
	}
	b.WriteString(b.common((*page).model) + "</details>")
	b.end("", "")
}

// plain returns the text.
func (d *edgeDrawing) plain(look Terminal) *text {
	t := newText(Terminal{Width: look.Width})
	t.picture = d.picture
	t.head()
	t.line("")
	say, facts := d.answer()
	t.wrapped("", plain(say.String())+".")
	t.wrapped("", plain(facts.String())+".")
	edges, circuits := d.lists(textEdges)
	t.line("")
	t.line("The strongest edges:")
	for _, line := range edges {
		t.line("  " + line)
	}
	t.line("")
	for _, line := range circuits {
		t.wrapped("", line+".")
	}
	t.line("")
	t.wrapped("", edgesLegend)
	t.model()
	return t
}

// svg returns the graph as the address of an SVG, and its size in pixels.
func (d *edgeDrawing) svg(colors theme) (address string, width, height int) {
	wide := min(max(edgesWide/d.Columns, nodeWide+flowTop), 3*nodeWide)
	width = 2*flowLeft + int(d.Columns*wide)
	height = 2*flowTop + nodeHigh + int(d.Levels*edgeHigh)
	at := func(n DrawnNode) (x, y float64) {
		return math.Round(flowLeft + n.Column*wide),
			math.Round(flowTop + nodeHigh/2 + (d.Levels-n.Level)*edgeHigh)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`viewBox="0 0 %d %d"><g fill="none">`, width, height, width, height)
	for _, gap := range d.Gaps {
		_, y := at(DrawnNode{Level: gap})
		fmt.Fprintf(&b, `<path stroke="%s" stroke-dasharray="2 4" d="M%d %sH%d"/>`, dimInk,
			flowLeft, short(y), width-flowLeft)
	}
	for _, e := range d.Edges {
		x1, y1 := at(d.Nodes[e.Sender])
		x2, y2 := at(d.Nodes[e.Receiver])
		c := e.Curve([2]float64{x1, y1 - nodeHigh/2},
			[2]float64{x2 + math.Round(e.Side*nodeWide/3), y2 + nodeHigh/2}, edgeHigh, nodeWide)
		color := colors.above[max(e.Step, -e.Step)-1]
		if e.Step < 0 {
			color = colors.below[-e.Step-1]
		}
		fmt.Fprintf(&b, `<path stroke="%s" stroke-width="%s" d="M%s %sC%s %s %s %s %s %s"/>`,
			color, stroke(e.Width), short(c[0][0]), short(c[0][1]), short(c[1][0]),
			short(c[1][1]), short(c[2][0]), short(c[2][1]), short(c[3][0]), short(c[3][1]))
	}
	fmt.Fprintf(&b, `</g><g font-family="sans-serif" font-size="%d" text-anchor="middle">`,
		flowLetters)
	for _, n := range d.Nodes {
		x, y := at(n)
		fmt.Fprintf(&b, `<rect x="%s" y="%s" width="%d" height="%d" rx="4" fill="%s" `+
			`stroke="%s"/><text x="%s" y="%s" fill="%s">%s</text>`, short(x-nodeWide/2),
			short(y-nodeHigh/2), nodeWide, nodeHigh, sheet, dimInk, short(x), short(y+4), ink,
			html.EscapeString(n.Name))
	}
	b.WriteString("</g></svg>")
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(b.String())),
		width, height
}
