package maxflow_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headwater-ml/headwater/internal/bench/flowmaps"
)

// someMaps are networks of all kinds, a little over one word of tokens.
func someMaps() []flowmaps.Maps {
	var all []flowmaps.Maps
	for n, bidirectional := range []bool{false, true} {
		for _, kind := range flowmaps.Kinds {
			all = append(all, flowmaps.New(kind, 6, 67, bidirectional, uint64(n)))
		}
		all = append(all, sharp(6, 67, bidirectional, uint64(n)))
	}
	return all
}

// TestBounds checks rollout ≤ flow ≤ min(1, Σ_k A_1[k,j]), and that after one layer flow is
// attention.
func TestBounds(t *testing.T) {
	for _, m := range someMaps() {
		g := graph(m)
		for _, i := range []int{m.T - 1, m.T / 2} {
			for j, f := range row(t, g, 0, i) {
				if f != m.At(0, i, j) {
					t.Errorf("%s: flow %d→%d after one layer = %v, want %v", m.Name, i, j, f,
						m.At(0, i, j))
				}
			}
			rollout := make([]float64, m.T) // e_i A_L … A_1
			rollout[i] = 1
			for l := m.L - 1; l >= 0; l-- {
				next := make([]float64, m.T)
				for u, r := range rollout {
					for v := range next {
						next[v] += r * m.At(l, u, v)
					}
				}
				rollout = next
			}
			for j, f := range row(t, g, m.L-1, i) {
				column := 0.0
				for k := range m.T {
					column += m.At(0, k, j)
				}
				if f < rollout[j]-flowTol || f > min(1, column)+flowTol {
					t.Errorf("%s: %v ≤ flow %d→%d = %v ≤ min(1,%v) does not hold", m.Name,
						rollout[j], i, j, f, column)
				}
			}
		}
	}
}

// TestReversed turns a network upside down: the flow from j to i through the transposed layers in
// the opposite order is that from i to j. Source and sink are dealt with by different code.
func TestReversed(t *testing.T) {
	for _, m := range someMaps() {
		back := m
		back.Prefix, back.Data = m.T, make([]float64, len(m.Data))
		for l := range m.L {
			for u := range m.T {
				for v := range m.T {
					back.Data[((m.L-1-l)*m.T+v)*m.T+u] = m.At(l, u, v)
				}
			}
		}
		forth, reversed := graph(m), graph(back)
		for _, i := range []int{m.T - 1, m.T / 3} {
			for j, f := range row(t, forth, m.L-1, i) {
				if j%16 != i%16 {
					continue
				}
				if r := row(t, reversed, m.L-1, j)[i]; !(math.Abs(f-r) <= flowTol) {
					t.Errorf("%s, prefix %d: flow %d→%d = %.17g, reversed %.17g", m.Name,
						m.Prefix, i, j, f, r)
				}
			}
		}
	}
}

// TestScaled multiplies all capacities by a power of two, which multiplies flows by it.
func TestScaled(t *testing.T) {
	for _, m := range someMaps() {
		double := m
		double.Data = make([]float64, len(m.Data))
		for at, c := range m.Data {
			double.Data[at] = 2 * c
		}
		want, got := row(t, graph(m), 5, 66), row(t, graph(double), 5, 66)
		for j := range want {
			if !(math.Abs(got[j]-2*want[j]) <= flowTol) {
				t.Errorf("%s: flow to %d = %v with double capacities, %v without", m.Name, j,
					got[j], want[j])
			}
		}
	}
}

// TestPermuted renames the tokens of a bidirectional network.
func TestPermuted(t *testing.T) {
	for _, m := range someMaps() {
		if m.Prefix == 0 {
			continue
		}
		perm := rand.New(rand.NewPCG(1, 9)).Perm(m.T)
		other := m
		other.Data = make([]float64, len(m.Data))
		for l := range m.L {
			for u := range m.T {
				for v := range m.T {
					other.Data[(l*m.T+perm[u])*m.T+perm[v]] = m.At(l, u, v)
				}
			}
		}
		want, got := row(t, graph(m), 5, 3), row(t, graph(other), 5, perm[3])
		for j := range want {
			if !(math.Abs(got[perm[j]]-want[j]) <= flowTol) {
				t.Errorf("%s: flow to %d = %v, renamed %v", m.Name, j, want[j], got[perm[j]])
			}
		}
	}
}

// TestWider adds to one capacity: no flow falls, and none rises by more.
func TestWider(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, m := range someMaps() {
		wide := m
		wide.Data = append([]float64(nil), m.Data...)
		u := rng.IntN(m.T)
		wide.Data[(rng.IntN(m.L)*m.T+u)*m.T+rng.IntN(u+1)] += 0.25
		want, got := row(t, graph(m), 5, 66), row(t, graph(wide), 5, 66)
		for j := range want {
			if got[j] < want[j]-flowTol || got[j] > want[j]+0.25+flowTol {
				t.Errorf("%s: flow to %d = %v, was %v before an edge got 0.25 wider", m.Name, j,
					got[j], want[j])
			}
		}
	}
}
