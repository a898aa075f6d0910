package maxflow

import "math/bits"

// push sends at most limit from node (k,u), at distance d from the sink, to the sink by shortest
// paths, and returns how much. limit must be above closed. Own edges do not count as steps, so it
// sends from every node of column u that (k,u) reaches within the column: first down, which only
// uses capacity, then up, which undoes flow.
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
// reaches by own edges. It stops at level 1, because the only node of level 0 that may be used is
// the sink. The room of an own edge is read before each step down, and what has been sent is booked
// on all own edges between k and x at once.
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
			// spread was given more than it sent, so none of the node's edges leads nearer any
			// more.
			s.exhausted[n] |= bit
		}
		if x == 1 || (at[n-W]&^s.dead[n-W])&bit == 0 || room[x-1] <= closed {
			return sent
		}
		// Own edge x-1 leads from level x to level x-1.
		if r := room[x-1]; r < most {
			most = r
		}
	}
}

// pushUp sends at most limit from the nodes of column u above level k, by undoing flow on own
// edges. own - room is the flow on an own edge. That much can be undone, so that it leaves the
// column above.
func (s *solver) pushUp(k, u, d int, limit float64) float64 {
	W, word, bit := s.words, u>>6, uint64(1)<<(u&63)
	at, room, own := s.at[d], s.ownRoom[u*s.layers:], s.own[u*s.layers:]
	sent, most := 0.0, limit
	for x, n := k+1, (k+1)*W+word; x <= s.l; x, n = x+1, n+W {
		// Own edge x-1 has brought flow from level x to level x-1; all edges between k and x limit
		// it.
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
// adds up what it sends, because limit minus the rest would lose small amounts by rounding. The
// sets of bits give the tokens with an edge that has room, or with flow to undo, that are one step
// nearer and not dead. Only these are visited.
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
	// Flow that comes down into (x,u) from (x+1,v) can be sent another way from (x+1,v).
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
// column as dead. They could send no more either: what they reach, (k,u) reaches over them.
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
