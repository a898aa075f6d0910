package transformer

import (
	"math"
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/headwater-ml/headwater/models/spec"
)

func onGo(t *testing.T, build func(g *Graph) *Node) []float32 {
	t.Helper()
	backend, err := compute.NewWithConfig("go:ops_sequential")
	must(t, err)
	out, err := ExecOnce(backend, build)
	must(t, err)
	values, err := floats(out)
	must(t, err)
	return values
}

// TestShare: a bias of (2,0) has the products 2, -6 and 0 with (1,0), (-3,4) and (0,5), so they
// get ¼, ¾ and nothing of it.
func TestShare(t *testing.T) {
	got := onGo(t, func(g *Graph) *Node {
		return share(Const(g, [][]float32{{1, 0}, {-3, 4}, {0, 5}}), Const(g, []float32{2, 0}))
	})
	for i, want := range []float64{1.5, 0, -1.5, 4, 0, 5} {
		near(t, "share", float64(got[i]), want, 1e-7)
	}
	none := onGo(t, func(g *Graph) *Node {
		return share(Const(g, [][]float32{{0, 1}, {0, 0}}), Const(g, []float32{2, 0}))
	})
	for i, want := range []float32{0, 1, 0, 0} {
		if none[i] != want {
			t.Errorf("a bias at right angles to all: %v, want the parts as they were", none)
		}
	}
}

// TestSlope: f(x)/x by its definition in float64, and at 0 the limit f'(0).
func TestSlope(t *testing.T) {
	const tol = 3e-7 // four units in the last place of 1
	for _, c := range []struct {
		name   string
		f      spec.Activation
		of     func(x float64) float64
		atZero float64
	}{
		{"GELU", spec.GELU, func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }, 0.5},
		{"its tanh form", spec.GELUTanh, func(x float64) float64 { return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) }, 0.5},
		{"SiLU", spec.SiLU, func(x float64) float64 { return x / (1 + math.Exp(-x)) }, 0.5},
		{"ReLU", spec.ReLU, func(x float64) float64 { return max(x, 0) }, 0},
		{"tanh", spec.HyperbolicTangent, math.Tanh, 1},
	} {
		xs := []float32{0, 1e-30, -1e-5, 9e-3, -1.1e-2, 0.3, -2, 5, -40, 300}
		got := onGo(t, func(g *Graph) *Node { return activationSlope(c.f, Const(g, xs), nil) })
		near(t, c.name+" at 0", float64(got[0]), c.atZero, 0)
		for i, x := range xs[1:] {
			near(t, c.name, float64(got[i+1]), c.of(float64(x))/float64(x), tol)
		}
	}
}
