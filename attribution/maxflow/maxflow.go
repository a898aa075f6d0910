// Package maxflow computes exact maximum flow through layered networks such as attention flow needs
// (Abnar and Zuidema 2020, §3), and the minimum cut, which says where the flow is narrow. Nodes are
// (l,i) for tokens i at levels 0..L; edge (l,u,v) leads from (l+1,u) down to (l,v), and its
// capacity is row u, column v of layer l. The source is one node at some level, the sink one at
// level 0.
//
//	g := maxflow.New(2, false)
//	g.Extend(rows, 3)                             // [2,3,3]
//	flows, err := g.Row(ctx, nil, 1, 2, nil)      // from token 2 after layer 1 to each input token
//	cut, err := g.MinCut(ctx, 1, 2, 0, nil)       // the edges that limit the flow from token 2 to input token 0
//
// The network grows by tokens; what was built for earlier ones stays.
//
// A pair is settled by the first of three steps that can. Up to two layers there are closed forms.
// Then a flow whose paths stop in one token at most between source and sink is found in a few
// passes over the tokens (type stops); it uses that a token's edge to itself, its own edge, is
// wide, as under a residual. Where it equals what leaves the source or enters the sink, if need be
// with paths of a second stop (type transport), there cannot be more. Else it is where Dinic's
// algorithm (1970) begins, with sets of tokens as bits and a distance of its own: waiting in a
// column, along own edges, is free, and changing it is one step (type solver). So searches are a
// few ORs a node, and paths few and short however many layers there are.
//
// None of this assumes a residual; without one the solver does all the work. Residual capacities of
// 1e-15 and less count as closed; on smooth attention maps the result is exact to about 1e-14, on
// any to 1e-12, and above 250 tokens to 4e-15 a token. A flow is returned only with a proof: it is
// as much as its bound, or as the width of a cut, up to that. Where the solver has none, a slower
// algorithm that surely ends finds the flow (type certain); without a proof even then, an error is
// returned.
package maxflow

import (
	"context"
	"fmt"
)

const (
	// closed is the residual up to which an edge counts as full. It must be far below the accuracy
	// wanted (1e-12 is off by 4e-12) and above the rounding of sums near 1.
	closed = 1e-15
	// slack is how near to a bound a flow must be to be the bound: the rounding of a few dozen sums
	// near 1.
	slack = 1e-14
	// tolerance is how far a flow may be from the cut that proves it, and tolerancePerToken what
	// each token between source and sink adds to it where that is more, from 250 tokens on. An edge
	// of the cut that counts as closed may be open by closed, and a cut of many tokens has many
	// edges: most seen on 1000 tokens is 4e-13. Of flows over 1 it is that part.
	tolerance         = 1e-12
	tolerancePerToken = 4e-15
)

// Graph is a layered network. It is not safe for concurrent use.
type Graph struct {
	network
	stops  stops
	solver solver
}

// New returns a network of L layers without tokens. Unless it is bidirectional, a token has edges
// to itself and earlier tokens only. It panics if layers is not positive.
func New(layers int, bidirectional bool) *Graph {
	if layers < 1 {
		panic(fmt.Sprintf("maxflow: %d layers", layers))
	}
	g := &Graph{network: network{layers: layers, bidirectional: bidirectional}}
	g.stops.network, g.solver.network = &g.network, &g.network
	return g
}

// Tokens returns T, the number of tokens so far.
func (g *Graph) Tokens() int { return g.tokens }

// Extend adds n tokens with their edges in every layer: rows is [L,n,T] with T the number of tokens
// then; it is copied. What is no capacity (negative, NaN, infinite) counts as 0, and so does what a
// row of a causal network has after its own token. One token costs O(L·T).
//
// It panics if rows has another length, or if a bidirectional network is extended twice.
func (g *Graph) Extend(rows []float64, n int) {
	T := g.tokens + n
	if len(rows) != g.layers*n*T {
		panic(fmt.Sprintf("maxflow: %d capacities, want %d", len(rows), g.layers*n*T))
	}
	if g.bidirectional && g.tokens > 0 && n > 0 {
		panic("maxflow: a bidirectional network grows once")
	}
	g.grow(rows, n)
	g.stops.grow()
	g.solver.grow()
}

// Row appends to dst the maximum flow from token i after layer l to each of the T input tokens,
// each on its own: flows to two sinks may use the same edges, so the row need not sum to 1. Layers
// count from 0. If top is not nil, [T], it replaces row i of layer l, the edges that leave the
// source.
//
// It costs T maximum flows, each O(L·T) where one stop is enough, as for most pairs of smooth maps,
// and several to a hundred times that where the solver has to find it. It looks at ctx once for
// each flow and in every phase of the solver, and returns an error that wraps ctx.Err(), or one
// that says that the capacities are too large or too far apart for float64. It panics if l or i is
// out of range.
func (g *Graph) Row(
	ctx context.Context, dst []float64, l, i int, top []float64,
) ([]float64, error) {
	g.check(l, i, 0)
	if top != nil {
		defer g.replace(l, i, g.replace(l, i, top))
	}
	for j := range g.tokens {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("maxflow: sink %d of %d: %w", j, g.tokens, err)
		}
		flow, err := g.value(ctx, l, i, j)
		if err != nil {
			return nil, fmt.Errorf("maxflow: sink %d of %d: %w", j, g.tokens, err)
		}
		dst = append(dst, flow)
	}
	return dst, nil
}

// value returns the flow of one pair.
func (g *Graph) value(ctx context.Context, l, i, j int) (float64, error) {
	p, flow, simple := g.pair(l, i, j)
	if simple {
		return flow, nil
	}
	g.stops.begin(p)
	for k := 1; k < l; k++ {
		g.stops.addLayer(k)
	}
	return g.flow(ctx, p)
}

// Levels appends to dst, [L,T], the maximum flow from token i after each layer to each input token.
// The numbers are those of [Graph.Row] at each layer, and so are errors and panics; it costs less
// than the rows, which share their passes.
func (g *Graph) Levels(ctx context.Context, dst []float64, i int) ([]float64, error) {
	g.check(0, i, 0)
	T, first := g.tokens, len(dst)
	dst = append(dst, make([]float64, g.layers*T)...)
	for j := range T {
		for l := range g.layers {
			err := ctx.Err()
			if err != nil {
				return nil, fmt.Errorf("maxflow: sink %d of %d: %w", j, T, err)
			}
			p, flow, simple := g.pair(l, i, j)
			if l == 1 {
				g.stops.begin(p)
			}
			if l > 1 {
				g.stops.addLayer(l - 1)
			}
			if !simple {
				if flow, err = g.flow(ctx, p); err != nil {
					return nil, fmt.Errorf("maxflow: sink %d of %d: %w", j, T, err)
				}
			}
			dst[first+l*T+j] = flow
		}
	}
	return dst, nil
}

// check panics if there is no such pair.
func (g *Graph) check(l, i, j int) {
	if l < 0 || l >= g.layers || min(i, j) < 0 || max(i, j) >= g.tokens {
		panic(fmt.Sprintf("maxflow: no flow from token %d after layer %d to %d in %d layers of "+
			"%d tokens",
			i, l, j, g.layers, g.tokens))
	}
}

// replace gives row i of layer l other capacities and returns those that it had.
func (g *Graph) replace(l, i int, row []float64) []float64 {
	had := append([]float64(nil), g.row(l, i)...)
	g.setRow(l, i, row[:len(had)])
	g.solver.setRow(l, i)
	return had
}
