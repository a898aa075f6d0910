package maxflow

// fill adds up the flow of stops while the solver puts it into the network.
type fill struct {
	// leaving, [L+1], is the flow that leaves column i by each layer, and entering the flow that
	// enters column j.
	leaving, entering []float64
	// inflow and outflow, [T,L+1], are the flows that enter and leave column u by each middle
	// layer.
	inflow, outflow []float64
}

// begin puts the flow of stops into the network and returns its value.
//
// Flow enters columns u as early and leaves them as late as possible. So little flow waits in
// columns i and j. Column u can carry its flow, which is at most its smallest own edge.
func (s *solver) begin(f *stops) float64 {
	if f.second.used {
		s.move(f.second.moves)
	} else {
		// Own edges of i and j may be narrower in the middle layers than outside. Here the smallest
		// counts for all layers.
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
			s.sendVia(u, x, fromI, d, intoJ)
			total += x + fromI
		}
	}
	left, entered := 0.0, 0.0
	for k := range f.l + 1 {
		s.carryDown(f.i, k+1, k, left)
		left += s.fill.leaving[k]
		s.carryDown(f.j, f.l-k+1, f.l-k, entered)
		entered += s.fill.entering[f.l-k]
	}
	return total
}

// move sends the flow of a second stop from column to column.
func (s *solver) move(moves []move) {
	for _, m := range moves {
		s.send(m.l, m.u, m.w, m.amount)
		s.fill.outflow[m.u*(s.layers+1)+m.l] += m.amount
		s.fill.inflow[m.w*(s.layers+1)+m.l] += m.amount
	}
}

// direct sends amount by edge (k,i,j) and returns it. Before that it waits in column i down to
// level k+1, and after it in column j from level k.
func (s *solver) direct(k int, amount float64) float64 {
	if amount > 0 {
		s.send(k, s.i, s.j, amount)
		s.fill.leaving[k] += amount
		s.fill.entering[k] += amount
	}
	return amount
}

// sendVia sends flow through column u: x enters by the top layer and fromI from column i; d leaves
// by the last layer and intoJ to column j. The flow of a second stop has been sent before.
func (s *solver) sendVia(u int, x, fromI, d, intoJ float64) {
	first := u * (s.layers + 1)
	inflow, outflow := s.fill.inflow[first:first+s.layers+1], s.fill.outflow[first:first+s.layers+1]
	if x > 0 {
		s.send(s.l, s.i, u, x)
	}
	for k := s.l - 1; k > 0 && fromI > 0; k-- {
		if c := min(s.edge(k, s.i, u), fromI); c > 0 {
			s.send(k, s.i, u, c)
			inflow[k] += c
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
			outflow[k] += c
			s.fill.entering[k] += c
			intoJ -= c
		}
	}
	waiting := x
	for k := s.l - 1; k > 0; k-- {
		waiting -= outflow[k]
		if waiting > closed {
			s.carryDown(u, k+1, k, waiting)
		}
		waiting += inflow[k]
	}
	clear(inflow)
	clear(outflow)
}
