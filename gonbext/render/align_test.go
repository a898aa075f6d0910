package render

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/compare"
)

// pieces is an explanation of a prompt that is divided into these pieces. An empty offset, and a
// piece in <>, is a control token. Each generated token has the values given, one for each piece.
func pieces(name, text string, parts, answer []string, rows ...[]float64) *attribution.Explanation {
	e := &attribution.Explanation{
		Model: trace.Info{Name: name}, Prompt: attribution.Prompt{Text: text},
		Order: []string{"raw"},
	}
	at := 0
	for j, part := range parts {
		control := strings.HasPrefix(part, "<")
		begin, end := at, at+len(part)
		if control {
			begin, end = 0, 0
		}
		at = max(end, at)
		e.Prompt.IDs = append(e.Prompt.IDs, j+1)
		e.Prompt.Texts = append(e.Prompt.Texts, part)
		e.Prompt.Offsets = append(e.Prompt.Offsets, [2]int{begin, end})
		e.Prompt.Special = append(e.Prompt.Special, control)
	}
	r := &attribution.Result{
		Unit: "share of attention", Facts: attribution.Facts{Evidence: trace.Traced, Combined: true, AddsUp: true, Quantity: attribution.Share}, Layers: []int{0}, Shape: [3]int{len(answer), len(parts), 1},
		Options: map[string]string{"aggregation": "rollout"}, Rows: rows[:len(answer)],
	}
	for _, text := range answer {
		e.Steps = append(e.Steps, attribution.GeneratedToken{Text: text, Probability: 0.5})
		r.OtherMass = append(r.OtherMass, 0)
	}
	e.Methods = map[string]*attribution.Result{"raw": r}
	return e
}

// TestCompareModels compares two models that divide "the chimneys fell" into different tokens. The
// second one has begin-of-text. Common starts are those of "the", "chimney" and "fell"; the token
// " fell" of A is the tokens " fe" and "ll" of B.
func TestCompareModels(t *testing.T) {
	const text = "the chimneys fell"
	a := pieces("a", text, []string{"the", " chim", "ney", "s", " fell"},
		[]string{" do", "wn", "."}, []float64{0.1, 0.2, 0.3, 0.1, 0.3},
		[]float64{0.5, 0, 0, 0, 0.5}, []float64{0, 0, 1, 0, 0})
	b := pieces("b", text, []string{"<s>", "the", " chimneys", " fe", "ll"},
		[]string{" down", "."}, []float64{0.4, 0.2, 0.1, 0.1, 0.2}, []float64{0, 0.25, 0.25, 0.5, 0})
	h := compared(t, compare.Side{Explanation: a}, compare.Side{Explanation: b})
	e := h.Explanation
	if got := strings.Join(e.Prompt.Texts, "|"); got != "⟨│<s>⟩|the|chimneys|fell" {
		t.Errorf("the columns are %q", got)
	}
	// Rows: " do" and " down" begin at the same place, and so do both "."; "wn" has no counterpart.
	for name, want := range map[string][]float64{
		"A: raw": {0, 0.1, 0.6, 0.3, 0, 0, 1, 0},
		"B: raw": {0.4, 0.2, 0.1, 0.3, 0, 0.25, 0.25, 0.5},
		"A − B":  {-0.4, -0.1, 0.5, 0, 0, -0.25, 0.75, -0.5},
	} {
		r := e.Methods[name]
		if r.Shape != [3]int{2, 4, 1} {
			t.Fatalf("%s has shape %v, want [2 4 1]", name, r.Shape)
		}
		for i, x := range slices.Concat(r.Rows...) {
			if math.Abs(x-want[i]) > 1e-12 {
				t.Errorf("%s has %v, want %v", name, r.Rows, want)
				break
			}
		}
	}
	if e.Steps[0].Text != " ⟨do│down⟩" || e.Steps[1].Text != "." {
		t.Errorf("the rows are %q and %q", e.Steps[0].Text, e.Steps[1].Text)
	}
	for i, want := range []string{
		"divide the text into different tokens (5 and 5); they are joined to 4 parts",
		"A has no token “<s>”; its values are 0 there.",
		"Of 3 and 2 generated tokens, only those are compared that begin at the same place after " +
			"the same text: 2.",
	} {
		if i >= len(e.Warnings) || !strings.Contains(e.Warnings[i], want) {
			t.Errorf("the warnings are %q, want %q", e.Warnings, want)
		}
	}
	if len(a.Prompt.Texts) != 5 || a.Methods["raw"].Shape != [3]int{3, 5, 1} ||
		!slices.Equal(b.Prompt.Texts, []string{"<s>", "the", " chimneys", " fe", "ll"}) {
		t.Error("an explanation has changed")
	}
	markup := written(t, h)
	survives(t, strings.Replace(markup, "<script>"+heatmapScript()+"</script>", "", 1))
}

// Models that differ in begin-of-text alone are compared token by token.
func TestCompareModelsBegin(t *testing.T) {
	a := pieces("a", "the key", []string{"<s>", "the", " key"}, []string{" is"},
		[]float64{0.5, 0.2, 0.3})
	b := pieces("b", "the key", []string{"the", " key"}, []string{" is"}, []float64{0.6, 0.4})
	e := compared(t, compare.Side{Explanation: a}, compare.Side{Explanation: b}).Explanation
	if got := strings.Join(e.Prompt.Texts, "|"); got != "⟨<s>│⟩|the| key" {
		t.Errorf("the columns are %q", got)
	}
	if e.Spans() {
		t.Error("the columns are called spans, and each is one token")
	}
	if len(e.Warnings) != 1 || e.Warnings[0] != "B has no token “<s>”; its values are 0 there." {
		t.Errorf("the warnings are %q", e.Warnings)
	}
}

// Answers that have nothing in common but their beginning have one row.
func TestCompareModelsAnswers(t *testing.T) {
	a := pieces("a", "the key", []string{"the", " key"}, []string{" is", " old"},
		[]float64{0.5, 0.5}, []float64{0.1, 0.9})
	b := pieces("b", "the key", []string{"th", "e", " key"}, []string{" was", " old"},
		[]float64{0.6, 0.2, 0.2}, []float64{0, 0, 1})
	e := compared(t, compare.Side{Explanation: a}, compare.Side{Explanation: b}).Explanation
	if len(e.Steps) != 1 || e.Steps[0].Text != " ⟨is│was⟩" {
		t.Errorf("%d rows, the first %q", len(e.Steps), e.Steps[0].Text)
	}
}
