package maxflow

// transport is a second stop: beside the flow of one stop, from a column u with something to give
// to a column w with something to take, by any middle layer. Columns i and j take no part.
//
// A column can give what the source's own top layer could still bring and, of what column i could
// still hold, what could still enter above that layer. It can take what could still leave by the
// last layer and, of what column j could still hold, what could still leave below that layer.
type transport struct {
	// used is whether the flow of the pair at hand has a second stop.
	used bool
	// give, take and room, [T], are for each column what it has left of the top and of the last
	// layer, and what its own edges hold beside.
	give, take, room []float64
	// early, [L,T], is what can enter a column from i above a middle layer, late what can leave it
	// for j below.
	early, late [][]float64
	// fromI and intoJ, [T], are how much enters a column from i and leaves it for j, with the flow
	// of one stop.
	fromI, intoJ []float64
	// supply and demand are what columns i and j could still hold, heldI and heldJ what they hold
	// for this.
	supply, demand, heldI, heldJ float64
	moves                        []move
}

// move is an amount on edge (l,u,w).
type move struct {
	l, u, w int
	amount  float64
}

// grow makes room for n tokens in so many layers.
func (t *transport) grow(n, layers int) {
	for _, s := range []*[]float64{&t.give, &t.take, &t.room, &t.fromI, &t.intoJ} {
		*s = make([]float64, n)
	}
	t.early, t.late = make([][]float64, layers), make([][]float64, layers)
	for l := range layers {
		t.early[l], t.late[l] = make([]float64, n), make([]float64, n)
	}
}

// transport adds a second stop to the flow of one stop, as long as it is not enough, and returns
// how much more flows.
func (s *stops) transport(enough float64) (sent float64) {
	t, f := &s.second, &s.fit
	t.supply = max(0, s.row(s.l, s.i)[s.i]-s.holdI-f.fromI-f.both)
	t.demand = max(0, s.own[s.j*s.layers]-s.holdJ-f.intoJ-f.both)
	t.heldI, t.heldJ = 0, 0
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

// prepare fills what a transport knows of columns.
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
			t.give[u], t.take[u], t.room[u] = top[u]-x, last[u-b*block]-d, s.least(u)-x-fromI
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

// transportFrom sends by layer l what column u has to give and returns how much that was.
func (s *stops) transportFrom(l, u int) float64 {
	t := &s.second
	most := min(t.give[u]+max(0, min(t.early[l][u]-t.fromI[u], t.supply)), t.room[u])
	if most <= closed {
		return 0
	}
	rest, row, late := most, s.row(l, u), t.late[l]
	row = row[:min(len(row), s.hi+1)]
	for w := s.lo; w < len(row) && rest > closed; w++ {
		y := min(rest, row[w], t.room[w])
		if n := t.take[w]; n < y {
			y = min(y, n+max(0, min(late[w]-t.intoJ[w], t.demand)))
		}
		if y <= 0 || w == u {
			continue
		}
		t.moves = append(t.moves, move{l, u, w, y})
		rest -= y
		t.room[w] -= y
		if t.take[w] -= y; t.take[w] < 0 { // the rest leaves for column j
			t.demand += t.take[w]
			t.heldJ -= t.take[w]
			t.intoJ[w] -= t.take[w]
			t.take[w] = 0
		}
	}
	sent := most - rest
	t.room[u] -= sent
	if t.give[u] -= sent; t.give[u] < 0 { // the rest has come from column i
		t.supply += t.give[u]
		t.heldI -= t.give[u]
		t.fromI[u] -= t.give[u]
		t.give[u] = 0
	}
	return sent
}
