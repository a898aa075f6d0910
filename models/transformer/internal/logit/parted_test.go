package logit

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

func onGo(t *testing.T, build func(g *Graph) *Node) []float32 {
	t.Helper()
	backend, err := compute.NewWithConfig("go:ops_sequential")
	must(t, err)
	out, err := ExecOnce(backend, build)
	must(t, err)
	var values []float32
	must(t, out.ConstFlatData(func(flat any) { values = slices.Clone(flat.([]float32)) }))
	return values
}

// TestShare: a bias of (2,0) has the products 2, -6 and 0 with (1,0), (-3,4) and (0,5), so they
// get ¼, ¾ and nothing of it.
func TestShare(t *testing.T) {
	got := onGo(t, func(g *Graph) *Node {
		return share(Const(g, [][]float32{{1, 0}, {-3, 4}, {0, 5}}), Const(g, []float32{2, 0}))
	})
	for i, want := range []float64{1.5, 0, -1.5, 4, 0, 5} {
		if !(math.Abs(float64(got[i])-want) <= 1e-7) {
			t.Errorf("part %d after a share = %v, want %v", i, got[i], want)
		}
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

var must = testhelp.Must // ends a test at an error
