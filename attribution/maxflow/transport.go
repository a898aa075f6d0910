package maxflow

// transport is a second stop: beside the flow of one stop, from a column u with something to give to a column w with
// something to take, by any middle layer. Columns i and j take no part.
//
// A column can give what the source's own top layer could still bring and, of what column i could still hold, what could
// still enter above that layer. It can take what could still leave by the last layer and, of what column j could still
// hold, what could still leave below that layer.
type transport struct {
	// give, take and room, [T], are for each column what it has left of the top and of the last layer, and what its own edges
	// hold beside.
	give, take, room []float64
	// early, [L,T], is what can enter a column from i above a middle layer, late what can leave it for j below.
	early, late [][]float64
	// fromI and intoJ, [T], are how much enters a column from i and leaves it for j, with the flow of one stop.
	fromI, intoJ []float64
	// supply and demand are what columns i and j can hold.
	supply, demand float64
	// tried and closed, [L], count for the pairs of a row so far, by the layer of the source.
	tried, closed []int
}

// grow makes room for n tokens in so many layers.
func (t *transport) grow(n, layers int) {
	for _, s := range []*[]float64{&t.give, &t.take, &t.room, &t.fromI, &t.intoJ} {
		*s = make([]float64, n)
	}
	t.tried, t.closed = make([]int, layers), make([]int, layers)
	t.early, t.late = make([][]float64, layers), make([][]float64, layers)
	for l := range layers {
		t.early[l], t.late[l] = make([]float64, n), make([]float64, n)
	}
}

// worthwhile returns whether to try a pair of a row. On sharp maps a second stop seldom closes the gap, and costs a tenth of
// what the solver does; so it is tried less where it has failed. Only earlier pairs of the same source count, so a pair has
// the same steps whether its row is asked for alone or among levels.
func (t *transport) worthwhile(p pair) bool {
	const first, often, seldom = 8, 4, 8
	return t.tried[p.l] < first || t.closed[p.l]*often >= t.tried[p.l] || p.j%seldom == 0
}

// forget begins a row.
func (t *transport) forget() {
	clear(t.tried)
	clear(t.closed)
}

// closes returns whether two stops can carry what is missing beside the flow of one stop.
func (s *stops) closes(missing float64) bool {
	t, f := &s.second, &s.fit
	top, last := s.row(s.l, s.i), s.own[s.j*s.layers]
	t.supply = max(0, top[s.i]-s.holdI-f.fromI-f.both)
	t.demand = max(0, last-s.holdJ-f.intoJ-f.both)
	missing -= slack
	// Most often there is not enough to give or to take.
	if missing > t.supply+s.out-top[s.i]-top[s.j]-s.straight-f.intoJ+slack ||
		missing > t.demand+s.in-last-s.edge(0, s.i, s.j)-s.straight-f.fromI+slack {
		return false
	}
	if !t.worthwhile(s.pair) {
		return false
	}
	t.tried[s.l]++
	s.prepare()
	for u := s.lo; u <= s.hi && missing > 0; u++ {
		missing -= s.transportFrom(u)
	}
	if missing > 0 {
		return false
	}
	t.closed[s.l]++
	return true
}

// prepare fills the columns of a transport.
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
			q, fromI, intoJ := s.amount(u)
			t.fromI[u], t.intoJ[u] = fromI, intoJ
			t.give[u], t.take[u], t.room[u] = top[u]-(q-fromI), last[u-b*block]-(q-intoJ), s.least(u)-q
			if u == s.i || u == s.j {
				t.room[u] = 0
			}
		}
	}
}

// sum is x + y.
func sum(dst, x, y []float64) {
	x, y = x[:len(dst)], y[:len(dst)]
	for t := range dst {
		dst[t] = x[t] + y[t]
	}
}

// transportFrom sends what column u has to give and returns how much that was.
func (s *stops) transportFrom(u int) (sent float64) {
	t := &s.second
	for l := s.l - 1; l > 0; l-- {
		rest := min(t.give[u]+max(0, min(t.early[l][u]-t.fromI[u], t.supply)), t.room[u])
		if rest <= closed {
			continue
		}
		most, row, late := rest, s.row(l, u), t.late[l]
		row = row[:min(len(row), s.hi+1)]
		for w := s.lo; w < len(row) && rest > closed; w++ {
			y := min(rest, row[w], t.room[w])
			if n := t.take[w]; n < y {
				y = min(y, n+max(0, min(late[w]-t.intoJ[w], t.demand)))
			}
			if y <= 0 || w == u {
				continue
			}
			rest -= y
			t.room[w] -= y
			if t.take[w] -= y; t.take[w] < 0 { // the rest leaves by column j
				t.demand += t.take[w]
				t.intoJ[w] -= t.take[w]
				t.take[w] = 0
			}
		}
		got := most - rest
		sent += got
		t.room[u] -= got
		if t.give[u] -= got; t.give[u] < 0 { // the rest has come by column i
			t.supply += t.give[u]
			t.fromI[u] -= t.give[u]
			t.give[u] = 0
		}
	}
	return sent
}
