package attribution_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// readers returns tensors as the pieces of an input.
func readers(tensors ...trace.Tensor) (in attribution.Input) {
	for _, t := range tensors {
		in.Tensors = append(in.Tensors, attribution.TensorReader{
			Name: t.Name, Shape: t.Shape,
			Read: func(dst []float32, first int) error {
				copy(dst, t.Data[first:])
				return nil
			},
		})
	}
	return in
}

// Three tokens, two layers. In the upper layer token 2 looks at 1 alone. In the lower one token 1
// looks at 0 alone, and token 2 at 0 with a fifth of its attention. With the residual of a half the
// widths are:
//
//	upper: 2→2 ½, 2→1 ½         lower: 1→1 ½, 1→0 ½, 2→2 ½+0.4, 2→0 0.1
//
// From token 2 the path over 1 has the width ½, the one that stays first only 0.1, and the flow is
// ½ + 0.1.
func TestFlowGraph(t *testing.T) {
	upper := []float32{1, 0, 0, 0, 1, 0, 0, 1, 0}
	lower := []float32{1, 0, 0, 1, 0, 0, .2, 0, .8}
	tensor := trace.Tensor{
		Name: "attention", Shape: []int{2, 3, 3}, Data: append(lower, upper...),
	}
	g, err := attribution.NewFlowGraph(context.Background(), readers(tensor),
		attribution.Options{}, 2, 0)
	must(t, err)
	if want := []int{2, 1, 0}; !slices.Equal(g.Path, want) {
		t.Errorf("the widest path is %v, want %v", g.Path, want)
	}
	if !slices.Equal(g.Layers, []int{0, 1}) || g.Tokens != 3 {
		t.Errorf("layers %v, %d tokens; want 0, 1 and 3", g.Layers, g.Tokens)
	}
	const tol = 1e-7 // the input is float32
	if math.Abs(g.Cut.Flow-0.6) > tol {
		t.Errorf("flow %v, want 0.6", g.Cut.Flow)
	}
	for _, w := range []struct {
		l, u, v int
		want    float64
	}{{1, 2, 1, 0.5}, {1, 2, 2, 0.5}, {0, 1, 0, 0.5}, {0, 2, 0, 0.1}, {0, 2, 2, 0.9}, {0, 0, 0, 1}} {
		if got := g.Width(w.l, w.u, w.v); math.Abs(got-w.want) > tol {
			t.Errorf("layer %d: %d→%d is %v wide, want %v", w.l, w.u, w.v, got, w.want)
		}
	}
}

// No path is wider than the widest one, which is checked over all paths of a small graph, and every
// edge of it exists.
func TestWidestPath(t *testing.T) {
	tensor := tensorOf(7, 3, 5, false)
	for source := range 5 {
		g, err := attribution.NewFlowGraph(context.Background(), readers(tensor),
			attribution.Options{}, 4, source)
		must(t, err)
		width := func(path []int) float64 {
			w := math.Inf(1)
			for k := range 3 {
				w = min(w, g.Width(2-k, path[k], path[k+1]))
			}
			return w
		}
		widest := 0.0
		for a := range 5 {
			for b := range 5 {
				widest = max(widest, width([]int{4, a, b, source}))
			}
		}
		if len(g.Path) != 4 || g.Path[0] != 4 || g.Path[3] != source || width(g.Path) != widest {
			t.Errorf("path %v to %d; want one of width %v", g.Path, source, widest)
		}
		if widest > g.Cut.Flow {
			t.Errorf("a path of width %v carries more than the flow %v", widest, g.Cut.Flow)
		}
	}
}
