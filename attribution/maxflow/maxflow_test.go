package maxflow_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/headwater-ml/headwater/attribution/maxflow"
)

// flowTol is the error allowed against independent solvers; the worst seen is 6e-15.
const flowTol = 1e-12

// maps is L layers of T rows, [L,T,T].
type maps struct {
	name          string
	L, T          int
	bidirectional bool
	data          []float64
}

func (m maps) at(l, i, j int) float64 { return m.data[(l*m.T+i)*m.T+j] }

// newMaps fills rows with weight(l,i,j) for visible j, normalises them and adds ½ residual if asked.
func newMaps(name string, L, T int, bidirectional, residual bool, weight func(l, i, j int) float64) maps {
	m := maps{name: name, L: L, T: T, bidirectional: bidirectional, data: make([]float64, L*T*T)}
	for l := range L {
		for i := range T {
			row := m.data[(l*T+i)*T:][:T]
			sum := 0.0
			for j := range row {
				if bidirectional || j <= i {
					row[j] = weight(l, i, j)
					sum += row[j]
				}
			}
			for j := range row {
				if sum > 0 {
					row[j] /= sum
				}
				if residual {
					row[j] /= 2
				}
			}
			if residual {
				row[i] += 0.5
			}
		}
	}
	return m
}

// gamma has weights of Marsaglia and Tsang's gamma distribution of that shape: the smaller, the sharper.
func gamma(seed uint64, shape float64) func(l, i, j int) float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(int, int, int) float64 { return sampleGamma(rng, shape) }
}

func sampleGamma(rng *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return sampleGamma(rng, shape+1) * math.Pow(rng.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	for {
		x := rng.NormFloat64()
		v := math.Pow(1+x/math.Sqrt(9*d), 3)
		if v > 0 && math.Log(rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// sink puts 90 % on token 0, previous 70 % on the token before; the rest is sharp noise.
func sink(seed uint64) func(l, i, j int) float64 {
	return mostly(seed, 0.9, func(int) int { return 0 })
}
func previous(seed uint64) func(l, i, j int) float64 { return mostly(seed, 0.7, before) }
func before(i int) int                               { return max(i-1, 0) }

func mostly(seed uint64, share float64, where func(i int) int) func(l, i, j int) float64 {
	noise := gamma(seed, 0.3)
	return func(l, i, j int) float64 {
		w := (1 - share) * noise(l, i, j)
		if j == where(i) {
			w += share
		}
		return w
	}
}

func (m maps) graph() *maxflow.Graph {
	g := maxflow.New(m.L, m.bidirectional)
	g.Extend(m.data, m.T)
	return g
}

func row(t testing.TB, g *maxflow.Graph, l, i int) []float64 {
	t.Helper()
	r, err := g.Row(context.Background(), nil, l, i, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestExact compares every pair of small networks with Edmonds and Karp's algorithm in exact fractions.
func TestExact(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 7))
		L, T := 1+int(seed%5), 1+rng.IntN(5)
		weight := func(int, int, int) float64 { return float64(rng.IntN(4)) } // zeros and ties
		m := newMaps("small", L, T, seed%2 == 1, seed%3 > 0, weight)
		g := m.graph()
		for l := range L {
			for i := range T {
				got := row(t, g, l, i)
				for j := range T {
					want, _ := edmondsKarp(m, l, i, j).Float64()
					if math.Abs(got[j]-want) > flowTol {
						t.Errorf("seed %d: L=%d T=%d flow (%d,%d)→%d = %.17g, want %.17g", seed, L, T, l, i, j, got[j], want)
					}
				}
			}
		}
	}
}

// edmondsKarp augments along shortest paths until there is none, in fractions of the float64 capacities.
func edmondsKarp(m maps, l, i, j int) *big.Rat {
	n := (l + 2) * m.T
	room := make([]*big.Rat, n*n)
	for k := range room {
		room[k] = new(big.Rat)
	}
	for k := range l + 1 {
		for u := range m.T {
			for v := range m.T {
				room[((k+1)*m.T+u)*n+k*m.T+v].SetFloat64(m.at(k, u, v))
			}
		}
	}
	source, sink, total := (l+1)*m.T+i, j, new(big.Rat)
	for {
		from := shortestPath(room, n, source, sink)
		if from[sink] < 0 {
			return total
		}
		least := new(big.Rat).SetInt64(1 << 40)
		for v := sink; v != source; v = from[v] {
			if r := room[from[v]*n+v]; r.Cmp(least) < 0 {
				least.Set(r)
			}
		}
		for v := sink; v != source; v = from[v] {
			room[from[v]*n+v].Sub(room[from[v]*n+v], least)
			room[v*n+from[v]].Add(room[v*n+from[v]], least)
		}
		total.Add(total, least)
	}
}

// shortestPath returns the predecessor of every node, -1 where the source does not reach.
func shortestPath(room []*big.Rat, n, source, sink int) []int {
	from := make([]int, n)
	for v := range from {
		from[v] = -1
	}
	from[source] = source
	for queue := []int{source}; len(queue) > 0 && from[sink] < 0; queue = queue[1:] {
		for v := range n {
			if from[v] < 0 && room[queue[0]*n+v].Sign() > 0 {
				from[v] = queue[0]
				queue = append(queue, v)
			}
		}
	}
	return from
}

// TestLarge compares pairs of big and sharp networks, where phantom edges once hid, with a plain Dinic.
func TestLarge(t *testing.T) {
	sets := []maps{
		newMaps("sharp", 12, 64, false, true, gamma(1, 0.1)),
		newMaps("middle", 6, 64, false, true, gamma(2, 0.4)),
		newMaps("smooth", 12, 64, false, true, gamma(3, 2)),
		newMaps("previous", 12, 64, false, true, previous(4)),
		newMaps("sink", 12, 64, false, true, sink(5)),
		newMaps("sink", 6, 64, false, true, sink(6)),
		newMaps("sink", 12, 130, false, true, sink(7)),
		newMaps("sharp", 24, 70, false, true, gamma(8, 0.1)),
		newMaps("no residual", 8, 66, false, false, gamma(9, 0.2)),
		newMaps("bidirectional sharp", 6, 40, true, true, gamma(10, 0.1)),
		newMaps("bidirectional sink", 6, 66, true, true, sink(11)),
		newMaps("bidirectional, no residual", 5, 30, true, false, gamma(12, 0.3)),
	}
	for _, m := range sets {
		t.Run(fmt.Sprintf("%s/L=%d/n=%d", m.name, m.L, m.T), func(t *testing.T) {
			g, worst := m.graph(), 0.0
			for _, i := range []int{m.T - 1, m.T / 2} {
				got := row(t, g, m.L-1, i)
				for j := 0; j < m.T; j += m.T/7 + 1 {
					want := plainDinic(m, m.L-1, i, j)
					worst = max(worst, math.Abs(got[j]-want))
					if !(math.Abs(got[j]-want) <= flowTol) {
						t.Errorf("flow %d→%d = %.17g, want %.17g", i, j, got[j], want)
					}
				}
			}
			t.Logf("worst %g", worst)
		})
	}
}

// plainDinic is the textbook algorithm on a list of edges, residual tolerance 1e-17.
func plainDinic(m maps, l, i, j int) float64 {
	const eps = 1e-17
	d := &dinic{head: make([][]int, (l+2)*m.T)}
	for k := range l + 1 {
		for u := range m.T {
			for v := range m.T {
				if c := m.at(k, u, v); c > 0 {
					d.add((k+1)*m.T+u, k*m.T+v, c)
				}
			}
		}
	}
	total := 0.0
	for d.levels((l+1)*m.T+i, j, eps) {
		d.next = make([]int, len(d.head))
		for {
			p := d.augment((l+1)*m.T+i, j, math.Inf(1), eps)
			if p <= eps {
				break
			}
			total += p
		}
	}
	return total
}

type dinic struct {
	head [][]int
	to   []int
	room []float64
	dist []int
	next []int
}

func (d *dinic) add(u, v int, c float64) {
	d.head[u] = append(d.head[u], len(d.to))
	d.head[v] = append(d.head[v], len(d.to)+1)
	d.to = append(d.to, v, u)
	d.room = append(d.room, c, 0)
}

func (d *dinic) levels(s, t int, eps float64) bool {
	d.dist = make([]int, len(d.head))
	d.dist[s] = 1
	for queue := []int{s}; len(queue) > 0; queue = queue[1:] {
		for _, e := range d.head[queue[0]] {
			if d.room[e] > eps && d.dist[d.to[e]] == 0 {
				d.dist[d.to[e]] = d.dist[queue[0]] + 1
				queue = append(queue, d.to[e])
			}
		}
	}
	return d.dist[t] > 0
}

func (d *dinic) augment(u, t int, limit, eps float64) float64 {
	if u == t {
		return limit
	}
	for ; d.next[u] < len(d.head[u]); d.next[u]++ {
		e := d.head[u][d.next[u]]
		if d.room[e] <= eps || d.dist[d.to[e]] != d.dist[u]+1 {
			continue
		}
		if p := d.augment(d.to[e], t, min(limit, d.room[e]), eps); p > eps {
			d.room[e] -= p
			d.room[e^1] += p
			return p
		}
	}
	return 0
}

// TestGrowth adds tokens one by one, across the border of a word, and compares with all at once, bit for bit.
func TestGrowth(t *testing.T) {
	m := newMaps("sharp", 4, 70, false, true, gamma(1, 0.2))
	grown, whole := maxflow.New(m.L, false), m.graph()
	for i := range m.T {
		var rows []float64
		for l := range m.L {
			rows = append(rows, m.data[(l*m.T+i)*m.T:][:i+1]...)
		}
		grown.Extend(rows, 1)
		if i%10 != 9 {
			continue
		}
		got, want := row(t, grown, m.L-1, i), row(t, whole, m.L-1, i)[:i+1]
		for j := range want {
			if got[j] != want[j] {
				t.Fatalf("flow %d→%d = %v after growth, %v at once", i, j, got[j], want[j])
			}
		}
	}
}

func TestTopRow(t *testing.T) {
	m := newMaps("sharp", 4, 12, false, true, gamma(1, 0.2))
	other := newMaps("other", 4, 12, false, true, gamma(2, 0.2))
	g := m.graph()
	top := other.data[(2*12+9)*12:][:12]
	got, err := g.Row(context.Background(), nil, 2, 9, top)
	if err != nil {
		t.Fatal(err)
	}
	copy(m.data[(2*12+9)*12:][:12], top)
	for j, want := range row(t, m.graph(), 2, 9) {
		if got[j] != want {
			t.Errorf("flow to %d with another top row = %v, want %v", j, got[j], want)
		}
	}
}

func TestCancel(t *testing.T) {
	m := newMaps("sharp", 4, 12, false, true, gamma(1, 0.2))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.graph().Row(ctx, nil, 3, 11, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Row after cancel returned %v", err)
	}
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"no layers":    func() { maxflow.New(0, false) },
		"short rows":   func() { maxflow.New(2, false).Extend(make([]float64, 3), 2) },
		"second batch": func() { g := maxflow.New(1, true); g.Extend([]float64{1}, 1); g.Extend([]float64{1, 0}, 1) },
		"no such row":  func() { _, _ = maxflow.New(1, false).Row(context.Background(), nil, 0, 0, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// BenchmarkRow is one row at the top level, all sinks: what one generated token costs.
func BenchmarkRow(b *testing.B) {
	for _, m := range []maps{
		newMaps("gamma0.1", 12, 64, false, true, gamma(1, 0.1)),
		newMaps("gamma0.4", 12, 64, false, true, gamma(2, 0.4)),
		newMaps("gamma2.0", 12, 64, false, true, gamma(3, 2)),
		newMaps("previous", 12, 64, false, true, previous(4)),
		newMaps("sink90", 12, 64, false, true, sink(5)),
	} {
		b.Run(fmt.Sprintf("%s/L=%d/n=%d", m.name, m.L, m.T), func(b *testing.B) {
			g, dst := m.graph(), make([]float64, 0, m.T)
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = g.Row(context.Background(), dst[:0], m.L-1, m.T-1, nil)
			}
		})
	}
}
