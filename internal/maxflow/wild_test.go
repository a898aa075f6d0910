package maxflow_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/headwater-ml/headwater/internal/bench/flowmaps"
	"github.com/headwater-ml/headwater/internal/maxflow"
)

// edgesGraph returns a network of the edges given and the same as maps.
func edgesGraph(
	L, T int, bidirectional bool, edges []maxflow.Edge,
) (*maxflow.Graph, flowmaps.Maps) {
	m := flowmaps.Maps{L: L, T: T, Data: make([]float64, L*T*T)}
	if bidirectional {
		m.Prefix = T
	}
	for _, e := range edges {
		m.Data[(e.Layer*T+e.Target)*T+e.Source] = e.Capacity
	}
	return graph(m), m
}

// On an edge of capacity 1, a flow of a little more than 1e-15 is a little less than that by
// rounding, as between 1-1e-15 and 1 there are nine numbers. In both networks the first path sends
// such a flow over such an edge, from (3,2) to (2,0) and from (3,1) to (2,1), where the only path
// that is left seems to take it back. It cannot, and the search once tried it forever. The flows
// are ½ and that little.
func TestPhantomEdge(t *testing.T) {
	for _, c := range []struct {
		name          string
		bidirectional bool
		L, T, i, j    int
		little        float64
		edges         []maxflow.Edge
	}{
		{"encoder", true, 4, 6, 1, 4, 1.0364806066601263e-15, []maxflow.Edge{
			{3, 1, 2, 1.0364806066601263e-15},
			{3, 1, 3, 1},
			{2, 2, 0, 1},
			{2, 2, 2, 1},
			{2, 3, 0, 1},
			{1, 0, 0, 1},
			{1, 2, 5, 1},
			{0, 0, 4, .5},
			{0, 5, 4, 1},
		}},
		{"decoder", false, 5, 5, 4, 0, 1.0000456037961073e-15, []maxflow.Edge{
			{4, 4, 2, 1.0000456037961073e-15},
			{4, 4, 3, 1},
			{3, 2, 0, 1},
			{3, 2, 1, 1},
			{3, 3, 0, 1},
			{2, 0, 0, .5},
			{2, 1, 1, 1},
			{1, 0, 0, 1},
			{1, 1, 0, 1},
			{0, 0, 0, 1},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, _ := edgesGraph(c.L, c.T, c.bidirectional, c.edges)
			got, err := g.Solve(c.L-1, c.i, c.j)
			must(t, err)
			if want := .5 + c.little; !(math.Abs(got.Flow-want) <= 2e-15) || got.Unproved {
				t.Errorf("flow %d→%d = %+v, want %v and proved", c.i, c.j, got, want)
			}
			cut, err := g.MinCut(context.Background(), c.L-1, c.i, c.j, nil)
			if err != nil || !(math.Abs(cut.Flow-.5) <= 2e-15) {
				t.Errorf("cut %d→%d = %+v, %v, want a flow of 0.5", c.i, c.j, cut, err)
			}
		})
	}
}

// Pairs of sharp maps whose flow had phantom edges and did not end.
func TestPhantomMaps(t *testing.T) {
	for _, c := range []struct {
		seed    uint64
		l, i, j int
	}{
		{974, 3, 10, 3},
		{1211, 4, 21, 3},
		{1271, 3, 36, 2},
		{1328, 3, 13, 0},
		{1467, 6, 25, 19},
		{1491, 6, 9, 4},
	} {
		m := wild(40, c.seed)
		got, err := graph(m).Solve(c.l, c.i, c.j)
		want := newPlain(m).flow(c.l, c.i, c.j)
		if err != nil || got.Unproved || !(math.Abs(got.Flow-want) <= flowTol) {
			t.Errorf("seed %d: %s: flow (%d,%d)→%d = %+v, %v, want %v and proved",
				c.seed, m.Name, c.l, c.i, c.j, got, err, want)
		}
	}
}

// wildMaps is how many maps TestWild tries, how big they are, and of how many pairs one is
// compared.
func wildMaps(t *testing.T) (count, most, each int) {
	s := os.Getenv("HEADWATER_FLOW_MAPS")
	if s == "" {
		return 1000, 40, 8
	}
	count, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("HEADWATER_FLOW_MAPS: %v", err)
	}
	return count, 70, 64
}

// TestWild solves pairs of maps of all scales: the last token after the last layer and two others,
// to all tokens. None may be left to the slow algorithm, which says that no phase sent nothing, and
// the phases must stay far from their limit. Some pairs are compared with a plain Dinic, and so are
// cuts. HEADWATER_FLOW_MAPS is how many maps; then they are bigger.
func TestWild(t *testing.T) {
	maps, most, each := wildMaps(t)
	var pairs, solved, compared, phases int
	var part, gap, worst float64
	for seed := range uint64(maps) {
		m := wild(most, seed)
		g, reference, rng := graph(m), newPlain(m), rand.New(rand.NewPCG(seed, 6))
		l, i := m.L-1, m.T-1
		for range 3 {
			for j := range m.T {
				got, err := g.Solve(l, i, j)
				if err != nil || got.Unproved || got.Phases > (got.Limit+1)/2 {
					t.Fatalf("seed %d: %s: flow (%d,%d)→%d = %+v, %v", seed, m.Name, l, i, j,
						got, err)
				}
				if pairs++; got.Phases > 0 {
					solved++
					phases = max(phases, got.Phases)
					part = max(part, float64(got.Phases)/float64(got.Limit))
				}
				gap = max(gap, math.Abs(got.Gap))
				if rng.IntN(each) > 0 {
					continue
				}
				compared++
				want := reference.flow(l, i, j)
				worst = max(worst, math.Abs(got.Flow-want))
				if !(math.Abs(got.Flow-want) <= flowTol) {
					t.Errorf("seed %d: %s: flow (%d,%d)→%d = %.17g, want %.17g",
						seed, m.Name, l, i, j, got.Flow, want)
				}
			}
			if rng.IntN(each) >= 8 {
				l, i = rng.IntN(m.L), rng.IntN(m.T)
				continue
			}
			j := rng.IntN(m.T)
			want := reference.flow(l, i, j)
			cut, err := g.MinCut(context.Background(), l, i, j, nil)
			width := 0.0
			for _, e := range cut.Edges {
				width += e.Capacity
			}
			if err != nil || !(math.Abs(cut.Flow-want) <= flowTol) ||
				!(math.Abs(width-want) <= flowTol) {
				t.Errorf(
					"seed %d: %s: cut (%d,%d)→%d of flow %.17g and width %.17g, %v, want %.17g",
					seed, m.Name, l, i, j, cut.Flow, width, err, want,
				)
			}
			l, i = rng.IntN(m.L), rng.IntN(m.T)
		}
	}
	t.Logf("%d maps, %d pairs, %d by the solver, at most %d phases and %.2g of their limit; "+
		"widest gap of a certificate %.2g; %d compared, worst error %.2g",
		maps, pairs, solved, phases, part, gap, compared, worst)
}

// TestUntouched checks that pairs leave nothing of their flow to the next one.
func TestUntouched(t *testing.T) {
	for seed := range uint64(300) {
		m := wild(20, seed)
		g := graph(m)
		for i := range m.T {
			for j := range m.T {
				if _, err := g.Solve(m.L-1, i, j); err != nil {
					t.Fatal(err)
				}
			}
			if !g.Untouched() {
				t.Fatalf("seed %d: %s: flows from %d left something behind", seed, m.Name, i)
			}
		}
	}
}

// TestCertain compares the slow algorithm, which the solver falls back on, with the reference.
func TestCertain(t *testing.T) {
	for seed := range uint64(200) {
		m := wild(14, 1000+seed)
		g, reference := graph(m), newPlain(m)
		l := m.L - 1 - int(seed)%2
		for i := range m.T {
			for j := range m.T {
				got, err := g.Certain(context.Background(), l, i, j)
				want := reference.flow(l, i, j)
				if err != nil || !(math.Abs(got-want) <= flowTol) {
					t.Errorf("seed %d: %s: flow (%d,%d)→%d = %.17g, %v, want %.17g",
						seed, m.Name, l, i, j, got, err, want)
				}
			}
		}
	}
}

// A bit that is wrong, as it was on phantom edges, must cost time only: with one too many a phase
// sends nothing, and with one too few the flow is short of its cut. Both are seen, and the slow
// algorithm finds the flow, for rows and cuts. The paths are 0.1 by (2,1), (1,0) and 0.2 by (2,2),
// (1,1): 0.3.
func TestFallback(t *testing.T) {
	edges := []maxflow.Edge{
		{3, 3, 2, .6},
		{2, 2, 1, .1},
		{2, 2, 2, .2},
		{1, 0, 0, .5},
		{1, 1, 0, .4},
		{1, 2, 1, .5},
		{0, 0, 0, .4},
		{0, 1, 0, .3},
	}
	for _, c := range []struct {
		name    string
		k, u, v int
		in      bool
	}{
		{"a bit too many", 2, 2, 0, true},
		{"a bit too few", 2, 2, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, _ := edgesGraph(4, 4, false, edges)
			good, err := g.Solve(3, 3, 0)
			if err != nil || good.Unproved || !(math.Abs(good.Flow-.3) <= 1e-15) {
				t.Fatalf("flow = %+v, %v, want 0.3", good, err)
			}
			want := minCut(t, g, 3, 3, 0).Edges
			g.Break(c.k, c.u, c.v, c.in)
			got, err := g.Solve(3, 3, 0)
			if err != nil || !got.Unproved || !(math.Abs(got.Flow-.3) <= 1e-15) {
				t.Errorf("flow with %s = %+v, %v, want 0.3 by the slow algorithm", c.name, got, err)
			}
			cut := minCut(t, g, 3, 3, 0)
			if len(cut.Edges) != len(want) || !(math.Abs(cut.Flow-.3) <= 1e-15) {
				t.Errorf("cut with %s = %+v, want edges %+v", c.name, cut, want)
			}
		})
	}
}

// TestHuge has capacities whose sums are no float64 any more: an error, and no number.
func TestHuge(t *testing.T) {
	m := flowmaps.Fill("huge", 4, 6, false, false, func(_, _ int, row []float64) {})
	for i := range m.Data {
		m.Data[i] *= math.MaxFloat64
	}
	g := graph(m)
	if _, err := g.Certain(context.Background(), 3, 5, 0); err != nil {
		t.Errorf("flow of rows that sum to the largest float64: %v", err)
	}
	for i, c := range m.Data {
		if c > 0 {
			m.Data[i] = math.MaxFloat64
		}
	}
	_, err := graph(m).Certain(context.Background(), 3, 5, 0)
	if want := "capacities are too large"; err == nil {
		t.Errorf("flow of capacities that overflow: %v, want an error with %q", err, want)
	}
}

// TestCancelPhase is done after the looks that come before the pair: in every phase of one, and in
// the slow algorithm.
func TestCancelPhase(t *testing.T) {
	m := flowmaps.New("sink90", 12, 64, false, 1)
	g, most := graph(m), 0
	before := row(t, g, 11, 63)
	for j := range m.T {
		all := &cancelled{context.Background(), 1 << 30}
		if _, err := g.MinCut(all, 11, 63, j, nil); err != nil {
			t.Fatal(err)
		}
		looks := 1<<30 - all.looks
		most = max(most, looks)
		for n := range looks {
			_, err := g.MinCut(&cancelled{context.Background(), n}, 11, 63, j, nil)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("cut of token %d after %d looks of %d returned %v", j, n, looks, err)
			}
		}
		_, err := g.Certain(&cancelled{context.Background(), 1}, 11, 63, j)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("slow flow to token %d after one look returned %v", j, err)
		}
	}
	if most < 5 {
		t.Errorf("at most %d looks at the context a cut, want one for each phase", most)
	}
	if after := row(t, g, 11, 63); !slices.Equal(after, before) {
		t.Errorf("flows after cancelled ones = %v, before %v", after, before)
	}
}
