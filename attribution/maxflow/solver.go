package maxflow

// solver is Dinic's algorithm with its memory, which serves one pair after another. A node is (k,u): level k = 0..l+1,
// token u. Its distance from the sink counts only the steps that change the column: waiting on own edges, or taking back
// what waits, is free.
type solver struct {
	residual
	pair
	fill fill
	// first and last word of tokens lo..hi.
	w0, w1 int
	// Sets of nodes, [L+2,words]. at[d] has those d steps from the sink; seen has all of them, and what does not count.
	at   [][]uint64
	seen []uint64
	// steps is the distance of the source.
	steps int
	// In this phase, no edge leads on from spent nodes, and none from all that dead ones reach in their columns either.
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

// solve returns the flow of p; that of its stops, if not nil, is where it begins.
func (s *solver) solve(p pair, known *stops) float64 {
	s.start(p)
	defer s.reset(p.lo, p.hi)
	total := 0.0
	if known != nil {
		total = s.begin(known)
	}
	return s.augment(total, p.bound)
}

// start begins with p and no flow.
func (s *solver) start(p pair) {
	s.pair = p
	s.w0, s.w1 = p.lo/64, p.hi/64
}

// augment adds flow to that of total until there can be no more, or as much as bound, and returns how much there is.
//
// Each phase sends something: a bit is there only if its edge has room.
func (s *solver) augment(total, bound float64) float64 {
	for total < bound-slack {
		if !s.search() {
			return total
		}
		total += s.push(s.l+1, s.i, s.steps, bound-total)
	}
	return bound
}
