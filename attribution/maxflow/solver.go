package maxflow

import "math/bits"

// solver is Dinic's algorithm with its memory, which serves one pair after another.
//
// A node is (k,u): level k = 0..l+1, token u. Layer k holds the edges from level k+1 to level k; "down" follows an edge
// that has room, "up" takes back flow. Sets of tokens are rows of words, bit u%64 of word u/64.
type solver struct {
	g *Graph
	q query
	// first and last word of the tokens that paths can pass.
	w0, w1 int
	// stride tokens and words a row, room for L layers.
	stride, words int
	// flow is [L,stride,stride]; 0 but for the edges in touched.
	flow    []float64
	touched []edge
	// down, [L,stride,words]: row (k,u) has the v to which the edge (k+1,u)→(k,v) has room.
	// up, [L,stride,words]: row (k,v) has the u from which that edge carries flow.
	// A bit is set exactly while the amount is more than closed: a bit without an amount would be a phantom edge, which
	// the search follows and along which nothing can be pushed.
	down, up []uint64
	// at[d], [L+1,words]: the nodes at distance d from the source that may still lead to the sink. seen: all of them.
	at   [][]uint64
	seen []uint64
}

// edge is (k+1,u)→(k,v).
type edge struct{ k, u, v int }

// solve returns the flow of q over tokens lo..hi, of which bound is an upper bound.
func (s *solver) solve(g *Graph, q query, lo, hi int, bound float64) float64 {
	s.g, s.q = g, q
	s.w0, s.w1 = lo/64, hi/64
	s.reserve()
	s.open(lo, hi)
	defer s.reset()
	total := 0.0
	for s.search() {
		total += s.push(q.l+1, q.i, 0, bound-total)
		if total >= bound-slack {
			return bound
		}
	}
	return total
}

// reserve makes room for all tokens of the graph.
func (s *solver) reserve() {
	if s.stride >= s.g.tokens {
		return
	}
	s.stride = max(s.g.tokens, s.stride+s.stride/2, 16)
	s.words = (s.stride + 63) / 64
	s.flow = make([]float64, s.g.layers*s.stride*s.stride)
	s.down = make([]uint64, s.g.layers*s.stride*s.words)
	s.up = make([]uint64, s.g.layers*s.stride*s.words)
	s.seen = make([]uint64, (s.g.layers+1)*s.words)
	s.at = nil
}

// set returns row (k,u) of down or up.
func (s *solver) set(rows []uint64, k, u int) []uint64 {
	i := (k*s.stride + u) * s.words
	return rows[i : i+s.words : i+s.words]
}

// level returns the tokens of level k in a set of nodes.
func (s *solver) level(nodes []uint64, k int) []uint64 {
	return nodes[k*s.words : (k+1)*s.words : (k+1)*s.words]
}

// open sets the bits of all edges that a path of q can use.
func (s *solver) open(lo, hi int) {
	for u := lo; u <= hi; u++ {
		sink := s.set(s.down, 0, u)
		clear(sink[s.w0 : s.w1+1])
		if s.g.capacity[0][u][s.q.j] > closed {
			sink[s.q.j/64] = 1 << (s.q.j % 64)
		}
	}
	for k := 1; k < s.q.l; k++ {
		for u := lo; u <= hi; u++ {
			s.openRow(k, u, s.g.open[k][u], lo)
		}
	}
	s.openRow(s.q.l, s.q.i, s.q.topOpen, lo)
}

// openRow copies the bits of one row from token lo on; a causal row ends at its own token, hi at most.
func (s *solver) openRow(k, u int, open []uint64, lo int) {
	row := s.set(s.down, k, u)
	n := min(len(open), s.w1+1)
	copy(row[s.w0:n], open[s.w0:n])
	clear(row[n : s.w1+1])
	row[s.w0] &= ^uint64(0) << (lo % 64)
}

// reset takes all flow away.
func (s *solver) reset() {
	for _, e := range s.touched {
		s.flow[s.index(e.k, e.u, e.v)] = 0
		s.set(s.up, e.k, e.v)[e.u/64] &^= 1 << (e.u % 64)
	}
	s.touched = s.touched[:0]
}

// index returns where the flow of (k+1,u)→(k,v) is.
func (s *solver) index(k, u, v int) int { return (k*s.stride+u)*s.stride + v }

// search labels nodes by their distance from the source, breadth first, until it finds the sink, and returns whether
// it did.
func (s *solver) search() bool {
	clear(s.seen)
	start := s.labels(0)
	s.level(start, s.q.l+1)[s.q.i/64] = 1 << (s.q.i % 64)
	s.level(s.seen, s.q.l+1)[s.q.i/64] = 1 << (s.q.i % 64)
	for d := 0; ; d++ {
		next := s.labels(d + 1)
		for k := range s.q.l + 2 {
			s.neighbours(next, s.at[d], k)
		}
		var any uint64
		for w, x := range next {
			s.seen[w] |= x
			any |= x
		}
		if any == 0 {
			return false
		}
		if s.level(next, 0)[s.q.j/64]>>(s.q.j%64)&1 == 1 {
			clear(next) // as far as the sink, only the sink leads to the sink
			s.level(next, 0)[s.q.j/64] = 1 << (s.q.j % 64)
			return true
		}
	}
}

// labels returns at[d], empty.
func (s *solver) labels(d int) []uint64 {
	if d == len(s.at) {
		s.at = append(s.at, make([]uint64, len(s.seen)))
	}
	clear(s.at[d])
	return s.at[d]
}

// neighbours adds to next what the nodes of one level reach and nothing reached before.
func (s *solver) neighbours(next, nodes []uint64, k int) {
	for w := s.w0; w <= s.w1; w++ {
		for x := s.level(nodes, k)[w]; x != 0; x &= x - 1 {
			u := w*64 + bits.TrailingZeros64(x)
			if k > 0 {
				s.reach(s.level(next, k-1), s.set(s.down, k-1, u), s.level(s.seen, k-1))
			}
			if k < s.q.l {
				s.reach(s.level(next, k+1), s.set(s.up, k, u), s.level(s.seen, k+1))
			}
		}
	}
}

// reach adds to next the edges that lead to unseen nodes.
func (s *solver) reach(next, edges, seen []uint64) {
	for w := s.w0; w <= s.w1; w++ {
		next[w] |= edges[w] &^ seen[w]
	}
}

// push sends at most limit > 0 from node (k,u) at distance d to the sink, along edges to the next distance, and returns
// how much went. A node that could not send all is a dead end for the rest of the phase: it leaves at[d].
func (s *solver) push(k, u, d int, limit float64) float64 {
	if k == 0 {
		return limit // only the sink has edges at level 0
	}
	rest := limit
	next := s.level(s.at[d+1], k-1)
	edges := s.set(s.down, k-1, u)
	// The sink's column first, then the own one: the diagonal is at least ½ under a residual, and other orders cost
	// two to four times as many paths.
	for _, v := range [2]int{s.q.j, u} {
		if edges[v/64]&next[v/64]>>(v%64)&1 == 1 {
			if rest -= s.pushDown(k-1, u, v, d, rest); rest == 0 {
				return limit
			}
		}
	}
	for w := s.w0; w <= s.w1; w++ {
		for x := edges[w] & next[w]; x != 0; x &= x - 1 {
			v := w*64 + bits.TrailingZeros64(x)
			if rest -= s.pushDown(k-1, u, v, d, rest); rest == 0 {
				return limit
			}
		}
	}
	if k < s.q.l {
		next, edges = s.level(s.at[d+1], k+1), s.set(s.up, k, u)
		for w := s.w0; w <= s.w1; w++ {
			for x := edges[w] & next[w]; x != 0; x &= x - 1 {
				v := w*64 + bits.TrailingZeros64(x)
				if rest -= s.pushUp(k, v, u, d, rest); rest == 0 {
					return limit
				}
			}
		}
	}
	s.level(s.at[d], k)[u/64] &^= 1 << (u % 64)
	return limit - rest
}

// pushDown sends at most limit along the edge (k+1,u)→(k,v).
func (s *solver) pushDown(k, u, v, d int, limit float64) float64 {
	f := &s.flow[s.index(k, u, v)]
	capacity := s.capacity(k, u, v)
	sent := s.push(k, v, d+1, min(limit, capacity-*f))
	if sent == 0 {
		return 0
	}
	if *f == 0 {
		s.touched = append(s.touched, edge{k, u, v})
	}
	*f += sent
	s.mark(k, u, v, capacity-*f, *f)
	return sent
}

// pushUp takes at most limit back from the edge (k+1,u)→(k,v) and sends it on from (k+1,u).
func (s *solver) pushUp(k, u, v, d int, limit float64) float64 {
	f := &s.flow[s.index(k, u, v)]
	sent := s.push(k+1, u, d+1, min(limit, *f))
	if sent == 0 {
		return 0
	}
	*f -= sent
	s.mark(k, u, v, s.capacity(k, u, v)-*f, *f)
	return sent
}

// mark brings the bits of an edge up to date.
func (s *solver) mark(k, u, v int, room, flow float64) {
	put(&s.set(s.down, k, u)[v/64], v, room > closed)
	put(&s.set(s.up, k, v)[u/64], u, flow > closed)
}

// put sets or clears bit u%64 of a word.
func put(word *uint64, u int, on bool) {
	*word &^= 1 << (u % 64)
	if on {
		*word |= 1 << (u % 64)
	}
}

// capacity returns that of (k+1,u)→(k,v).
func (s *solver) capacity(k, u, v int) float64 {
	if k == s.q.l {
		return s.q.top[v]
	}
	return s.g.capacity[k][u][v]
}
