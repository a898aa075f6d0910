package maxflow

// stops is a flow of a pair whose paths stop in at most one column: they lead from the source's
// column i directly to the sink's column j, or to a column u, wait there on own edges, and lead on
// to column j.
//
// Flow enters column u by the top layer from the source, x, or by a middle layer from column i, in
// which it has to wait until then. It leaves column u by the last layer into the sink, d, or by a
// middle layer to column j, in which it has to wait after that. So the flow q through column u has
// a part min(x,d) that waits in neither, and three other parts:
//
//	fromI (x < d) waits in column i before,
//	intoJ (x > d) waits in column j after,
//	both waits in column i before and in column j after.
//
// The columns u share only columns i and j. The largest flow through each column is computed by
// going through the layers from the last to the top, for all columns at the same time. The same
// state then serves the next level.
type stops struct {
	*network
	pair
	// q, [T], is the largest flow that can enter column u by the middle layers so far and leave it.
	// wanted, [T], is how much more could leave it if more entered above.
	q, wanted []float64
	// most, [T], is q after the top layer has been added.
	most []float64
	// straight, fromI, intoJ and both are sums of these parts over columns u, straight for
	// min(x,d). direct is the sum of the middle layers' edges from column i to j.
	straight, fromI, intoJ, both, direct float64
	// holdI is the flow that waits in column i from the top layer to the last one; holdJ is the
	// same for column j.
	holdI, holdJ float64
	fit          fit
	// second is the flow that a second stop adds.
	second transport
}

// fit is how much of fromI, intoJ and both (with direct) columns i and j can carry, and which share
// of each that is.
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

// begin starts with a new pair at the last layer.
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

// addLayer adds middle layer l, the next one from below.
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

// pass adds one layer to q: what enters by it can be at most what is wanted. Then the layer's own
// exits add to what is wanted from above.
func pass(q, wanted, enter, leave []float64) {
	wanted, enter, leave = wanted[:len(q)], enter[:len(q)], leave[:len(q)]
	for t := range q {
		y := min(wanted[t], enter[t])
		q[t] += y
		wanted[t] += leave[t] - y
	}
}

// measure adds the top layer of p, which is the pair of begin at a level whose middle layers have
// been added.
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
			// No more than the smallest own edge can pass.
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

// least returns the smallest capacity of own edges of column u in the middle layers.
func (s *stops) least(u int) float64 { return s.middle[u*s.layers+s.l-1] }

// fitInto sets fit for columns i and j that can carry roomI and roomJ, and returns the value of the
// flow. The part that waits in both columns comes last, because it uses the room of both.
func (s *stops) fitInto(roomI, roomJ float64) float64 {
	roomI, roomJ = max(0, roomI-s.holdI), max(0, roomJ-s.holdJ)
	f := &s.fit
	f.fromI, f.shareFromI = portion(s.fromI, roomI)
	f.intoJ, f.shareIntoJ = portion(s.intoJ, roomJ)
	f.both, f.shareBoth = portion(s.both+s.direct, min(roomI-f.fromI, roomJ-f.intoJ))
	return s.straight + s.holdI + s.holdJ + f.fromI + f.intoJ + f.both
}

// portion returns how much of an amount fits into room, and which share of it that is.
func portion(amount, room float64) (fits, share float64) {
	if amount <= room {
		return amount, 1
	}
	return room, room / amount
}

// through returns the flow through column u: x enters by the top layer and fromI from column i; d
// leaves by the last layer and intoJ to column j. All are 0 for columns i and j.
func (s *stops) through(u int) (x, fromI, d, intoJ float64) {
	top, last := s.row(s.l, s.i)[u], s.edge(0, u, s.j)
	if t := &s.second; t.used {
		return top - t.spareIn[u], t.fromI[u], last - t.spareOut[u], t.intoJ[u]
	}
	q := s.most[u]
	x, d = min(top, q), min(last, q)
	both := s.fit.shareBoth * (q - max(x, d))
	fromI = s.fit.shareFromI*max(0, d-x) + both
	intoJ = s.fit.shareIntoJ*max(0, x-d) + both
	all := min(x, d) + fromI + intoJ - both
	return all - fromI, fromI, all - intoJ, intoJ
}
