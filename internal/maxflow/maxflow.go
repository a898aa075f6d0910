// Package maxflow computes exact maximum flow through layered networks, as attention flow needs it
// (Abnar and Zuidema 2020, §3), and the minimum cut, which shows what limits the flow. Node (l,i)
// is token i at level l, for levels 0..L. Edge (l,u,v) leads from (l+1,u) down to (l,v), and its
// capacity is row u, column v of layer l. The source is a node at any level, the sink a node at
// level 0.
//
//	g := maxflow.New(2, 0)
//	g.Extend(rows, 3)                        // [2,3,3]
//	flows, err := g.Row(ctx, nil, 1, 2, nil) // from token 2 after layer 1 to each input token
//	cut, err := g.MinCut(ctx, 1, 2, 0, nil)  // the edges that limit the flow to token 0
//
// The network grows by tokens. Adding tokens does not change the part of earlier ones.
//
// Some words: column u is token u at all levels; the own edge of a node leads to the same token one
// level below. Flow waits in a column while it moves along own edges, and stops in a column if it
// waits there between source and sink.
//
// A flow is computed in up to three steps. For one or two layers there are closed forms. For more,
// a flow whose paths stop in at most one column is found in a few passes over the tokens (type
// stops). This works well if own edges are wide, as they are with a residual. If this flow equals
// the capacity that leaves the source or enters the sink, it is the maximum; if not, paths that
// stop in two columns are added (type transport). If that is not enough, Dinic's algorithm (1970)
// continues from this flow (type solver). It stores sets of tokens as bits, and its distance counts
// only changes of column, because waiting is free. So a search takes a few ORs for each node, and
// paths stay few and short with many layers.
//
// None of this requires a residual; without one the solver does all the work. Edges with a residual
// capacity of at most 1e-15 count as full. On smooth attention maps the result is exact to about
// 1e-14, on any map to 1e-12, or 4e-15 a token above 250 tokens. A flow is returned only with a
// proof: up to that tolerance it equals its upper bound or the width of a cut. If the solver finds
// no proof, a slower algorithm that always ends computes the flow (type certain). If there is no
// proof even then, an error is returned.
package maxflow

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("maxflow")

const (
	// closed is the residual capacity up to which an edge counts as full. It must be far below the
	// accuracy of results (with 1e-12 they are off by 4e-12) and above the rounding of sums near 1.
	closed = 1e-15
	// slack is the distance from its bound at which a flow counts as the bound: the rounding of a
	// few dozen sums near 1.
	slack = 1e-14
	// tolerance is the largest distance of a flow from the cut that proves it. With 250 tokens or
	// more between source and sink, it is tolerancePerToken for each token: each edge of the cut
	// may have a residual of up to closed, and a cut of many tokens has many edges. The largest
	// distance seen on 1000 tokens is 4e-13. For flows above 1 both are relative.
	tolerance         = 1e-12
	tolerancePerToken = 4e-15
)

// Graph is a layered network. It is not safe for concurrent use.
type Graph struct {
	network
	stops  stops
	solver solver
}

// New returns a network of L layers without tokens. The first tokens, as many as prefix, will have
// edges to each other, and a later one to itself and earlier tokens. It panics if layers is not
// positive.
func New(layers, prefix int) *Graph {
	if layers < 1 {
		panic(fmt.Sprintf("maxflow: %d layers", layers))
	}
	g := &Graph{network: network{layers: layers, prefix: prefix}}
	g.stops.network, g.solver.network = &g.network, &g.network
	return g
}

// Tokens returns T, the number of tokens so far.
func (g *Graph) Tokens() int { return g.tokens }

// Extend adds n tokens with their edges in every layer: rows is [L,n,T], where T includes the new
// tokens; it is copied. Numbers that are no capacity (negative, NaN, infinite) count as 0, and so
// do those of tokens to which a token has no edge. One token costs O(L·T).
//
// It panics if rows has another length, or if tokens that have edges to each other are not added at
// once.
func (g *Graph) Extend(rows []float64, n int) {
	T := g.tokens + n
	if len(rows) != g.layers*n*T {
		panic(fmt.Sprintf("maxflow: %d capacities, want %d", len(rows), g.layers*n*T))
	}
	if g.tokens > 0 && g.tokens < g.prefix && n > 0 {
		panic("maxflow: tokens that have edges to each other are added at once")
	}
	g.grow(rows, n)
	g.stops.grow()
	g.solver.grow()
}

// Row appends to dst the maximum flow from token i after layer l to each of the T input tokens,
// [T]. Each flow is a problem of its own and may use the same edges as the others, so the row need
// not sum to 1. Layers count from 0. If top is not nil, [T], it replaces row i of layer l, the
// edges that leave the source.
//
// It costs T maximum flows. Each is O(L·T) if one stop is enough, as for most pairs of smooth maps,
// and several to a hundred times that if the solver is needed. Row looks at ctx once for each flow
// and in every phase of the solver. It returns an error that wraps ctx.Err(), or one that says that
// the capacities are too large or too far apart for float64. It panics if l or i is out of range.
func (g *Graph) Row(
	ctx context.Context, dst []float64, l, i int, top []float64,
) ([]float64, error) {
	g.check(l, i, 0)
	if top != nil {
		defer g.replace(l, i, g.replace(l, i, top))
	}
	for j := range g.tokens {
		if err := ctx.Err(); err != nil {
			return nil, pkg.Errorf("sink %d of %d: %w", j, g.tokens, err)
		}
		flow, err := g.value(ctx, l, i, j)
		if err != nil {
			return nil, pkg.Errorf("sink %d of %d: %w", j, g.tokens, err)
		}
		dst = append(dst, flow)
	}
	return dst, nil
}

// value returns the maximum flow from node (l+1,i) to node (0,j).
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

// Levels appends to dst the maximum flow from token i after each layer to each input token, [L,T].
// The numbers, errors and panics are those of [Graph.Row] at each layer. It costs less than L calls
// of Row, because the levels share passes over the tokens.
func (g *Graph) Levels(ctx context.Context, dst []float64, i int) ([]float64, error) {
	g.check(0, i, 0)
	T, first := g.tokens, len(dst)
	dst = append(dst, make([]float64, g.layers*T)...)
	for j := range T {
		for l := range g.layers {
			err := ctx.Err()
			if err != nil {
				return nil, pkg.Errorf("sink %d of %d: %w", j, T, err)
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
					return nil, pkg.Errorf("sink %d of %d: %w", j, T, err)
				}
			}
			dst[first+l*T+j] = flow
		}
	}
	return dst, nil
}

// check panics if l, i or j is out of range.
func (g *Graph) check(l, i, j int) {
	if l < 0 || l >= g.layers || min(i, j) < 0 || max(i, j) >= g.tokens {
		panic(fmt.Sprintf("maxflow: no flow from token %d after layer %d to %d in %d layers of "+
			"%d tokens",
			i, l, j, g.layers, g.tokens))
	}
}

// replace sets the capacities of row i of layer l and returns the old ones.
func (g *Graph) replace(l, i int, row []float64) []float64 {
	had := append([]float64(nil), g.row(l, i)...)
	g.setRow(l, i, row[:len(had)])
	g.solver.setRow(l, i)
	return had
}
