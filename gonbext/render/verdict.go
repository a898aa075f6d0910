package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/message"
)

// verdict returns the verdict on row t of a method, nil if there is none, if the row is shown at
// another layer than the one tested, or if its sources are not those of a row.
func (p *picture) verdict(v *view, t int) *attribution.Verdict {
	if p.comparison != nil || t < 0 || t >= len(p.e.Steps) {
		return nil
	}
	w := p.e.Steps[t].Verdict
	if w == nil || w.Method != v.name || !v.has(t) || v.level(t) != v.result.Level(t) {
		return nil
	}
	outside := func(j int) bool { return j < 0 || j >= textLength(p.e) }
	sources := w.Sources
	if w.Opposed != nil {
		sources = slices.Concat(sources, w.Opposed.Sources)
	}
	if n := len(w.Sources); n > attribution.MostNamed || n == 0 && w.Reason == "" ||
		slices.ContainsFunc(sources, outside) {
		return nil
	}
	return w
}

// tested returns the words of the verdict on row t of a method: what the prediction loses without
// the sources that are named, and without other words. They are nil if there is none.
func (d *drawing) tested(v *view, t int) (s phrase) {
	w := d.verdict(v, t)
	switch {
	case w == nil:
		return nil
	case w.Reason != "":
		s.say("not tested: " + Visible(w.Reason, 200))
		return s
	}
	s = d.without(v, t, w, "")
	o := w.Opposed
	if o == nil || o.Reason != "" || len(o.Sources) == 0 || len(o.Sources) > attribution.MostNamed {
		return s
	}
	what, _ := againstWords(v)
	is := map[bool]string{true: ", which is ", false: ", which are "}[len(o.Sources) == 1]
	s = append(append(s, piece{text: " · "}), d.without(v, t, o, is+what)...)
	found := ": like other words"
	if o.Holds {
		found = ": the answer needs this all the same"
	} else if o.Without > o.Interval[1] {
		found = ": without this the answer is more probable"
	}
	s.say(found)
	return s
}

// without returns what the prediction of row t loses without the sources of a verdict, of which
// something is told, and without other words.
func (d *drawing) without(v *view, t int, w *attribution.Verdict, told string) (s phrase) {
	s.say("without ")
	s.join(d.wordsOf(v, t, w.Sources, false))
	s.say(told)
	how := "replaced by " + message.Quote(Visible(w.Replacement, nameLimit))
	if w.Replacement == "delete" {
		how = "deleted"
	}
	if w.Broken {
		how += ", which breaks a word: unlike any text"
	}
	s.say(" (" + how + "): " + change(w.Whole, w.Without))
	others := "another word"
	if n := len(w.Sources); n > 1 {
		others = fmt.Sprintf("%d other words", n)
	}
	s.say(" · without " + others + ": " + change(w.Whole, w.Others) + " (" +
		message.Count(w.Draws, "draw") + ")")
	return s
}

// change writes how a probability changes: 92 → 3 %.
func change(before, after float64) string {
	return strings.TrimRight(share(before), "%  ") + " → " + share(after)
}

// faithful writes the faithfulness of row t of a method with its interval, "" if it has none.
func (p *picture) faithful(v *view, t int) string {
	w := p.verdict(v, t)
	if w == nil || len(w.Faithfulness) != 3 {
		return ""
	}
	f := w.Faithfulness
	return fmt.Sprintf("faithfulness %.2f (%.2f to %.2f)", f[0], f[1], f[2])
}
