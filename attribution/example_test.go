package attribution_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// A model of two layers with uniform attention: fakemodel stands for models.Open.
func ExampleExplain() {
	model := fakemodel.New(2, func(t, s int) float64 { return 1 / float64(t+1) })
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
			e.Methods["rollout"].OtherMass[t*2+1])
	}
	// Output:
	// w4 [0.3194 0.2361 0.4444], from generated tokens 0.0000
	// w5 [0.2552 0.1927 0.1615 0.3906], from generated tokens 0.3906
}

// Three texts, explained together where the model can do that.
func ExampleExplainAll() {
	model := fakemodel.New(2, func(t, s int) float64 { return 1 / float64(t+1) })
	texts := slices.Values([]attribution.Text{
		{Prompt: "w1 w2 w3"}, {Prompt: ""}, {Prompt: "w1", Continuation: "w2 w4"},
	})
	opts := attribution.Options{Methods: []string{"rollout"}, MaxTokens: 1}
	for e := range attribution.ExplainAll(context.Background(), model, texts, opts,
		attribution.Batching{}) {
		if e.Err != nil {
			fmt.Printf("text %d: %v\n", e.Index, e.Err)
			continue
		}
		for _, step := range e.Explanation.Steps {
			fmt.Printf("text %d: %s\n", e.Index, step.Text)
		}
	}
	// Output:
	// text 1: attribution: the prompt is empty; give some text to continue
	// text 0: w4
	// text 2: w2
	// text 2: w4
}

// Attention from any program: two layers of a causal model, three tokens.
func ExampleAttribute() {
	layer := []float32{1, 0, 0, .5, .5, 0, .5, .25, .25}
	attention := trace.Tensor{
		Name: "attention", Shape: []int{2, 3, 3},
		Data: append(layer, layer...),
	}
	a, err := attribution.Attribute(context.Background(), attribution.InMemory([]trace.Tensor{attention}),
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
