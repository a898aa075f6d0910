package maxflow

import (
	"context"
	"math"
)

// pair is a source and a sink: token i after layer l, node (l+1,i), and input token j, node (0,j).
// Paths between them use only tokens lo..hi.
type pair struct {
	l, i, j int
	lo, hi  int
	// bound is an upper bound of the flow: the smaller of the capacities that leave the source and
	// that enter the sink.
	bound float64
}

// pair returns a pair with its bound. simple reports whether there is a closed form, and flow is
// its value.
func (g *Graph) pair(l, i, j int) (p pair, flow float64, simple bool) {
	p = pair{l: l, i: i, j: j, lo: j, hi: i}
	both := min(g.prefix, g.tokens)
	if j < both {
		p.lo = 0
	}
	if i < both {
		p.hi = both - 1
	}
	switch {
	case p.lo > p.hi:
		return p, 0, true
	case l == 0:
		return p, g.row(0, i)[j], true
	case p.lo == p.hi:
		return p, min(g.row(l, i)[i], g.own[i*g.layers], g.middle[i*g.layers+l-1]), true
	case l == 1:
		return p, g.twoLayers(p), true
	}
	out, in, top := 0.0, 0.0, g.row(l, i)
	for b := p.lo / block; b <= p.hi/block; b++ {
		first, end := p.tile(b)
		last := g.column(0, j, b)[first-b*block:]
		for t, c := range top[first:end] {
			out += c
			in += last[t]
		}
	}
	p.bound = min(out, in)
	return p, p.bound, p.bound <= closed
}

// proves reports whether the width of a cut equals a flow, up to tolerance. No flow is larger than
// the width of any cut, so such a flow is the maximum.
func (p *pair) proves(width, flow float64) bool {
	allowed := max(tolerance, tolerancePerToken*float64(p.hi-p.lo+1)) * max(1, flow)
	return math.Abs(width-flow) <= allowed
}

// tile returns the tokens of tile b that are in lo..hi, first..end-1.
func (p *pair) tile(b int) (first, end int) {
	return max(p.lo, b*block), min(p.hi+1, (b+1)*block)
}

// twoLayers returns the flow through two layers. Its paths share no edge, so it is Σ_u
// min(C_1[i,u], C_0[u,j]).
func (g *Graph) twoLayers(p pair) float64 {
	sum := 0.0
	top := g.row(1, p.i)
	for u := p.lo; u <= p.hi; u++ {
		sum += min(top[u], g.edge(0, u, p.j))
	}
	return sum
}

// flow returns the flow of a pair whose middle layers have been added to g.stops. For the flow of a
// token to itself among others it uses the solver, because columns i and j are the
// same and stops does not apply.
func (g *Graph) flow(ctx context.Context, p pair) (float64, error) {
	if p.i == p.j {
		return g.solver.solve(ctx, p, nil)
	}
	g.stops.measure(p)
	if g.stops.reachesBound() {
		return p.bound, nil
	}
	return g.solver.solve(ctx, p, &g.stops)
}
