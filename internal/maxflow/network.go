package maxflow

import "math"

// block is the number of rows in one tile of columns.
const block = 64

// network stores the capacities. Edge (l,u,v) leads from token u at level l+1 to token v at level
// l; if v is u it is an own edge. Everything is stored token by token, so that new tokens are
// appended.
type network struct {
	layers, tokens int
	// prefix is how many tokens at the beginning have edges to each other.
	prefix int
	// capacity[u] is [L,width(u)]: the edges of token u.
	capacity [][]float64
	// own, [T,L], has the capacities of own edges. middle, [T,L], has the smallest of those in
	// layers 1..l, infinite for l = 0.
	own, middle []float64
	// tiles[b], [T,L,block], has rows 64b..64b+63 by columns, so that all targets of a source are
	// adjacent in memory.
	tiles [][]float64
}

// width returns the number of tokens that token u has edges to.
func (n *network) width(u int) int {
	return max(u+1, min(n.prefix, n.tokens))
}

// index returns the index of edge (l,u,v) in capacity[u].
func (n *network) index(l, u, v int) int { return l*n.width(u) + v }

// edge returns the capacity of edge (l,u,v).
func (n *network) edge(l, u, v int) float64 { return n.capacity[u][n.index(l, u, v)] }

// row returns row u of layer l, [width].
func (n *network) row(l, u int) []float64 {
	at, w := n.index(l, u, 0), n.width(u)
	return n.capacity[u][at : at+w : at+w]
}

// column returns the capacities of edges (l,u,v) for the tokens u of tile b, [block].
func (n *network) column(l, v, b int) []float64 {
	at := (v*n.layers + l) * block
	return n.tiles[b][at : at+block : at+block]
}

// grow adds count tokens; see [Graph.Extend].
func (n *network) grow(rows []float64, count int) {
	first := n.tokens
	n.tokens += count
	n.own = append(n.own, make([]float64, count*n.layers)...)
	n.middle = append(n.middle, make([]float64, count*n.layers)...)
	for k := range count {
		u := first + k
		n.capacity = append(n.capacity, make([]float64, n.layers*n.width(u)))
		if u%block == 0 {
			n.tiles = append(n.tiles, make([]float64, n.width(u+block-1)*n.layers*block))
		}
		for l := range n.layers {
			n.setRow(l, u, rows[(l*count+k)*n.tokens:][:n.width(u)])
		}
	}
}

// setRow sets the capacities of row u of layer l, in all tables.
func (n *network) setRow(l, u int, capacities []float64) {
	row, tile := n.row(l, u), n.tiles[u/block][l*block+u%block:]
	for v, c := range capacities {
		if !(c >= 0) || math.IsInf(c, 1) {
			c = 0
		}
		row[v] = c
		tile[v*n.layers*block] = c
	}
	own, middle := n.own[u*n.layers:(u+1)*n.layers], n.middle[u*n.layers:(u+1)*n.layers]
	own[l] = row[u]
	middle[0] = math.Inf(1)
	for k := 1; k < n.layers; k++ {
		middle[k] = min(middle[k-1], own[k])
	}
}
