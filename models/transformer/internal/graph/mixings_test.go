package graph_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models/transformer"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
)

// valueZeroingOf returns the distances [N][S] of a linear block.
func valueZeroingOf(t *testing.T, x []float32, attention, value [][]float32) [][]float32 {
	t.Helper()
	return mixed(t, "value-zeroing", x, attention, value)
}

// mixed returns the rows [N][S] of a mixing over a linear block.
func mixed(t *testing.T, name string, x []float32, attention, value [][]float32) [][]float32 {
	t.Helper()
	m, err := transformer.LookupMixing(name)
	must(t, err)
	backend, err := compute.NewWithConfig("go:ops_sequential")
	must(t, err)
	out, err := ExecOnce(backend, func(g *Graph) *Node {
		return Squeeze(m.Mix(graph.LinearBlock(g, x, attention, value), trace.Heads{}), 0)
	})
	must(t, err)
	return out.Value().([][]float32)
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// Known answers: x = (1,0) with contributions (0,1) and (1,0), so y = (2,1); and x = 0 with (1,0)
// and (0,1).
func TestValueZeroingKnownAnswers(t *testing.T) {
	one := [][]float32{{1, 1}}
	got := valueZeroingOf(t, []float32{1, 0}, one, [][]float32{{0, 1}, {1, 0}})
	near(t, "distance without (0,1)", float64(got[0][0]), 0.105573, 5e-7)
	near(t, "distance without (1,0)", float64(got[0][1]), 0.051317, 5e-7)
	sum := float64(got[0][0] + got[0][1])
	near(t, "share of (0,1)", float64(got[0][0])/sum, 0.672912, 1e-6)
	near(t, "share of (1,0)", float64(got[0][1])/sum, 0.327088, 1e-6)

	got = valueZeroingOf(t, []float32{0, 0}, one, [][]float32{{1, 0}, {0, 1}})
	near(t, "distance without (1,0), x = 0", float64(got[0][0]), 0.292893, 5e-7)
	near(t, "distance without (0,1), x = 0", float64(got[0][1]), 0.292893, 5e-7)

	// The blind spot of the cosine: what is removed is parallel to the output and to what remains.
	got = valueZeroingOf(t, []float32{1, 0}, one, [][]float32{{3, 0}, {1, 0}})
	near(t, "distance without a parallel part", float64(got[0][0]), 0, 1e-12)
	got = mixed(t, "value-zeroing-euclidean", []float32{1, 0}, one, [][]float32{{3, 0}, {1, 0}})
	near(t, "Euclidean distance without a parallel part", float64(got[0][0]), 3, 1e-6)

	got = mixed(t, "value-zeroing-euclidean", []float32{1, 0}, one, [][]float32{{0, 1}, {1, 0}})
	near(t, "Euclidean distance without (0,1)", float64(got[0][0]), 1, 1e-6)
	near(t, "Euclidean distance without (1,0)", float64(got[0][1]), 1, 1e-6)
}

// Known answers: orthonormal values give attention itself, a zero one nothing however much it is
// attended to; the residual is added to the target's own.
func TestNormsKnownAnswers(t *testing.T) {
	attention := [][]float32{{1, 0}, {0.3, 0.7}}
	got := mixed(t, "norms", []float32{5, -3}, attention,
		[][]float32{{1, 0}, {0, 1}})
	for n, row := range attention {
		for s, a := range row {
			near(t, "norm of an orthonormal value", float64(got[n][s]), float64(a), 1e-7)
		}
	}
	got = mixed(t, "norms", []float32{5, -3}, attention,
		[][]float32{{0, 0}, {0, 1}})
	near(t, "norm of a zero value", float64(got[1][0]), 0, 0)
	// Of a pre-norm block all the same.
	for _, name := range []string{"norms-residual", "norms-residual-norm", "globenc"} {
		got = mixed(t, name, []float32{2.4, 0}, attention, [][]float32{{1, 0}, {0, 1}})
		near(t, "own norm with residual", float64(got[1][1]), 2.5, 1e-6) // |(2.4, 0.7)|
		near(t, "other norm with residual", float64(got[1][0]), 0.3, 1e-7)
	}
}

// Known answers: orthogonal unit vectors share equally; what points against the sum is cut off at
// 0; and of the sum itself all counts.
func TestALTIKnownAnswers(t *testing.T) {
	one, nothing := [][]float32{{1, 1}}, []float32{0, 0}
	got := mixed(t, "alti", nothing, one, [][]float32{{1, 0}, {0, 1}})
	near(t, "orthogonal unit vectors", float64(got[0][0]), 1, 1e-7)
	near(t, "orthogonal unit vectors", float64(got[0][1]), 1, 1e-7)
	got = mixed(t, "alti", nothing, one, [][]float32{{-1, -1}, {2, 2}}) // y = (1,1)
	near(t, "against the sum", float64(got[0][0]), 0, 0)
	near(t, "beyond the sum", float64(got[0][1]), 0, 1e-6) // |y| = |y - 2y|
	got = mixed(t, "alti", nothing, one, [][]float32{{0, 0}, {1, -3}})
	near(t, "the whole sum", float64(got[0][1]), 4, 1e-6)
}

// A zero value vector changes nothing; a head that attends only itself puts everything on the
// diagonal; the future is 0.
func TestValueZeroingStructure(t *testing.T) {
	value := [][]float32{{1, 2}, {0, 0}, {-1, 0.5}}
	causal := [][]float32{{1, 0, 0}, {0.5, 0.5, 0}, {0.2, 0.3, 0.5}}
	got := valueZeroingOf(t, []float32{0.3, -1}, causal, value)
	for n, row := range got {
		near(t, "column of a zero value", float64(row[1]), 0, 0)
		for s := n + 1; s < 3; s++ {
			near(t, "a source after its target", float64(row[s]), 0, 0)
		}
	}
	if got[0][0] <= 0 {
		t.Errorf("row 0 = %v, want all of it on source 0", got[0])
	}
	identity := [][]float32{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	got = valueZeroingOf(t, []float32{0.3, -1}, identity, [][]float32{{1, 2}, {2, -1}, {-1, 0.5}})
	for n, row := range got {
		for s, c := range row {
			if (c > 0) != (n == s) {
				t.Errorf("identity attention: C[%d,%d] = %v", n, s, c)
			}
		}
	}
}

func TestMixingRegistry(t *testing.T) {
	if _, err := transformer.LookupMixing("rolout"); err == nil || !strings.Contains(err.Error(),
		"alti, attention, globenc, norms, ") {
		t.Errorf("LookupMixing of an unknown name = %v, want an error that lists the known ones",
			err)
	}
	for _, name := range []string{"value-zeroing", "norms", "alti"} {
		m, err := transformer.LookupMixing(name)
		must(t, err)
		if err := m.Check(trace.Heads{Fusion: trace.MaxHeads}); err == nil ||
			!strings.Contains(err.Error(), "heads max do not apply") {
			t.Errorf("%s of the maximum over heads: error %v", name, err)
		}
	}
	taken, err := transformer.LookupMixing("attention")
	must(t, err)
	for name, register := range map[string]func(){
		"nil":   func() { transformer.RegisterMixing("new", nil) },
		"taken": func() { transformer.RegisterMixing("attention", taken) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("RegisterMixing: %s does not panic", name)
				}
			}()
			register()
		}()
	}
}

var must = testhelp.Must // ends a test at an error
