package attribution_test

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// A model of two layers with uniform attention: newFake stands for models.Open.
func ExampleExplain() {
	model := newFake(2, func(t, s int) float64 { return 1 / float64(t+1) })
	e, err := attribution.Explain(context.Background(), model, "w1 w2 w3", attribution.Options{
		Methods: []string{"rollout"}, MaxTokens: 2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := e.M("rollout")
	if err != nil {
		fmt.Println(err)
		return
	}
	for t, step := range e.Steps {
		fmt.Printf("%s %.4f, from generated tokens %.4f\n", step.Text, r.Row(t, r.Top()),
			e.OtherMass["rollout"][t*2+1])
	}
	// Output:
	// w4 [0.3194 0.2361 0.4444], from generated tokens 0.0000
	// w5 [0.2552 0.1927 0.1615], from generated tokens 0.3906
}

// Attention from any program: two layers of a causal model, three tokens.
func ExampleAttribute() {
	layer := []float32{1, 0, 0, .5, .5, 0, .5, .25, .25}
	attention := trace.Tensor{
		Name: "attention", Shape: []int{2, 3, 3},
		Data: append(layer, layer...),
	}
	a, err := attribution.Attribute(context.Background(), []trace.Tensor{attention},
		attribution.Options{
			Methods: []string{"rollout", "flow"},
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range a.Order {
		fmt.Printf("%-7s %.4f\n", name, a.Methods[name].Row(1, 2))
	}
	// Output:
	// rollout [0.4375 0.1719 0.3906]
	// flow    [0.6250 0.2500 0.6250]
}

// An aggregation takes rows as they come: here the prompt's two, then one more.
func ExampleMethod_aggregation() {
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
