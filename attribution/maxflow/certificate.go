package maxflow

// reachesBound returns whether the flow of one stop, or with a second stop, is as much as the
// bound.
func (s *stops) reachesBound() bool {
	s.second.used = false
	missing := s.bound - s.fitInto(s.row(s.l, s.i)[s.i], s.own[s.j*s.layers])
	if missing <= slack {
		return s.holds()
	}
	missing -= s.transport(missing - slack)
	s.second.used = s.holds()
	return s.second.used && missing <= slack
}

// holds returns whether columns i and j can hold what they should.
func (s *stops) holds() bool {
	heldI, heldJ := s.holdI+s.fit.fromI+s.fit.both, s.holdJ+s.fit.intoJ+s.fit.both
	if s.second.used {
		heldI += s.second.heldI
		heldJ += s.second.heldJ
	}
	return s.holdsI(heldI) && s.holdsJ(heldJ)
}

// holdsI returns whether column i can hold that much, which its edge in the top layer can. The own
// edges below need to hold only what does not leave by the first middle layer; as much as possible
// does.
func (s *stops) holdsI(amount float64) bool {
	room := s.least(s.i) + closed
	first := s.row(s.l-1, s.i)
	if amount > room {
		amount -= s.fit.shareBoth * first[s.j]
	}
	for u := s.lo; u <= s.hi && amount > room; u++ {
		_, fromI, _, _ := s.through(u)
		amount -= min(fromI, first[u])
	}
	return amount <= room
}

// holdsJ returns whether column j can hold that much, which its edge in the last layer can. The own
// edges above need to hold only what does not come by the last middle layer; as much as possible
// does.
func (s *stops) holdsJ(amount float64) bool {
	room := s.least(s.j) + closed
	if amount > room {
		amount -= s.fit.shareBoth * s.row(1, s.i)[s.j]
	}
	for u := s.lo; u <= s.hi && amount > room; u++ {
		_, _, _, intoJ := s.through(u)
		amount -= min(intoJ, s.edge(1, u, s.j))
	}
	return amount <= room
}
