package evaluate

import (
	"slices"

	"github.com/headwater-ml/headwater/attribution"
)

// layerMeasure is the measure by which a layer is picked.
const layerMeasure = "average precision"

// oneLayer reports whether a method's rows are those of one layer, so that a layer must be chosen.
func oneLayer(name string) bool {
	m, err := attribution.LookupMethod(name)
	return err == nil && m.Scorer == "" && m.Aggregation == "layer"
}

// Layers has how well a method of one layer finds the evidence, layer by layer.
type Layers struct {
	Method string `json:"method"`
	// Layers are the layers, 0-based and rising.
	Layers []int `json:"layers"`
	// Table has, [group][layer], the average precision over the cases that are scored.
	Table [][]Summary `json:"table"`
	// Picked is, [group], the layer that is scored: the one that the cases with Selection choose,
	// or, if there are none, the one that a picture shows. It is -1 if the cases of the group have
	// different layers. Chosen reports whether there were cases with Selection.
	Picked []int `json:"picked"`
	Chosen bool  `json:"chosen"`
	// Best is, [group], the layer with the highest mean in Table. It is known only afterwards, so
	// it is not a score of the method.
	Best []int `json:"best"`
}

// pick returns, for each method of one layer, the layer with the highest mean average precision
// over the results with Selection of one model, the lower among equals. Cases that choose are not
// scored, so the choice does not flatter the method.
func pick(model string, methods []string, results []*Result) map[string]int {
	picked := map[string]int{}
	for _, name := range methods {
		var chosen []*Result
		for _, r := range results {
			if r.Selection && r.Model == model && r.ByLayer[name] != nil {
				chosen = append(chosen, r)
			}
		}
		if len(chosen) > 0 {
			layers, means := byLayer(name, chosen)
			picked[name] = layers[best(means)]
		}
	}
	return picked
}

// byLayer summarises a method's average precision by layer.
func byLayer(method string, results []*Result) (layers []int, means []Summary) {
	values := map[int][]float64{}
	for _, r := range results {
		for k, v := range r.ByLayer[method] {
			layers = append(layers, r.Layers[k])
			values[r.Layers[k]] = append(values[r.Layers[k]], float64(v))
		}
	}
	slices.Sort(layers)
	layers = slices.Compact(layers)
	for _, l := range layers {
		means = append(means, Summarize(values[l]))
	}
	return layers, means
}

// best returns the index of the highest mean; among equal means, the first. A mean over no cases is
// never the best, although its number is 0.
func best(means []Summary) int {
	at := 0
	for k, s := range means {
		if s.N > 0 && (means[at].N == 0 || s.Mean > means[at].Mean) {
			at = k
		}
	}
	return at
}

// layersOf returns the tables of the methods of one layer.
func layersOf(r *Report, results []*Result) []Layers {
	var all []Layers
	for _, name := range r.Methods {
		of := func(group string) (some []*Result) {
			for _, x := range results {
				if x.ByLayer[name] != nil && x.in(group, r.Groups) {
					some = append(some, x)
				}
			}
			return some
		}
		everything := of(r.Groups[len(r.Groups)-1])
		if len(everything) == 0 {
			continue
		}
		t := Layers{Method: name}
		t.Layers, _ = byLayer(name, everything)
		for _, group := range r.Groups {
			some := of(group)
			// A group may lack a layer if its cases are from another model; its summary is empty.
			row := make([]Summary, len(t.Layers))
			layers, means := byLayer(name, some)
			for k, l := range layers {
				row[slices.Index(t.Layers, l)] = means[k]
			}
			t.Table = append(t.Table, row)
			picked, at := -1, -1
			if len(some) > 0 {
				picked, at = some[0].Picked[name], t.Layers[best(row)]
			}
			for _, x := range some {
				t.Chosen = t.Chosen || x.LayerChosen
				if x.Picked[name] != picked {
					picked = -1
				}
			}
			t.Picked, t.Best = append(t.Picked, picked), append(t.Best, at)
		}
		all = append(all, t)
	}
	return all
}
