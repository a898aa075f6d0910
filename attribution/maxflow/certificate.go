package maxflow

// reachesBound returns whether the flow of one stop is as much as the bound, or with a second stop.
func (s *stops) reachesBound() bool {
	f := &s.fit
	missing := s.bound - s.fitInto(s.row(s.l, s.i)[s.i], s.own[s.j*s.layers])
	if missing <= slack {
		return s.holdsI(s.holdI+f.fromI+f.both, nil) && s.holdsJ(s.holdJ+f.intoJ+f.both, nil)
	}
	if !s.closes(missing) {
		return false
	}
	heldI, heldJ := s.holdI+s.fit.shareBoth*s.direct, s.holdJ+s.fit.shareBoth*s.direct
	for u := s.lo; u <= s.hi; u++ {
		heldI += s.second.fromI[u]
		heldJ += s.second.intoJ[u]
	}
	return s.holdsI(heldI, s.second.fromI) && s.holdsJ(heldJ, s.second.intoJ)
}

// holdsI returns whether column i can hold that much, which its edge in the top layer can; further is, by column u, what a
// second stop adds. The own edges below need to hold only what does not leave by the first middle layer; as much as
// possible does.
func (s *stops) holdsI(amount float64, further []float64) bool {
	room := s.least(s.i) + closed
	if amount <= room {
		return true
	}
	first := s.row(s.l-1, s.i)
	amount -= s.fit.shareBoth * first[s.j]
	for u := s.lo; u <= s.hi && amount > room; u++ {
		if u == s.i || u == s.j {
			continue
		}
		_, fromI, _ := s.amount(u)
		if further != nil {
			fromI = further[u]
		}
		amount -= min(fromI, first[u])
	}
	return amount <= room
}

// holdsJ returns whether column j can hold that much, which its edge in the last layer can. The own edges above need to
// hold only what does not come by the last middle layer; as much as possible does.
func (s *stops) holdsJ(amount float64, further []float64) bool {
	room := s.least(s.j) + closed
	if amount <= room {
		return true
	}
	amount -= s.fit.shareBoth * s.row(1, s.i)[s.j]
	for u := s.lo; u <= s.hi && amount > room; u++ {
		if u == s.i || u == s.j {
			continue
		}
		_, _, intoJ := s.amount(u)
		if further != nil {
			intoJ = further[u]
		}
		amount -= min(intoJ, s.edge(1, u, s.j))
	}
	return amount <= room
}
