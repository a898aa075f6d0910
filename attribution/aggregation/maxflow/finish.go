package maxflow

// finish is push from a node one step from the sink: from the nodes of its column by an edge into
// column j.
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

// finishDown sends at most limit from the nodes of column u from level k down.
func (s *solver) finishDown(k, u int, limit float64) float64 {
	W, word, bit := s.words, s.j>>6, uint64(1)<<(s.j&63)
	own, falls, dead, down := s.ownRoom[u*s.layers:], s.at[0], s.dead, s.down[u*s.layers*W:]
	room, at, width := s.room[u], s.index(k-1, u, s.j), s.width(u)
	sent, most := 0.0, limit
	for x, n := k, (k-1)*W+word; ; x, n, at = x-1, n-W, at-width {
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
// in the column.
func (s *solver) finishUp(k, u int, limit float64) float64 {
	word, bit := s.j>>6, uint64(1)<<(s.j&63)
	falls := s.at[0]
	sent, most := 0.0, limit
	for x := k; x <= s.l; x++ {
		at := u*s.layers + x
		if x > k {
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

// drain sends at most limit down column j from level k into the sink, and returns how much.
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
