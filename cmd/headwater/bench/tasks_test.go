package bench

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/tasks"
	"github.com/headwater-ml/headwater/models"
)

// Tasks are for a model that has neither a grammar nor a circuit, if no file gives other cases.
// Flags that were given stay.
func TestTaskDefaults(t *testing.T) {
	for _, c := range []struct {
		f    benchFlags
		want bool
	}{
		{benchFlags{ModelFlags: cli.ModelFlags{Model: "a/model"}}, true},
		{benchFlags{ModelFlags: cli.ModelFlags{Model: "a/model"}, input: "cases.jsonl"}, false},
		{benchFlags{ModelFlags: cli.ModelFlags{Model: models.Default}}, false},
		{benchFlags{ModelFlags: cli.ModelFlags{Model: "planted-sum"}}, false},
		{benchFlags{planted: true}, false},
		{benchFlags{ModelFlags: cli.ModelFlags{Model: "a/model"}, grammar: true}, false},
	} {
		if got := c.f.tasked(); got != c.want {
			t.Errorf("%+v: tasks %v, want %v", c.f.ModelFlags, got, c.want)
		}
	}
	f := benchFlags{ModelFlags: cli.ModelFlags{Model: "a/model"}, cases: 7}
	f.setTaskDefaults(func(flag string) bool { return flag == "cases" })
	if f.cases != 7 || f.opts.Limit != taskLimit || f.timed != taskTimed ||
		!slices.Equal(f.kinds, tasks.Kinds()) || f.split != tasks.HeldOut ||
		len(f.opts.Explain.Methods) == 0 || f.timedTokens() != taskTokens {
		t.Errorf("defaults %+v", f)
	}
}

// A model is given as many candidates of a kind as asked for, whose answers it has as one token and
// whose counterfactual is as long as the prompt.
func TestTaskCases(t *testing.T) {
	m, err := models.Open("tiny", models.Options{})
	must(t, err)
	f := benchFlags{kinds: []string{"agreement"}, cases: 9, seed: 1, split: tasks.Dev}
	cases, err := f.taskCases(m)
	if err != nil || len(cases) != 9 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		a, err := m.Encode(c.Prompt, trace.SpecialsAuto)
		must(t, err)
		b, err := m.Encode(c.Counterfactual, trace.SpecialsAuto)
		if err != nil || len(a) != len(b) || c.Group != "agreement" {
			t.Errorf("%q has %d tokens and %q %d, %v", c.Prompt, len(a), c.Counterfactual, len(b),
				err)
		}
	}
}

// A model that is opened from a directory is given tasks, and a second run gives equal numbers. The
// embedded model knows few of the words and agrees in number all the same.
func TestBenchTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("measures methods on many texts")
	}
	args := []string{
		"bench", "methods", "--model", filepath.Join(clitest.Root, "internal", "tiny", "data"), "--backend", "go",
		"--kinds", "agreement", "--cases", "30", "--limit", "2", "--methods", "raw", "--timed", "0",
	}
	var r benchReport
	text := headwater.Output(t, append(args, "--json")...)
	must(t, json.Unmarshal([]byte(text), &r))
	p := r.Proofs[0]
	if r.Cases != 2 || p.Group != "agreement" || p.Proven != 2 || p.Answered < 2 ||
		p.Cases < p.Answered || p.Cases == 30 || r.Tasks.Split != tasks.HeldOut {
		t.Errorf("%d cases, proofs %+v, tasks %+v", r.Cases, p, r.Tasks)
	}
	if s, ok := r.At("agreement", "raw", "top token is evidence"); !ok || s.N != 2 {
		t.Errorf("top token %+v", s)
	}
	if again := headwater.Output(t, append(args, "--json")...); again != text {
		t.Errorf("the second run differs:\n%s\n%s", text, again)
	}
	dev := headwater.Output(t, append(args, "--split", "dev")...)
	for _, want := range []string{"Tasks of the dev half", "in hindsight", "answered", "mean ± half"} {
		if !strings.Contains(dev, want) {
			t.Errorf("the table lacks %q:\n%s", want, dev)
		}
	}
}

// A model from a directory is given the sentences of the embedded one if it was trained on them.
func TestBenchGrammar(t *testing.T) {
	if testing.Short() {
		t.Skip("measures methods on many texts")
	}
	args := []string{
		"bench", "methods", "--backend", "go", "--cases", "1", "--methods", "raw", "--timed", "0",
		"--json",
	}
	var reports [2]benchReport
	for i, more := range [][]string{
		nil, {"--grammar", "--model", filepath.Join(clitest.Root, "internal", "tiny", "data")},
	} {
		text := headwater.Output(t, append(args, more...)...)
		must(t, json.Unmarshal([]byte(text), &reports[i]))
	}
	if reports[0].Cases == 0 || !reflect.DeepEqual(reports[0].Table, reports[1].Table) {
		t.Errorf("the embedded model has %+v, its directory %+v", reports[0].Table,
			reports[1].Table)
	}
}

// The table has a column for each kind, half the width of intervals, the cost, and the best layer
// in a row that says that it is hindsight.
func TestTaskTable(t *testing.T) {
	summary := func(mean float64) evaluate.Summary {
		return evaluate.Summary{Mean: mean, Low: mean - .1, High: mean + .1, N: 4}
	}
	const measure = "average precision"
	r := benchReport{
		Tasks: &taskChoice{}, Cost: map[string]cost{"raw": {5, 1.25}},
		Report: &evaluate.Report{
			Methods: []string{"raw", "random"}, Groups: []string{"facts", "all"},
			Measures: []evaluate.Measure{{Name: measure}},
			Table: [][][]evaluate.Summary{
				{{summary(.25)}, {summary(.5)}}, {{summary(.25)}, {summary(.375)}},
			},
			Layers: []evaluate.Layers{{
				Method: "raw", Layers: []int{0, 1}, Picked: []int{1, 1}, Best: []int{0, 0},
				Table: [][]evaluate.Summary{
					{summary(.75), summary(.25)}, {summary(.75), summary(.25)},
				},
			}},
		},
	}
	var b strings.Builder
	must(t, r.writeTaskTable(&b, evaluate.Measure{Name: measure}))
	want := `
average precision (high is good; mean ± half of the 95 % interval)

method                     facts       all         cost
n                          4           4           of plain
raw, layer 0 in hindsight  0.75 ±0.10  0.75 ±0.10  1.2×
random                     0.50 ±0.10  0.38 ±0.10  –
raw, layer 1               0.25 ±0.10  0.25 ±0.10  1.2×

A layer in hindsight is the one that did best on these very cases, so it is not a score of the method.
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
