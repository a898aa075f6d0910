package maxflow

// reachesBound reports whether the flow with one stop, or with a second stop, equals the upper
// bound, so that it is the maximum.
func (s *stops) reachesBound() bool {
	s.second.used = false
	missing := s.bound - s.fitInto(s.row(s.l, s.i)[s.i], s.own[s.j*s.layers])
	if missing <= slack {
		return s.fitsColumns()
	}
	missing -= s.transport(missing - slack)
	s.second.used = s.fitsColumns()
	return s.second.used && missing <= slack
}

// fitsColumns reports whether the own edges of columns i and j can carry the flow that waits there.
func (s *stops) fitsColumns() bool {
	loadI, loadJ := s.holdI+s.fit.fromI+s.fit.both, s.holdJ+s.fit.intoJ+s.fit.both
	if s.second.used {
		loadI += s.second.loadI
		loadJ += s.second.loadJ
	}
	return s.fitsColumnI(loadI) && s.fitsColumnJ(loadJ)
}

// fitsColumnI reports whether column i can carry amount. Its own edge in the top layer can. The own
// edges below need to carry only what does not leave by the first middle layer, and as much as
// possible leaves there.
func (s *stops) fitsColumnI(amount float64) bool {
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

// fitsColumnJ reports whether column j can carry amount. Its own edge in the last layer can. The
// own edges above need to carry only what does not enter by the last middle layer, and as much as
// possible enters there.
func (s *stops) fitsColumnJ(amount float64) bool {
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
