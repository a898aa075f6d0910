package maxflow

// stops is a flow of at most one stop for a pair: from column i straight to the sink's column j, or
// to a column u, where it waits on own edges, and on to column j.
//
// Column u is entered by the source's own top layer, x, or by a middle layer from column i, which
// must hold the flow until then; it is left by the last layer into the sink, d, or by a middle
// layer to column j, which must hold it then. So the flow q over column u has a part min(x,d) that
// needs neither, and parts that
//
//	fromI (x < d), column i holds before,   intoJ (x > d), column j holds after,   both, one and the other hold.
//
// The columns u share nothing but that. Most of what can pass one of them is found by going through
// the layers from the last to the top, with all columns side by side; the state serves one level
// after another.
type stops struct {
	*network
	pair
	// q, [T], is the most that can enter column u by the middle layers so far and leave it; wanted
	// is by how much more it could be left then, if more entered above.
	q, wanted []float64
	// most, [T], is q with the top layer.
	most []float64
	// straight, fromI, intoJ and both are sums over columns u; direct is the middle layers' edges
	// from column i to j.
	straight, fromI, intoJ, both, direct float64
	// holdI is what column i holds from the top layer to the last, holdJ what column j does.
	holdI, holdJ float64
	fit          fit
	// second is what a second stop adds.
	second transport
}

// fit is how much of fromI, intoJ and both, direct among them, columns i and j can hold, and which
// share that is.
type fit struct {
	fromI, intoJ, both                float64
	shareFromI, shareIntoJ, shareBoth float64
}

// grow makes room for the tokens of the network.
func (s *stops) grow() {
	for len(s.q) < s.tokens {
		n := max(s.tokens, 2*len(s.q))
		s.q, s.wanted, s.most = make([]float64, n), make([]float64, n), make([]float64, n)
		s.second.grow(n, s.layers)
	}
}

// begin starts from the last layer.
func (s *stops) begin(p pair) {
	s.pair, s.direct = p, 0
	if p.lo > p.hi {
		return
	}
	clear(s.q[p.lo : p.hi+1])
	for b := p.lo / block; b <= p.hi/block; b++ {
		first, end := p.tile(b)
		copy(s.wanted[first:end], s.column(0, p.j, b)[first-b*block:])
	}
}

// addLayer goes one middle layer up.
func (s *stops) addLayer(l int) {
	if s.lo > s.hi {
		return
	}
	row := s.row(l, s.i)
	s.direct += row[s.j]
	for b := s.lo / block; b <= s.hi/block; b++ {
		first, end := s.tile(b)
		pass(s.q[first:end], s.wanted[first:end], row[first:end],
			s.column(l, s.j, b)[first-b*block:])
	}
}

// pass lets enter by a layer what can still leave; from above that layer, more can.
func pass(q, wanted, enter, leave []float64) {
	wanted, enter, leave = wanted[:len(q)], enter[:len(q)], leave[:len(q)]
	for t := range q {
		y := min(wanted[t], enter[t])
		q[t] += y
		wanted[t] += leave[t] - y
	}
}

// measure adds the top layer of p, the same pair at a level whose middle layers have been added.
func (s *stops) measure(p pair) {
	s.pair = p
	s.straight, s.fromI, s.intoJ, s.both = 0, 0, 0, 0
	top := s.row(p.l, p.i)
	for b := p.lo / block; b <= p.hi/block; b++ {
		first, end := p.tile(b)
		last := s.column(0, p.j, b)[first-b*block:]
		for u := first; u < end; u++ {
			if u == p.i || u == p.j {
				s.most[u] = 0
				continue
			}
			// What an own edge could not hold is left out.
			q := min(s.q[u]+min(s.wanted[u], top[u]), s.least(u))
			s.most[u] = q
			x, d := min(top[u], q), min(last[u-first], q)
			s.straight += min(x, d)
			s.fromI += max(0, d-x)
			s.intoJ += max(0, x-d)
			s.both += q - max(x, d)
		}
	}
	s.holdI = min(top[p.i], s.row(0, p.i)[p.j], s.least(p.i))
	s.holdJ = min(top[p.j], s.own[p.j*s.layers], s.least(p.j))
}

// least returns the least own edge of column u in the middle layers.
func (s *stops) least(u int) float64 { return s.middle[u*s.layers+s.l-1] }

// fitInto decides what fits when columns i and j have that much room; what needs both columns comes
// last. It returns the whole flow.
func (s *stops) fitInto(roomI, roomJ float64) float64 {
	roomI, roomJ = max(0, roomI-s.holdI), max(0, roomJ-s.holdJ)
	f := &s.fit
	f.fromI, f.shareFromI = portion(s.fromI, roomI)
	f.intoJ, f.shareIntoJ = portion(s.intoJ, roomJ)
	f.both, f.shareBoth = portion(s.both+s.direct, min(roomI-f.fromI, roomJ-f.intoJ))
	return s.straight + s.holdI + s.holdJ + f.fromI + f.intoJ + f.both
}

// portion returns how much of an amount fits, and which share that is.
func portion(amount, room float64) (fits, share float64) {
	if amount <= room {
		return amount, 1
	}
	return room, room / amount
}

// through returns how column u is entered, by the top layer and from column i, and left, by the
// last layer and for column j. Columns i and j are not.
func (s *stops) through(u int) (x, fromI, d, intoJ float64) {
	top, last := s.row(s.l, s.i)[u], s.edge(0, u, s.j)
	if t := &s.second; t.used {
		return top - t.give[u], t.fromI[u], last - t.take[u], t.intoJ[u]
	}
	q := s.most[u]
	x, d = min(top, q), min(last, q)
	both := s.fit.shareBoth * (q - max(x, d))
	fromI = s.fit.shareFromI*max(0, d-x) + both
	intoJ = s.fit.shareIntoJ*max(0, x-d) + both
	all := min(x, d) + fromI + intoJ - both
	return all - fromI, fromI, all - intoJ, intoJ
}
