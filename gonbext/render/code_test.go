package render

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/units"
)

// programExample is a program by tokens, and by lines.
func programExample(t *testing.T) (tokens, lines *attribution.Explanation) {
	t.Helper()
	e := &attribution.Explanation{Order: []string{"direct"}}
	for _, text := range []string{
		"def", " f", "():", "\n   ", " x", " =", " ", "1", "\n       ", " y", "\n\n   ", " return",
	} {
		p, begin := &e.Prompt, len(e.Prompt.Text)
		p.Text += text
		p.IDs, p.Texts = append(p.IDs, len(p.IDs)), append(p.Texts, text)
		p.Offsets = append(p.Offsets, [2]int{begin, len(p.Text)})
		p.Special = append(p.Special, false)
	}
	m := len(e.Prompt.IDs)
	row := make([]float64, m)
	row[4], row[9] = 1, .5
	e.Steps = []attribution.GeneratedToken{{ID: 1, Text: " x", Probability: 1}}
	e.Methods = map[string]*attribution.Result{"direct": {
		Unit: "part of the logit", Facts: attribution.Facts{AddsUp: true, Scorer: true},
		Layers: []int{0}, Shape: [3]int{1, m, 1}, Shown: []int{0}, Rows: [][]float64{row},
		OtherMass: []float64{0}, Options: map[string]string{},
	}}
	by, err := units.ParseGrouping("sentence")
	must(t, err)
	g, err := e.Group(by)
	must(t, err)
	return e, g
}

// TestCodeLines: a program has its lines and its indentation in a terminal and on a page, by tokens
// and by lines, which are its sentences.
func TestCodeLines(t *testing.T) {
	tokens, lines := programExample(t)
	for name, e := range map[string]*attribution.Explanation{"tokens": tokens, "lines": lines} {
		text := written(t, asText(Heatmap{Explanation: e}))
		for _, want := range []string{
			"prompt     def f():↵\n", "\n               x = 1↵\n", "\n                   y↵\n",
			"\n           ↵\n               return\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("by %s the text lacks %q:\n%s", name, want, text)
			}
		}
		_, page, _ := strings.Cut(written(t, Heatmap{Explanation: e}), `<pre class="hm-code">`)
		page, _, _ = strings.Cut(page, "</pre>")
		page = regexp.MustCompile("<[^>]*>").ReplaceAllString(page, "")
		if page != "def f():\n    x = 1\n        y\n\n    return x" {
			t.Errorf("by %s the page has other lines:\n%s", name, page)
		}
	}
	colored := written(t, asText(Heatmap{Explanation: lines}, Terminal{Color: true}))
	if !strings.Contains(colored, "x = 1\x1b[0m↵\n") && !strings.Contains(colored, "1\x1b[0m\x1b") {
		t.Errorf("colours:\n%q", colored)
	}
	if got := lines.Prompt.Texts; !slices.Equal(got, []string{"def f():", "x = 1", "y", "return"}) {
		t.Errorf("the units are %q", got)
	}
}
