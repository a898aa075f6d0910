package compare_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/compare"
)

// explanation is one of a prompt that is divided into these tokens, those in <> control tokens.
// Each generated token has the values given, one for each token.
func explanation(tokens, generated []string, rows ...[]float64) *attribution.Explanation {
	e := &attribution.Explanation{Order: []string{"raw"}}
	for j, text := range tokens {
		begin, control := len(e.Prompt.Text), strings.HasPrefix(text, "<")
		if !control {
			e.Prompt.Text += text
		}
		e.Prompt.IDs = append(e.Prompt.IDs, j+1)
		e.Prompt.Texts = append(e.Prompt.Texts, text)
		e.Prompt.Offsets = append(e.Prompt.Offsets, [2]int{begin, len(e.Prompt.Text)})
		e.Prompt.Special = append(e.Prompt.Special, control)
	}
	r := &attribution.Result{
		Unit: "share of attention", Layers: []int{0},
		Shape: [3]int{len(generated), len(tokens), 1}, Rows: rows[:len(generated)],
		Facts: attribution.Facts{Quantity: attribution.Share, AddsUp: true, Combined: true},
	}
	for _, text := range generated {
		e.Steps = append(e.Steps, attribution.GeneratedToken{Text: text})
		r.OtherMass = append(r.OtherMass, 0)
	}
	e.Methods = map[string]*attribution.Result{"raw": r}
	return e
}

// Columns, values and what is said of them are written by hand.
func TestAlign(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		a, b         *attribution.Explanation
		columns      [2]string
		data         [2][]float64
		want         compare.Alignment // without sides
	}{
		{
			name:   "two models",
			reason: "common starts are at 0, 4 and 13; both rows begin after the same text",
			a: explanation([]string{"the", " chim", "ney", "s", " fell"}, []string{" do", "wn", "."},
				[]float64{1, 2, 3, 1, 3}, []float64{5, 0, 0, 0, 5}, []float64{0, 0, 10, 0, 0}),
			b: explanation([]string{"<s>", "the", " chimneys", " fe", "ll"},
				[]string{" down", "."}, []float64{4, 2, 1, 1, 2}, []float64{0, 2, 3, 5, 0}),
			columns: [2]string{"|the|chimneys|fell", "<s>|the|chimneys|fell"},
			data:    [2][]float64{{0, 1, 6, 3, 0, 0, 10, 0}, {4, 2, 1, 3, 0, 2, 3, 5}},
			want:    compare.Alignment{Parts: 4, Rows: 2, Missing: [2][]string{{"<s>"}, nil}},
		},
		{
			name: "two prompts", reason: "cat beside dogs, and old and down are left over",
			a: explanation([]string{"the", " cat", " fell", "."}, []string{"x"},
				[]float64{1, 2, 3, 4}),
			b: explanation([]string{"the", " dogs", " old", " fell", " down", "."}, []string{"x"},
				[]float64{3, 1, 2, 1, 1, 2}),
			columns: [2]string{"the| cat|| fell||.", "the| dogs| old| fell| down|."},
			data:    [2][]float64{{1, 2, 0, 3, 0, 4}, {3, 1, 2, 1, 1, 2}},
			want:    compare.Alignment{Common: 3, Missing: [2][]string{{" old", " down"}, nil}},
		},
		{
			name: "nothing in common", reason: "no token is in both",
			a:       explanation([]string{"a", "b"}, []string{"x"}, []float64{1, 2}),
			b:       explanation([]string{"c"}, []string{"x"}, []float64{3}),
			columns: [2]string{"a|b", "c"}, data: [2][]float64{{1, 2}, {3}},
		},
		{
			name: "equal tokens", reason: "there is nothing to do",
			a:       explanation([]string{"a", "b"}, []string{"x"}, []float64{1, 2}),
			b:       explanation([]string{"a", "b"}, []string{"x"}, []float64{3, 4}),
			columns: [2]string{"a|b", "a|b"}, data: [2][]float64{{1, 2}, {3, 4}},
		},
	} {
		before := slices.Concat(c.a.Prompt.Texts, c.b.Prompt.Texts)
		got, err := compare.Align(c.a, c.b)
		must(t, err)
		for i, e := range got.Sides {
			if columns := strings.Join(e.Prompt.Texts, "|"); columns != c.columns[i] {
				t.Errorf("%s: side %d has columns %q, want %q: %s", c.name, i, columns,
					c.columns[i], c.reason)
			}
			if diff := cmp.Diff(c.data[i], slices.Concat(e.Methods["raw"].Rows...)); diff != "" {
				t.Errorf("%s: side %d (-want +got):\n%s", c.name, i, diff)
			}
		}
		got.Sides = [2]*attribution.Explanation{}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if !slices.Equal(before, slices.Concat(c.a.Prompt.Texts, c.b.Prompt.Texts)) {
			t.Errorf("%s: an argument has changed", c.name)
		}
	}
}
