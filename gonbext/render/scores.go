package render

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/message"
)

//go:embed scores.js
var scoresSource string

// scoresData has what scores.js needs: bars of several kinds, and words for each token of the text.
type scoresData struct {
	Kinds []scoreBars `json:"kinds"`
	// Opens is the kind of bars that a picture opens with, -1 for none.
	Opens int `json:"opens"`
	// Notes are the numbers of each token in words, "" for none.
	Notes []string `json:"notes"`
}

// scoreBars are the bars of one kind of scores.
type scoreBars struct {
	Name string `json:"name"`
	// Most is the largest value in words, and Parts are, for each token of the text, the part of it
	// that its value is, -1 where there is none. Sensitive are tokens to be marked.
	Most      string    `json:"most"`
	Parts     []float64 `json:"parts"`
	Sensitive []int     `json:"sensitive,omitempty"`
}

// tokenScores returns the scores of token j of the text, nil if it has none; only those of
// generated tokens have what a part of the prompt changes.
func (d *drawing) tokenScores(j int) *attribution.TokenScores {
	e, m := d.e, len(d.e.Prompt.Texts)
	switch {
	case d.comparison != nil:
	case e.Model.Reads():
		for t, g := range e.Steps {
			if d.explainedBy(t, j) {
				return g.Scores
			}
		}
	case j >= m && j-m < len(e.Steps):
		return e.Steps[j-m].Scores
	case j < len(e.Prompt.Scores) && e.Prompt.Scores[j] != nil:
		return &attribution.TokenScores{TokenScores: *e.Prompt.Scores[j]}
	}
	return nil
}

// nats writes a number of nats.
func nats(x float64) string { return minus(fixed(x, 2)) }

// scoresNote returns the scores of a token in words, "" if it has none.
func (d *drawing) scoresNote(j int) string {
	s := d.tokenScores(j)
	if s == nil {
		return ""
	}
	note := fmt.Sprintf("surprisal %s nats · entropy %s · rank %d", nats(s.Surprisal),
		nats(s.Entropy), s.Rank)
	if s.KL != nil && s.Gain != nil {
		note += fmt.Sprintf(" · without it: KL %s, ln p %s", nats(*s.KL),
			minus(fmt.Sprintf("%+.2f", -*s.Gain)))
	}
	return note
}

// scores returns the bars of the text, nil if no token has scores.
func (d *drawing) scores() *scoresData {
	data := &scoresData{Opens: -1}
	for _, kind := range []struct {
		name  string
		value func(*attribution.TokenScores) *float64
	}{
		{"surprisal", func(s *attribution.TokenScores) *float64 { return &s.Surprisal }},
		{"entropy", func(s *attribution.TokenScores) *float64 { return &s.Entropy }},
		{"KL", func(s *attribution.TokenScores) *float64 { return s.KL }},
	} {
		bars, most := scoreBars{Name: kind.name}, -1.0
		for j := range d.tokens {
			part := -1.0
			if s := d.tokenScores(j); s != nil && kind.value(s) != nil {
				part = max(0, *kind.value(s))
				if s.Sensitive && kind.name == "KL" {
					bars.Sensitive = append(bars.Sensitive, j)
				}
			}
			bars.Parts, most = append(bars.Parts, part), max(most, part)
		}
		if most < 0 {
			continue
		}
		for j, x := range bars.Parts {
			if x > 0 {
				bars.Parts[j] = math.Round(1000*x/most) / 1000
			}
		}
		bars.Most = nats(most) + " nats"
		data.Kinds = append(data.Kinds, bars)
	}
	switch {
	case len(data.Kinds) == 0:
		return nil
	case d.e.Without != nil:
		data.Opens = len(data.Kinds) - 1
	case d.e.Prompt.Scores != nil:
		data.Opens = 0
	}
	for j := range d.tokens {
		data.Notes = append(data.Notes, d.scoresNote(j))
	}
	return data
}

// mostMattered is how many tokens are named for which a part of the prompt mattered.
const mostMattered = 12

// mattered returns for which tokens the part of the prompt mattered that was taken away, "" if none
// was.
func (d *drawing) mattered() string {
	if d.e.Without == nil || d.comparison != nil || len(d.e.Steps) == 0 {
		return ""
	}
	name := Visible(d.e.Without.Name, 2*nameLimit)
	var words []string
	count, m := 0, len(d.e.Prompt.Texts)
	for t, g := range d.e.Steps {
		if g.Scores == nil || !g.Scores.Sensitive {
			continue
		}
		count++
		if word := d.wordOf(m + t).String(); len(words) == 0 || words[len(words)-1] != word {
			words = append(words, word)
		}
	}
	of := message.Count(len(d.e.Steps), "token")
	if count == 0 {
		return name + " mattered for none of " + of
	}
	return fmt.Sprintf("%s mattered for %d of %s: %s", name, count, of,
		message.Some(words, mostMattered))
}

// mostSensitive returns the generated token whose prediction a part of the prompt changes most, nil
// if none was taken away or it mattered for none.
func (d *drawing) mostSensitive() (row *int) {
	for t, g := range d.e.Steps {
		if s := g.Scores; d.e.Without != nil && s != nil && s.Sensitive && s.KL != nil &&
			(row == nil || *s.KL > *d.e.Steps[*row].Scores.KL) {
			row = &t
		}
	}
	return row
}

// mostSurprising is how many tokens of a prompt are named by their surprisal.
const mostSurprising = 3

// scoreLines returns what a text says of the scores that were asked for: for which tokens a part of
// the prompt mattered, the numbers of row t, and the most surprising tokens of the prompt.
func (d *drawing) scoreLines(t int) (lines []string) {
	asked := d.e.Without != nil || d.e.Prompt.Scores != nil
	if note := d.scoresNote(len(d.e.Prompt.Texts) + t); asked && note != "" {
		lines = append(lines, d.tokenName(len(d.e.Prompt.Texts)+t)+" · "+note)
	}
	if s := d.mattered(); s != "" {
		lines = append(lines, s)
	}
	var surprising []int
	surprisal := func(j int) float64 { return d.tokenScores(j).Surprisal }
	for j := range d.e.Prompt.Scores {
		if d.tokenScores(j) != nil && !d.special(j) {
			surprising = append(surprising, j)
		}
	}
	slices.SortStableFunc(surprising, func(a, b int) int {
		return cmp.Compare(surprisal(b), surprisal(a))
	})
	var named []string
	for _, j := range surprising[:min(len(surprising), mostSurprising)] {
		named = append(named, d.tokenName(j)+" "+nats(surprisal(j)))
	}
	if named != nil {
		lines = append(lines, "most surprising in the prompt (nats): "+strings.Join(named, ", "))
	}
	return lines
}
