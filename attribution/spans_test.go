package attribution_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/study/heads"
	"github.com/headwater-ml/headwater/internal/study/lens"
	"github.com/headwater-ml/headwater/internal/study/verdict"
	"github.com/headwater-ml/headwater/internal/study/without"
)

// promptOf returns a prompt of tokens, cut at bars; those in angle brackets are control tokens that
// are not in the text.
func promptOf(cut string) attribution.Prompt {
	var p attribution.Prompt
	for i, text := range strings.Split(cut, "|") {
		special := strings.HasPrefix(text, "<")
		p.IDs, p.Texts, p.Special = append(p.IDs, 100+i), append(p.Texts, text), append(p.Special,
			special)
		if special {
			p.Offsets = append(p.Offsets, [2]int{})
			continue
		}
		p.Offsets = append(p.Offsets, [2]int{len(p.Text), len(p.Text) + len(text)})
		p.Text += text
	}
	return p
}

// Shares add up, flow gives the highest, and the share outside the prompt stays.
func TestGrouped(t *testing.T) {
	at := 2
	e := &attribution.Explanation{
		Studies: attribution.Findings{
			lens.Name: &lens.Text{}, heads.Name: &heads.Kinds{}, without.Name: &without.Part{},
		},
		Prompt: promptOf("a|b| c"), Steps: []attribution.GeneratedToken{
			{ID: 1, Studies: attribution.Findings{
				verdict.Name: &verdict.Verdict{Method: "rollout"},
				without.Name: &without.Difference{},
			}},
			{ID: 2, Position: &at},
		}, Order: []string{"rollout", "flow"},
		Methods: map[string]*attribution.Result{
			"rollout": {
				Options: map[string]string{"aggregation": "rollout"}, Facts: attribution.Facts{Combined: true, AddsUp: true}, Layers: []int{0, 1},
				Shape: [3]int{2, 3, 2}, Rows: [][]float64{{1, 3, 5}, {2, 4, 6}, {7, 9, 11}, {8, 10, 12, 13}},
			},
			"flow": {
				Layers: []int{1},
				Shape:  [3]int{2, 3, 1}, Rows: [][]float64{{1, 2, 3}, {6, 5, 4}},
			},
			"score": {
				Facts: attribution.Facts{AddsUp: true, Scorer: true}, Layers: []int{1},
				Shape: [3]int{1, 3, 1}, Rows: [][]float64{{1, -2, 3}},
			},
		},
		Maps: map[string]*attribution.Map{
			"rollout": {
				Facts:  attribution.Facts{AddsUp: true},
				Layers: []int{0}, Shape: [3]int{1, 3, 3},
				Data: []float64{1, 0, 0, .25, .75, 0, .5, .25, .25},
			},
		},
	}
	before := fmt.Sprint(e.Methods["rollout"].Rows, e.Prompt, *e.Steps[1].Position)
	g, err := e.GroupSpans(e.Prompt.Units().Words())
	must(t, err)
	near(t, "rollout", slices.Concat(g.Methods["rollout"].Rows...),
		[]float64{4, 5, 6, 6, 16, 11, 18, 12, 13}, 0)
	near(t, "flow", slices.Concat(g.Methods["flow"].Rows...), []float64{2, 3, 6, 4}, 0)
	near(t, "score", g.Methods["score"].Row(0, 0), []float64{-1, 3}, 0)
	near(t, "map", g.Maps["rollout"].Data, []float64{1, 0, .75, .25}, 0)
	if lens.Of(g) != nil || heads.Of(g) != nil || verdict.Of(g.Steps[0]) != nil ||
		verdict.Of(e.Steps[0]) == nil || without.Of(g) == nil ||
		without.OfToken(g.Steps[0]) == nil {
		t.Error("spans have the lens, kinds of heads or a verdict of tokens, or lack what was " +
			"without a part of the prompt, or the tokens lost something")
	}
	flow := g.Methods["flow"]
	got := fmt.Sprint(g.Prompt.Texts, g.Prompt.IDs, g.Prompt.Offsets, *g.Steps[1].Position,
		flow.Shape, flow.Options["spans"])
	if want := "[ab c] [100 102] [[0 2] [2 4]] 1 [2 2 1]highest of tokens"; got != want {
		t.Errorf("prompt %s, want %s", got, want)
	}
	if diff := cmp.Diff(before, fmt.Sprint(e.Methods["rollout"].Rows, e.Prompt,
		*e.Steps[1].Position)); diff != "" {
		t.Errorf("the original changed (-before +after):\n%s", diff)
	}
	// the first token and what a scorer took away as one name no word, nor do small values
	e.Methods["score"].Rows[0] = []float64{-8, 4, .4}
	e.Methods["rollout"].Options["spans"] = "taken away together"
	e.Order = []string{"rollout", "missing", "score"}
	all, err := e.GroupSpans([]units.Span{{Tokens: []int{0, 1, 2}}})
	must(t, err)
	some, err := e.GroupSpans([]units.Span{{Tokens: []int{1}}, {Tokens: []int{0, 2}}})
	must(t, err)
	got = fmt.Sprintf("%q %q", all.Prompt.Strongest, some.Prompt.Strongest)
	if got != `["ab"] ["" ""]` {
		t.Errorf("the strongest words are %s", got)
	}
	for want, spans := range map[string][]units.Span{
		`token 1, "b", is in no span`: {{Tokens: []int{0, 2}}},
		"token 0 is in two spans":     {{Tokens: []int{0, 1, 2}}, {Tokens: []int{0}}},
		"has token 3":                 {{Tokens: []int{3}}},
		"has no tokens":               {{}},
	} {
		if _, err := e.GroupSpans(spans); !errors.Is(err, trace.ErrUsage) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// N3: a column's mean over the targets that see it.
func TestVisibility(t *testing.T) {
	m := &attribution.Map{Shape: [3]int{1, 3, 3}, Data: []float64{1, 0, 0, .5, .5, 0, .3, .3, .4}}
	near(t, "decoder", m.Visibility(0, 0), []float64{.6, .4, .4}, 1e-15)
	near(t, "encoder", m.Visibility(0, 3), []float64{.6, .8 / 3, .4 / 3}, 1e-15)
	near(t, "two stacks", m.Visibility(0, 2), []float64{.6, .8 / 3, .4}, 1e-15)
}
