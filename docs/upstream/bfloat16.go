// Small products of gomlx/compute v0.1.3 in bfloat16 with the kernels for AVX2: where the sum is
// over the last axis of both matrices, one of them takes 8 of every 16 terms. A row of 32 ones
// times itself is 32. On a processor with AVX-512 its kernels must be turned off.
//
//	GODEBUG=cpu.avx512f=off GOEXPERIMENT=simd go run docs/upstream/bfloat16.go
package main

import (
	"fmt"
	"os"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

func main() {
	b, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, n := range []int{16, 32, 64} {
		sum, err := graph.CallOnce(b, func(g *graph.Graph) *graph.Node {
			x := graph.Ones(g, shapes.Make(dtypes.BFloat16, 4, n))
			d := graph.Dot(x, x).WithAccumulatorDType(dtypes.Float32).
				WithOutputDType(dtypes.Float32)
			return d.General([]int{1}, nil, []int{1}, nil)
		})
		fmt.Println(n, "ones:", sum, err)
	}
}
