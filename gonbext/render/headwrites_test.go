package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/heads"
)

// writing is the picture of kindred heads, with what each wrote: of the first token head 0.1 wrote
// most for it, and head 1.1, which looks at the token before, most of all, against it.
func writing() Heads {
	r := kindred()
	for t := range r.Explanation.Steps {
		r.Explanation.Steps[t].Studies.Set(heads.Name, &heads.Writes{
			Heads: []float64{.25, 1.5, 0, -2.25, .004, float64(t)}, Value: 4, Foils: 5,
		})
	}
	return r
}

// The head that wrote most is open and named, and the list is in the order of sizes, with signs.
func TestHeadWrites(t *testing.T) {
	r := writing()
	must(t, r.Check())
	h := r.open()
	if h.layer != 0 || h.head != 1 || h.query != 6 {
		t.Errorf("head %d.%d is open at token %d, want 0.1 at 6", h.layer, h.head, h.query)
	}
	for _, c := range []struct {
		layer, head, query int
		want               string
	}{
		{0, 1, 6, "For are, head 1 of layer 0 wrote more than any other, +1.50, and looked at "},
		{1, 1, 6, "For are, head 1 of layer 1, on random tokens a previous-token head, " +
			"wrote −2.25 and looked at "},
		{2, 0, 6, "For are, head 0 of layer 2, on random tokens an induction head, " +
			"in this text a name mover, wrote 0.00 and "},
		{2, 1, 8, "For ., head 1 of layer 2 wrote more than any other, +2.00, and looked at "},
		{1, 1, 3, "From to, head 1 of layer 1, on random tokens a previous-token head, " +
			"looked at keys 100 %"},
	} {
		if got := h.sentence(c.layer, c.head, c.query).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("it says %q, want %q", got, c.want)
		}
	}
	const all = "all heads together wrote −0.50; its logit minus the mean of the next 5 is +4.00"
	list := h.lists(6, 3)
	if len(list) != 1 || !strings.HasPrefix(list[0], wroteMost+": layer 1 head 1 "+
		"(previous token) −2.25, at “cab” (5) 100 % · layer 0 head 1 +1.50, at ") ||
		!strings.Contains(list[0], " · layer 0 head 0 +0.25, at ") {
		t.Errorf("listed are %q", list)
	}
	text := strings.Join(strings.Fields(written(t, asText(r))), " ")
	page := written(t, r)
	for _, want := range []string{all, "layer 1 head 1 (previous token) −2.25, at “cab” (5)"} {
		if !strings.Contains(text, want) || !strings.Contains(page, want) {
			t.Errorf("the page or the text lacks %q:\n%s", want, text)
		}
	}
	if !strings.Contains(page, "what each wrote, up to ±2.25") ||
		strings.Contains(text, notWritten) {
		t.Errorf("the map has no note, or the text says %q", notWritten)
	}
	wrote := heads.Wrote(r.Explanation.Steps[0])
	wrote.Contrast, wrote.Foils = " is", 0
	h = r.open()
	if got := h.sentence(0, 1, 6).String(); !strings.HasPrefix(got,
		"For are and against is, head 1 of layer 0 wrote more than any other, +1.50, ") {
		t.Errorf("with a contrast it says %q", got)
	}
	if got := h.facts(); !strings.Contains(got, "its logit minus that of “is”") {
		t.Errorf("below it it says %q", got)
	}
	heads.Wrote(r.Explanation.Steps[0]).Heads = []float64{1}
	if err := r.Check(); !errors.Is(err, trace.ErrUsage) {
		t.Errorf("of one head of 6: %v", err)
	}
}

// The colour of what a head wrote ends at the largest of all heads.
func TestWroteStep(t *testing.T) {
	w := writing().open().writes(6)
	for i, want := range []int{2, 5, 0, -6, 0, 0} {
		if got := wroteStep(w, i); got != want {
			t.Errorf("head %d has the colour %d, want %d", i, got, want)
		}
	}
}
