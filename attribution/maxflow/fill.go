package maxflow

// fill is the flow of one stop as it is put into the network, by layer, [L+1].
type fill struct {
	// leaving is what leaves column i by a layer and entering what enters column j, after the first and before the last
	// edge; came and went are the same of one column u.
	leaving, entering, came, went []float64
}

// begin puts the flow of one stop into the network and returns how much it is.
//
// Columns u are entered as early and left as late as possible: then columns i and j hold little, and column u holds what
// it can, as every flow over it is at most its least own edge.
func (s *solver) begin(f *stops) float64 {
	// In the middle layers, own edges of i and j may be narrower than outside; here they count as if they were everywhere.
	f.fitInto(min(f.row(f.l, f.i)[f.i], f.least(f.i)), min(f.own[f.j*f.layers], f.least(f.j)))
	clear(s.fill.leaving)
	clear(s.fill.entering)
	total := s.direct(0, f.holdI) + s.direct(f.l, f.holdJ)
	for l := 1; l < f.l; l++ {
		total += s.direct(l, f.fit.shareBoth*f.row(l, f.i)[f.j])
	}
	for u := f.lo; u <= f.hi; u++ {
		if q, _, _ := f.amount(u); q > closed {
			s.over(u, q)
			total += q
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

// direct sends amount by edge (k,i,j) and returns it.
func (s *solver) direct(k int, amount float64) float64 {
	if amount > 0 {
		s.send(k, s.i, s.j, amount)
		s.fill.leaving[k] += amount
		s.fill.entering[k] += amount
	}
	return amount
}

// over sends amount from column i over column u to column j.
func (s *solver) over(u int, amount float64) {
	came, went := s.fill.came, s.fill.went
	clear(came)
	clear(went)
	rest := amount
	for k := s.l; k > 0 && rest > 0; k-- {
		if c := min(s.edge(k, s.i, u), rest); c > 0 {
			s.send(k, s.i, u, c)
			came[k] = c
			rest -= c
		}
	}
	rest = amount
	for k := 0; k < s.l && rest > 0; k++ {
		if c := min(s.edge(k, u, s.j), rest); c > 0 {
			s.send(k, u, s.j, c)
			went[k] = c
			rest -= c
		}
	}
	held := came[s.l]
	for k := s.l - 1; k > 0; k-- {
		held -= went[k]
		if held > closed {
			s.hold(u, k+1, k, held)
		}
		held += came[k]
		s.fill.leaving[k] += came[k]
		s.fill.entering[k] += went[k]
	}
}
