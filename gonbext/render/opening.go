package render

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/compare"
)

// functionWords are words that say little about where an answer comes from. A picture does not open
// with one if there is another.
var functionWords = strings.Fields("the a an of to in and is was it for on at by that this with " +
	"here as then are were be been has have had do does did will would can could not no or " +
	"but if i you he she we they me him her us them my your his its our their who whom whose " +
	"which what when where how there these those about from into after before than so also " +
	"der die das ein eine und ist le la les un une et est el los las una y es il lo gli e")

// wordText returns the word of row t without spaces and brackets, in small letters.
func (d *drawing) wordText(t int) string {
	first, end := d.generatedWord(t)
	text := strings.Trim(withoutMarks(textsOf(d.e.Steps[first:end])), " _(")
	return strings.ToLower(strings.TrimSpace(text))
}

// contentWord reports whether row t begins a word of two letters or more that is no function word.
func (d *drawing) contentWord(t int) bool {
	g := d.e.Steps[t]
	first, _ := d.generatedWord(t)
	letters := 0
	text := d.wordText(t)
	for _, r := range text {
		if !unicode.IsLetter(r) {
			break
		}
		letters++
	}
	wide := letters == 1 && utf8.RuneLen([]rune(text)[0]) > 2 // a word in scripts such as Chinese
	return first == t && !g.Special && !g.Rest && (letters > 1 || wide) &&
		!slices.Contains(functionWords, text)
}

// asked returns the words of the last sentence of the last message of a chat, in small letters: the
// question, whose words an answer repeats.
func (d *drawing) asked() (words []string) {
	n := len(d.turns) - 2
	if !d.chat() || n < 0 {
		return nil
	}
	body := d.turns[n].body
	for _, s := range d.e.Prompt.Sentences() {
		if j := s.Tokens[0]; j < body[0] || j >= body[1] {
			continue
		}
		if all := strings.FieldsFunc(strings.ToLower(s.Text), func(r rune) bool {
			return !inWord(r)
		}); len(all) > 0 {
			words = all
		}
	}
	return words
}

// generatedWord returns the rows [first,end) of the word of row t, which in an encoder is one row.
func (d *drawing) generatedWord(t int) (first, end int) {
	if d.e.Model.Reads() {
		return t, t + 1
	}
	m := len(d.e.Prompt.Texts)
	first, end = d.wordAround(m + t)
	return max(first-m, 0), end - m
}

// opensFrom is the part of the largest value of a content word at which an answer opens with an
// earlier one.
const opensFrom = .5

// open chooses the row and the method that a picture opens with: of an answer the first content
// word that has half of the largest value of one, and for an encoder that with the largest, by the
// first method that shows something for one. Words of a question, which an answer repeats, come
// after all others. A scorer that compares the first prediction with itself comes before them,
// because it was asked for what there is not. The token that a part of the prompt mattered most
// for, if one was taken away, comes before all.
func (d *drawing) open(row *int) {
	d.chosen, d.lead = firstWord(d.e), -1
	if row == nil {
		row = d.mostSensitive()
	}
	if row != nil && *row >= 0 && *row < len(d.e.Steps) {
		d.chosen = *row
	} else {
		row = nil
	}
	if d.chosen < 0 {
		return
	}
	order := make([]int, 0, len(d.views))
	for i := range d.views {
		order = append(order, i)
	}
	if d.comparison != nil { // their difference comes first
		order = []int{compare.Difference, 0, 1}
	}
	for _, i := range order {
		if v := &d.views[i]; row == nil && v.has(0) && d.contrastsItself(v, 0) {
			d.chosen, d.lead = 0, i
			return
		}
	}
	asked := d.asked()
	for _, i := range order {
		v := &d.views[i]
		best := -1
		if row == nil {
			best = d.wordToOpen(v, asked)
		} else if v.has(*row) && d.strongest(v, *row) > 0 {
			best = *row
		}
		if best >= 0 {
			d.chosen, d.lead = best, i
			return
		}
		if d.lead < 0 && v.has(d.chosen) {
			d.lead = i
		}
	}
}

// Opening returns the generated token that a picture of an explanation opens at, 0 if there is
// none.
func (s Show) Opening(e *attribution.Explanation) int {
	if named, err := s.AtWord(e); err == nil {
		s = named
	}
	h := Heatmap{Explanation: e, Filter: s.Filter, Layer: s.Layer}
	return max(newDrawing(h.picture(true), s.Token).chosen, 0)
}

// wordToOpen returns the row of a method that a picture opens with, -1 if it shows nothing for a
// content word. Words that were asked come after all others.
func (d *drawing) wordToOpen(v *view, asked []string) int {
	for _, repeated := range []bool{false, true} {
		largest, least := 0.0, 1.0
		if !d.e.Model.Reads() {
			least = opensFrom
		}
		places, rows := make([]float64, len(d.e.Steps)), make([]int, len(d.e.Steps))
		for t := range places {
			if slices.Contains(asked, d.wordText(t)) == repeated {
				places[t], rows[t] = d.strongestOfWord(v, t)
			}
			largest = max(largest, places[t])
		}
		for t, x := range places {
			if x > 0 && x >= least*largest {
				return rows[t]
			}
		}
	}
	return -1
}

// whyLead tells why a picture does not open with its first method, "" if it does.
func (d *drawing) whyLead() string {
	if d.lead <= 0 || d.comparison != nil || d.contrastsItself(&d.views[d.lead], d.chosen) {
		return ""
	}
	var silent []string
	for i := range d.lead {
		if v := &d.views[i]; v.has(d.chosen) {
			silent = append(silent, Visible(v.name, nameLimit))
		}
	}
	lead, verb := Visible(d.views[d.lead].name, nameLimit), " shows"
	switch {
	case len(silent) == 0 || d.strongest(&d.views[d.lead], d.chosen) == 0:
		return ""
	case len(silent) > 1:
		silent, verb = []string{and(silent)}, " show"
	}
	return fmt.Sprintf("%s%s nothing for “%s”; %s does", silent[0], verb, d.rowName(d.chosen), lead)
}

// strongestOfWord returns the largest place on the scale that a source has in a row of the content
// word that begins with row t, and that row: of the first token of the word that has something to
// show, because what follows is mostly spelling. It is 0 if there is no such word.
func (d *drawing) strongestOfWord(v *view, t int) (largest float64, row int) {
	if !d.contentWord(t) {
		return 0, t
	}
	for _, end := d.generatedWord(t); t < end; t++ {
		if v.has(t) && d.strongest(v, t) > 0 {
			return d.strongest(v, t), t
		}
	}
	return 0, t
}

// strongest returns the largest place on the scale that a source has in row t, above 0; 0 if none
// stands out.
func (d *drawing) strongest(v *view, t int) float64 {
	largest := 0.0
	for j := range v.sources(t) {
		if d.step(v, t, j) != 0 {
			x := v.colors.at(v.at(t, j))
			if v.difference {
				x = math.Abs(x)
			}
			largest = max(largest, x)
		}
	}
	return largest
}
