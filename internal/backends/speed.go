package backends

import (
	"context"
	"fmt"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Speed is how fast a backend multiplies matrices.
type Speed struct {
	// GFLOPS is in 10⁹ operations a second, in float32. A multiplication with an addition counts as
	// two operations.
	GFLOPS float64 `json:"gflops"`
	// Size is how many rows and columns the two matrices have.
	Size int `json:"size"`
	// Compile is how long the first multiplication took, with its compilation.
	Compile time.Duration `json:"compile_ns"`
}

// speedTime is how long a measurement lasts.
const speedTime = time.Second

// MeasureSpeed multiplies two [size,size] matrices again and again for a second and returns the
// speed of the fastest multiplication. backend is a name as in [Open]. If ctx is done, it
// stops after the running multiplication with an error that wraps ctx.Err().
func MeasureSpeed(ctx context.Context, backend string, size int) (speed Speed, err error) {
	b, err := Open(backend)
	if err != nil {
		return Speed{}, err
	}
	defer func() { // the library panics if it cannot compute something
		if r := recover(); r != nil {
			err = pkg.Errorf("backend %s: %v", backend, r)
		}
	}()
	speed.Size = size
	multiply, err := multiplication(b, size)
	if err != nil {
		return Speed{}, pkg.Errorf("backend %s: %w", backend, err)
	}
	fastest := time.Duration(0)
	for start, n := time.Now(), 0; n < 2 || time.Since(start) < speedTime; n++ {
		if err := ctx.Err(); err != nil {
			return Speed{}, pkg.Errorf("measuring backend %s: %w", backend, err)
		}
		begin := time.Now()
		if err := multiply(); err != nil {
			return Speed{}, pkg.Errorf("backend %s: %w", backend, err)
		}
		took := time.Since(begin)
		if n == 0 {
			speed.Compile = took
		} else if fastest == 0 || took < fastest {
			fastest = took
		}
	}
	n := float64(size)
	speed.GFLOPS = 2 * n * n * n / float64(max(fastest, 1).Nanoseconds())
	return speed, nil
}

// multiplication returns a function that multiplies two matrices on the backend and copies only the
// largest number of the product from it. A compiler cannot leave out most of the work for it,
// little is copied, and a GPU has finished when the number arrives.
func multiplication(b compute.Backend, size int) (func() error, error) {
	values := make([]float32, size*size)
	for i := range values {
		values[i] = float32(i%7) / 7
	}
	left := tensors.FromFlatDataAndDimensions(values, size, size)
	right := tensors.FromFlatDataAndDimensions(values, size, size)
	exec, err := graph.NewExec(b, func(x, y *graph.Node) *graph.Node {
		return graph.ReduceAllMax(graph.MatMul(x, y))
	})
	if err != nil {
		return nil, err
	}
	return func() error {
		out, err := exec.Call(left, right)
		if err != nil {
			return err
		}
		largest := tensors.ToScalar[float32](out[0])
		if want := float32(size) * 36 / 49; !(largest > 0 && largest <= want) {
			return fmt.Errorf("the largest number of a product is %v, want one in (0,%v]",
				largest, want)
		}
		return out[0].FinalizeAll()
	}, nil
}
