package maxflow

import "context"

// Solved is how a flow was found.
type Solved struct {
	Flow float64
	// Phases is how many searches it took, Limit how many it may take; both are 0 where no solver
	// was needed.
	Phases, Limit int
	// Gap is by how much the cut that proves the flow is wider.
	Gap float64
	// Unproved is whether the solver could not prove it, so that the slow algorithm had to.
	Unproved bool
}

// Solve returns the flow of one pair and how it was found.
func (g *Graph) Solve(l, i, j int) (Solved, error) {
	s := &g.solver
	s.phases, s.gap, s.unproved = 0, 0, 0
	flow, err := g.value(context.Background(), l, i, j)
	solved := Solved{Flow: flow, Phases: s.phases, Gap: s.gap, Unproved: s.unproved > 0}
	if s.phases > 0 {
		solved.Limit = s.maxPhases()
	}
	return solved, err
}

// Certain returns the flow of one pair by the slow algorithm.
func (g *Graph) Certain(ctx context.Context, l, i, j int) (float64, error) {
	p, _, _ := g.pair(l, i, j)
	if p.lo > p.hi {
		return 0, nil
	}
	c := certain{network: &g.network, pair: p}
	return c.solve(ctx)
}

// Break sets a bit for edge (k,u,v), which has no room, or clears that of an edge that has some.
func (g *Graph) Break(k, u, v int, in bool) {
	put(g.solver.set(g.solver.down, k, u), v, in)
	put(g.solver.set(g.solver.into, k, v), u, in)
}

// Untouched returns whether there is no flow: all edges have the room of their capacity, and a bit
// exactly where that is more than closed.
func (g *Graph) Untouched() bool {
	s := &g.solver
	has := func(set []uint64, u int) bool { return set[u/64]>>(u%64)&1 == 1 }
	for u := range g.tokens {
		for k := range g.layers {
			for v, c := range g.row(k, u) {
				room, open := s.room[u][g.index(k, u, v)], c > closed
				down, sent := has(s.set(s.down, k, u), v), has(s.set(s.sent, k, u), v)
				into, up := has(s.set(s.into, k, v), u), has(s.set(s.up, k, v), u)
				if u == v {
					room = s.ownRoom[u*g.layers+k]
					down, sent = has(s.ownDown[k*s.words:], u), has(s.ownSent[k*s.words:], u)
					into, up = down, sent
				}
				if room != c || down != open || into != open || sent || up {
					return false
				}
			}
		}
	}
	return true
}
