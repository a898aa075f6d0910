package maxflow

// transport adds paths with a second stop to the flow of one stop. They lead from a column u that
// more flow can still enter, by any middle layer, to a column w that more flow can still leave. u
// and w are not i or j.
//
// More flow can enter a column by the top layer, and by layers above the middle layer from column i
// if that can carry more. More flow can leave a column by the last layer, and by layers below the
// middle layer to column j if that can carry more.
type transport struct {
	// used reports whether the flow of the current pair has a second stop.
	used bool
	// spareIn and spareOut, [T], are the residual capacities of each column's edges in the top
	// layer and in the last layer; room, [T], is that of its own edges.
	spareIn, spareOut, room []float64
	// early, [L,T], is the capacity from column i into a column above each middle layer; late,
	// [L,T], is the capacity to column j below it.
	early, late [][]float64
	// fromI and intoJ, [T], are the flows from i into a column and from it to j, those of one stop
	// included.
	fromI, intoJ []float64
	// supply and demand are how much more columns i and j can carry; loadI and loadJ are what they
	// carry for the second stop.
	supply, demand, loadI, loadJ float64
	moves                        []move
}

// move is an amount on edge (l,u,w).
type move struct {
	l, u, w int
	amount  float64
}

// grow makes room for n tokens in so many layers.
func (t *transport) grow(n, layers int) {
	for _, s := range []*[]float64{&t.spareIn, &t.spareOut, &t.room, &t.fromI, &t.intoJ} {
		*s = make([]float64, n)
	}
	t.early, t.late = make([][]float64, layers), make([][]float64, layers)
	for l := range layers {
		t.early[l], t.late[l] = make([]float64, n), make([]float64, n)
	}
}

// transport adds a second stop to the flow of one stop until the additional flow reaches enough,
// and returns it.
func (s *stops) transport(enough float64) (sent float64) {
	t, f := &s.second, &s.fit
	t.supply = max(0, s.row(s.l, s.i)[s.i]-s.holdI-f.fromI-f.both)
	t.demand = max(0, s.own[s.j*s.layers]-s.holdJ-f.intoJ-f.both)
	t.loadI, t.loadJ = 0, 0
	t.moves = t.moves[:0]
	s.prepare()
	t.used = true
	for u := s.lo; u <= s.hi && sent < enough; u++ {
		for l := s.l - 1; l > 0; l-- {
			sent += s.transportFrom(l, u)
		}
	}
	return sent
}

// prepare computes the spare capacities of all columns.
func (s *stops) prepare() {
	t := &s.second
	for b := s.lo / block; b <= s.hi/block; b++ {
		first, end := s.tile(b)
		clear(t.early[s.l-1][first:end])
		for l := s.l - 2; l > 0; l-- {
			sum(t.early[l][first:end], t.early[l+1][first:], s.row(l+1, s.i)[first:])
		}
		clear(t.late[1][first:end])
		for l := 2; l < s.l; l++ {
			sum(t.late[l][first:end], t.late[l-1][first:], s.column(l-1, s.j, b)[first-b*block:])
		}
		top, last := s.row(s.l, s.i), s.column(0, s.j, b)
		for u := first; u < end; u++ {
			x, fromI, d, intoJ := s.through(u)
			t.fromI[u], t.intoJ[u] = fromI, intoJ
			t.spareIn[u], t.spareOut[u], t.room[u] = top[u]-x, last[u-b*block]-d, s.least(u)-x-fromI
		}
	}
	t.room[s.i], t.room[s.j] = 0, 0
}

// sum makes dst the sum of x and y.
func sum(dst, x, y []float64) {
	x, y = x[:len(dst)], y[:len(dst)]
	for t := range dst {
		dst[t] = x[t] + y[t]
	}
}

// transportFrom sends as much as possible from column u by layer l, and returns how much.
func (s *stops) transportFrom(l, u int) float64 {
	t := &s.second
	most := min(t.spareIn[u]+max(0, min(t.early[l][u]-t.fromI[u], t.supply)), t.room[u])
	if most <= closed {
		return 0
	}
	rest, row, late := most, s.row(l, u), t.late[l]
	row = row[:min(len(row), s.hi+1)]
	for w := s.lo; w < len(row) && rest > closed; w++ {
		y := min(rest, row[w], t.room[w])
		if n := t.spareOut[w]; n < y {
			y = min(y, n+max(0, min(late[w]-t.intoJ[w], t.demand)))
		}
		if y <= 0 || w == u {
			continue
		}
		t.moves = append(t.moves, move{l, u, w, y})
		rest -= y
		t.room[w] -= y
		if t.spareOut[w] -= y; t.spareOut[w] < 0 { // the rest leaves for column j
			t.demand += t.spareOut[w]
			t.loadJ -= t.spareOut[w]
			t.intoJ[w] -= t.spareOut[w]
			t.spareOut[w] = 0
		}
	}
	sent := most - rest
	t.room[u] -= sent
	if t.spareIn[u] -= sent; t.spareIn[u] < 0 { // the rest has come from column i
		t.supply += t.spareIn[u]
		t.loadI -= t.spareIn[u]
		t.fromI[u] -= t.spareIn[u]
		t.spareIn[u] = 0
	}
	return sent
}
