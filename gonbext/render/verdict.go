package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// verdict returns the verdict on row t of a method, nil if there is none, if the row is shown at
// another layer than the one tested, or if its sources are not those of a row.
func (d *drawing) verdict(v *view, t int) *attribution.Verdict {
	if d.comparison != nil || t < 0 || t >= len(d.e.Steps) {
		return nil
	}
	w := d.e.Steps[t].Verdict
	if w == nil || w.Method != v.name || !v.has(t) || v.level(t) != v.result.Level(t) ||
		len(w.Sources) == 0 && w.Reason == "" {
		return nil
	}
	sources := w.Sources
	if w.Opposed != nil {
		sources = slices.Concat(sources, w.Opposed.Sources)
	}
	if slices.ContainsFunc(sources, func(j int) bool { return j < 0 || j >= len(d.tokens) }) ||
		d.countWords(w.Sources) > attribution.MostNamed {
		return nil
	}
	return w
}

// countWords returns how many words some tokens belong to.
func (d *drawing) countWords(tokens []int) int {
	words := map[int]bool{}
	for _, j := range tokens {
		first, _ := d.wordAround(j)
		words[first] = true
	}
	return len(words)
}

// tested returns the words of the verdict on row t of a method, in lines: of which token the
// probabilities are, what is left without the words that are named, and without other words. They
// are nil if there is none.
func (d *drawing) tested(v *view, t int) (s phrase) {
	w := d.verdict(v, t)
	switch {
	case w == nil:
		return nil
	case w.Reason != "":
		s.say("not tested: " + Visible(w.Reason, 200))
		if w.Read > 0 {
			s.say("; ask for it with --prove opening, or in a cell Prove: \"opening\" of the " +
				"options")
		}
		return s
	}
	how := "replaced by " + message.Quote(Visible(w.Replacement, nameLimit))
	if w.Replacement == "delete" {
		how = "deleted"
	}
	number, over := "the probability of ", ""
	if odds(w) {
		number, over = "the log-odds of ", " over “"+v.contrast()+"”"
	}
	s.say("test, " + number)
	s = append(s, d.target(v, t)...)
	s.say(over + " with words " + how + ":")
	s = append(append(s, d.stays(v, t, w)...), d.without(v, t, w.Sources, "")...)
	s.say(change(w, w.Without))
	if odds(w) && w.Whole > 0 && w.Without < 0 {
		s.say(", so “" + v.contrast() + "” is then more probable")
	}
	others := "another word"
	if n := d.countWords(w.Sources); n > 1 {
		others = fmt.Sprintf("%d other words", n)
	}
	s = append(s, lineEnd)
	s.say("– without " + others + ": " + change(w, w.Others) + " (" +
		message.Count(w.Draws, "draw") + ")")
	o := w.Opposed
	if o == nil || len(o.Sources) == 0 || d.countWords(o.Sources) > attribution.MostNamed {
		return s
	}
	what, _ := againstWords(v)
	is := ", which " + message.IsOrAre(d.countWords(o.Sources)) + " " + what
	s = append(s, d.without(v, t, o.Sources, is)...)
	s.say(change(w, o.Without) + ", so without this " + found(w, o))
	return s
}

// disagrees reports whether a test is against what the picture names: it does not hold, and other
// words took away as much in at least one draw. A few draws may be too far apart to tell, so that
// their interval ends below every probability.
func disagrees(w *attribution.Verdict) bool { return !w.Holds && w.Without >= w.Range[0] }

// odds reports whether a verdict is about the log-odds of a token over its contrast.
func odds(w *attribution.Verdict) bool { return w.Quantity == trace.Logit }

// found tells whether the sources against a token stand in its way.
func found(w *attribution.Verdict, o *attribution.Opposed) string {
	no := map[bool]string{true: "no "}[o.Without <= w.Whole]
	if odds(w) {
		return "the log-odds are " + no + "larger"
	}
	return "the answer is " + no + "more probable"
}

// without begins a line on what is left in row t without some words, of which something is told.
func (d *drawing) without(v *view, t int, sources []int, told string) (s phrase) {
	s = phrase{lineEnd, {text: "– without "}}
	s.join(d.wordsOf(v, t, sources, false))
	s.say(told + ": ")
	return s
}

// stays returns a line on the words that the sentence of row t names and its test does not take
// away, or takes away and the sentence does not name, nil without any.
func (d *drawing) stays(v *view, t int, w *attribution.Verdict) (s phrase) {
	sources, above := d.namedSources(v, t)
	if !above {
		sources = nil
	}
	has := func(tokens []int, j int) bool {
		first, end := d.wordAround(j)
		return slices.ContainsFunc(tokens, func(i int) bool { return first <= i && i < end })
	}
	at := len(d.e.Prompt.Texts) + t - 1
	if g := d.e.Steps[t]; d.e.Model.Reads() && g.Position != nil {
		at = *g.Position
	}
	var rests, reads, others, more []int
	for _, j := range sources {
		switch {
		case has(w.Sources, j):
		case j < len(v.sinks) && d.e.RestsOn(v.result, j):
			rests = append(rests, j)
		case has([]int{at}, j):
			reads = append(reads, j)
		default:
			others = append(others, j)
		}
	}
	for _, j := range w.Sources {
		if !has(sources, j) {
			more = append(more, j)
		}
	}
	for _, part := range []struct {
		tokens    []int
		say, tell string
	}{
		{reads, "– not taken away: ", ", where the prediction is read"},
		{rests, "– not taken away: ", ", on which attention often rests"},
		{others, "– not taken away: ", ", which cannot be"},
		{more, "– also tested, though too pale or hidden for the sentence: ", ""},
	} {
		if part.tokens != nil {
			s = append(s, lineEnd, piece{text: part.say})
			for i, name := range d.called(v.sources(t), part.tokens...) {
				if i > 0 {
					s.say(", ")
				}
				s = append(s, quoted(name)...)
			}
			s.say(part.tell)
		}
	}
	return s
}

// change writes how the number of a verdict changes: 92 → 3 %, or 3.1 → −0.4.
func change(w *attribution.Verdict, after float64) string {
	if odds(w) {
		return minus(fmt.Sprintf("%.1f → %.1f", w.Whole, after))
	}
	return strings.TrimRight(share(w.Whole), "%  ") + " → " + share(after)
}

// faithful writes the faithfulness of row t of a method with its interval, "" if it has none.
func (d *drawing) faithful(v *view, t int) string {
	w := d.verdict(v, t)
	if w == nil || len(w.Faithfulness) != 3 {
		return ""
	}
	f := w.Faithfulness
	return fmt.Sprintf("faithfulness %.2f (%.2f to %.2f)", f[0], f[1], f[2])
}
