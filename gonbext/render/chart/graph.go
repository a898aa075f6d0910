package chart

// Graph is a graph of tokens through layers, as in Figure 1 of Abnar and Zuidema (2020): a node for
// each token before the first layer and after each of L layers, and an edge from every node to
// every node of the layer below.
type Graph struct {
	// Tokens are the names of the T tokens, the first one at the top.
	Tokens []string
	// Weights is [L,T,T]: the edge between target t after layer l and source s before it. An edge
	// of weight 1 has the full width.
	Weights []float64
	// Targets, if not nil, are the targets after the last layer whose edges are drawn; nil draws
	// those of all tokens.
	Targets []int
}

// Edge is an edge of a [Graph]: target T after layer L and source S before it.
type Edge struct {
	L, T, S int
	Weight  float64
}

// leastWeight is the smallest weight of an edge that is drawn.
const leastWeight = 0.02

// Layers returns L.
func (g *Graph) Layers() int {
	if len(g.Tokens) == 0 {
		return 0
	}
	return len(g.Weights) / (len(g.Tokens) * len(g.Tokens))
}

// Edges returns the edges that are drawn, the lowest layer first: those of at least 0.02.
func (g *Graph) Edges() []Edge {
	n, layers := len(g.Tokens), g.Layers()
	wanted := make([]bool, n)
	for t := range wanted {
		wanted[t] = g.Targets == nil
	}
	for _, t := range g.Targets {
		wanted[t] = true
	}
	var edges []Edge
	for l := range layers {
		for t := range n {
			if l == layers-1 && !wanted[t] {
				continue
			}
			for s := range n {
				if w := g.Weights[(l*n+t)*n+s]; w >= leastWeight {
					edges = append(edges, Edge{l, t, s, w})
				}
			}
		}
	}
	return edges
}

// check returns an error if the weights are no graph of the tokens.
func (g *Graph) check() error {
	if g == nil {
		return pkg.Errorf("a layered chart needs a graph")
	}
	n := len(g.Tokens)
	if n == 0 || len(g.Weights) == 0 || len(g.Weights)%(n*n) != 0 {
		return pkg.Errorf("%d weights for %d tokens; want [L,T,T]", len(g.Weights), n)
	}
	for _, t := range g.Targets {
		if t < 0 || t >= n {
			return pkg.Errorf("target %d; there are %d tokens, from 0", t, n)
		}
	}
	for i, w := range g.Weights {
		if !(w >= 0 && w <= 1+1e-6) {
			return pkg.Errorf("weight %d is %v; want 0 to 1", i, w)
		}
	}
	if edges := len(g.Edges()); edges > MaxPoints {
		return pkg.Errorf("%d edges; at most %d can be drawn", edges, MaxPoints)
	}
	return nil
}
