package chart_test

import (
	"encoding/json"
	"fmt"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// A matrix of two tokens by three as a specification that a notebook draws.
func ExampleChart_VegaLite() {
	c := chart.Chart{
		Kind: chart.Heatmap, Title: "rollout",
		X: chart.Axis{Title: "prompt token"}, Y: chart.Axis{Title: "generated token"},
		Color: chart.Scale{Title: "share of attention", Percent: true},
		Matrix: &chart.Matrix{
			Rows: []string{"are", "here"}, Columns: []string{"the", "keys", "to"},
			Data: []float64{0.1, 0.7, 0.2, 0.3, 0.4, 0.3},
		},
	}
	spec, err := c.VegaLite()
	if err != nil {
		fmt.Println(err)
		return
	}
	layer := spec["layer"].([]any)[0].(map[string]any)
	cells := layer["data"].(map[string]any)["values"].([]any)
	first, _ := json.Marshal(cells[1])
	fmt.Println(spec["$schema"], len(cells))
	fmt.Println(string(first))
	// Output:
	// https://vega.github.io/schema/vega-lite/v5.json 6
	// {"column":"keys","row":"are","value":0.7}
}
