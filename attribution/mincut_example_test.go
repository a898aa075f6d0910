package attribution_test

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// What limits the flow from the last of three tokens to the first, in two layers of uniform
// attention? What it looks at in the upper layer, itself apart, and how much it looks at token 0 in
// the lower one.
func ExampleNewFlowGraph() {
	layer := []float32{1, 0, 0, .5, .5, 0, 1. / 3, 1. / 3, 1. / 3}
	attention := trace.Tensor{
		Name: "attention", Shape: []int{2, 3, 3},
		Data: append(layer, layer...),
	}
	g, err := attribution.NewFlowGraph(context.Background(),
		attribution.InMemory([]trace.Tensor{attention}), attribution.Options{}, 2, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("flow %.4f\n", g.Cut.Flow)
	for _, e := range g.Cut.Edges {
		fmt.Printf("layer %d: %d looks at %d, %.4f\n", e.Layer, e.Target, e.Source, e.Width)
	}
	// Output:
	// flow 0.5000
	// layer 1: 2 looks at 0, 0.1667
	// layer 1: 2 looks at 1, 0.1667
	// layer 0: 2 looks at 0, 0.1667
}
