// Command methodpage writes the measured part of docs/measured/methods.md, and its picture, from
// what headwater bench methods --json measured:
//
//	headwater bench methods --backend xla --cases 25 --faithful --ablations 32 \
//		--randomized --json -o report.json
//	go run ./internal/bench/methodpage -report report.json -machine "two cores of a 2.5 GHz Xeon"
package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// report is what the command writes.
type report struct {
	Model trace.Info `json:"model"`
	evaluate.Report
	Randomized map[string]evaluate.Summary `json:"randomized"`
	Cost       map[string]struct {
		Milliseconds float64 `json:"ms"`
		Multiple     float64 `json:"multiple"`
	} `json:"cost"`
}

func main() {
	path := flag.String("report", "", "the `file` that headwater bench methods --json wrote")
	machine := flag.String("machine", "", "the machine that it was measured on, for the page")
	dir := flag.String("dir", "docs/measured", "the `folder` of the page")
	flag.Parse()
	if err := write(*path, *machine, *dir); err != nil {
		fmt.Fprintf(os.Stderr, "methodpage: %v\n", err)
		os.Exit(1)
	}
}

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

// write reads the report and writes the picture and the measured part of the page.
func write(path, machine, dir string) error {
	r, err := read(path)
	if err != nil {
		return err
	}
	if r.Cost == nil {
		return fmt.Errorf("%s has no cost; measure with --timed above 0", path)
	}
	page := filepath.Join(dir, "methods.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text, err = between(text, r.page(machine))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	if err := r.draw(filepath.Join(dir, "methods.svg")); err != nil {
		return err
	}
	return os.WriteFile(page, text, 0o644)
}

// The lines around the measured part of docs/measured/methods.md.
const (
	begin = "<!-- measured: written by methodpage -->\n"
	end   = "<!-- end of measured -->\n"
)

// between replaces what stands between these lines.
func between(text []byte, content string) ([]byte, error) {
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return nil, fmt.Errorf("want the lines %q and %q", begin, end)
	}
	return []byte(before + begin + content + end + after), nil
}

// all is the last group, over all cases.
func (r *report) all() string { return r.Groups[len(r.Groups)-1] }

//go:embed page.tmpl
var pageText string

// additive are the measures of ablations.
var additive = []string{"linear datamodeling score", "drop of the top 3"}

// page is the measured part of docs/measured/methods.md.
func (r *report) page(machine string) string {
	var b strings.Builder
	t := template.Must(template.New("page").Funcs(r.functions(machine)).Parse(pageText))
	if err := t.Execute(&b, r); err != nil {
		panic(err) // the template is a constant
	}
	return b.String()
}

// functions are what page.tmpl calls besides the fields of the report.
func (r *report) functions(machine string) template.FuncMap {
	at := func(method, measure string) string {
		s, _ := r.At(r.all(), method, measure)
		return mean(s)
	}
	return template.FuncMap{
		"machine": func() string { return machine }, "command": r.command,
		"conclusions": r.conclusions, "perKind": r.perKind, "ranked": r.Ranked, "method": r.method,
		"has": r.has, "mean": mean, "deciding": deciding, "lost": lost, "overall": at,
		"shuffled": r.shuffled, "removed": r.removed, "cost": r.cost, "cells": r.cells,
		"sentences": func() int { return r.Cases + r.Unproven },
		"last":      func() int { return len(r.Groups) - 1 },
		"additive":  func() []string { return additive },
		"list":      func(names ...string) []string { return names },
		"oneLayer": func() []evaluate.Layers { // a table of one column shows nothing
			if len(r.Layers) > 0 && len(r.Layers[0].Layers) < 2 {
				return nil
			}
			return r.Layers
		},
	}
}

// perKind is the number of sentences of each kind.
func (r *report) perKind() int { return (r.Cases + r.Unproven) / max(1, len(r.Groups)-1) }

// conclusions returns what the numbers bear out, from the numbers.
func (r *report) conclusions() string {
	const measure = "average precision"
	var above, near, below []string
	for _, name := range r.Ranked(measure) {
		if slices.Contains(evaluate.Lines(), name) {
			continue
		}
		switch mean, low, high := r.lead(name); {
		case low > 0:
			above = append(above, fmt.Sprintf("%s %+.2f", r.method(name), mean))
		case high < 0:
			below = append(below, r.method(name))
		default:
			near = append(near, r.method(name))
		}
	}
	var b strings.Builder
	for _, name := range r.Ranked(measure) {
		if s, _ := r.At(r.all(), name, measure); slices.Contains(evaluate.Lines(), name) {
			fmt.Fprintf(&b, "- A ranking that knows nothing of the text reaches %s at best, "+
				"by %s.\n", cell(s), r.method(name))
			break
		}
	}
	point := func(text string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(&b, "- %s: %s.\n", text, strings.Join(names, ", "))
		}
	}
	point("Better than every such ranking, sentence by sentence with 95 % confidence, "+
		"and by how much", above)
	point("Not separable from at least one of them", near)
	point("Worse than at least one of them", below)
	for _, g := range r.Groups {
		for _, name := range []string{evaluate.EarliestLine, evaluate.LatestLine} {
			if s, ok := r.At(g, name, measure); ok && g != r.all() && s.Mean > .9 {
				fmt.Fprintf(&b, "- In %s, %s reaches %.2f: position is enough there, "+
					"so that kind tells little about methods.\n", g, r.method(name), s.Mean)
			}
		}
	}
	if len(r.Layers) > 0 && len(r.Layers[0].Layers) > 1 {
		var both []string
		for _, l := range r.Layers {
			row := l.Table[len(l.Table)-1]
			if k := slices.Index(l.Layers, l.Picked[len(l.Picked)-1]); k >= 0 {
				scored, last := row[k].Mean, row[len(row)-1].Mean
				name := r.method(l.Method)
				both = append(both, fmt.Sprintf("%s %.2f and %.2f", name, scored, last))
			}
		}
		point("Methods of one layer need the right layer; "+
			"they reach, in the scored layer and in the last one", both)
	}
	return b.String()
}

// lead returns how far a method is above the lines, with an interval: the lowest of those above
// each.
func (r *report) lead(method string) (mean, low, high float64) {
	i := slices.Index(r.Methods, method)
	mean, low, high = math.Inf(1), math.Inf(1), math.Inf(1)
	for _, lead := range r.Leads {
		s := lead.Methods[i]
		mean, low, high = min(mean, s.Mean), min(low, s.Low), min(high, s.High)
	}
	return mean, low, high
}

// removed compares the best AOPC with that of removing the last words; nil if it is not there.
func (r *report) removed() any {
	s, ok := r.At(r.all(), evaluate.LatestLine, "AOPC")
	if !ok {
		return nil
	}
	best, _ := r.At(r.all(), r.Ranked("AOPC")[0], "AOPC")
	return struct{ Best, LatestFirst float64 }{best.Mean, s.Mean}
}

// deciding and lost are cells of the table of changes.
func deciding(m evaluate.Moves) string { return fmt.Sprintf("%d of %d", m.Deciding, m.Words) }

func lost(m evaluate.Moves) string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", m.Loss.Mean, m.Least, m.Most)
}

// command is what was run.
func (r *report) command() string {
	ablated := ""
	if r.has(additive[0]) {
		ablated = " --ablations 32"
	}
	return fmt.Sprintf("headwater bench methods --backend %s --cases %d --faithful%s "+
		"--randomized --json -o report.json", cmp.Or(r.Model.Backend, "xla"), r.perKind(), ablated)
}

// has reports whether the report has a measure.
func (r *report) has(measure string) bool {
	return slices.ContainsFunc(r.Measures,
		func(m evaluate.Measure) bool { return m.Name == measure })
}

// cells are those of a method in each group, with confidence over all.
func (r *report) cells(method, measure string) (cells []string) {
	for _, g := range r.Groups {
		s, _ := r.At(g, method, measure)
		cells = append(cells, mean(s))
	}
	s, _ := r.At(r.all(), method, measure)
	cells[len(cells)-1] = cell(s)
	return cells
}

// cost is two cells: milliseconds, and their multiple of a token.
func (r *report) cost(method string) string {
	if c, ok := r.Cost[method]; ok {
		return fmt.Sprintf(" %.1f | %.1f", c.Milliseconds, c.Multiple)
	}
	return " – | –"
}

// method writes a method's name, with the layer that is scored if it has one; lines are set apart.
func (r *report) method(name string) string {
	if slices.Contains(evaluate.Lines(), name) {
		return "*" + name + "*"
	}
	if layer, ok := r.PickedLayer(name); ok {
		return fmt.Sprintf("`%s` (%s)", name, r.LayerName(layer))
	}
	return "`" + name + "`"
}

// mean writes a summary without its confidence.
func mean(s evaluate.Summary) string {
	if s.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", s.Mean)
}

// cell writes a summary.
func cell(s evaluate.Summary) string {
	if s.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", s.Mean, s.Low, s.High)
}

// shuffled are the methods that were compared with shuffled weights, the best first.
func (r *report) shuffled() []string {
	names := slices.Clone(r.Methods)
	names = slices.DeleteFunc(names, func(n string) bool { _, ok := r.Randomized[n]; return !ok })
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(r.Randomized[a].Mean, r.Randomized[b].Mean)
	})
	return names
}
