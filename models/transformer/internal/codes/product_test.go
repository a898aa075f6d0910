package codes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes/bfloat16"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// TestHalfProducts multiplies activations by matrices in bfloat16, in both layouts and in sizes on
// both sides of those where a backend changes its kernel, and compares with sums in float64.
func TestHalfProducts(t *testing.T) {
	backend, err := compute.NewWithConfig("go:ops_sequential")
	must(t, err)
	defer backend.Finalize()
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][3]int{ // rows, terms of a sum, columns
		{1, 8, 3},
		{1, 16, 5},
		{1, 40, 17},
		{3, 33, 64},
		{5, 128, 9},
		{1, 64, 2000},
		{40, 96, 70},
		{17, 512, 600},
		{64, 256, 257},
		{1, 1024, 5000},
	} {
		m, k, n := size[0], size[1], size[2]
		x, w := half(r, m*k), half(r, k*n)
		for axis, dims := range [][]int{{k, n}, {n, k}} {
			exec, err := NewExec(backend, func(x, w *Node) *Node {
				return Product{}.With(Float(x), w, axis)
			})
			must(t, err)
			out, err := exec.Call1(tensors.FromFlatDataAndDimensions(x, m, k),
				tensors.FromFlatDataAndDimensions(w, dims...))
			must(t, err)
			got, err := host.Floats(out)
			must(t, err)
			stride := [2]int{1, n} // from a term to the next one
			if axis == 1 {
				stride = [2]int{k, 1}
			}
			for i := range m * n {
				want := 0.0
				for q := range k {
					want += float64(x[i/n*k+q].Float32()) *
						float64(w[i%n*stride[0]+q*stride[1]].Float32())
				}
				if d := math.Abs(float64(got[i]) - want); !(d < 1e-4) {
					t.Errorf("%s: entry %d is %g, want %g",
						fmt.Sprintf("%d×%d times %v", m, k, dims), i, got[i], want)
					break
				}
			}
		}
	}
}

// half returns numbers from -½ to ½.
func half(r *rand.Rand, n int) []bfloat16.BFloat16 {
	x := make([]bfloat16.BFloat16, n)
	for i := range x {
		x[i] = bfloat16.FromFloat32(r.Float32() - 0.5)
	}
	return x
}

var must = testhelp.Must // ends a test at an error
