package maxflow

import (
	"context"
	"math/bits"
)

// solver is Dinic's algorithm. It keeps its memory from pair to pair. A node is (k,u): level k =
// 0..l+1, token u. Its distance from the sink counts only edges that change the column: own edges,
// in both directions, are free.
type solver struct {
	residual
	pair
	fill fill
	// first and last word of tokens lo..hi.
	w0, w1 int
	// Sets of nodes, [L+2,words]. at[d] has the nodes at distance d from the sink. seen has all
	// nodes of at, and those that no path may use.
	at   [][]uint64
	seen []uint64
	// steps is the distance of the source.
	steps int
	// phases is the number of searches for the pair, and gap the difference between its cut and its
	// flow. unproved is the number of pairs without a proof, which type certain had to solve.
	phases, unproved int
	gap              float64
	// In this phase, no edge leads nearer to the sink from exhausted nodes, and none from dead
	// nodes and all nodes that they reach in their columns.
	exhausted, dead []uint64
}

// grow makes room for the new tokens of the network.
func (s *solver) grow() {
	s.residual.grow()
	if n := (s.layers + 2) * s.words; len(s.seen) != n {
		s.at, s.seen = nil, make([]uint64, n)
		s.exhausted, s.dead = make([]uint64, n), make([]uint64, n)
	}
	if f, n := &s.fill, s.tokens*(s.layers+1); len(f.inflow) < n {
		f.leaving, f.entering = make([]float64, s.layers+1), make([]float64, s.layers+1)
		f.inflow, f.outflow = make([]float64, 2*n), make([]float64, 2*n)
	}
}

// solve returns the maximum flow of p. It begins with the flow of known, if that is not nil. It
// returns an error that wraps ctx.Err(), or one that says that the capacities are too far apart for
// float64.
func (s *solver) solve(ctx context.Context, p pair, known *stops) (float64, error) {
	s.start(p)
	defer s.reset(p.lo, p.hi)
	total := 0.0
	if known != nil {
		total = s.begin(known)
	}
	total, end, err := s.augment(ctx, total, p.bound)
	switch {
	case err != nil:
		return 0, err
	case end == atBound:
		return p.bound, nil
	case end == atCut && s.closes(total):
		return total, nil
	}
	s.unproved++
	c := certain{network: s.network, pair: p}
	return c.solve(ctx)
}

// start begins a new pair, without flow.
func (s *solver) start(p pair) {
	s.pair = p
	s.w0, s.w1 = p.lo/64, p.hi/64
	s.phases, s.gap = 0, 0
}

// ending is why [solver.augment] ended.
type ending int

const (
	// atBound: the flow equals the bound, which is the width of a cut.
	atBound ending = iota
	// atCut: the source does not reach the sink any more. The nodes that do reach it are one side
	// of a cut, whose width is the flow up to residual capacities that count as closed.
	atCut
	// stuck: a phase sent nothing, or there were too many phases. The flow may not be the maximum.
	stuck
)

// augment increases the flow total until it is the maximum or reaches bound, and returns its value
// and why it ended.
//
// Why it ends: a search that reaches the source has found a path of edges whose bits are set, so
// each has a residual capacity above closed. push uses the same bits and amounts, and changes none
// before it sends something. So it finds a path too, and sends more than closed. If rounding breaks
// this invariant, a phase sends nothing, and all later phases would do the same; so such a phase
// ends the flow. Own edges are free, so the distance may stay the same for several phases, and
// Dinic's argument that it grows does not hold. Therefore the number of phases has a limit, which
// real maps do not come near. There are at most maxPhases searches, each followed by one push. A
// push is finite: each call goes one step nearer to the sink. It ends when all is sent, which
// closes the edge before it or ends the call before it, or when its node is dead and not tried
// again.
func (s *solver) augment(ctx context.Context, total, bound float64) (float64, ending, error) {
	for total < bound-slack {
		if err := ctx.Err(); err != nil {
			return 0, stuck, err
		}
		if !s.search() {
			return total, atCut, nil
		}
		more := total + s.push(s.l+1, s.i, s.steps, bound-total)
		if s.phases++; !(more > total) || s.phases > s.maxPhases() {
			return total, stuck, nil
		}
		total = more
	}
	return total, atBound, nil
}

// maxPhases returns the largest number of phases: the number of nodes between source and sink,
// which is the limit of Dinic's algorithm if every edge is a step, and 64 more for small networks.
// The most that 100 000 maps of all scales needed is 0.13 of it; see TestWild.
func (s *solver) maxPhases() int { return 64 + (s.l+2)*(s.hi-s.lo+1) }

// closes reports whether the cut of the last search, which did not reach the source, proves that
// total is the maximum.
func (s *solver) closes(total float64) bool {
	width := s.cutWidth()
	s.gap = width - total
	return s.proves(width, total)
}

// cutWidth returns the width of the cut between the nodes that do not reach the sink and those that
// do, the seen nodes.
func (s *solver) cutWidth() float64 {
	sum := 0.0
	for k := range s.l + 1 {
		if k == s.l {
			sum += s.rowWidth(k, s.i)
			break
		}
		for w := s.w0; w <= s.w1; w++ {
			for x := ^s.level(s.seen, k+1)[w]; x != 0; x &= x - 1 {
				sum += s.rowWidth(k, w*64+bits.TrailingZeros64(x))
			}
		}
	}
	return sum
}

// rowWidth returns the sum of row u of layer k over seen nodes.
func (s *solver) rowWidth(k, u int) float64 {
	row, seen := s.row(k, u), s.level(s.seen, k)
	if k == 0 {
		return row[s.j]
	}
	sum := 0.0
	for w := s.w0; w <= s.w1; w++ {
		x := seen[w]
		if w == s.lo/64 {
			x &= ^uint64(0) << (s.lo % 64)
		}
		if last := min(s.hi, len(row)-1); w == last/64 {
			x &= ^uint64(0) >> (63 - last%64)
		} else if w > last/64 {
			break
		}
		for ; x != 0; x &= x - 1 {
			sum += row[w*64+bits.TrailingZeros64(x)]
		}
	}
	return sum
}
