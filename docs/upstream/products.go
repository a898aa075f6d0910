// Products of gomlx/compute v0.1.3 in pure Go that wait for each other: with the default
// configuration of the backend, the program ends with "no end"; with go:ops_sequential as its
// argument it prints "all ran".
//
//	go run docs/upstream/products.go [CONFIGURATION]
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

func main() {
	config := "go"
	if len(os.Args) > 1 {
		config = os.Args[1]
	}
	b, err := compute.NewWithConfig(config)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	done := make(chan error, 1)
	go func() { done <- products(b) }()
	select {
	case err := <-done:
		fmt.Println("all ran, error", err)
	case <-time.After(time.Minute):
		fmt.Println("no end after a minute")
		os.Exit(1)
	}
}

// products multiplies 30 pairs of small matrices that do not depend on each other, 200 times.
func products(b compute.Backend) error {
	x := tensors.FromShape(shapes.Make(dtypes.Float32, 1, 3, 64, 64))
	for range 200 {
		_, err := graph.CallOnce(b, func(x *graph.Node) *graph.Node {
			var all []*graph.Node
			few := graph.SliceAxis(x, 2, graph.AxisRange(0, 3))
			for i := range 30 {
				y := graph.AddScalar(few, float64(i))
				all = append(all, graph.Einsum("bgre,bgse->bgrs", y, x))
			}
			return graph.Stack(all, 0)
		}, x)
		if err != nil {
			return err
		}
	}
	return nil
}
