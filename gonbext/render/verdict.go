package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/study/verdict"
)

// verdict returns the verdict on row t of a method, nil if there is none, if the row is shown at
// another layer than the one tested, or if its sources are not those of a row.
func (d *drawing) verdict(v *view, t int) *verdict.Verdict {
	if d.comparison != nil || t < 0 || t >= len(d.e.Steps) {
		return nil
	}
	w := verdict.Of(d.e.Steps[t])
	if w == nil || w.Method != v.name || !v.has(t) || v.level(t) != v.result.Level(t) ||
		len(w.Sources) == 0 && w.Reason == "" {
		return nil
	}
	sources := w.Sources
	if w.Opposed != nil {
		sources = slices.Concat(sources, w.Opposed.Sources)
	}
	if w.Repeated != nil {
		sources = slices.Concat(sources, w.Repeated.Sources)
	}
	if slices.ContainsFunc(sources, func(j int) bool { return j < 0 || j >= len(d.tokens) }) ||
		d.countWords(w.Sources) > verdict.MostNamed {
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
func (d *drawing) tested(v *view, t int) (s Phrase) {
	w := d.verdict(v, t)
	switch {
	case w == nil:
		return nil
	case w.Reason != "":
		s.Say("not tested: " + Visible(w.Reason, 200))
		if w.Read > 0 {
			s.Say("; ask for it with --prove opening, or in a cell with " +
				"Studies{\"prove\": \"opening\"} of the options")
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
	s.Say("test, " + number + d.pieceOf(t))
	s = append(s, d.target(v, t)...)
	s.Say(over + " with words " + how + ":")
	s = append(append(s, d.stays(v, t, w)...), d.without(v, t, w.Sources, "")...)
	s.Say(change(w, w.Without))
	if turnsOver(w, w.Without) {
		s.Say(", so “" + v.contrast() + "” is then more probable")
	}
	others := "another word"
	if n := d.countWords(w.Sources); n > 1 {
		others = fmt.Sprintf("%d other words", n)
	}
	s = append(s, lineEnd)
	s.Say("– without " + others + ": " + change(w, w.Others) + " (" +
		message.Count(w.Draws, "draw") + ")")
	if r := w.Repeated; r != nil && len(r.Sources) > 0 {
		at := " at " + message.Count(d.countWords(r.Sources), "other place") + ", too"
		s = append(s, d.without(v, t, w.Sources, at)...)
		s.Say(change(w, r.Without))
	}
	o := w.Opposed
	if o == nil || len(o.Sources) == 0 || d.countWords(o.Sources) > verdict.MostNamed {
		return s
	}
	what, _ := againstWords(v)
	n := d.countWords(o.Sources)
	is := ", which " + message.IsOrAre(n) + " " + what
	s = append(s, d.without(v, t, o.Sources, is)...)
	s.Say(change(w, o.Without) + ", so ")
	switch {
	case turnsOver(w, o.Without):
		s.Say("“" + v.contrast() + "” is then more probable")
	case w.Whole > 0 && o.Without <= w.Whole/2:
		s.Say("the answer needs " + map[bool]string{true: "it", false: "them"}[n == 1])
		if !disagrees(w) { // else it does not need what is named
			s.Say(", too")
		}
	default:
		s.Say("without this " + found(w, o))
	}
	return s
}

// disagrees reports whether a test is against what the picture names: it does not hold, and other
// words took away as much in at least one draw. A few draws may be too far apart to tell, so that
// their interval ends below every probability. What is named may be needed at another place.
func disagrees(w *verdict.Verdict) bool {
	return !w.Holds && w.Without >= w.Range[0] &&
		(w.Repeated == nil || w.Repeated.Without >= w.Range[0])
}

// pieceOf names the token of row t before its word where it is a piece of one, "" elsewhere: a
// number of it is not of the whole word.
func (d *drawing) pieceOf(t int) string {
	if d.e.Model.Reads() || d.e.Spans() {
		return ""
	}
	j := len(d.e.Prompt.Texts) + t
	begin, end := d.wordAround(j)
	first, after, name := d.characterOf(j)
	if name == "" || first == begin && after == end {
		return ""
	}
	return "“" + isolated(name) + "” in "
}

// turnsOver reports whether the contrast is more probable than the token after a change, and was
// less probable before.
func turnsOver(w *verdict.Verdict, after float64) bool {
	return odds(w) && w.Whole > 0 && after < 0
}

// odds reports whether a verdict is about the log-odds of a token over its contrast.
func odds(w *verdict.Verdict) bool { return w.Quantity == trace.Logit }

// found tells whether the sources against a token, which it does not need, stand in its way.
func found(w *verdict.Verdict, o *verdict.Opposed) string {
	no := map[bool]string{true: "no "}[o.Without <= w.Whole]
	if odds(w) {
		return "the log-odds are " + no + "larger"
	}
	return "the answer is " + no + "more probable"
}

// without begins a line on what is left in row t without some words, of which something is told.
func (d *drawing) without(v *view, t int, sources []int, told string) (s Phrase) {
	s = Phrase{lineEnd, {text: "– without "}}
	s.join(d.wordsOf(v, t, sources, false))
	s.Say(told + ": ")
	return s
}

// stays returns a line on the words that the sentence of row t names and its test does not take
// away, nil without any.
func (d *drawing) stays(v *view, t int, w *verdict.Verdict) (s Phrase) {
	sources, above := d.namedSources(v, t)
	if !above {
		sources = nil
	}
	kept := map[string][]int{}
	for _, j := range sources {
		if !d.inWordOf(w.Sources, j) {
			why := d.whyKept(v, t, j)
			kept[why] = append(kept[why], j)
		}
	}
	for _, why := range []string{isReadThere, isRestedOn, ""} {
		if kept[why] == nil {
			continue
		}
		s = append(s, lineEnd, piece{text: "– not taken away: "})
		for i, name := range d.calledAs(quoted, v.sources(t), kept[why]...) {
			if i > 0 {
				s.Say(", ")
			}
			s = append(s, name...)
		}
		s.Say(", " + cmp.Or(why, "which cannot be"))
	}
	return s
}

// Why a test does not take a word away.
const (
	isReadThere = "where the prediction is read"
	isRestedOn  = "on which attention often rests"
)

// whyKept returns why the test of row t does not take the word of token j away, "" if there is
// another reason.
func (d *drawing) whyKept(v *view, t, j int) string {
	at := len(d.e.Prompt.Texts) + t - 1
	if g := d.e.Steps[t]; d.e.Model.Reads() && g.Position != nil {
		at = *g.Position
	}
	switch {
	case j < len(v.sinks) && d.e.RestsOn(v.result, j):
		return isRestedOn
	case d.inWordOf([]int{at}, j):
		return isReadThere
	}
	return ""
}

// inWordOf reports whether the word of token j has one of some tokens.
func (d *drawing) inWordOf(tokens []int, j int) bool {
	first, end := d.wordAround(j)
	return slices.ContainsFunc(tokens, func(i int) bool { return first <= i && i < end })
}

// change writes how the number of a verdict changes: 92 → 3 %, or 3.1 → −0.4.
func change(w *verdict.Verdict, after float64) string {
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
