package maxflow_test

import (
	"math"
	"math/big"

	"github.com/headwater-ml/headwater/internal/bench/flowmaps"
)

// exactFlow is Edmonds and Karp's algorithm in fractions of the float64 capacities: shortest
// augmenting paths until there is none. It also returns which nodes, k·T+u, the source still
// reaches.
func exactFlow(m flowmaps.Maps, l, i, j int) (flow *big.Rat, reached []bool) {
	n := (l + 2) * m.T
	room := make([]*big.Rat, n*n)
	for k := range room {
		room[k] = new(big.Rat)
	}
	for k := range l + 1 {
		for u := range m.T {
			for v := range m.T {
				room[((k+1)*m.T+u)*n+k*m.T+v].SetFloat64(m.At(k, u, v))
			}
		}
	}
	source, total := (l+1)*m.T+i, new(big.Rat)
	for {
		from := shortestPaths(room, n, source)
		if from[j] < 0 {
			reached = make([]bool, n)
			for v := range from {
				reached[v] = from[v] >= 0
			}
			return total, reached
		}
		least := new(big.Rat).SetInt64(1 << 40)
		for v := j; v != source; v = from[v] {
			if r := room[from[v]*n+v]; r.Cmp(least) < 0 {
				least.Set(r)
			}
		}
		for v := j; v != source; v = from[v] {
			room[from[v]*n+v].Sub(room[from[v]*n+v], least)
			room[v*n+from[v]].Add(room[v*n+from[v]], least)
		}
		total.Add(total, least)
	}
}

// shortestPaths returns the predecessor of every node, -1 where the source does not reach.
func shortestPaths(room []*big.Rat, n, source int) []int {
	from := make([]int, n)
	for v := range from {
		from[v] = -1
	}
	from[source] = source
	for queue := []int{source}; len(queue) > 0; queue = queue[1:] {
		for v := range n {
			if from[v] < 0 && room[queue[0]*n+v].Sign() > 0 {
				from[v] = queue[0]
				queue = append(queue, v)
			}
		}
	}
	return from
}

// plain is the textbook form of Dinic's algorithm, on lists of edges, with a residual tolerance far
// below that of the code under test.
type plain struct {
	maps       flowmaps.Maps
	head       [][]int32
	to         []int32
	full, room []float64
	dist, next []int
	queue      []int32
}

const plainTol = 1e-17

func newPlain(m flowmaps.Maps) *plain {
	n := (m.L + 1) * m.T
	d := &plain{maps: m, head: make([][]int32, n), dist: make([]int, n), next: make([]int, n)}
	for k := range m.L {
		for u := range m.T {
			for v := range m.T {
				if c := m.At(k, u, v); c > 0 {
					d.add((k+1)*m.T+u, k*m.T+v, c)
				}
			}
		}
	}
	d.room = make([]float64, len(d.full))
	return d
}

func (d *plain) add(u, v int, c float64) {
	d.head[u] = append(d.head[u], int32(len(d.to)))
	d.head[v] = append(d.head[v], int32(len(d.to)+1))
	d.to = append(d.to, int32(v), int32(u))
	d.full = append(d.full, c, 0)
}

func (d *plain) flow(l, i, j int) float64 {
	copy(d.room, d.full)
	source, total := (l+1)*d.maps.T+i, 0.0
	for d.search(source, j) {
		clear(d.next)
		for {
			p := d.augment(source, j, math.Inf(1))
			if p <= plainTol {
				break
			}
			total += p
		}
	}
	return total
}

func (d *plain) search(source, sink int) bool {
	clear(d.dist)
	d.dist[source] = 1
	d.queue = append(d.queue[:0], int32(source))
	for at := 0; at < len(d.queue) && d.dist[sink] == 0; at++ {
		u := d.queue[at]
		for _, e := range d.head[u] {
			if v := d.to[e]; d.room[e] > plainTol && d.dist[v] == 0 {
				d.dist[v] = d.dist[u] + 1
				d.queue = append(d.queue, v)
			}
		}
	}
	return d.dist[sink] > 0
}

func (d *plain) augment(u, sink int, limit float64) float64 {
	if u == sink {
		return limit
	}
	for ; d.next[u] < len(d.head[u]); d.next[u]++ {
		e := d.head[u][d.next[u]]
		v := int(d.to[e])
		if d.room[e] <= plainTol || d.dist[v] != d.dist[u]+1 {
			continue
		}
		if p := d.augment(v, sink, min(limit, d.room[e])); p > plainTol {
			d.room[e] -= p
			d.room[e^1] += p
			return p
		}
	}
	return 0
}
