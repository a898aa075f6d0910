package maxflow

import "math/bits"

// push sends at most limit from node (k,u), at distance d from the sink, to the sink by shortest
// paths, and returns how much. limit must be above closed.
func (s *solver) push(k, u, d int, limit float64) float64 {
	switch d {
	case 0:
		return s.drain(k, limit)
	case 1:
		return s.finish(k, u, limit)
	}
	sent := s.pushDown(k, u, d, limit)
	if limit-sent > closed {
		sent += s.pushUp(k, u, d, limit-sent)
	}
	if limit-sent > closed {
		s.markDead(k, u, d)
	}
	return sent
}

// pushDown sends at most limit from the nodes of column u at level k and below, which the flow
// reaches by own edges.
func (s *solver) pushDown(k, u, d int, limit float64) float64 {
	W, word, bit := s.words, u>>6, uint64(1)<<(u&63)
	at, room := s.at[d], s.ownRoom[u*s.layers:]
	sent, most := 0.0, limit // most is what own edges can still carry down to level x
	for x, n := k, k*W+word; ; x, n = x-1, n-W {
		if s.exhausted[n]&bit == 0 {
			if got := s.spread(x, u, d, most); got > 0 {
				s.carryDown(u, k, x, got)
				sent += got
				most -= got
			}
			if most <= closed {
				return sent
			}
			s.exhausted[n] |= bit
		}
		if x == 1 || (at[n-W]&^s.dead[n-W])&bit == 0 || room[x-1] <= closed {
			return sent
		}
		if r := room[x-1]; r < most {
			most = r
		}
	}
}

// pushUp sends at most limit from the nodes of column u above level k, by undoing flow on own
// edges.
func (s *solver) pushUp(k, u, d int, limit float64) float64 {
	W, word, bit := s.words, u>>6, uint64(1)<<(u&63)
	at, room, own := s.at[d], s.ownRoom[u*s.layers:], s.own[u*s.layers:]
	sent, most := 0.0, limit
	for x, n := k+1, (k+1)*W+word; x <= s.l; x, n = x+1, n+W {
		flow := own[x-1] - room[x-1]
		if flow <= closed || (at[n]&^s.dead[n])&bit == 0 {
			break
		}
		most = min(most, flow)
		if s.exhausted[n]&bit != 0 {
			continue
		}
		if got := s.spread(x, u, d, most); got > 0 {
			s.undoCarry(u, x, k, got)
			sent += got
			most -= got
		}
		if most <= closed {
			break
		}
		s.exhausted[n] |= bit
	}
	return sent
}

// spread sends at most limit from node (x,u) along edges that lead one step nearer to the sink. It
// adds up what it sends, because limit minus the rest would lose small amounts by rounding.
func (s *solver) spread(x, u, d int, limit float64) float64 {
	W, next, rest, sent := s.words, s.at[d-1], limit, 0.0
	first := s.index(x-1, u, 0)
	down, room := s.set(s.down, x-1, u), s.room[u][first:]
	for w := s.w0; w <= s.w1; w++ {
		n := (x-1)*W + w
		for c := down[w] & next[n] &^ s.dead[n]; c != 0; c &= c - 1 {
			v := w<<6 + bits.TrailingZeros64(c)
			most := rest
			if r := room[v]; r < most {
				most = r
			}
			if got := s.push(x-1, v, d-1, most); got > 0 {
				s.sendAt(first+v, x-1, u, v, got)
				sent += got
				if rest -= got; rest <= closed {
					return sent
				}
			}
		}
	}
	if x >= s.l { // no edge leads to the source
		return sent
	}
	up := s.set(s.up, x, u)
	for w := s.w0; w <= s.w1; w++ {
		n := (x+1)*W + w
		for c := up[w] & next[n] &^ s.dead[n]; c != 0; c &= c - 1 {
			v := w<<6 + bits.TrailingZeros64(c)
			if got := s.push(x+1, v, d-1, min(rest, s.carried(x, v, u))); got > 0 {
				s.unsend(x, v, u, got)
				sent += got
				if rest -= got; rest <= closed {
					return sent
				}
			}
		}
	}
	return sent
}

// markDead marks node (k,u), from which no more can be sent, and all nodes that it reaches in its
// column as dead.
func (s *solver) markDead(k, u, d int) {
	W, bit := s.words, uint64(1)<<(u&63)
	at, room, own := s.at[d], s.ownRoom[u*s.layers:], s.own[u*s.layers:]
	n := k*W + u>>6
	s.dead[n] |= bit
	for x, n := k-1, n-W; x > 0 && room[x] > closed && at[n]&bit != 0; x, n = x-1, n-W {
		s.dead[n] |= bit
	}
	carries := func(x int) bool { return own[x-1]-room[x-1] > closed }
	for x, n := k+1, n+W; x <= s.l && carries(x) && at[n]&bit != 0; x, n = x+1, n+W {
		s.dead[n] |= bit
	}
}
