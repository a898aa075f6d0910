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

// The colours of the graph in the paper.
var (
	NodeColor = RGB{0x4c, 0x9a, 0x4c}
	EdgeColor = RGB{0x1b, 0x2f, 0x6b}
)

// axes returns the encodings of the layers and of the tokens.
func (g *Graph) axes(x, y Axis) (axisX, axisY object) {
	n := float64(len(g.Tokens))
	axisX = object{
		"field": "x", "type": "quantitative", "title": x.Label(),
		"scale": object{"domain": []any{-0.2, float64(g.Layers()) + 0.2}, "nice": false},
		"axis":  object{"tickMinStep": 1.0, "format": "d", "grid": false},
	}
	axisY = object{
		"field": "y", "type": "quantitative", "title": y.Label(),
		"scale": object{"domain": []any{-0.5, n - 0.5}, "nice": false, "reverse": true},
		"axis":  object{"labels": false, "ticks": false, "grid": false, "titlePadding": 70.0},
	}
	return axisX, axisY
}

// byWeight returns an encoding by the weight of an edge, from 0 to 1.
func byWeight(low, high float64) object {
	return object{
		"field": "weight", "type": "quantitative", "legend": nil,
		"scale": object{"domain": []any{0.0, 1.0}, "range": []any{low, high}},
	}
}

// layers returns the layers of a specification: edges, nodes and the names of tokens.
func (g *Graph) layers(x, y Axis) []any {
	axisX, axisY := g.axes(x, y)
	var edges, nodes, names []any
	for _, e := range g.Edges() {
		edges = append(edges, object{
			"x": float64(e.L + 1), "y": float64(e.T), "x2": float64(e.L), "y2": float64(e.S),
			"weight": e.Weight, "layer": float64(e.L),
			"target": g.Tokens[e.T], "source": g.Tokens[e.S],
		})
	}
	for l := range g.Layers() + 1 {
		for t, name := range g.Tokens {
			nodes = append(nodes, object{"x": float64(l), "y": float64(t), "token": name})
		}
	}
	for t, name := range g.Tokens {
		names = append(names, object{"x": 0.0, "y": float64(t), "token": name})
	}
	var tips []any
	for _, f := range [][2]string{
		{"target", "nominal"},
		{"source", "nominal"},
		{"layer", "quantitative"},
		{"weight", "quantitative"},
	} {
		tips = append(tips, object{"field": f[0], "type": f[1]})
	}
	return []any{
		object{
			"data": data(edges),
			"mark": object{"type": "rule", "color": themed(EdgeColor), "strokeCap": "round"},
			"encoding": object{
				"x": axisX, "y": axisY, "x2": object{"field": "x2"}, "y2": object{"field": "y2"},
				"strokeWidth": byWeight(0, 6), "opacity": byWeight(0.25, 0.9), "tooltip": tips,
			},
		},
		object{
			"data": data(nodes),
			"mark": object{
				"type": "point", "filled": true, "size": 36.0, "opacity": 1.0,
				"color": themed(NodeColor),
			},
			"encoding": object{
				"x": axisX, "y": axisY, "tooltip": object{"field": "token", "type": "nominal"},
			},
		},
		object{
			"data": data(names),
			"mark": object{
				"type": "text", "align": "right", "dx": -10.0, "fontSize": 11.0,
				"color": themed(Black),
			},
			"encoding": object{
				"x": axisX, "y": axisY, "text": object{"field": "token", "type": "nominal"},
			},
		},
	}
}
