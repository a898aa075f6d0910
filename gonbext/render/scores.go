package render

import (
	_ "embed"
	"fmt"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/message"
)

//go:embed scores.js
var scoresSource string

// scores returns the scores of each token of the text, nil for one that has none, and nil if no
// token has some.
func (d *drawing) scores() (all []*attribution.TokenScores) {
	e, m, some := d.e, len(d.e.Prompt.Texts), false
	for j := range d.tokens {
		var s *attribution.TokenScores
		switch {
		case d.comparison != nil:
		case j >= m && j-m < len(e.Steps):
			s = e.Steps[j-m].Scores
		case j < len(e.Prompt.Scores) && e.Prompt.Scores[j] != nil:
			s = &attribution.TokenScores{TokenScores: *e.Prompt.Scores[j]}
		}
		for t, g := range e.Steps {
			if d.explainedBy(t, j) {
				s = g.Scores // where an encoder predicts
			}
		}
		if s != nil && s.Otherwise != nil {
			named := *s
			named.Otherwise = &attribution.Alternative{Text: tokenName(s.Otherwise.Text)}
			s = &named
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
	if d.e.Without == nil || d.comparison != nil || len(d.e.Steps) == 0 {
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
			note := fixed(*g.Scores.KL, 2)
			if o := g.Scores.Otherwise; o != nil {
				note += ", without it “" + tokenName(o.Text) + "”"
			}
			words, last = append(words, word+" ("+note+")"), word
		}
	}
	what := Visible(d.e.Without.Name, 2*nameLimit) + " mattered for "
	of := message.Count(len(d.e.Steps), "token")
	if count == 0 {
		return what + "none of " + of
	}
	return fmt.Sprintf("%s%d of %s, by KL in nats: %s", what, count, of,
		message.Some(words, mostMattered))
}

// sensitive reports whether a part of the prompt mattered for a token.
func sensitive(g attribution.GeneratedToken) bool {
	return g.Scores != nil && g.Scores.Sensitive && g.Scores.KL != nil
}

// mostSensitive returns the generated token that a part of the prompt mattered most for, of those
// that the model would not have said without it, nil if there is none. Some token nearly always
// reaches the threshold, so that alone is no reason to open there.
func (d *drawing) mostSensitive() (row *int) {
	for t, g := range d.e.Steps {
		if d.e.Without != nil && sensitive(g) && g.Scores.Otherwise != nil && !g.Special &&
			(row == nil || *g.Scores.KL > *d.e.Steps[*row].Scores.KL) {
			row = &t
		}
	}
	if row != nil { // where its word is chosen, and not where it is spelled
		if first, _ := d.generatedWord(*row); d.e.Steps[first].Scores.Otherwise != nil {
			return &first
		}
	}
	return row
}
