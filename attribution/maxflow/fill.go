package maxflow

// fill is the flow of stops while it is put into the network.
type fill struct {
	// leaving, [L+1], is what leaves column i by a layer and entering what enters column j.
	leaving, entering []float64
	// came and went, [T,L+1], are what enters and leaves column u by a middle layer.
	came, went []float64
}

// begin puts the flow of a pair's stops into the network and returns how much it is.
//
// Columns u are entered as early and left as late as possible: then columns i and j hold little,
// and column u holds what it can, as every flow over it is at most its least own edge.
func (s *solver) begin(f *stops) float64 {
	if f.second.used {
		s.move(f.second.moves)
	} else {
		// In the middle layers, own edges of i and j may be narrower than outside; here they count
		// as if they were everywhere.
		f.fitInto(min(f.row(f.l, f.i)[f.i], f.least(f.i)), min(f.own[f.j*f.layers], f.least(f.j)))
	}
	clear(s.fill.leaving)
	clear(s.fill.entering)
	total := s.direct(0, f.holdI) + s.direct(f.l, f.holdJ)
	for l := 1; l < f.l; l++ {
		total += s.direct(l, f.fit.shareBoth*f.row(l, f.i)[f.j])
	}
	for u := f.lo; u <= f.hi; u++ {
		if u == f.i || u == f.j {
			continue
		}
		if x, fromI, d, intoJ := f.through(u); max(x+fromI, d+intoJ) > closed {
			s.over(u, x, fromI, d, intoJ)
			total += x + fromI
		}
	}
	left, entered := 0.0, 0.0
	for k := range f.l + 1 {
		s.hold(f.i, k+1, k, left)
		left += s.fill.leaving[k]
		s.hold(f.j, f.l-k+1, f.l-k, entered)
		entered += s.fill.entering[f.l-k]
	}
	return total
}

// move sends from column to column.
func (s *solver) move(moves []move) {
	for _, m := range moves {
		s.send(m.l, m.u, m.w, m.amount)
		s.fill.went[m.u*(s.layers+1)+m.l] += m.amount
		s.fill.came[m.w*(s.layers+1)+m.l] += m.amount
	}
}

// direct sends amount by edge (k,i,j) and returns it.
func (s *solver) direct(k int, amount float64) float64 {
	if amount > 0 {
		s.send(k, s.i, s.j, amount)
		s.fill.leaving[k] += amount
		s.fill.entering[k] += amount
	}
	return amount
}

// over lets column u be entered by the top layer, x, and from column i, and left by the last layer,
// d, and for column j; what moves has been sent.
func (s *solver) over(u int, x, fromI, d, intoJ float64) {
	first := u * (s.layers + 1)
	came, went := s.fill.came[first:first+s.layers+1], s.fill.went[first:first+s.layers+1]
	if x > 0 {
		s.send(s.l, s.i, u, x)
	}
	for k := s.l - 1; k > 0 && fromI > 0; k-- {
		if c := min(s.edge(k, s.i, u), fromI); c > 0 {
			s.send(k, s.i, u, c)
			came[k] += c
			s.fill.leaving[k] += c
			fromI -= c
		}
	}
	if d > 0 {
		s.send(0, u, s.j, d)
	}
	for k := 1; k < s.l && intoJ > 0; k++ {
		if c := min(s.edge(k, u, s.j), intoJ); c > 0 {
			s.send(k, u, s.j, c)
			went[k] += c
			s.fill.entering[k] += c
			intoJ -= c
		}
	}
	held := x
	for k := s.l - 1; k > 0; k-- {
		held -= went[k]
		if held > closed {
			s.hold(u, k+1, k, held)
		}
		held += came[k]
	}
	clear(came)
	clear(went)
}
