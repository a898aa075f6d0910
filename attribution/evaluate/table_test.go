package evaluate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/evaluate"
)

// A report that was written and read again prints its methods from the best to the worst, with the
// layer that is scored, how far they are above a line, and why a case is not proven.
func TestReportAsText(t *testing.T) {
	summary := func(mean float64) evaluate.Summary {
		return evaluate.Summary{Mean: mean, Low: mean - .1, High: mean + .1, N: 3}
	}
	table := [][]evaluate.Summary{{summary(.25)}, {summary(.75)}, {summary(.5)}}
	written, err := json.Marshal(evaluate.Report{
		Methods:  []string{"raw", "direct", evaluate.ChanceLine},
		Measures: []evaluate.Measure{{Name: "average precision"}},
		Groups:   []string{"number", "all"}, Table: [][][]evaluate.Summary{table, table},
		Layers: []evaluate.Layers{{
			Method: "raw", Layers: []int{0, 1}, Picked: []int{1, 1}, Best: []int{0, 0},
			Table: [][]evaluate.Summary{{summary(.5), summary(.25)}, {summary(.5), summary(.25)}},
		}},
		Leads: []evaluate.Lead{{
			Line:    evaluate.ChanceLine,
			Methods: []evaluate.Summary{summary(-.25), summary(.25), summary(0)},
		}},
		Proofs:  []evaluate.Proofs{{Group: "number", Cases: 4, Proven: 3}},
		Refuted: slices.Repeat([]evaluate.Refuted{{Prompt: "a\x1b", Reason: "b decides"}}, 21),
	})
	must(t, err)
	path := filepath.Join(t.TempDir(), "report.json")
	must(t, os.WriteFile(path, written, 0o644))
	r, err := evaluate.ReadReport(path)
	must(t, err)
	var b strings.Builder
	must(t, r.WriteTable(&b, "average precision"))
	must(t, r.WriteLeads(&b, evaluate.ChanceLine))
	must(t, r.WriteLeads(&b, evaluate.RandomLine)) // which no case has
	must(t, r.WriteLayers(&b))
	want := `
average precision (high is good; mean and 95 % confidence)

method        number                all
direct        0.750 [0.650, 0.850]  0.750 [0.650, 0.850]
chance        0.500 [0.400, 0.600]  0.500 [0.400, 0.600]
raw, layer 1  0.250 [0.150, 0.350]  0.250 [0.150, 0.350]
raw     above chance by  -0.25 [-0.35, -0.15]
direct  above chance by  +0.25 [+0.15, +0.35]

average precision of methods of one layer, by layer, over all cases; * is the layer scored

method  0      1       best in hindsight, not a score
raw     0.500  0.250*  layer 0
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	must(t, r.WriteProofs(&b))
	if got := b.String(); !strings.Contains(got, "3 of 4") ||
		!strings.HasSuffix(got, "\"a\\x1b\"\n    b decides\nand 1 more\n") {
		t.Error(got)
	}
	if got := r.Means("direct", "average precision"); !slices.Equal(got, []float64{.75, .75}) {
		t.Errorf("means %v", got)
	}
	if err := r.WriteTable(&b, "rank"); err == nil || !strings.Contains(err.Error(), `"rank"`) {
		t.Errorf("a measure that the report does not have: %v", err)
	}
	must(t, os.WriteFile(path, []byte("[]"), 0o644))
	for _, name := range []string{path, path + ".none"} {
		if _, err := evaluate.ReadReport(name); err == nil ||
			!strings.Contains(err.Error(), filepath.Base(name)) {
			t.Errorf("%s: %v", filepath.Base(name), err)
		}
	}
}
