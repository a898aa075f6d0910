package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/evaluate"
)

// read reads what headwater bench methods --json wrote.
func read(path string) (*report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(r.Groups) == 0 || r.Leads == nil {
		return nil, fmt.Errorf("%s has no groups or evidence; measure cases with evidence", path)
	}
	return r, nil
}

// withoutGuidance introduces the table of models that were not shown the evidence.
const withoutGuidance = `
### Without the guided head

The same bench on %d models of the same shape in which no head was ever shown the evidence: other
seeds, so other words, batches and first weights. Each was made with
` + "`go run ./cmd/train-tiny -guided 0 -seed N -o DIR`" + ` and measured with
` + "`headwater bench methods --model DIR --grammar --cases %d --json`" + `.
A cell is the mean over the models of their mean average precision, with the lowest and the highest
model in brackets where these differ; there is none where a model has fewer than %d proven sentences.
*Guided* is the model above. The last column has the layer that was chosen for each model, with other
sentences.

`

// fewest is how many sentences of a kind each model must have proven.
const fewest = 5

// unguided returns the section on models that were not shown the evidence, the first seed first; ""
// if there are none.
func (r *report) unguided(others []*report) string {
	if len(others) == 0 {
		return ""
	}
	var b strings.Builder
	n := (others[0].Cases + others[0].Unproven) / max(1, len(others[0].Groups)-1)
	fmt.Fprintf(&b, withoutGuidance, len(others), n, fewest)
	b.WriteString("| method |")
	for _, g := range r.Groups {
		fmt.Fprintf(&b, " %s |", g)
	}
	b.WriteString(" guided | layers |\n" + strings.Repeat("|---", len(r.Groups)+3) + "|\n")
	b.WriteString("| *proven sentences* |")
	for _, g := range r.Groups {
		fmt.Fprintf(&b, " %s |", strings.Join(each(others, func(o *report) string {
			for _, p := range o.Proofs {
				if p.Group == g {
					return fmt.Sprint(p.Proven)
				}
			}
			return "0"
		}), ", "))
	}
	fmt.Fprintf(&b, " %d | |\n", r.Cases)
	const measure = "average precision"
	names := slices.Clone(r.Methods)
	over := func(name, group string) (values []float64) {
		for _, o := range others {
			s, ok := o.At(group, name, measure)
			if !ok {
				continue
			}
			if s.N < fewest {
				return nil
			}
			values = append(values, s.Mean)
		}
		return values
	}
	slices.SortStableFunc(names, func(x, y string) int {
		return cmp.Compare(evaluate.Summarize(over(y, r.all())).Mean,
			evaluate.Summarize(over(x, r.all())).Mean)
	})
	for _, name := range names {
		if len(over(name, r.all())) == 0 {
			continue // it was not measured there
		}
		plain := "`" + name + "`"
		if slices.Contains(evaluate.Lines(), name) {
			plain = "*" + name + "*"
		}
		fmt.Fprintf(&b, "| %s |", plain)
		for _, g := range r.Groups {
			fmt.Fprintf(&b, " %s |", span(over(name, g)))
		}
		s, _ := r.At(r.all(), name, measure)
		chosen := false
		layers := each(others, func(o *report) string {
			layer, ok := o.PickedLayer(name)
			if !ok {
				return "–"
			}
			chosen = true
			return fmt.Sprint(layer)
		})
		if !chosen {
			layers = nil
		}
		fmt.Fprintf(&b, " %.2f | %s |\n", s.Mean, strings.Join(layers, ", "))
	}
	return b.String()
}

// each returns what f says of each report.
func each(all []*report, f func(*report) string) []string {
	out := make([]string, len(all))
	for i, r := range all {
		out[i] = f(r)
	}
	return out
}

// span writes the mean of values with the lowest and the highest, where these differ.
func span(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	low := fmt.Sprintf("%.2f", slices.Min(values))
	high := fmt.Sprintf("%.2f", slices.Max(values))
	if low == high {
		return low
	}
	return fmt.Sprintf("%.2f [%s, %s]", evaluate.Summarize(values).Mean, low, high)
}
