package focus_test

import (
	"fmt"

	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// One head of a model with ALiBi, whose two terms without content were recorded for three tokens.
func ExampleNew() {
	terms := trace.Tensor{Name: "terms", Shape: []int{3, 3, 3}, Data: []float32{
		1, 0, 0 /**/, 2, 1, 0 /**/, 0, 3, 1, // content
		.5, .1, .2 /**/, .5, .1, .2 /**/, .5, .1, .2, // query-bias
		0, .25, .5 /**/, 0, .25, .5 /**/, 0, .25, .5, // alibi
	}}
	text, err := focus.New([]trace.Tensor{terms}, focus.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	head, err := text.Head(0, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range head.Markers() {
		fmt.Printf("target %d: source %d, %v, p = %.3f, score %.2f\n", m.Target, m.Source, m.Kind(),
			m.Probability, m.Score)
	}
	// Output:
	// target 0: source 0, Zero, p = 1.000, score 1.50
	// target 1: source 0, Zero, p = 0.760, score 2.50
	// target 2: source 1, Other, p = 0.800, score 3.35
}
