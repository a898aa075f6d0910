package maxflow

import "math/bits"

// residual is the residual network of the flow of one pair. Between pairs there is no flow.
//
// A bit is set exactly if its amount is more than closed. A bit without an amount would be an edge
// that a search follows but that no flow can use. The amount is computed, and rounded, in the same
// way as in push.
type residual struct {
	*network
	// room is the residual capacity of edges, with the indices of network.capacity; own edges have
	// theirs in ownRoom, [T,L].
	room    [][]float64
	ownRoom []float64
	// Sets of tokens, [T,L,words]. Row (k,u) of down has the v for which edge (k,u,v) has room, and
	// of sent those for which it carries flow; row (k,v) of into has the u for which edge (k,u,v)
	// has room, and of up those for which it carries flow. Own edges are not in these sets; ownDown
	// and ownSent, [L,words], have them.
	down, sent, into, up []uint64
	ownDown, ownSent     []uint64
	// ownShut, [L,words], has the own edges removed from ownDown since the last reset.
	ownShut []uint64
	words   int
	// touched are the edges to reset, without own edges; some may be in it twice.
	touched []edge
}

type edge struct{ k, u, v int32 }

// set returns row (k,u) of a table of sets.
func (r *residual) set(table []uint64, k, u int) []uint64 {
	at := (u*r.layers + k) * r.words
	return table[at : at+r.words : at+r.words]
}

// grow makes room for the new tokens of the network.
func (r *residual) grow() {
	had := len(r.ownRoom) / r.layers
	for r.words*64 < r.tokens {
		r.widen(max(2*r.words, (r.tokens+63)/64))
	}
	for _, table := range r.tables() {
		*table = append(*table, make([]uint64, (r.tokens-had)*r.layers*r.words)...)
	}
	for u := had; u < r.tokens; u++ {
		r.room = append(r.room, append([]float64(nil), r.capacity[u]...))
	}
	r.ownRoom = append(r.ownRoom, r.own[len(r.ownRoom):]...)
	for u := had; u < r.tokens; u++ {
		for k := range r.layers {
			r.setRow(k, u)
		}
	}
}

// tables returns the tables with a row for each token and layer.
func (r *residual) tables() []*[]uint64 { return []*[]uint64{&r.down, &r.sent, &r.into, &r.up} }

// widen increases the number of words of all sets.
func (r *residual) widen(words int) {
	if r.words == 0 {
		r.ownDown, r.ownSent = make([]uint64, r.layers), make([]uint64, r.layers)
		r.ownShut = make([]uint64, r.layers)
		r.words = 1
	}
	for _, table := range append(r.tables(), &r.ownDown, &r.ownSent, &r.ownShut) {
		wide := make([]uint64, len(*table)/r.words*words)
		for i := 0; i < len(*table); i += r.words {
			copy(wide[i/r.words*words:], (*table)[i:i+r.words])
		}
		*table = wide
	}
	r.words = words
}

// setRow copies row u of layer k from the network.
func (r *residual) setRow(k, u int) {
	row := r.row(k, u)
	copy(r.room[u][r.index(k, u, 0):], row)
	r.ownRoom[u*r.layers+k] = row[u]
	put(r.ownDown[k*r.words:], u, row[u] > closed)
	for v, c := range row {
		if v != u {
			put(r.set(r.down, k, u), v, c > closed)
			put(r.set(r.into, k, v), u, c > closed)
		}
	}
}

// put adds u to a set or removes it.
func put(set []uint64, u int, in bool) {
	set[u>>6] &^= 1 << (u & 63)
	if in {
		set[u>>6] |= 1 << (u & 63)
	}
}

// carried returns the flow on edge (k,u,v).
func (r *residual) carried(k, u, v int) float64 {
	at := r.index(k, u, v)
	return r.capacity[u][at] - r.room[u][at]
}

// send adds amount to the flow on edge (k,u,v).
func (r *residual) send(k, u, v int, amount float64) { r.sendAt(r.index(k, u, v), k, u, v, amount) }

// sendAt is send for an edge whose index is known.
func (r *residual) sendAt(at, k, u, v int, amount float64) {
	had := r.room[u][at]
	room := had - amount
	r.room[u][at] = room
	uv, vu := (u*r.layers+k)*r.words+v>>6, (v*r.layers+k)*r.words+u>>6
	bu, bv := uint64(1)<<(u&63), uint64(1)<<(v&63)
	if room <= closed {
		r.down[uv] &^= bv
		r.into[vu] &^= bu
	}
	if up := &r.up[vu]; *up&bu == 0 {
		r.touched = append(r.touched, edge{int32(k), int32(u), int32(v)})
		// Because of rounding, the flow on the edge may be at most closed although amount is more.
		// It is at least had-room.
		if had-room > closed || r.capacity[u][at]-room > closed {
			*up |= bu
			r.sent[uv] |= bv
		}
	}
}

// unsend removes amount from the flow on edge (k,u,v).
func (r *residual) unsend(k, u, v int, amount float64) {
	at := r.index(k, u, v)
	room := min(r.room[u][at]+amount, r.capacity[u][at]) // rounding must not exceed the capacity
	r.room[u][at] = room
	put(r.set(r.down, k, u), v, room > closed)
	put(r.set(r.into, k, v), u, room > closed)
	if r.capacity[u][at]-room <= closed {
		put(r.set(r.up, k, v), u, false)
		put(r.set(r.sent, k, u), v, false)
	}
}

// carryDown sends amount along the own edges of column u from level top to level bottom.
func (r *residual) carryDown(u, top, bottom int, amount float64) {
	at := u * r.layers
	rooms := r.ownRoom[at+bottom : at+top]
	own := r.own[at+bottom:][:len(rooms)]
	for t, had := range rooms {
		room := had - amount
		rooms[t] = room
		if room <= closed {
			put(r.ownDown[(bottom+t)*r.words:], u, false)
			put(r.ownShut[(bottom+t)*r.words:], u, true)
		}
		if own[t]-had <= closed {
			put(r.ownSent[(bottom+t)*r.words:], u, own[t]-room > closed)
		}
	}
}

// undoCarry removes amount from the own edges of column u between level top and level bottom.
func (r *residual) undoCarry(u, top, bottom int, amount float64) {
	for k := bottom; k < top; k++ {
		at := u*r.layers + k
		r.ownRoom[at] += amount
		put(r.ownDown[k*r.words:], u, r.ownRoom[at] > closed)
		put(r.ownSent[k*r.words:], u, r.own[at]-r.ownRoom[at] > closed)
	}
}

// reset removes all flow from tokens lo..hi.
func (r *residual) reset(lo, hi int) {
	for _, e := range r.touched {
		k, u, v := int(e.k), int(e.u), int(e.v)
		at := r.index(k, u, v)
		c := r.capacity[u][at]
		r.room[u][at] = c
		uv, vu := (u*r.layers+k)*r.words+v>>6, (v*r.layers+k)*r.words+u>>6
		bu, bv := uint64(1)<<(u&63), uint64(1)<<(v&63)
		r.up[vu] &^= bu
		r.sent[uv] &^= bv
		if c > closed {
			r.down[uv] |= bv
			r.into[vu] |= bu
		}
	}
	r.touched = r.touched[:0]
	copy(r.ownRoom[lo*r.layers:(hi+1)*r.layers], r.own[lo*r.layers:])
	// ownShut and not ownSent tells which own edges to restore: one of capacity 1.5e-15 that is
	// half full has no bit in either ownDown or ownSent.
	clear(r.ownSent)
	for i, x := range r.ownShut {
		r.ownShut[i] = 0
		for ; x != 0; x &= x - 1 {
			k, u := i/r.words, i%r.words*64+bits.TrailingZeros64(x)
			put(r.ownDown[k*r.words:], u, r.own[u*r.layers+k] > closed)
		}
	}
}
