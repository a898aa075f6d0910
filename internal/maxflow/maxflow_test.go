package maxflow_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/internal/bench/flowmaps"
	"github.com/headwater-ml/headwater/internal/maxflow"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// flowTol is the error allowed against independent solvers; the worst seen is 6e-15.
const flowTol = 1e-12

func graph(m flowmaps.Maps) *maxflow.Graph {
	g := maxflow.New(m.L, m.Prefix)
	g.Extend(m.Data, m.T)
	return g
}

func row(t testing.TB, g *maxflow.Graph, l, i int) []float64 {
	t.Helper()
	r, err := g.Row(context.Background(), nil, l, i, nil)
	must(t, err)
	return r
}

// small returns networks of up to five tokens and layers whose weights are 0 to 3 before rows are
// divided by their sums, so that there are zeros and ties.
func small(seed uint64) flowmaps.Maps {
	rng := rand.New(rand.NewPCG(seed, 7))
	L, T := 1+int(seed%5), 1+rng.IntN(5)
	return flowmaps.Fill("small", L, T, seed%2 == 1, seed%3 > 0, func(_, _ int, row []float64) {
		for j := range row {
			row[j] = float64(rng.IntN(4))
		}
	})
}

// sharp returns maps without residual, whose own edges are as narrow as others.
func sharp(L, T int, bidirectional bool, seed uint64) flowmaps.Maps {
	rng := rand.New(rand.NewPCG(seed, 3))
	return flowmaps.Fill("no residual", L, T, bidirectional, false, func(_, _ int, row []float64) {
		for j := range row {
			row[j] = math.Exp(3 * rng.NormFloat64())
		}
	})
}

// TestExact compares every pair of small networks with exact fractions.
func TestExact(t *testing.T) {
	for seed := range uint64(60) {
		m := small(seed)
		g := graph(m)
		for l := range m.L {
			for i := range m.T {
				got := row(t, g, l, i)
				for j := range m.T {
					exact, _ := exactFlow(m, l, i, j)
					if want, _ := exact.Float64(); !(math.Abs(got[j]-want) <= flowTol) {
						t.Errorf("seed %d: L=%d T=%d flow (%d,%d)→%d = %.17g, want %.17g", seed,
							m.L, m.T, l, i, j, got[j], want)
					}
				}
			}
		}
	}
}

// TestSmall compares every pair of many small networks, with zeros, ties and a few wide edges, with
// a plain Dinic: where the certificate could be wrong, columns are few and narrow.
func TestSmall(t *testing.T) {
	for seed := range uint64(800) {
		rng := rand.New(rand.NewPCG(seed, 77))
		L, T, weights := 3+int(seed%6), 2+rng.IntN(8), 5+rng.IntN(4)
		m := flowmaps.Fill("small", L, T, rng.IntN(2) == 0, rng.IntN(4) > 0,
			func(_, _ int, row []float64) {
				for j := range row {
					row[j] = float64(max(0, rng.IntN(weights)-3))
					if rng.IntN(6) == 0 {
						row[j] *= 20
					}
				}
			})
		g, reference, l := graph(m), newPlain(m), 2+rng.IntN(L-2)
		for i := range T {
			for j, got := range row(t, g, l, i) {
				if want := reference.flow(l, i, j); !(math.Abs(got-want) <= flowTol) {
					t.Errorf("seed %d: L=%d T=%d prefix=%d: flow (%d,%d)→%d = %.17g, want "+
						"%.17g",
						seed, L, T, m.Prefix, l, i, j, got, want)
				}
			}
		}
	}
}

// TestPairs compares random pairs of all kinds with a plain Dinic. HEADWATER_FLOW_PAIRS is how
// many; with 10000 and more, big networks are among them. Big and sharp maps are where phantom
// edges once hid.
func TestPairs(t *testing.T) {
	pairs := 300
	if s := os.Getenv("HEADWATER_FLOW_PAIRS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("HEADWATER_FLOW_PAIRS: %v", err)
		}
		pairs = n
	}
	type size struct{ L, T, weight int }
	sizes := []size{{3, 20, 6}, {4, 33, 4}, {6, 70, 4}, {12, 64, 4}}
	if pairs >= 10000 {
		sizes = append(sizes, size{24, 64, 2}, size{12, 130, 2}, size{24, 128, 1}, size{12, 256, 1})
	}
	shares, total := 0, 0
	for _, s := range sizes {
		shares += s.weight * 2 * (len(flowmaps.Kinds) + 1)
	}
	worst := 0.0
	for n, s := range sizes {
		for b, bidirectional := range []bool{false, true} {
			all := []flowmaps.Maps{sharp(s.L, s.T, bidirectional, uint64(n))}
			for k, kind := range flowmaps.Kinds {
				all = append(all, flowmaps.New(kind, s.L, s.T, bidirectional, uint64(100*n+10*b+k)))
			}
			for _, m := range all {
				count := 1 + pairs*s.weight/shares
				worst = max(worst, comparePairs(t, m, count, uint64(n)))
				total += count
			}
		}
	}
	t.Logf("%d pairs, worst error %.2g", total, worst)
}

// comparePairs returns the worst error of some pairs, several from each of some tokens; the first
// is the last token after the last layer.
func comparePairs(t *testing.T, m flowmaps.Maps, count int, seed uint64) (worst float64) {
	const each = 8
	rng := rand.New(rand.NewPCG(seed, 5))
	g, reference := graph(m), newPlain(m)
	l, i := m.L-1, m.T-1
	for ; count > 0; count -= each {
		flows := row(t, g, l, i)
		for range min(count, each) {
			j := rng.IntN(m.T)
			want := reference.flow(l, i, j)
			worst = max(worst, math.Abs(flows[j]-want))
			if !(math.Abs(flows[j]-want) <= flowTol) {
				t.Errorf("%s L=%d T=%d prefix=%d: flow (%d,%d)→%d = %.17g, want %.17g",
					m.Name, m.L, m.T, m.Prefix, l, i, j, flows[j], want)
			}
		}
		l, i = rng.IntN(m.L), rng.IntN(m.T)
	}
	return worst
}

// TestGrowth adds tokens one by one, across the border of a word, and compares with all at once,
// bit for bit.
func TestGrowth(t *testing.T) {
	for _, kind := range []string{"gamma0.1", "gamma0.4", "previous"} {
		m := flowmaps.New(kind, 4, 140, false, 1)
		grown, whole := maxflow.New(m.L, 0), graph(m)
		for i := range m.T {
			var rows []float64
			for l := range m.L {
				rows = append(rows, m.Data[(l*m.T+i)*m.T:][:i+1]...)
			}
			grown.Extend(rows, 1)
			if i%10 != 9 {
				continue
			}
			got, want := row(t, grown, m.L-1, i), row(t, whole, m.L-1, i)[:i+1]
			if !slices.Equal(got, want) {
				t.Fatalf("%s: flow from %d = %v after growth, %v at once", kind, i, got, want)
			}
		}
	}
}

// TestPrefix adds tokens that have edges to each other, then others one by one, across the border
// of a word, and compares with the same edges in a bidirectional network.
func TestPrefix(t *testing.T) {
	for _, kind := range []string{"gamma0.1", "gamma0.4", "previous", "sink90"} {
		for _, prefix := range []int{3, 60, 64, 100} {
			m := flowmaps.New(kind, 4, 110, true, 1)
			for l := range m.L {
				for i := range m.T {
					clear(m.Data[(l*m.T+i)*m.T:][:m.T][max(i+1, prefix):])
				}
			}
			whole, grown := graph(m), maxflow.New(m.L, prefix)
			for n := prefix; grown.Tokens() < m.T; n = 1 {
				first, end := grown.Tokens(), grown.Tokens()+n
				var rows []float64
				for l := range m.L {
					for i := first; i < end; i++ {
						rows = append(rows, m.Data[(l*m.T+i)*m.T:][:end]...)
					}
				}
				grown.Extend(rows, n)
			}
			for _, i := range []int{0, prefix / 2, prefix - 1, prefix, m.T - 1} {
				got, want := row(t, grown, m.L-1, i), row(t, whole, m.L-1, i)
				for j := range got {
					if math.Abs(got[j]-want[j]) > flowTol {
						t.Fatalf("%s, prefix %d: flow from %d to %d is %v, want %v", kind, prefix,
							i, j, got[j], want[j])
					}
				}
			}
		}
	}
}

// TestLevels compares all levels at once with row after row, bit for bit.
func TestLevels(t *testing.T) {
	for seed, bidirectional := range []bool{false, true} {
		for _, kind := range flowmaps.Kinds {
			for _, L := range []int{1, 2, 7} {
				m := flowmaps.New(kind, L, 30, bidirectional, uint64(seed))
				g := graph(m)
				for _, i := range []int{0, 17, 29} {
					got, err := g.Levels(context.Background(), []float64{42}, i)
					must(t, err)
					want := []float64{42}
					for l := range L {
						want = append(want, row(t, g, l, i)...)
					}
					if !slices.Equal(got, want) {
						t.Fatalf("%s, bidirectional %v, L=%d: levels of %d = %v, rows %v", kind,
							bidirectional, L, i, got, want)
					}
				}
			}
		}
	}
}

func TestTopRow(t *testing.T) {
	m, other := flowmaps.New("gamma0.1", 4, 12, false, 1), flowmaps.New("gamma0.1", 4, 12, false, 2)
	g := graph(m)
	before := row(t, g, 2, 9)
	top := other.Data[(2*12+9)*12:][:12]
	got, err := g.Row(context.Background(), nil, 2, 9, top)
	must(t, err)
	if after := row(t, g, 2, 9); !slices.Equal(after, before) {
		t.Errorf("another top row stayed: %v, before %v", after, before)
	}
	copy(m.Data[(2*12+9)*12:][:12], top)
	if want := row(t, graph(m), 2, 9); !slices.Equal(got, want) {
		t.Errorf("flow with another top row = %v, want %v", got, want)
	}
}

// TestBadNumbers checks that what is no capacity counts as 0 and that nothing hangs.
func TestBadNumbers(t *testing.T) {
	m := flowmaps.New("gamma0.4", 5, 20, false, 1)
	clean := flowmaps.New("gamma0.4", 5, 20, false, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1}
	for range 60 {
		at := rng.IntN(len(m.Data))
		m.Data[at], clean.Data[at] = bad[rng.IntN(len(bad))], 0
	}
	if got, want := row(t, graph(m), 4, 19), row(t, graph(clean), 4, 19); !slices.Equal(got, want) {
		t.Errorf("flow with bad numbers = %v, with zeros %v", got, want)
	}
	huge := flowmaps.Fill("huge", 3, 6, false, false, func(_, _ int, row []float64) {})
	for i := range huge.Data {
		huge.Data[i] *= math.MaxFloat64
	}
	row(t, graph(huge), 2, 5)
}

// cancelled is a context that is done when it has been looked at some times.
type cancelled struct {
	context.Context
	looks int
}

func (c *cancelled) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestCancel(t *testing.T) {
	g := graph(flowmaps.New("gamma0.1", 4, 12, false, 1))
	for _, looks := range []int{0, 5} {
		if _, err := g.Row(&cancelled{context.Background(), looks}, nil, 3, 11,
			nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Row after cancel returned %v", err)
		}
		if _, err := g.Levels(&cancelled{context.Background(), looks}, nil,
			11); !errors.Is(err, context.Canceled) {
			t.Errorf("Levels after cancel returned %v", err)
		}
	}
	if _, err := g.MinCut(&cancelled{context.Background(), 0}, 3, 11, 0,
		nil); !errors.Is(err, context.Canceled) {
		t.Errorf("MinCut after cancel returned %v", err)
	}
}

// TestCancelLong cancels a row over 512 tokens, of the kind that takes longest, in the middle.
func TestCancelLong(t *testing.T) {
	if os.Getenv("HEADWATER_FLOW_PAIRS") == "" {
		t.Skip("takes seconds; HEADWATER_FLOW_PAIRS is not set")
	}
	g := graph(flowmaps.New("sink90", 12, 512, false, 1))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	deadline, _ := ctx.Deadline()
	_, err := g.Levels(ctx, nil, 511)
	if late := time.Since(deadline); !errors.Is(err, context.DeadlineExceeded) ||
		late > 100*time.Millisecond {
		t.Errorf("Levels returned %v, %v after the deadline, want 100ms at most", err, late)
	} else {
		t.Logf("returned %v after the deadline", late)
	}
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"no layers":  func() { maxflow.New(0, 0) },
		"short rows": func() { maxflow.New(2, 0).Extend(make([]float64, 3), 2) },
		"second batch": func() {
			g := maxflow.New(1, 2)
			g.Extend([]float64{1}, 1)
			g.Extend([]float64{1, 0}, 1)
		},
		"no such row": func() {
			_, _ = maxflow.New(1, 0).Row(context.Background(), nil, 0, 0, nil)
		},
		"no such token": func() {
			_, _ = graph(flowmaps.New("uniform", 1, 2, false, 1)).MinCut(context.Background(), 0,
				0, 2, nil)
		},
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

// BenchmarkRow is one row at the top level, all sinks: what one generated token costs;
// BenchmarkLevels is all levels of it.
func BenchmarkRow(b *testing.B) {
	benchmark(b, func(g *maxflow.Graph, dst []float64, m flowmaps.Maps) []float64 {
		dst, _ = g.Row(context.Background(), dst, m.L-1, m.T-1, nil)
		return dst
	})
}

func BenchmarkLevels(b *testing.B) {
	benchmark(b, func(g *maxflow.Graph, dst []float64, m flowmaps.Maps) []float64 {
		dst, _ = g.Levels(context.Background(), dst, m.T-1)
		return dst
	})
}

func benchmark(b *testing.B, run func(g *maxflow.Graph, dst []float64, m flowmaps.Maps) []float64) {
	for _, kind := range flowmaps.Kinds {
		for _, T := range []int{64, 128} {
			b.Run(fmt.Sprintf("%s/L=12/n=%d", kind, T), func(b *testing.B) {
				m := flowmaps.New(kind, 12, T, false, 1)
				g, dst := graph(m), []float64(nil)
				b.ReportAllocs()
				for b.Loop() {
					dst = run(g, dst[:0], m)
				}
			})
		}
	}
}

// BenchmarkExtend is one more token.
func BenchmarkExtend(b *testing.B) {
	for _, T := range []int{64, 128, 256} {
		b.Run(fmt.Sprintf("L=12/n=%d", T), func(b *testing.B) {
			m := flowmaps.New("gamma0.4", 12, T, false, 1)
			g := graph(m)
			var last []float64
			for b.Loop() {
				if g.Tokens() == T+32 {
					b.StopTimer()
					g = graph(m)
					b.StartTimer()
				}
				n := g.Tokens() + 1
				last = append(last[:0], make([]float64, 12*n)...)
				for l := range 12 {
					copy(last[l*n:], m.Data[((l+1)*T-1)*T:][:T])
				}
				g.Extend(last, 1)
			}
		})
	}
}
