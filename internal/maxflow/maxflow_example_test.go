package maxflow_test

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/internal/maxflow"
)

// Three tokens, two layers of uniform causal attention with half residual: the flow from the last
// token.
func ExampleGraph_Row() {
	layer := []float64{
		1, 0, 0,
		1. / 4, 3. / 4, 0,
		1. / 6, 1. / 6, 2. / 3,
	}
	g := maxflow.New(2, 0)
	g.Extend(append(layer, layer...), 3)
	flows, err := g.Row(context.Background(), nil, 1, 2, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", flows)
	// Output: [0.5000 0.3333 0.6667]
}

// What limits the flow from the last token to the first: its own edges into the upper layer.
func ExampleGraph_MinCut() {
	layer := []float64{
		1, 0, 0,
		1. / 4, 3. / 4, 0,
		1. / 6, 1. / 6, 2. / 3,
	}
	g := maxflow.New(2, 0)
	g.Extend(append(layer, layer...), 3)
	cut, err := g.MinCut(context.Background(), 1, 2, 0, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range cut.Edges {
		fmt.Printf("layer %d: %d to %d, %.4f\n", e.Layer, e.Target, e.Source, e.Capacity)
	}
	// Output:
	// layer 1: 2 to 0, 0.1667
	// layer 1: 2 to 1, 0.1667
	// layer 0: 2 to 0, 0.1667
}
