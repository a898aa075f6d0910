package maxflow

import (
	"context"
	"math/bits"
)

// solver is Dinic's algorithm with its memory, which serves one pair after another. A node is
// (k,u): level k = 0..l+1, token u. Its distance from the sink counts only the steps that change
// the column: waiting on own edges, or taking back what waits, is free.
type solver struct {
	residual
	pair
	fill fill
	// first and last word of tokens lo..hi.
	w0, w1 int
	// Sets of nodes, [L+2,words]. at[d] has those d steps from the sink; seen has all of them, and
	// what does not count.
	at   [][]uint64
	seen []uint64
	// steps is the distance of the source.
	steps int
	// phases is how many searches the pair has taken, gap what the certificate of its flow left
	// open. unproved is how many pairs had no certificate, so that the slow algorithm had to solve
	// them.
	phases, unproved int
	gap              float64
	// In this phase, no edge leads on from spent nodes, and none from all that dead ones reach in
	// their columns either.
	spent, dead []uint64
}

// grow takes up the tokens that the network has got.
func (s *solver) grow() {
	s.residual.grow()
	if n := (s.layers + 2) * s.words; len(s.seen) != n {
		s.at, s.seen, s.spent, s.dead = nil, make([]uint64, n), make([]uint64, n), make([]uint64, n)
	}
	if f, n := &s.fill, s.tokens*(s.layers+1); len(f.came) < n {
		f.leaving, f.entering = make([]float64, s.layers+1), make([]float64, s.layers+1)
		f.came, f.went = make([]float64, 2*n), make([]float64, 2*n)
	}
}

// solve returns the flow of p; that of its stops, if not nil, is where it begins. It returns an
// error that wraps ctx.Err(), or one that says that the capacities are too far apart for float64.
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

// start begins with p and no flow.
func (s *solver) start(p pair) {
	s.pair = p
	s.w0, s.w1 = p.lo/64, p.hi/64
	s.phases, s.gap = 0, 0
}

// ending says why a flow ended.
type ending int

const (
	// atBound: it is as much as the bound, which is the width of a cut.
	atBound ending = iota
	// atCut: the source does not reach the sink any more. What does reach the sink is one side of a
	// cut, which is as narrow as the flow up to what counts as closed.
	atCut
	// stuck: a phase sent nothing, or there were too many. Then nothing is known.
	stuck
)

// augment adds flow to that of total until there can be no more, or as much as bound, and returns
// how much there is and why it ended.
//
// A search that meets the source has found a path of edges whose bits are set, so each has room for
// more than closed. push takes the same bits and amounts, and before it has sent anything it
// changes none, so it finds a path as well and sends more than closed. That is the invariant; where
// rounding breaks it, a phase sends nothing, and all later ones would be the same. So such a phase
// ends the flow, whatever the reason. And as waiting is free, a distance may last for several
// phases, so the argument of Dinic that it grows does not hold; a limit that maps do not come near
// ends the flow as well. So there are at most maxPhases searches, each followed by one push. A push
// is finite: each call goes one step nearer, and ends with all sent, which closes the edge that it
// came by or ends the call before it, or with its node dead, which is not tried again.
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

// maxPhases is how many phases a flow may take: as many as there are nodes between source and sink,
// which is the limit of Dinic's algorithm where every edge is a step, and some for small networks.
// The most that 100 000 maps of all scales took is 0.13 of it; see TestWild.
func (s *solver) maxPhases() int { return 64 + (s.l+2)*(s.hi-s.lo+1) }

// closes returns whether the cut that a search without success has found proves that total is the
// maximum.
func (s *solver) closes(total float64) bool {
	width := s.cutWidth()
	s.gap = width - total
	return s.proves(width, total)
}

// cutWidth returns the width of the cut between the nodes that do not reach the sink and those that
// do, which are seen.
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

// rowWidth returns how much of row u of layer k leads to seen nodes.
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
