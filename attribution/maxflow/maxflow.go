// Package maxflow computes exact maximum flow through layered networks such as attention flow needs (Abnar and Zuidema
// 2020, §3): nodes (l,i) for positions i at levels 0..L, and from each (l+1,i) an edge to each (l,j) of the level below
// whose capacity is row i, column j of layer l. The source is one node at the top, the sink one at the bottom.
//
//	g := maxflow.New(2, false)
//	g.Extend(rows, 3)                             // [2,3,3]
//	flows, err := g.Row(ctx, nil, 1, 2, nil)      // from token 2 after layer 1 to each input token
//
// The network grows by tokens, and nothing is built again when it does. Capacities are finite and not negative.
//
// The solver is Dinic's (1970), with sets of nodes as bits: one word holds the open edges of a node to 64 nodes of the
// next level, so a breadth-first search is a few ANDs and ORs a node. Residuals of 1e-15 and less count as closed;
// on attention maps the result is exact to about 1e-14.
package maxflow

import (
	"context"
	"fmt"
)

const (
	// closed is the residual up to which an edge counts as full. It must be far below the accuracy wanted (1e-12 is off
	// by 4e-12) and above the rounding of sums near 1.
	closed = 1e-15
	// slack is how near to the bound a flow must be to be the bound: the rounding of a few dozen sums near 1.
	slack = 1e-14
)

// Graph is a layered network. It is not safe for concurrent use.
type Graph struct {
	layers        int
	bidirectional bool
	tokens        int
	// capacity[l][i] is row i of layer l: [i+1], or [T] if bidirectional. open[l][i] has the bits of its edges.
	capacity [][][]float64
	open     [][][]uint64
	solver   solver
}

// New returns a network of L layers without tokens. Unless it is bidirectional, a token has edges to itself and earlier
// tokens only. It panics if layers is not positive.
func New(layers int, bidirectional bool) *Graph {
	if layers < 1 {
		panic(fmt.Sprintf("maxflow: %d layers", layers))
	}
	return &Graph{
		layers: layers, bidirectional: bidirectional,
		capacity: make([][][]float64, layers), open: make([][][]uint64, layers),
	}
}

// Tokens returns T, the number of tokens so far.
func (g *Graph) Tokens() int { return g.tokens }

// Extend adds n tokens with their edges in every layer: rows is [L,n,T] with T the number of tokens then; it is copied.
// It panics if rows has another length, or if a bidirectional network is extended twice.
func (g *Graph) Extend(rows []float64, n int) {
	T := g.tokens + n
	if len(rows) != g.layers*n*T {
		panic(fmt.Sprintf("maxflow: %d capacities, want %d", len(rows), g.layers*n*T))
	}
	if g.bidirectional && g.tokens > 0 && n > 0 {
		panic("maxflow: a bidirectional network grows once")
	}
	for l := range g.layers {
		for k := range n {
			i := g.tokens + k
			row := append([]float64(nil), rows[(l*n+k)*T:][:g.width(i, T)]...)
			g.capacity[l] = append(g.capacity[l], row)
			g.open[l] = append(g.open[l], bitsOf(row))
		}
	}
	g.tokens = T
}

// width returns how many of T tokens token i has edges to.
func (g *Graph) width(i, T int) int {
	if g.bidirectional {
		return T
	}
	return i + 1
}

// bitsOf returns one bit an edge: whether it can carry anything.
func bitsOf(row []float64) []uint64 {
	bits := make([]uint64, (len(row)+63)/64)
	for v, c := range row {
		if c > closed {
			bits[v/64] |= 1 << (v % 64)
		}
	}
	return bits
}

// Row appends to dst the maximum flow from token i after layer l to each of the T input tokens, each on its own: flows to
// two sinks may use the same edges, so the row need not sum to 1. Layers count from 0. If top is not nil, [T], it
// replaces row i of layer l, the edges that leave the source.
//
// It looks at ctx once for each sink and returns an error that wraps ctx.Err(). It panics if l or i is out of range.
func (g *Graph) Row(ctx context.Context, dst []float64, l, i int, top []float64) ([]float64, error) {
	if l < 0 || l >= g.layers || i < 0 || i >= g.tokens {
		panic(fmt.Sprintf("maxflow: no token %d of %d after layer %d of %d", i, g.tokens, l, g.layers))
	}
	q := query{l: l, i: i, top: g.capacity[l][i], topOpen: g.open[l][i]}
	if top != nil {
		q.top = top[:g.width(i, g.tokens)]
		q.topOpen = bitsOf(q.top)
	}
	for j := range g.tokens {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("maxflow: sink %d of %d: %w", j, g.tokens, err)
		}
		q.j = j
		dst = append(dst, g.value(q))
	}
	return dst, nil
}

// query is one flow: from token i after layer l to input token j.
type query struct {
	l, i, j int
	top     []float64 // what leaves the source
	topOpen []uint64
}

// value returns the flow of q: in closed form where there is one, else by the solver.
func (g *Graph) value(q query) float64 {
	if !g.bidirectional && q.j > q.i {
		return 0
	}
	if q.l == 0 {
		return q.top[q.j]
	}
	if !g.bidirectional && q.j == q.i {
		return g.onePath(q)
	}
	lo, hi := g.region(q)
	if q.l == 1 {
		return g.twoLayers(q, lo, hi)
	}
	// All flow leaves the source and enters the sink.
	var out, in float64
	for u := lo; u <= hi; u++ {
		out += q.top[u]
		in += g.capacity[0][u][q.j]
	}
	bound := min(out, in)
	if bound <= closed {
		return bound
	}
	return g.solver.solve(g, q, lo, hi, bound)
}

// region returns the first and last token that a path from i to j can pass.
func (g *Graph) region(q query) (lo, hi int) {
	if g.bidirectional {
		return 0, g.tokens - 1
	}
	return q.j, q.i
}

// onePath returns the flow of a causal token to itself: one path stays in its column.
func (g *Graph) onePath(q query) float64 {
	least := q.top[q.i]
	for l := range q.l {
		least = min(least, g.capacity[l][q.i][q.i])
	}
	return least
}

// twoLayers returns the flow through two layers: the paths share no edge.
func (g *Graph) twoLayers(q query, lo, hi int) float64 {
	sum := 0.0
	for u := lo; u <= hi; u++ {
		sum += min(q.top[u], g.capacity[0][u][q.j])
	}
	return sum
}
