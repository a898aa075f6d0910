package maxflow_test

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/bench/flowmaps"
	"github.com/headwater-ml/headwater/internal/maxflow"
)

func minCut(t *testing.T, g *maxflow.Graph, l, i, j int) maxflow.Cut {
	t.Helper()
	cut, err := g.MinCut(context.Background(), l, i, j, nil)
	must(t, err)
	return cut
}

// Two tokens, three layers, of which token 1 gives token 0 a fifth, a tenth and two fifths: all
// reach the sink, so the cut from (3,1) to (0,0) is those edges, from the top down. To itself, what
// is left of the narrowest.
func TestMinCutKnown(t *testing.T) {
	g := maxflow.New(3, 0)
	g.Extend([]float64{1, 0, .4, .6, 1, 0, .1, .9, 1, 0, .2, .8}, 2)
	for _, c := range []struct {
		sink int
		want maxflow.Cut
	}{
		{0, maxflow.Cut{Flow: .7, Edges: []maxflow.Edge{{2, 1, 0, .2}, {1, 1, 0, .1}, {0, 1, 0, .4}}}},
		{1, maxflow.Cut{Flow: .6, Edges: []maxflow.Edge{{0, 1, 1, .6}}}},
	} {
		got := minCut(t, g, 2, 1, c.sink)
		got.Flow = math.Round(got.Flow*1e14) / 1e14
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("cut 1→%d (-want +got):\n%s", c.sink, diff)
		}
	}
	if got := minCut(t, g, 2, 0, 1); got.Flow != 0 || got.Edges != nil {
		t.Errorf("cut to a later token = %+v, want none", got)
	}
}

// Every layer of equal attention to one other token is as narrow as the next: the rule decides
// which is the cut.
func TestMinCutTies(t *testing.T) {
	m := flowmaps.Fill("ties", 4, 2, false, true, func(int, int, []float64) {})
	want := []maxflow.Edge{{3, 1, 1, .75}}
	if diff := cmp.Diff(want, minCut(t, graph(m), 3, 1, 1).Edges); diff != "" {
		t.Errorf("cut among ties (-want +got):\n%s", diff)
	}
}

// TestMinCutExact compares with what the source reaches in exact fractions, which is the rule,
// wherever ties are not broken by rounding: capacities are small multiples of a power of two.
func TestMinCutExact(t *testing.T) {
	for seed := range uint64(60) {
		m := small(seed)
		for at, c := range m.Data {
			m.Data[at] = math.Round(c*16) / 16
		}
		g := graph(m)
		for i := range m.T {
			for j := range m.T {
				l := int(seed) % m.L
				flow, reached := exactFlow(m, l, i, j)
				want, _ := flow.Float64()
				got := minCut(t, g, l, i, j)
				if !(math.Abs(got.Flow-want) <= flowTol) {
					t.Errorf("seed %d: flow (%d,%d)→%d = %v, want %v", seed, l, i, j,
						got.Flow, want)
				}
				if diff := cmp.Diff(edgesOf(m, l, j, reached), got.Edges); diff != "" {
					t.Errorf("seed %d: cut (%d,%d)→%d (-want +got):\n%s", seed, l, i, j, diff)
				}
			}
		}
	}
}

// edgesOf returns the edges that leave a set of nodes for others from which the sink can be
// reached.
func edgesOf(m flowmaps.Maps, l, j int, side []bool) (edges []maxflow.Edge) {
	leads := make([]bool, (l+2)*m.T)
	leads[j] = true
	for k := range l + 1 {
		for u := range m.T {
			for v := range m.T {
				if m.At(k, u, v) > 0 && leads[k*m.T+v] {
					leads[(k+1)*m.T+u] = true
				}
			}
		}
	}
	for k := l; k >= 0; k-- {
		for u := range m.T {
			for v := range m.T {
				if c := m.At(k, u, v); c > 0 && side[(k+1)*m.T+u] && !side[k*m.T+v] &&
					leads[k*m.T+v] {
					edges = append(edges, maxflow.Edge{Layer: k, Target: u, Source: v, Capacity: c})
				}
			}
		}
	}
	return edges
}

// TestMinCutSeparates checks on big networks that a cut is as wide as the flow and that nothing
// passes it.
func TestMinCutSeparates(t *testing.T) {
	for _, m := range someMaps() {
		g := graph(m)
		for _, i := range []int{m.T - 1, m.T / 2} {
			flows := row(t, g, m.L-1, i)
			for j := 0; j <= i; j += 9 {
				cut := minCut(t, g, m.L-1, i, j)
				rest := m
				rest.Data = append([]float64(nil), m.Data...)
				width := 0.0
				for _, e := range cut.Edges {
					if c := m.At(e.Layer, e.Target, e.Source); c != e.Capacity {
						t.Fatalf("%s: edge %+v has capacity %v", m.Name, e, c)
					}
					rest.Data[(e.Layer*m.T+e.Target)*m.T+e.Source] = 0
					width += e.Capacity
				}
				if !(math.Abs(cut.Flow-flows[j]) <= flowTol) ||
					!(math.Abs(width-cut.Flow) <= flowTol) {
					t.Errorf("%s: cut %d→%d is %v wide, its flow %v, that of the row %v", m.Name, i,
						j, width, cut.Flow, flows[j])
				}
				if left := row(t, graph(rest), m.L-1, i)[j]; left > flowTol {
					t.Errorf("%s: without the cut %d→%d %v still flows", m.Name, i, j, left)
				}
			}
		}
	}
}
