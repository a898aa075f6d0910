package maxflow

import "math/bits"

// search labels nodes by their distance from the sink until it reaches the source, and returns
// whether it did. Distances are from the sink, because push begins at the source and has to know
// which edges lead nearer to the sink. Nodes further away than the source are on no shortest path.
func (s *solver) search() bool {
	s.mask()
	clear(s.exhausted)
	clear(s.dead)
	cur := s.labels(0)
	// The sink is at distance 0, and closeColumns adds the part of its column that drains into it.
	put(s.level(cur, 0), s.j, true)
	for d := 0; ; d++ {
		s.closeColumns(cur)
		if s.level(cur, s.l+1)[s.i/64]>>(s.i%64)&1 == 1 {
			s.steps = d
			return true
		}
		next := s.labels(d + 1)
		// No node is left that leads here: the labelled nodes are the sink's side of a cut.
		if !s.step(next, cur) {
			return false
		}
		cur = next
	}
}

// level returns the tokens of level k in a set of nodes.
func (s *solver) level(nodes []uint64, k int) []uint64 { return nodes[k*s.words : (k+1)*s.words] }

// labels returns at[d], empty. Sets stay for the next search, which would have to allocate as many
// again.
func (s *solver) labels(d int) []uint64 {
	if d == len(s.at) {
		s.at = append(s.at, make([]uint64, len(s.seen)))
	}
	clear(s.at[d])
	return s.at[d]
}

// mask sets seen to the nodes that no path may use: tokens outside lo..hi, other sources and other
// sinks. A path from i to j in a causal text passes no token after i and none before j.
func (s *solver) mask() {
	for i := range s.seen {
		s.seen[i] = ^uint64(0)
	}
	for k := 1; k <= s.l; k++ {
		level := s.level(s.seen, k)
		clear(level[s.w0 : s.w1+1])
		level[s.w0] |= 1<<(s.lo%64) - 1
		level[s.w1] |= ^uint64(0) << (s.hi % 64) << 1
	}
	put(s.level(s.seen, 0), s.j, false)
	put(s.level(s.seen, s.l+1), s.i, false)
}

// closeColumns adds to cur the nodes that reach it within their column, along own edges with
// residual capacity and against own edges with flow. All of them become seen. One pass up and one
// pass down the levels are enough, because a path within a column need not turn. Each word has the
// same level of 64 columns, so they are done together.
func (s *solver) closeColumns(cur []uint64) {
	W, top := s.words, s.l+1
	for w := s.w0; w <= s.w1; w++ {
		x := cur[w]
		for k := 1; k <= top; k++ {
			x = cur[k*W+w] | x&s.ownDown[(k-1)*W+w]&^s.seen[k*W+w]
			cur[k*W+w] = x
		}
		s.seen[top*W+w] |= x
		for k := top - 1; k > 0; k-- {
			x = cur[k*W+w] | x&s.ownSent[k*W+w]&^s.seen[k*W+w]
			cur[k*W+w] = x
			s.seen[k*W+w] |= x
		}
		s.seen[w] |= cur[w]
	}
}

// step adds to next the nodes with an edge to cur that are not seen yet, and returns whether there
// are any. An edge leads to cur if it has room (into), or, against its direction, if it carries
// flow (sent).
func (s *solver) step(next, cur []uint64) bool {
	if s.w0 == s.w1 {
		return s.stepWord(next, cur)
	}
	for k := range s.l + 1 {
		for w := s.w0; w <= s.w1; w++ {
			for x := s.level(cur, k)[w]; x != 0; x &= x - 1 {
				v := w*64 + bits.TrailingZeros64(x)
				s.unite(s.level(next, k+1), s.set(s.into, k, v))
				if k > 1 {
					s.unite(s.level(next, k-1), s.set(s.sent, k-1, v))
				}
			}
		}
	}
	var any uint64
	for i := range next {
		next[i] &^= s.seen[i]
		any |= next[i]
	}
	return any != 0
}

// unite adds the tokens of set to the set to.
func (s *solver) unite(to, set []uint64) {
	for w := s.w0; w <= s.w1; w++ {
		to[w] |= set[w]
	}
}

// stepWord is step for tokens lo..hi in one word, the usual case for short texts. It keeps the sets
// of one level in registers.
func (s *solver) stepWord(next, cur []uint64) bool {
	W, w := s.words, s.w0
	var any uint64
	for k := range s.l + 1 {
		var above, below uint64
		for x := cur[k*W+w]; x != 0; x &= x - 1 {
			at := ((w*64+bits.TrailingZeros64(x))*s.layers+k)*W + w
			above |= s.into[at]
			if k > 1 {
				below |= s.sent[at-W]
			}
		}
		above &^= s.seen[(k+1)*W+w]
		next[(k+1)*W+w] |= above
		any |= above
		if k > 1 {
			below &^= s.seen[(k-1)*W+w]
			next[(k-1)*W+w] |= below
			any |= below
		}
	}
	return any != 0
}
