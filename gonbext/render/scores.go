package render

import (
	_ "embed"
	"fmt"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/study/scores"
	"github.com/headwater-ml/headwater/internal/study/without"
)

//go:embed scores.js
var scoresSource string

// drawnScores are the scores of a token, and what a part of the prompt changes of its prediction.
type drawnScores struct {
	trace.TokenScores
	*without.Difference
}

// scores returns the scores of each token of the text, nil for one that has none, and nil if no
// token has some.
func (d *drawing) scores() (all []*drawnScores) {
	e, m, some := d.e, len(d.e.Prompt.Texts), false
	prompt := scores.Of(e)
	generated := func(g attribution.GeneratedToken) *drawnScores {
		if g.Scores == nil {
			return nil
		}
		drawn := &drawnScores{TokenScores: *g.Scores}
		if part := without.OfToken(g); part != nil {
			drawn.Difference = new(*part)
			if other := part.Otherwise; other != nil {
				drawn.Otherwise = &attribution.Alternative{Text: tokenName(other.Text)}
			}
		}
		return drawn
	}
	for j := range d.tokens {
		var s *drawnScores
		switch {
		case d.comparison != nil:
		case j >= m && j-m < len(e.Steps):
			s = generated(e.Steps[j-m])
		case j < len(prompt) && prompt[j] != nil:
			s = &drawnScores{TokenScores: *prompt[j]}
		}
		for t, g := range e.Steps {
			if d.explainedBy(t, j) {
				s = generated(g) // where an encoder predicts
			}
		}
		all, some = append(all, s), some || s != nil
	}
	if !some {
		return nil
	}
	return all
}

// mostMattered is how many words are named for which a part of the prompt mattered.
const mostMattered = 12

// mattered returns for which tokens the part of the prompt mattered that was taken away, with the
// KL of the first token of each word and the token that the model would have said without the part,
// if that is another, "" if none was.
func (d *drawing) mattered() string {
	if without.Of(d.e) == nil || d.comparison != nil || len(d.e.Steps) == 0 {
		return ""
	}
	var words []string
	count, last, m := 0, "", len(d.e.Prompt.Texts)
	for t, g := range d.e.Steps {
		if !sensitive(g) {
			continue
		}
		count++
		if word := d.wordOf(m + t).String(); word != last {
			part := without.OfToken(g)
			note := fixed(part.KL, 2)
			if o := part.Otherwise; o != nil {
				note += ", without it “" + tokenName(o.Text) + "”"
			}
			words, last = append(words, word+" ("+note+")"), word
		}
	}
	what := Visible(without.Of(d.e).Name, 2*nameLimit) + " mattered for "
	of := message.Count(len(d.e.Steps), "token")
	if count == 0 {
		return what + "none of " + of
	}
	return fmt.Sprintf("%s%d of %s, by KL in nats: %s", what, count, of,
		message.Some(words, mostMattered))
}

// sensitive reports whether a part of the prompt mattered for a token.
func sensitive(g attribution.GeneratedToken) bool {
	part := without.OfToken(g)
	return part != nil && part.Sensitive
}

// mostSensitive returns the generated token that a part of the prompt mattered most for, of those
// that the model would not have said without it, nil if there is none. Some token nearly always
// reaches the threshold, so that alone is no reason to open there.
func (d *drawing) mostSensitive() (row *int) {
	for t, g := range d.e.Steps {
		part := without.OfToken(g)
		if without.Of(d.e) != nil && sensitive(g) && part.Otherwise != nil && !g.Special &&
			(row == nil || part.KL > without.OfToken(d.e.Steps[*row]).KL) {
			row = &t
		}
	}
	if row != nil { // where its word is chosen, and not where it is spelled
		first, _ := d.generatedWord(*row)
		if part := without.OfToken(d.e.Steps[first]); part != nil && part.Otherwise != nil {
			return &first
		}
	}
	return row
}
