package render

import (
	"fmt"
	"slices"
)

// FlowDrawing is what a picture of flow draws, for those who draw it in another form: the rules of
// [Flow], without places and colours.
type FlowDrawing struct {
	// Title is the heading, and Caption are the parts of the line below it.
	Title   string
	Caption []string
	// Tokens are the tokens that have a line, and Layers the indices of the layers shown in
	// Graph.Layers. Both rise.
	Tokens, Layers []int
	// Labels are the names of Tokens, each with the flow from it to the target if that is known.
	Labels []string
	// Reached has the Tokens with a node before each of Layers and after the last one: those that
	// the target reaches, and the ends of the minimum cut.
	Reached [][]bool
	// Edges are the edges, the narrowest first; none lead to sinks that are left out.
	Edges []FlowEdge
	// Silence is the reason why the flows say nothing about the token, "" if they may.
	Silence string
	// Note names the parts that are left out, "" if there are none.
	Note string
}

// FlowEdge is an edge from the line of a target after a layer to that of a source before it.
type FlowEdge struct {
	// Layer, Target and Source are indices in Layers and Tokens of [FlowDrawing].
	Layer, Target, Source int
	// Width is at most 1, and Step is its colour, see [StepColors]; 0 is grey, of edges to sinks.
	Width float64
	Step  int
}

// Drawing returns what a picture of flow draws. The error is that of [Flow.Check].
func (r Flow) Drawing() (FlowDrawing, error) {
	if err := r.Check(); err != nil {
		return FlowDrawing{}, err
	}
	f := r.open()
	g := f.g
	d := FlowDrawing{
		Title: fmt.Sprintf("flow from “%s” to “%s”", plain(f.axisName(g.Cut.Source)),
			plain(f.axisName(g.Cut.Target))),
		Caption: f.captioned(f.e.Model.LayerRange(g.Layers[0],
			g.Layers[len(g.Layers)-1])),
		Tokens: f.rows, Layers: f.layers, Silence: f.silence(), Note: f.partly(),
	}
	if s := f.e.Steps[f.t]; s.Text != "" {
		d.Title += fmt.Sprintf(", which predicts “%s”", plain(f.generatedName(f.t)))
	}
	d.Title += ": " + fixed(g.Cut.Flow, 3)
	for _, j := range f.rows {
		d.Labels = append(d.Labels, plain(f.label(j)))
	}
	for _, l := range append(slices.Clone(f.layers), len(f.g.Layers)) {
		reached := make([]bool, len(f.rows))
		for i, j := range f.rows {
			reached[i] = f.hasNode(l, j)
		}
		d.Reached = append(d.Reached, reached)
	}
	for _, e := range f.edges {
		if k, i, j, ok := f.place(e.l, e.u, e.v); ok && !f.leftOut(e.v) {
			d.Edges = append(d.Edges, FlowEdge{k, i, j, e.width, f.edgeStep(e)})
		}
	}
	return d, nil
}

// edgeStep returns the colour of an edge, 0 if it leads to a sink; the narrowest have the first
// one.
func (f *flowPage) edgeStep(e flowEdge) int {
	if f.sinks[e.v] {
		return 0
	}
	return max(stepOf(e.width), 1)
}

// Place returns the indices of an edge in a drawing, false if its layer, an index in Graph.Layers,
// or one of its tokens is not shown.
func (d FlowDrawing) Place(layer, target, source int) (k, i, j int, ok bool) {
	k, a := slices.BinarySearch(d.Layers, layer)
	i, b := slices.BinarySearch(d.Tokens, target)
	j, c := slices.BinarySearch(d.Tokens, source)
	return k, i, j, a && b && c
}
