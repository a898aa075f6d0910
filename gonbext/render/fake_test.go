package render

import (
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// example is an explanation with a sink, three methods (one of them with the top layer alone) and a
// toy model. Its numbers follow a rule, not a model.
func example() *attribution.Explanation {
	prompt := []string{"<bos>", "the", " keys", " to", " the", " cab", "inet"}
	e := &attribution.Explanation{
		Version: attribution.Version,
		Model: trace.Info{
			Name: "tiny", Hash: "3f2a9c1d77e04b5a", Note: "toy grammar model", Family: "bloom",
			Backend: "go",
			Layers:  6, Heads: 8, Width: 128, Vocab: 512,
		},
		Prompt: attribution.Prompt{
			Text: "the keys to the cabinet", Texts: prompt, IDs: []int{1, 5, 6, 7, 5, 8, 9},
			Special: []bool{true, false, false, false, false, false, false}, BOSAdded: true,
		},
		Steps: []attribution.GeneratedToken{
			{ID: 10, Text: " are", Probability: 0.9312, Alternatives: []attribution.Alternative{
				{ID: 10, Text: " are", Probability: 0.9312}, {ID: 11, Text: " were", Probability: 0.0413}, {ID: 12, Text: " is", Probability: 0.0121},
			}},
			{ID: 13, Text: " here", Probability: 0.4, Alternatives: []attribution.Alternative{
				{ID: 14, Text: " old", Probability: 0.42}, {ID: 13, Text: " here", Probability: 0.4},
			}},
			{ID: 15, Text: " .", Probability: 0.9991},
		},
		Order:    []string{"rollout", "flow", "value-zeroing"},
		Methods:  map[string]*attribution.Result{},
		Warnings: []string{"the model never saw the word \"cabinet\"."},
	}
	weights := []float64{1, 5, 0.5, 1, 2, 3}
	units := map[string]string{
		"rollout": "share of attention", "flow": "flow",
		"value-zeroing": "share of change of the block's output",
	}
	for i, name := range e.Order {
		layers := []int{0, 1, 2, 3, 4, 5}
		if name == "flow" {
			layers = []int{5}
		}
		n, m, l := len(e.Steps), len(prompt), len(layers)
		r := &attribution.Result{
			Unit: units[name], Layers: layers, Shape: [3]int{n, m, l}, Facts: ofUnit(units[name]),
			Options: map[string]string{
				"heads": "mean", "residual": "0.5",
				"row": "predicting position",
			},
		}
		fill(r, func(at int) float64 {
			t, j, k := at/l/m, at/l%m, at%l
			w := 18 - float64(2*t) // the sink
			if j > 0 {
				w = weights[((j-1)*(2*i+1)+t*2*i)%(m-1)] * float64(k+2) / float64(k+2+j%3)
			}
			return w / float64(34+3*t)
		})
		e.Methods[name] = r
		for t := range n {
			for k := range l {
				rest := 1.0
				for j := range m {
					rest -= r.At(t, j, k)
				}
				r.OtherMass = append(r.OtherMass, max(rest, 0))
			}
		}
	}
	return e
}

// fill sets the values of a result over the prompt; i counts levels, of prompt tokens, of tokens.
func fill(r *attribution.Result, value func(i int) float64) {
	n, m, l := r.Shape[0], r.Shape[1], r.Shape[2]
	r.Rows = make([][]float64, n*l)
	for i := range n * m * l {
		at := i/l/m*l + i%l
		r.Rows[at] = append(r.Rows[at], value(i))
	}
}

// ofUnit returns the facts of values whose unit begins with "share" or "lift", or of amounts. Those
// of Value Zeroing are about one layer.
func ofUnit(unit string) attribution.Facts {
	of, _, _ := strings.Cut(unit, " ")
	evidence := trace.Traced
	if strings.Contains(unit, "block") {
		evidence = trace.Read
	}
	return attribution.Facts{Quantity: attribution.Quantity(of), Evidence: evidence}
}
