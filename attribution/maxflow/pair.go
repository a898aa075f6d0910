package maxflow

import (
	"context"
	"math"
)

// pair is one question: how much flows from token i after layer l, node (l+1,i), to input token j,
// node (0,j). Only tokens lo..hi can lie between.
type pair struct {
	l, i, j int
	lo, hi  int
	// bound is the lesser of what leaves the source and what enters the sink: no flow is more.
	bound float64
}

// pair returns a pair, and its flow if there is a closed form.
func (g *Graph) pair(l, i, j int) (p pair, flow float64, simple bool) {
	p = pair{l: l, i: i, j: j, hi: g.tokens - 1}
	if !g.bidirectional {
		p.lo, p.hi = j, i
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

// proves returns whether a cut is as wide as a flow, up to tolerance. Nothing that flows is more
// than the width of any cut, so then it is the maximum.
func (p *pair) proves(width, flow float64) bool {
	allowed := max(tolerance, tolerancePerToken*float64(p.hi-p.lo+1)) * max(1, flow)
	return math.Abs(width-flow) <= allowed
}

// tile returns the tokens of tile b that can lie between, first..end-1.
func (p *pair) tile(b int) (first, end int) {
	return max(p.lo, b*block), min(p.hi+1, (b+1)*block)
}

// twoLayers returns the flow through two layers, whose paths share no edge.
func (g *Graph) twoLayers(p pair) float64 {
	sum := 0.0
	top := g.row(1, p.i)
	for u := p.lo; u <= p.hi; u++ {
		sum += min(top[u], g.edge(0, u, p.j))
	}
	return sum
}

// flow returns the flow of a pair over whose middle layers stops has passed. A token's flow to
// itself, in bidirectional networks, is left to the solver: the columns that would hold before and
// after are one.
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
