package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/study/heads"
)

// kindred is a picture of 3 × 2 heads, whose head 1 of layer 1 always looks at the token before:
// it is of that kind, and head 0 of layer 2 of two kinds.
func kindred() Heads {
	r := attended(example(), 3, 2)
	score := func(head int, x float64) []float64 {
		all := make([]float64, 6)
		all[head] = x
		return all
	}
	r.Explanation.Studies.Set(heads.Name, &heads.Kinds{
		Repeated: 25, Chance: .026, Kinds: []heads.Kind{
			{Name: heads.Induction, Random: score(4, .61), Heads: []int{4}},
			{Name: heads.PreviousToken, Random: score(3, .987), Heads: []int{3}},
			{Name: heads.DuplicateToken, Random: score(0, .1)},
			{Name: heads.FirstToken, Random: score(2, .72), Heads: []int{2}},
			{Name: heads.NameMover, Text: score(4, .5), Heads: []int{4}},
		},
	})
	return r
}

// ablated adds what the loss is without each head: head 1.1 is needed.
func ablated(r *Heads) {
	heads.Of(r.Explanation).Loss = 2.5
	heads.Of(r.Explanation).Without = []float64{0, -.1, 0, 1.25, .25, 0}
}

// Lists, map, details and text have the kinds of heads, with what was measured. On the text of the
// picture head 1.1 looks at the token before from every token, and of no token it is the first.
func TestHeadKinds(t *testing.T) {
	r := kindred()
	must(t, r.Check())
	text := written(t, asText(r))
	for _, want := range []string{
		"layer  1 head  1 (previous token)  ", "(2.6 % by chance)",
		"previous token (p), 1 of 6 heads: 1.1 99 %", "induction (i), 1 of 6 heads: 2.0 61 %",
		"first token (·), 1 of 6 heads: 1.0 72 %", "name mover (n), 1 of 6 heads: 2.0 50 %",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "duplicate token (") {
		t.Error("a kind without heads is listed")
	}
	h := r.open()
	want := "previous token: 99 % of its attention on random tokens, 100 % on average in this text"
	if got := h.facts(); !strings.HasSuffix(got, " · "+want) {
		t.Errorf("below the sentence it says %q, want %q at the end", got, want)
	}
	page := written(t, r)
	for _, want := range []string{">in</td>", "layer 1 head 1 (previous token)", want} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if got := plain(h.sentence(1, 1, 2).String()); !strings.Contains(got,
		"head 1 of layer 1, on random tokens a previous-token head, looked ") {
		t.Errorf("the sentence is %q", got)
	}
	if got := h.kindWords(2, 0) + h.kindWords(0, 0); got !=
		", on random tokens an induction head, in this text a name mover," {
		t.Errorf("kinds in words: %q", got)
	}
	ablated(&r)
	h = r.open()
	_, letters, notes := h.kindsOf(1, 1)
	if !slices.Equal(notes, []string{want, "without it the loss on random tokens rises 1.25 nats"}) ||
		!slices.Equal(letters, []string{"p", "!"}) {
		t.Errorf("with what its loss is it says %q, marked %q", notes, letters)
	}
	if _, letters, notes := h.kindsOf(0, 1); letters != nil ||
		!slices.Equal(notes, []string{"without it the loss on random tokens falls 0.10 nats"}) {
		t.Errorf("a head that is not needed: %q, marked %q", notes, letters)
	}
	text, page = written(t, asText(r)), written(t, r)
	for _, want := range []string{
		"needed (!), 1 of 6 heads: 1.1 +1.25 nats", "the second time, 2.50 nats: a head is needed if",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) ||
			!strings.Contains(page, want) {
			t.Errorf("the page or the text lacks %q:\n%s", want, text)
		}
	}
	if !strings.Contains(page, ">p!</td>") {
		t.Error("the map of all heads does not mark the needed one")
	}
	heads.Of(r.Explanation).Kinds[0].Heads = []int{6}
	if err := r.Check(); err == nil || !strings.Contains(err.Error(), "3 layers and 2 heads") {
		t.Errorf("a head that the model lacks: %v", err)
	}
}

// The script shows a head where it does what its kind reads.
func TestScriptHeadKinds(t *testing.T) {
	r := kindred()
	ablated(&r)
	code, _ := r.open().packed(1e6)
	m := machine(t, commonSource, scaleSource, matrixSource, headsSource)
	must(t, m.Set("data", string(unpacked(t, code))))
	run[any](t, m, "var heads = attentionOf(JSON.parse(data))")
	// All tokens differ, so that no head can show an occurrence. From token 1 on head 1.1 looks at
	// the token before, and of the tokens after the first, token 1 gives that one most.
	for expression, want := range map[string]string{
		"heads.showing('previous token', 1, 1)":  "1",
		"heads.showing('needed', 1, 1)":          "undefined",
		"heads.showing('duplicate token', 1, 1)": "undefined",
		"heads.showing('first token', 0, 0)":     "1",
	} {
		if got := run[string](t, m, "String("+expression+")"); got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
}
