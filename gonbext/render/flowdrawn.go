package render

import "slices"

// FlowDrawing is what a picture of flow draws, for those who draw it in another form: the rules of
// [Flow], without places and colours.
type FlowDrawing struct {
	// Tokens are the tokens that have a line, and Layers the indices of the layers shown in
	// Graph.Layers. Both rise.
	Tokens, Layers []int
	// Flows are the flow from each of Tokens to the target, "" if it is not known.
	Flows []string
	// Reached says for each of Layers, and for the end after the last one, which of Tokens have a
	// node: those that the target reaches, and the ends of the minimum cut.
	Reached [][]bool
	// Edges are those of tokens that are no sinks, the narrowest first.
	Edges []FlowEdge
	// Silence says why the flows say nothing about the token, "" if they may.
	Silence string
	// Note says what is left out, "" if nothing.
	Note string
}

// FlowEdge is an edge from the line of a target after a layer to that of a source before it.
type FlowEdge struct {
	// Layer, Target and Source are indices in Layers and Tokens of [FlowDrawing].
	Layer, Target, Source int
	// Width is at most 1.
	Width float64
}

// Drawing returns what a picture of flow draws. The error is that of [Flow.Check].
func (r Flow) Drawing() (FlowDrawing, error) {
	if err := r.Check(); err != nil {
		return FlowDrawing{}, err
	}
	f := r.open()
	d := FlowDrawing{
		Tokens: f.rows, Layers: f.layers, Silence: f.silence(), Note: f.partly(),
	}
	for _, j := range f.rows {
		d.Flows = append(d.Flows, f.flowFrom(j))
	}
	for _, l := range append(slices.Clone(f.layers), len(f.g.Layers)) {
		reached := make([]bool, len(f.rows))
		for i, j := range f.rows {
			reached[i] = f.hasNode(l, j)
		}
		d.Reached = append(d.Reached, reached)
	}
	for _, e := range f.edges {
		if k, i, j, ok := f.place(e.l, e.u, e.v); ok && !f.sinks[e.v] {
			d.Edges = append(d.Edges, FlowEdge{k, i, j, e.width})
		}
	}
	return d, nil
}

// Place returns the indices of an edge in a drawing, false if its layer, an index in Graph.Layers,
// or one of its tokens is not shown.
func (d FlowDrawing) Place(layer, target, source int) (k, i, j int, ok bool) {
	k, a := slices.BinarySearch(d.Layers, layer)
	i, b := slices.BinarySearch(d.Tokens, target)
	j, c := slices.BinarySearch(d.Tokens, source)
	return k, i, j, a && b && c
}
