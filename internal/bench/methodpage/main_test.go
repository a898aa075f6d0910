package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// known is a report by hand: "earliest first" reaches 0.50 [0.45, 0.55] over all, and 0.95 in kind
// b.
func known() *report {
	at := func(mean, low, high float64) []evaluate.Summary {
		return []evaluate.Summary{{Mean: mean, Low: low, High: high, N: 5}}
	}
	all := [][]evaluate.Summary{
		at(.9, .85, .95), at(.56, .5, .6), at(.3, .2, .4), at(.5, .45, .55), at(.3, .2, .4), at(.2, .1, .3), at(.25, .2, .3),
	}
	b := append([][]evaluate.Summary{}, all...)
	b[3] = at(.95, .9, 1)
	return &report{Report: evaluate.Report{
		Methods:  []string{"raw", "rollout", "flow", evaluate.EarliestLine, evaluate.LatestLine, evaluate.RandomLine, evaluate.ChanceLine},
		Groups:   []string{"a", "b", "all"},
		Measures: []evaluate.Measure{{Name: "average precision"}},
		Table:    [][][]evaluate.Summary{all, b, all},
		Cases:    8, Unproven: 2, Chosen: 7, Selection: 9,
		Proofs: []evaluate.Proofs{{Group: "all", Cases: 10, Proven: 8, Evidence: evaluate.Moves{
			Words: 20, Deciding: 18, Loss: evaluate.Summary{Mean: 1.5}, Least: .1, Most: 2,
			Logits: evaluate.Summary{Mean: 12.25},
		}}},
		Leads: []evaluate.Lead{
			// The first three of the seven methods count; rollout is above one line, below none.
			{Line: evaluate.ChanceLine, Methods: append([]evaluate.Summary{{Mean: .6, Low: .5, High: .7}, {Low: .1, High: .3}, {Low: .01, High: .1}}, make([]evaluate.Summary, 4)...)},
			{Line: evaluate.EarliestLine, Methods: append([]evaluate.Summary{{Mean: .4, Low: .3, High: .5}, {Low: -.1, High: .2}, {Low: -.3, High: -.1}}, make([]evaluate.Summary, 4)...)},
		},
		Layers: []evaluate.Layers{{
			Method: "raw", Layers: []int{0, 1}, Picked: []int{0, 0, 0}, Best: []int{0, 1, 1}, Chosen: true,
			Table: [][]evaluate.Summary{nil, nil, {at(.9, .85, .95)[0], at(.92, .9, .95)[0]}},
		}},
	}}
}

// What the page concludes is what the numbers say.
func TestConclusions(t *testing.T) {
	page := known().page("a machine")
	lacksNothing(t, page,
		"on 8 held-out sentences", "out of 5 of each kind", "in 7 of\nthe 8 sentences",
		"- A ranking that knows nothing of the text reaches 0.50 [0.45, 0.55] at best, by *earliest first*.\n",
		"with 95 % confidence, and by how much: `raw` (layer 0) +0.40.\n",
		"- Not separable from at least one of them: `rollout`.\n",
		"- Worse than at least one of them: `flow`.\n",
		"- In b, *earliest first* reaches 0.95: position is enough there",
		"in the last one: `raw` (layer 0) 0.90 and 0.92.\n",
		"2 of 10 are not scored.",
		"| all | 8 of 10 | 18 of 20 | 1.50 (0.10 to 2.00) | 12.2 |",
		"the best one on 9 other sentences",
		"| `raw` | **0.90** | 0.92 | layer 1 |\n",
		"| *latest first* | 0.30",
	)
	for _, wrong := range []string{"- In a,", "`latest first`", "What the answer loses"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page has %q", wrong)
		}
	}
}

// lacksNothing reports what is not in a page.
func lacksNothing(t *testing.T, page string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// The page has the measures of ablations if the report has them, and the command that gave them.
func TestAblations(t *testing.T) {
	r := known()
	if page := r.page("a machine"); strings.Contains(page, "Do the scores add up?") ||
		strings.Contains(page, "--ablations") {
		t.Error("the page has measures that the report lacks")
	}
	r.Model.Backend = "go"
	for i, name := range additive {
		r.Measures = append(r.Measures, evaluate.Measure{Name: name})
		for g, table := range r.Table {
			r.Table[g] = slices.Clone(table) // two groups have one table
			for m, row := range table {
				mean := float64(10*(i+1)) + float64(m)/10
				r.Table[g][m] = append(slices.Clip(row),
					evaluate.Summary{Mean: mean, Low: mean, High: mean, N: 4})
			}
		}
	}
	page := r.page("a machine")
	lacksNothing(t, page,
		"--backend go --cases 5 --faithful --ablations 32 --randomized",
		"| method | linear datamodeling score | drop of the top 3 |\n|---|---|---|\n",
		"| `rollout` | 10.10 | 20.10 |\n",
	)
}

// The picture names the layer that is scored and the lines, and is the same every time.
func TestDraw(t *testing.T) {
	var pictures []string
	for _, name := range []string{"a.svg", "b.svg"} {
		path := filepath.Join(t.TempDir(), name)
		must(t, known().draw(path))
		data, err := os.ReadFile(path)
		must(t, err)
		pictures = append(pictures, string(data))
	}
	if pictures[0] != pictures[1] {
		t.Error("two pictures of one report differ")
	}
	for _, want := range []string{"raw (layer 0)", "earliest first", "chance"} {
		if !strings.Contains(pictures[0], want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}

// The page keeps everything around its measured part.
func TestBetween(t *testing.T) {
	old := "above\n" + begin + "before the change\n" + end + "below\n"
	got, err := between([]byte(old), known().page("a machine"))
	must(t, err)
	text := string(got)
	if !strings.HasPrefix(text, "above\n"+begin+"## Which method to believe\n") ||
		!strings.HasSuffix(text, end+"below\n") || strings.Contains(text, "before the change") {
		t.Error(text)
	}
	_, err = between([]byte("above\n"+begin+"before the change\n"), "")
	if err == nil || !strings.Contains(err.Error(), "end of measured") {
		t.Errorf("error %v without the line at the end", err)
	}
}

// The committed page has the fixed texts of this program. After a change of one, the page has to be
// written again.
func TestCommittedPage(t *testing.T) {
	page, err := os.ReadFile(committed)
	must(t, err)
	fixed := template.Must(template.New("page").Funcs(known().functions("")).Parse(pageText))
	for _, name := range []string{"limits", "cautions", "ranking", "losses", "shuffled"} {
		text := fixed.Lookup(name).Root.String()
		if len(text) < 100 || !strings.Contains(string(page), text) {
			t.Errorf("docs/measured/methods.md lacks\n%s", text)
		}
	}
}

// committed is the page of the repository.
const committed = "../../../docs/measured/methods.md"
