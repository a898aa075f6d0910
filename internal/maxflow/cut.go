package maxflow

import (
	"context"
	"fmt"
	"math"
	"math/bits"
)

// Cut is a minimum cut: edges without which nothing can flow, and whose capacities add up to the
// maximum flow.
type Cut struct {
	// Flow is the maximum flow, the number of [Graph.Row], and up to rounding the sum of the
	// capacities of Edges.
	Flow float64
	// Edges are ordered by layer from the top down, then by target and source.
	Edges []Edge
}

// Edge leads from a target after a layer to a source before it.
type Edge struct {
	// Layer counts from 0; Target is the row and Source the column of its capacity.
	Layer, Target, Source int
	// Capacity is the capacity of the edge; the flow uses all of it.
	Capacity float64
}

// MinCut returns the minimum cut between token i after layer l and input token j. Its width is the
// maximum flow (Ford and Fulkerson 1956): no cut is narrower, and every edge of it is full. top is
// as in [Graph.Row].
//
// If there are several minimum cuts, it is the one nearest the source: its source side, the nodes
// that the source still reaches in the residual network of a maximum flow, is contained in that of
// every other. So the cut does not depend on how the flow was found. If the edges that leave the
// source add up to the flow, within 1e-14, they are the cut. Edges of capacity 0 are not listed,
// and a flow of 0 may have no edges.
//
// It costs two maximum flows, one of them without the closed forms and without stops. It looks at
// ctx in every phase and returns an error that wraps ctx.Err(), or one that says that the
// capacities are too large or too far apart for float64. It panics if l, i or j is out of range.
func (g *Graph) MinCut(ctx context.Context, l, i, j int, top []float64) (Cut, error) {
	g.check(l, i, j)
	if err := ctx.Err(); err != nil {
		return Cut{}, pkg.Errorf("cut: %w", err)
	}
	if top != nil {
		defer g.replace(l, i, g.replace(l, i, top))
	}
	p, _, _ := g.pair(l, i, j)
	if p.lo > p.hi {
		return Cut{}, nil
	}
	flow, err := g.value(ctx, l, i, j)
	if err != nil {
		return Cut{}, pkg.Errorf("cut: %w", err)
	}
	edges, width, err := g.cutEdges(ctx, p)
	if err == nil && !p.proves(width, flow) {
		err = fmt.Errorf("found a flow of %v and a cut of %v, which should be equal: "+
			"the capacities are too large or too far apart for float64", flow, width)
	}
	if err != nil {
		return Cut{}, pkg.Errorf("cut: %w", err)
	}
	return Cut{Flow: flow, Edges: edges}, nil
}

// cutEdges returns the edges of the minimum cut of p that is nearest the source, and the sum of
// their capacities.
func (g *Graph) cutEdges(ctx context.Context, p pair) ([]Edge, float64, error) {
	s := &g.solver
	s.start(p)
	defer s.reset(p.lo, p.hi)
	// Without a bound, the flow ends when the source does not reach the sink, which gives a cut.
	total, end, err := s.augment(ctx, 0, math.Inf(1))
	if err != nil {
		return nil, 0, err
	}
	if end == atCut {
		edges, width := s.leaving(s.nearest(total, g.leaves(p), s.reached()))
		if p.proves(width, total) {
			return edges, width, nil
		}
	}
	c := certain{network: &g.network, pair: p}
	if total, err = c.solve(ctx); err != nil {
		return nil, 0, err
	}
	c.search(closed)
	edges, width := s.leaving(s.nearest(total, g.leaves(p), c.side(s.words)))
	return edges, width, nil
}

// nearest returns only the source if the flow uses all capacity that leaves it, else side.
func (s *solver) nearest(total, leaves float64, side []uint64) []uint64 {
	if total >= leaves-slack {
		clear(side)
		put(s.level(side, s.l+1), s.i, true)
	}
	return side
}

// leaves returns the sum of the capacities that leave the source of p.
func (g *Graph) leaves(p pair) float64 {
	row, sum := g.row(p.l, p.i), 0.0
	if p.l == 0 {
		return row[p.j]
	}
	for _, c := range row[p.lo : p.hi+1] {
		sum += c
	}
	return sum
}

// reached returns the nodes that the source reaches in the residual network.
func (s *solver) reached() []uint64 {
	s.mask()
	side := make([]uint64, len(s.seen))
	type node struct{ k, u int }
	var todo []node
	add := func(k, u int) {
		if s.level(s.seen, k)[u/64]>>(u%64)&1 == 0 {
			put(s.level(s.seen, k), u, true)
			put(s.level(side, k), u, true)
			todo = append(todo, node{k, u})
		}
	}
	add(s.l+1, s.i)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if n.k > 0 {
			if s.level(s.ownDown, n.k-1)[n.u/64]>>(n.u%64)&1 == 1 {
				add(n.k-1, n.u)
			}
			each(s.set(s.down, n.k-1, n.u), func(v int) { add(n.k-1, v) })
		}
		if n.k <= s.l {
			if s.level(s.ownSent, n.k)[n.u/64]>>(n.u%64)&1 == 1 {
				add(n.k+1, n.u)
			}
			each(s.set(s.up, n.k, n.u), func(v int) { add(n.k+1, v) })
		}
	}
	return side
}

// leaving returns the edges from the nodes of side to the other nodes between source and sink, and
// the sum of their capacities.
func (s *solver) leaving(side []uint64) (edges []Edge, width float64) {
	for k := s.l; k >= 0; k-- {
		first, last := s.lo, s.hi
		if k == 0 {
			first, last = s.j, s.j
		}
		below := s.level(side, k)
		each(s.level(side, k+1), func(u int) {
			for v, c := range s.row(k, u) {
				if v >= first && v <= last && c > 0 && below[v/64]>>(v%64)&1 == 0 {
					edges = append(edges, Edge{Layer: k, Target: u, Source: v, Capacity: c})
					width += c
				}
			}
		})
	}
	return edges, width
}

// each calls f for every token of a set in ascending order.
func each(set []uint64, f func(u int)) {
	for w, x := range set {
		for ; x != 0; x &= x - 1 {
			f(w*64 + bits.TrailingZeros64(x))
		}
	}
}
