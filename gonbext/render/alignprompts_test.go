package render

import (
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/compare"
)

// TestComparePrompts aligns prompts of 4 and 6 tokens. "the" and "fell" are common; "old" is left
// over, and "cat" is compared with "dogs". The columns and numbers are written by hand.
func TestComparePrompts(t *testing.T) {
	a := pieces("m", "the cat fell .", []string{"the", " cat", " fell", "."}, []string{" so"},
		[]float64{0.1, 0.2, 0.3, 0.4})
	b := pieces("m", "the dogs old fell down .",
		[]string{"the", " dogs", " old", " fell", " down", "."}, []string{" so"},
		[]float64{0.3, 0.1, 0.2, 0.1, 0.1, 0.2})
	e := compared(t, compare.Side{Explanation: a}, compare.Side{Explanation: b}).Explanation
	if got := strings.Join(e.Prompt.Texts, "|"); got != "the| ⟨cat│dogs⟩| ⟨│old⟩| fell| ⟨│down⟩|." {
		t.Errorf("the columns are %q", got)
	}
	for name, want := range map[string][]float64{
		"A: raw": {0.1, 0.2, 0, 0.3, 0, 0.4},
		"B: raw": {0.3, 0.1, 0.2, 0.1, 0.1, 0.2},
		"A − B":  {-0.2, 0.1, -0.2, 0.2, -0.1, 0.2},
	} {
		for j, x := range e.Methods[name].Row(0, 0) {
			if math.Abs(x-want[j]) > 1e-12 {
				t.Errorf("%s has %v, want %v", name, e.Methods[name].Row(0, 0), want)
				break
			}
		}
	}
	warned := strings.Join(e.Warnings, " ")
	for _, want := range []string{
		"The prompts have 4 and 6 tokens; the 3 that both have in the same order",
		"A has no token “old”, “down”; its values are 0 there.",
	} {
		if !strings.Contains(warned, want) {
			t.Errorf("the warnings %q do not say %q", warned, want)
		}
	}
	if len(a.Prompt.Texts) != 4 || len(a.Methods["raw"].Row(0, 0)) != 4 {
		t.Errorf("an argument was modified")
	}
	back := compared(t, compare.Side{Explanation: b}, compare.Side{Explanation: a}).Explanation
	for j, x := range back.Methods["A − B"].Row(0, 0) {
		if x != -e.Methods["A − B"].Row(0, 0)[j] {
			t.Errorf("with the sides exchanged the difference is not the negative one")
		}
	}
}

// TestComparePromptsWithout refuses prompts without a common token and shows where they differ.
func TestComparePromptsWithout(t *testing.T) {
	a := pieces("m", "the cat", []string{"the", " cat"}, []string{" so"}, []float64{0.5, 0.5})
	b := pieces("m", "a dog ran", []string{"a", " dog", " ran"}, []string{" so"},
		[]float64{0.5, 0.5, 0})
	_, err := Compare(compare.Side{Explanation: a}, compare.Side{Explanation: b})
	const want = "the prompts have 2 and 3 tokens, and none of them is in both, so they cannot be " +
		"aligned; take prompts with common words, or of the same number of tokens; they differ " +
		`first at token 0: 0 "the", 1 "cat"; and 0 "a", 1 "dog", 2 "ran"`
	if err == nil || err.Error() != "compare: "+want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestComparePromptsOnly compares prompts of 3 and 5 tokens, "b c d" being the end of both. What
// one side lacks is named as the other one's alone, with its value there, and neither side's first
// token stands out or counts in the agreement.
func TestComparePromptsOnly(t *testing.T) {
	written := func(text string, parts []string, row ...float64) compare.Side {
		e := pieces("m", text, parts, []string{" so"}, row)
		r := e.Methods["raw"]
		r.Facts = attribution.Facts{
			Quantity: attribution.Amount, AddsUp: true, Scorer: true, Evidence: trace.Written,
		}
		r.Unit = "part of the logit"
		return compare.Side{Explanation: e}
	}
	short := written("b c d", []string{"b", " c", " d"}, 3, 1, .5)
	long := written("x y b c d", []string{"x", " y", " b", " c", " d"}, 4, -1, 0, .2, .9)
	const about = " · part of the logit in A minus that in B · row by row · p 50.0 % · rank " +
		"correlation of A and B −1.00, another strongest source"
	for _, c := range []struct {
		a, b compare.Side
		want string
	}{
		{long, short, "“so” has more from c in B than in A | more in B c −0.80 · more in A d +0.40 · " +
			"only in A y −1.00" + about},
		{short, long, "“so” has more from c in A than in B | c +0.80 · more in B d −0.40 · " +
			"only in B y −1.00" + about},
	} {
		p := compared(t, c.a, c.b).picture(true)
		if got := said(p, &p.views[compare.Difference], 0); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if side := p.only(0); p.only(2) >= 0 || p.only(1) != side ||
			p.onFirst(&p.views[1-side], 0) !=
				"first token b 3.00, 66.7 % of the sizes of the row" {
			t.Errorf("side %d has token 0 alone; of the other: %q", side,
				p.onFirst(&p.views[1-side], 0))
		}
	}
	// Nothing else stands out.
	p := compared(t, written("x y b", []string{"x", " y", " b"}, 4, -1, 0),
		written("b", []string{"b"}, 3)).picture(true)
	if got := said(p, &p.views[compare.Difference], 0); !strings.HasPrefix(got,
		"Only tokens that one side lacks stand out for “so” | only in A y −1.00 · ") {
		t.Errorf("the difference says %q", got)
	}
}
