// Products of gomlx/compute v0.1.3 in pure Go on amd64 leave the upper halves of the vector
// registers in use. Until these are cleared, instructions on single numbers take longer: an
// exponential 32 ns instead of 7 on an AMD EPYC, and 1.7 µs instead of 17 ns on an Intel Xeon.
//
//	GOEXPERIMENT=simd go run docs/upstream/registers.go
package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"simd/archsimd"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

func main() {
	runtime.GOMAXPROCS(1) // one thread has the registers of the product
	fmt.Println("before a product:", exponential())
	b, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	x := tensors.FromShape(shapes.Make(dtypes.Float32, 256, 256))
	_, err = graph.CallOnce(b, func(x *graph.Node) *graph.Node {
		return graph.Einsum("ij,kj->ik", x, x)
	}, x)
	fmt.Println("after a product:", exponential(), err)
	archsimd.ClearAVXUpperBits()
	fmt.Println("cleared:", exponential())
}

// exponential returns the time of one call of math.Exp, the shortest of ten means.
func exponential() time.Duration {
	best, sum := time.Duration(math.MaxInt64), 0.0
	for range 10 {
		begin := time.Now()
		for i := range 1000 {
			sum += math.Exp(-float64(i) / 100)
		}
		best = min(best, time.Since(begin)/1000)
	}
	if sum == 0 {
		panic("unreachable: the sum keeps the loop")
	}
	return best
}
