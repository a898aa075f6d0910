package render

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/patch"
	"github.com/headwater-ml/headwater/attribution/trace"
)

const (
	// drawnEdges is how many edges a picture draws, and textEdges how many a text lists.
	drawnEdges, textEdges = 40, 20
	// edgesWide is the width of a graph in pixels as far as nodes do not touch, edgeHigh how far
	// apart layers are, and nodeWide and nodeHigh the size of a node.
	edgesWide, edgeHigh, nodeWide, nodeHigh = 900, 54, 44, 18
)

const edgesLegend = "Nodes are the embedding, heads (layer and head), feed-forward parts (ff and " +
	"layer) and the logits, from the bottom up. An edge leads into the query (at the left), the " +
	"key (in the middle) or the value (at the right) of a head. Its score is which part of the " +
	"difference would be lost if it alone had its value after B, the other prompt, to the first " +
	"order, by edge attribution patching (EAP-IG); below 0 it works against the answer. In a " +
	"circuit all other edges have that value, and its faithfulness is the part of the difference " +
	"that is left. CPR is the area under the faithfulness of circuits with the highest scores, " +
	"over their share of all edges; larger is better. CMD is the area between 1 and the " +
	"faithfulness of those with the largest absolute scores; 0 is best."

// checkEdges returns a [trace.UsageError] if the edges do not fit the explanation.
func (r Patch) checkEdges() error {
	e := r.Explanation
	p, m, finite := e.Patch, len(e.Prompt.Texts), true
	check := func(all ...float64) {
		for _, x := range all {
			finite = finite && !math.IsNaN(x) && !math.IsInf(x, 0)
		}
	}
	check(p.Edges.CPR, p.Edges.CMD, p.Edges.Kept.Faithfulness, p.Edges.Kept.Difference)
	for _, c := range p.Edges.Circuits {
		check(c.Share, c.Signed, c.Absolute)
	}
	for _, edge := range p.Edges.Strongest {
		check(edge.Score)
		for _, n := range []patch.Node{edge.Sender, edge.Receiver} {
			finite = finite && n.Layer >= 0 && n.Layer < e.Model.Layers && n.Head >= 0 &&
				n.Head < e.Model.Heads && knownNode(n)
		}
	}
	if !finite || len(e.Steps) == 0 || len(p.Edges.Strongest) == 0 || len(p.Corrupted) != m ||
		slices.ContainsFunc(p.Different, func(j int) bool { return j < 0 || j >= m }) {
		return usagef("patched edges do not fit a prompt of %d tokens and %d layers of %d heads", m,
			e.Model.Layers, e.Model.Heads)
	}
	return nil
}

// knownNode reports whether the kind of a node, and what an edge leads through, are known. In a
// file they may be any text.
func knownNode(n patch.Node) bool {
	return slices.Contains([]patch.NodeKind{
		patch.InputNode, patch.HeadNode, patch.FeedForwardNode, patch.LogitsNode,
	}, n.Kind) && slices.Contains([]trace.Tap{
		"", trace.QueryVector, trace.KeyVector, trace.Value,
	}, n.Through)
}

// edgeDrawing is a picture of patched edges.
type edgeDrawing struct {
	*patchDrawing
	edges *patch.EdgeResult
	// shown are the edges drawn, the strongest first, and most the largest absolute score.
	shown []patch.Edge
	most  float64
	// layers and heads are those that have a node, rising.
	layers, heads []int
}

// openEdges works out what a picture of edges shows. The edges fit.
func (r Patch) openEdges() *edgeDrawing {
	d := &edgeDrawing{patchDrawing: r.begin(), edges: r.Explanation.Patch.Edges}
	d.words.title = "Which edges carry the difference between two prompts"
	d.columns = d.fold(make([]float64, max(len(d.tokens), d.sourceCount())))
	d.shown = d.edges.Strongest[:min(len(d.edges.Strongest), drawnEdges)]
	for _, e := range d.shown {
		d.most = max(d.most, math.Abs(e.Score))
		for _, n := range []patch.Node{e.Sender, e.Receiver} {
			if n.Kind == patch.HeadNode {
				d.heads = append(d.heads, n.Head)
			}
			if n.Kind == patch.HeadNode || n.Kind == patch.FeedForwardNode {
				d.layers = append(d.layers, n.Layer)
			}
		}
	}
	slices.Sort(d.layers)
	slices.Sort(d.heads)
	d.layers, d.heads = slices.Compact(d.layers), slices.Compact(d.heads)
	return d
}

// answer is the sentence and the line below it.
func (d *edgeDrawing) answer() (say, facts phrase) {
	answer := quoted(phrase{{text: d.name(d.p.Answer), strong: true}})
	foil := quoted(phrase{{text: d.name(d.p.Foil), strong: true}})
	say = slices.Concat(answer, phrase{{text: " instead of "}}, foil, phrase{{text: ": "}})
	kept := d.edges.Kept
	say = append(say, piece{text: thousands(kept.Edges), strong: true})
	say.say(fmt.Sprintf(" of %s edges keep %s of the difference", thousands(d.edges.Count),
		rounded(kept.Faithfulness)))
	facts = d.ends(answer, foil)
	facts.say(minus(fmt.Sprintf(", %+.2f if all edges but these have what they have after B · "+
		"CPR %.2f, CMD %.3f · %d runs", kept.Difference, d.edges.CPR, d.edges.CMD, d.p.Runs)))
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
	width, height := d.imageSize()
	b.printf(`<div class="hm-after"></div><div class="hm-scroll" style="overflow-x:auto">`+
		`<div class="hm-graph"><img alt="graph of the strongest edges" width="%d" height="%d" `+
		`style="max-width:none" src="%s"></div></div><div class="hm-dim" style="color:%s;`+
		`font-size:12px">%s</div>`, width, height, d.svg(b.theme), dimInk,
		html.EscapeString(fmt.Sprintf("The %d edges with the largest "+
			"absolute scores, as thick as they are large; in the colour of what works against "+
			"the answer where they are below 0. A dotted line stands where layers are left out. %s",
			len(d.shown), d.pairs)))
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

// imageSize returns the size of the graph in pixels. A layer has a row of heads and, above it, one
// of its feed-forward part.
func (d *edgeDrawing) imageSize() (width, height int) {
	return flowLeft + (len(d.heads)+1)*d.wide() + 2*flowTop,
		2*flowTop + (len(d.layers)+1)*edgeHigh + 2*nodeHigh
}

// wide returns how far apart nodes of a layer are.
func (d *edgeDrawing) wide() int {
	return min(max(edgesWide/(len(d.heads)+1), nodeWide+flowTop), 3*nodeWide)
}

// node returns where the middle of a node is. Feed-forward parts stand at the right.
func (d *edgeDrawing) node(n patch.Node) (x, y float64) {
	width, height := d.imageSize()
	middle := float64(flowLeft) + float64(width-flowLeft)/2
	switch n.Kind {
	case patch.InputNode:
		return middle, float64(height - flowTop - nodeHigh/2)
	case patch.LogitsNode:
		return middle, float64(flowTop + nodeHigh/2)
	}
	k, _ := slices.BinarySearch(d.layers, n.Layer)
	column := len(d.heads)
	y = float64(height-flowTop-nodeHigh) - (float64(k)+.6)*edgeHigh
	if n.Kind == patch.HeadNode {
		column, _ = slices.BinarySearch(d.heads, n.Head)
	} else {
		y -= edgeHigh / 3
	}
	return float64(flowLeft) + (float64(column)+.5)*float64(d.wide()), y
}

// edgePath is the path of an edge; one between nodes above each other passes those between them.
func edgePath(x1, y1, x2, y2 float64) string {
	if x1 != x2 || y1-y2 < edgeHigh {
		return curve(x1, y1, x2, y2)
	}
	aside := short(x1 + min(nodeWide, nodeWide/2+(y1-y2)/8))
	return fmt.Sprintf("M%s %sC%s %s %s %s %s %s", short(x1), short(y1), aside,
		short(y1-edgeHigh/2), aside, short(y2+edgeHigh/2), short(x2), short(y2))
}

// svg returns the graph as the address of an SVG.
func (d *edgeDrawing) svg(colors theme) string {
	width, height := d.imageSize()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`viewBox="0 0 %d %d"><g fill="none">`, width, height, width, height)
	for k, l := range d.layers {
		if k > 0 && d.layers[k-1] != l-1 {
			_, y := d.node(patch.Node{Kind: patch.HeadNode, Layer: l})
			fmt.Fprintf(&b, `<path stroke="%s" stroke-dasharray="2 4" d="M%d %sH%d"/>`, dimInk,
				flowLeft, short(y+edgeHigh/2-4), width)
		}
	}
	var nodes []patch.Node
	for _, e := range slices.Backward(d.shown) {
		x1, y1 := d.node(e.Sender)
		x2, y2 := d.node(e.Receiver)
		switch e.Receiver.Through {
		case trace.QueryVector:
			x2 -= nodeWide / 3
		case trace.Value:
			x2 += nodeWide / 3
		}
		width := math.Abs(e.Score) / max(d.most, math.SmallestNonzeroFloat64)
		color := colors.above
		if e.Score < 0 {
			color = colors.below
		}
		fmt.Fprintf(&b, `<path stroke="%s" stroke-width="%s" d="%s"/>`,
			color[max(stepOf(width), 2)-1], stroke(max(width, .1)),
			edgePath(x1, y1-nodeHigh/2, x2, y2+nodeHigh/2))
		e.Receiver.Through = ""
		nodes = append(nodes, e.Sender, e.Receiver)
	}
	fmt.Fprintf(&b, `</g><g font-family="sans-serif" font-size="%d" text-anchor="middle">`,
		flowLetters)
	slices.SortFunc(nodes, func(a, b patch.Node) int {
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Head, b.Head))
	})
	for _, n := range slices.Compact(nodes) {
		name := string(n.Kind)
		switch n.Kind {
		case patch.HeadNode:
			name = fmt.Sprintf("%d.%d", n.Layer, n.Head)
		case patch.FeedForwardNode:
			name = fmt.Sprintf("ff %d", n.Layer)
		}
		x, y := d.node(n)
		fmt.Fprintf(&b, `<rect x="%s" y="%s" width="%d" height="%d" rx="4" fill="%s" `+
			`stroke="%s"/><text x="%s" y="%s" fill="%s">%s</text>`, short(x-nodeWide/2),
			short(y-nodeHigh/2), nodeWide, nodeHigh, sheet, dimInk, short(x), short(y+4), ink,
			html.EscapeString(name))
	}
	b.WriteString("</g></svg>")
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(b.String()))
}
