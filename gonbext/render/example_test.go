package render_test

import (
	"fmt"
	"os"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
)

func ExampleText() {
	e := &attribution.Explanation{
		Model: trace.Info{Name: "hand-made"},
		Prompt: attribution.Prompt{
			Text: "the keys", Texts: []string{"the", " keys"},
			Special: []bool{false, false},
		},
		Steps: []attribution.GeneratedToken{{Text: " are", Probability: 0.93}},
		Order: []string{"rollout"},
		Methods: map[string]*attribution.Result{"rollout": {
			Layers: []int{0}, Shape: [3]int{1, 2, 1}, Rows: [][]float64{{0.25, 0.75}}, OtherMass: []float64{0},
			Unit: "share of attention", Facts: attribution.Facts{
				Quantity: attribution.Share, Evidence: trace.Traced,
			},
			Options: map[string]string{"residual": "0.5"},
		}},
	}
	_ = render.Text(os.Stdout, render.Heatmap{Explanation: e}, render.Terminal{})
	// Output:
	// “are” came from keys
	// rollout  keys 75.0 %, the 25.0 % · share of attention · layer 0
	//
	// Where each generated token comes from
	// prompt     the keys
	// generated  are
	//
	//   1  are  93.0 %
	//      rollout  keys 75.0 % · the 25.0 %
	//      rollout  Σ prompt 100 % · generated tokens 0.0 %
	//
	// Each line: the strongest prompt tokens (sources) of a method, at most 12, the largest first.
	// rollout  0 %  ▁▂▃▄▅▆▇█ 75 %
	//          share of attention, layer 0; residual 0.5
	// model  hand-made
}

// Every byte of a hostile token becomes visible, and none takes effect.
func ExampleVisible() {
	fmt.Println(render.Visible(" two\n\x1b[31mlines\u202e", 0))
	fmt.Println(render.Visible("a long token that is cut", 12))
	// Output:
	// ␣two↵␛[31mlines⟨U+202E⟩
	// a long token… (24 bytes)
}
