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

// fewest is how many sentences of a kind each model must have proven.
const fewest = 5

// unguidedTable is the table of models that were not shown the evidence.
type unguidedTable struct {
	Models, PerKind, Fewest int
	// Proven is how many sentences of each group were proven, in each model.
	Proven []string
	Rows   []unguidedRow
}

// unguidedRow is a method: a cell for each group, its score in the guided model, and the layers
// that were chosen.
type unguidedRow struct {
	Method string
	Cells  []string
	Guided float64
	Layers string
}

// unguided compares the models that were not shown the evidence, the first seed first; nil if there
// are none.
func (r *report) unguided(others []*report) *unguidedTable {
	if len(others) == 0 {
		return nil
	}
	t := &unguidedTable{Models: len(others), PerKind: others[0].perKind(), Fewest: fewest}
	for _, g := range r.Groups {
		t.Proven = append(t.Proven, each(others, func(o *report) string {
			for _, p := range o.Proofs {
				if p.Group == g {
					return fmt.Sprint(p.Proven)
				}
			}
			return "0"
		}))
	}
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
		row := unguidedRow{Method: "`" + name + "`"}
		if slices.Contains(evaluate.Lines(), name) {
			row.Method = "*" + name + "*"
		}
		for _, g := range r.Groups {
			row.Cells = append(row.Cells, span(over(name, g)))
		}
		s, _ := r.At(r.all(), name, measure)
		row.Guided = s.Mean
		row.Layers = each(others, func(o *report) string {
			if layer, ok := o.PickedLayer(name); ok {
				return fmt.Sprint(layer)
			}
			return "–"
		})
		if strings.Trim(row.Layers, "–, ") == "" { // no model has one
			row.Layers = ""
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// each joins what f returns for each report.
func each(all []*report, f func(*report) string) string {
	out := make([]string, len(all))
	for i, r := range all {
		out[i] = f(r)
	}
	return strings.Join(out, ", ")
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
