package maxflow

// finish is push from a node one step from the sink: from the nodes of its column by an edge into
// column j. Every longer path ends with it, so it does not call spread: there is only one token to
// lead to, j, and no sets to go through.
func (s *solver) finish(k, u int, limit float64) float64 {
	sent := s.finishDown(k, u, limit)
	if limit-sent > closed {
		sent += s.finishUp(k, u, limit-sent)
	}
	if limit-sent > closed {
		s.markDead(k, u, 1)
	}
	return sent
}

// finishDown sends at most limit from the nodes of column u from level k down. Node (x,u) sends by
// edge (x-1,u,j) to (x-1,j), which drains down column j. most is what the own edges from level k to
// x can still carry; it only falls on the way.
func (s *solver) finishDown(k, u int, limit float64) float64 {
	W, word, bit := s.words, s.j>>6, uint64(1)<<(s.j&63)
	own, falls, dead, down := s.ownRoom[u*s.layers:], s.at[0], s.dead, s.down[u*s.layers*W:]
	room, at, width := s.room[u], s.index(k-1, u, s.j), s.width(u)
	sent, most := 0.0, limit
	for x, n := k, (k-1)*W+word; ; x, n, at = x-1, n-W, at-width {
		// The edge has room, and (x-1,j) is labelled 0 and not dead.
		if down[n]&falls[n]&^dead[n]&bit != 0 {
			m := most
			if r := room[at]; r < m {
				m = r
			}
			if got := s.drain(x-1, m); got > 0 {
				s.sendAt(at, x-1, u, s.j, got)
				s.carryDown(u, k, x, got)
				sent += got
				most -= got
			}
		}
		// Level 1 is the last one with edges into column j: those of layer 0 lead to the sink.
		if x == 1 || most <= closed {
			return sent
		}
		r := own[x-1]
		if r <= closed {
			return sent
		}
		if r < most {
			most = r
		}
	}
}

// finishUp sends at most limit from the nodes of column u above level k, by undoing flow that waits
// in the column. Undoing flow on own edges lets it leave column u from a higher level instead: by
// an edge into column j, or by undoing flow that came into u from column j, which then drains from
// there.
func (s *solver) finishUp(k, u int, limit float64) float64 {
	word, bit := s.j>>6, uint64(1)<<(s.j&63)
	falls := s.at[0]
	sent, most := 0.0, limit
	for x := k; x <= s.l; x++ {
		at := u*s.layers + x
		if x > k {
			// Own edge x-1 brings this flow from level x to level x-1. If it is undone, that much
			// can leave at level x.
			flow := s.own[at-1] - s.ownRoom[at-1]
			if flow <= closed {
				break
			}
			most = min(most, flow)
			if n := (x-1)*s.words + word; s.down[(at-1)*s.words+word]&falls[n]&^s.dead[n]&bit != 0 {
				got := s.drain(x-1, min(most, s.room[u][s.index(x-1, u, s.j)]))
				if got > 0 {
					s.send(x-1, u, s.j, got)
					s.undoCarry(u, x, k, got)
					sent += got
					most -= got
				}
			}
		}
		if most > closed && x < s.l && s.up[at*s.words+word]&falls[(x+1)*s.words+word]&bit != 0 {
			if got := s.drain(x+1, min(most, s.carried(x, s.j, u))); got > 0 {
				s.unsend(x, s.j, u, got)
				s.undoCarry(u, x, k, got)
				sent += got
				most -= got
			}
		}
		if most <= closed {
			break
		}
	}
	return sent
}

// drain sends at most limit down column j from level k into the sink, and returns how much. Own
// edges are free, so this end of a path counts no step. If one of them is full, no level above it
// drains any more, and all of these are dead.
func (s *solver) drain(k int, limit float64) float64 {
	for y, r := range s.ownRoom[s.j*s.layers:][:k] {
		if r < limit {
			if limit = r; r <= closed {
				for k = y + 1; k <= s.l; k++ {
					put(s.level(s.dead, k), s.j, true)
				}
				return 0
			}
		}
	}
	s.carryDown(s.j, k, 0, limit)
	return limit
}
