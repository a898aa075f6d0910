package gonbext_test

import (
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext"
)

// In a cell this shows the heatmap of every token, and e holds the numbers.
func ExampleExplain() {
	e := gonbext.Explain("the keys to the cabinet", gonbext.Options{
		Methods:   []string{"rollout", "value-zeroing-rollout"},
		MaxTokens: 3,
	})
	top, err := e.TopK(0, "rollout", 3, nil)
	fmt.Println(top, err)
}

func ExampleTrace() {
	r := gonbext.Trace("the keys to the cabinet", trace.Attention)
	attention := r.Tensor(trace.Attention)
	fmt.Println(attention.Shape) // [L H T S]
}

// In a later cell this shows the latest explanation again.
func ExampleLast() {
	gonbext.Draw(gonbext.Last())
}

// Steering: what the streams of two prompts differ in is added to that of a third.
func ExampleRecording_Edit() {
	many, one := gonbext.Trace("the keys", "hidden"), gonbext.Trace("the key", "hidden")
	steer := many.Edit(gonbext.Edit{
		Tap: "hidden", Layers: []int{3}, Positions: []int{-1}, Change: "add", Factor: 2,
	}, one)
	gonbext.Explain("the key", gonbext.Options{Edits: []gonbext.Edit{steer}})
}
