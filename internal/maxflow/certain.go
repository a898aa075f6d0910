package maxflow

import (
	"context"
	"fmt"
	"math"
)

// certain is Dinic's algorithm as in textbooks, for a pair whose flow the solver could not prove.
// It is slow and allocates its memory for each pair, but it always ends. Nodes are (k,u). Every
// edge is a step, own edges too, and an edge can be used until its residual capacity is exactly 0.
//
// It ends in spite of rounding. A path sends the residual capacity of its narrowest edge, and x - x
// is exactly 0, so each path closes an edge. Within a phase, edges open only against the direction
// of the search. So a phase has at most as many paths as there are edges in both directions. After
// a phase every path is longer, so the distance of the sink grows, and it is less than the number
// of nodes.
type certain struct {
	*network
	pair
	// room and sent, [T] of [L,width], are the residual capacity and the flow of edges. Both are
	// stored, because their sum equals the capacity only up to rounding.
	room, sent [][]float64
	// dist, [L+2,T], is the distance from the source plus 1, or 0 if a node is not reached. next is
	// the next edge to try at each node.
	dist, next []int
	queue      []int
}

// solve returns the flow of the pair, or an error that wraps ctx.Err() or says that no cut proves
// it.
func (c *certain) solve(ctx context.Context) (float64, error) {
	c.room, c.sent = make([][]float64, c.tokens), make([][]float64, c.tokens)
	for u := c.lo; u <= c.hi; u++ {
		c.room[u] = append([]float64(nil), c.capacity[u]...)
		c.sent[u] = make([]float64, len(c.room[u]))
	}
	c.dist, c.next = make([]int, (c.l+2)*c.tokens), make([]int, (c.l+2)*c.tokens)
	total := 0.0
	for c.search(0) {
		clear(c.next)
		for {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			amount := c.push(c.l+1, c.i, math.Inf(1))
			if amount == 0 {
				break
			}
			total += amount
		}
	}
	if width := c.cutWidth(); !c.proves(width, total) {
		return 0, fmt.Errorf("found a flow of %v and a cut of %v, which should be equal: "+
			"the capacities are too large or too far apart for float64", total, width)
	}
	return total, nil
}

// search labels the nodes that the source reaches by edges with a residual capacity above least,
// and returns whether the sink is among them.
func (c *certain) search(least float64) bool {
	clear(c.dist)
	c.queue = append(c.queue[:0], (c.l+1)*c.tokens+c.i)
	c.dist[c.queue[0]] = 1
	for at := 0; at < len(c.queue); at++ {
		n := c.queue[at]
		k, u := n/c.tokens, n%c.tokens
		for e := 0; ; e++ {
			to, room, _ := c.edgeFrom(k, u, e)
			if to < 0 {
				break
			}
			if room != nil && *room > least && c.dist[to] == 0 {
				c.dist[to] = c.dist[n] + 1
				c.queue = append(c.queue, to)
			}
		}
	}
	return c.dist[c.j] > 0
}

// edgeFrom returns edge e of node (k,u): the token it leads to, its residual capacity, and that of
// the reverse edge. The edges down to tokens lo..hi come first, then the reverse edges up. to is
// negative after the last edge; room is nil if there is no such edge. No edge leads back to the
// source, none leaves level 0, and none leads to another sink.
func (c *certain) edgeFrom(k, u, e int) (to int, room, back *float64) {
	n := c.hi - c.lo + 1
	v := c.lo + e%n
	switch {
	case e >= 2*n || k == 0:
		return -1, nil, nil
	case e < n:
		if v < c.width(u) && (k > 1 || v == c.j) {
			at := c.index(k-1, u, v)
			return (k-1)*c.tokens + v, &c.room[u][at], &c.sent[u][at]
		}
	case k < c.l && u < c.width(v):
		at := c.index(k, v, u)
		return (k+1)*c.tokens + v, &c.sent[v][at], &c.room[v][at]
	}
	return 0, nil, nil
}

// push sends flow along one shortest path from node (k,u) to the sink, at most limit, and returns
// how much. It returns 0 if there is no such path.
func (c *certain) push(k, u int, limit float64) float64 {
	if k == 0 {
		return limit
	}
	n := k*c.tokens + u
	for ; ; c.next[n]++ {
		to, room, back := c.edgeFrom(k, u, c.next[n])
		if to < 0 {
			return 0
		}
		if room == nil || *room <= 0 || c.dist[to] != c.dist[n]+1 {
			continue
		}
		if amount := c.push(to/c.tokens, to%c.tokens, min(limit, *room)); amount > 0 {
			*room -= amount
			*back += amount
			return amount
		}
	}
}

// cutWidth returns the width of the cut between the nodes that the last search reached and the
// others.
func (c *certain) cutWidth() float64 {
	sum := 0.0
	for k := range c.l + 1 {
		for u := c.lo; u <= c.hi; u++ {
			if c.dist[(k+1)*c.tokens+u] == 0 {
				continue
			}
			for v, capacity := range c.row(k, u)[:min(c.hi+1, c.width(u))] {
				if v >= c.lo && (k > 0 || v == c.j) && c.dist[k*c.tokens+v] == 0 {
					sum += capacity
				}
			}
		}
	}
	return sum
}

// side returns the nodes that the last search reached, as sets of that many words for each level.
func (c *certain) side(words int) []uint64 {
	side := make([]uint64, (c.layers+2)*words)
	for n, dist := range c.dist {
		if dist > 0 {
			put(side[n/c.tokens*words:], n%c.tokens, true)
		}
	}
	return side
}
