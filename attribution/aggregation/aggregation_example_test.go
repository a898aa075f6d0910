package aggregation_test

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/aggregation"
)

// An aggregation takes rows as they come: here the prompt's two, then one more.
func ExampleAggregation() {
	rollout, err := aggregation.Lookup("rollout")
	if err != nil {
		fmt.Println(err)
		return
	}
	state := rollout.New(aggregation.Config{Layers: 2, TopOnly: true})
	half := []float64{1, 0, .25, .75}
	for _, rows := range []aggregation.Rows{
		{First: 0, L: 2, N: 2, Data: append(half, half...)},
		{First: 2, L: 2, N: 1, Data: []float64{.2, .2, .6, .1, .1, .8}},
	} {
		r, err := state.Extend(context.Background(), nil, rows)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.4f\n", r)
	}
	// Output:
	// [1.0000 0.0000 0.4375 0.5625]
	// [0.2850 0.2350 0.4800]
}
