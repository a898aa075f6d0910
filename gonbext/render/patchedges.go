package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/patch"
)

const (
	// drawnEdges is how many edges a picture draws, and textEdges how many a text lists.
	drawnEdges, textEdges = 40, 20
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

// mostColumns is how many columns of heads a graph has at most, unless a layer has more of them.
const mostColumns = 16

// edgeDrawing is a picture of patched edges.
type edgeDrawing struct {
	*patchDrawing
	edges *patch.EdgeResult
}

// edgeBoard works out what a picture of edges shows. The edges fit.
func (r Patch) edgeBoard() *Board {
	d := &edgeDrawing{patchDrawing: r.begin(), edges: patch.Of(r.Explanation).Edges}
	d.words.title = "Which edges carry the difference between two prompts"
	d.columns = d.fold(make([]float64, max(len(d.tokens), d.sourceCount())))
	g := d.graph()
	few := fmt.Sprintf("he %d edges with the largest absolute scores", len(g.Edges))
	g.Marks = "T" + few + ", as thick as they are large; in the colour of what works against the " +
		"answer where they are below 0. A node is a head, as layer.head, or ff, the feed-forward " +
		"part of a layer. A dotted line stands where layers are left out."
	b := &Board{
		drawing: d.drawing, Kind: "patch", MaxBytes: r.MaxBytes, Graph: g,
		Details: "the strongest edges, circuits", Legend: edgesLegend, Opened: Opening{Token: -1},
		Caption: []string{"t" + few + " of " + thousands(d.edges.Count)},
	}
	b.Opened.Say, b.Opened.Facts = d.answer()
	b.Notes = []string{
		plain(b.Opened.Say.String()) + ". " + plain(b.Opened.Facts.String()) + ".", d.pairs,
		nodesLegend,
	}
	edges, circuits := d.lists(textEdges)
	b.Lists = []Line{{Name: "The strongest edges:"}}
	for _, line := range edges {
		b.Lists = append(b.Lists, Line{Name: "  ", List: line})
	}
	b.Lists = append(b.Lists, Line{Name: "Circuits:"})
	for _, line := range circuits {
		b.Lists = append(b.Lists, Line{Name: "  ", List: line + "."})
	}
	for _, line := range slices.Concat(circuits, edges) {
		b.Lines = append(b.Lines, Line{Name: line})
	}
	return b
}

// graph works out the graph. Heads have a column each, and feed-forward parts stand at the right;
// if that were too many columns, the heads of a layer stand beside each other.
func (d *edgeDrawing) graph() *Graph {
	g := &Graph{
		Title: "The strongest edges, the embedding at the bottom", Percent: true,
		Alt:  "graph of the strongest edges",
		Hint: "Point at a node, or click to keep it", Ends: [2]int{-1, 0},
	}
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
	g.Columns, g.Levels = float64(most+1), float64(len(layers))+.8
	for _, n := range nodes {
		k, _ := slices.BinarySearch(layers, n.Layer)
		node := GraphNode{
			Label: string(n.Kind), Column: g.Columns / 2, Level: float64(k) + .75, Token: -1,
			Name: n.String(), Has: " has from: ", Feeds: "feeds: ",
		}
		switch n.Kind {
		case patch.InputNode:
			node.Level, node.Has = 0, ""
		case patch.LogitsNode:
			node.Level, node.Feeds = g.Levels, ""
		case patch.HeadNode:
			node.Label = fmt.Sprintf("%d.%d", n.Layer, n.Head)
			node.Column = float64(columns[n]) + .5
		case patch.FeedForwardNode:
			node.Label = fmt.Sprintf("ff %d", n.Layer)
			node.Column, node.Level = g.Columns-.5, node.Level+.35
		}
		g.Nodes = append(g.Nodes, node)
	}
	for k := 1; k < len(layers); k++ {
		if layers[k] != layers[k-1]+1 {
			g.Gaps = append(g.Gaps, float64(k)+.33)
		}
	}
	keys := [2]GraphKey{}
	g.Parts = make([][]GraphPart, len(nodes))
	for _, e := range slices.Backward(shown) { // the strongest is drawn last
		width := e.Score / strongest
		one := GraphEdge{
			Side:  map[trace.Tap]float64{trace.QueryVector: -1, trace.Value: 1}[e.Receiver.Through],
			Width: max(math.Abs(width), .1), Step: max(stepOf(math.Abs(width)), 2),
		}
		means, k := "carries the difference, as thick as its score", 0
		if width < 0 {
			one.Step, means, k = -one.Step, "works against the answer", 1
		}
		e.Receiver.Through = ""
		one.From, one.To = slices.Index(nodes, e.Sender), slices.Index(nodes, e.Receiver)
		g.Edges = append(g.Edges, one)
		g.Parts[one.To] = append(g.Parts[one.To], GraphPart{one.From, e.Score})
		keys[k] = GraphKey{fmt.Sprintf("%s, at most %.1f %%", means, math.Abs(100*e.Score)), one}
	}
	g.Keys = slices.DeleteFunc(keys[:], func(k GraphKey) bool { return k.Text == "" })
	return g
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
