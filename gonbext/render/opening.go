package render

import (
	"cmp"
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
	"here as then are were be been being has have had do does did will would can could not or " +
	"etc but if i you he she we they me him her us them my your his its our their who whom whose " +
	"which what when where how there these those about from into after before than so also " +
	"der die das ein eine und ist le la les un une et est el los las una y es il lo gli e")

// wordText returns the word of row t without spaces and brackets.
func (d *drawing) wordText(t int) string {
	first, end := d.generatedWord(t)
	return strings.TrimSpace(strings.Trim(withoutMarks(textsOf(d.e.Steps[first:end])), " _("))
}

// contentWord reports whether row t begins a number, or a word of two letters or more that is no
// function word.
func (d *drawing) contentWord(t int) bool {
	g := d.e.Steps[t]
	first, _ := d.generatedWord(t)
	text := d.wordText(t)
	if first != t || g.Special || g.Rest || slices.Contains(functionWords, strings.ToLower(text)) {
		return false
	}
	if begin, _ := utf8.DecodeRuneInString(text); unicode.IsDigit(begin) {
		return !d.listNumber(t)
	}
	letters := 0
	for _, r := range text {
		if !unicode.IsLetter(r) {
			break
		}
		letters++
	}
	wide := letters == 1 && utf8.RuneLen([]rune(text)[0]) > 2 // a word in scripts such as Chinese
	return letters > 1 || wide
}

// listNumber reports whether the number at row t counts the items of a list: it begins a line, or
// is the 1 that begins the answer, and a point or a bracket and a space follow it.
func (d *drawing) listNumber(t int) bool {
	_, end := d.generatedWord(t)
	before := withoutMarks(textsOf(d.e.Steps[max(t-3, 0):t]))
	after := withoutMarks(textsOf(d.e.Steps[end:min(end+2, len(d.e.Steps))]))
	line := strings.TrimRight(before, " \t")
	return (strings.HasSuffix(line, "\n") || line == "" && d.wordText(t) == "1") &&
		(strings.HasPrefix(after, ". ") || strings.HasPrefix(after, ") "))
}

// answerWord is a content word of an answer, in rows [row,end).
type answerWord struct {
	row, end, sentence int
	// asked reports whether the question has the word, specific whether it is a number, a name or
	// in code marks, and copied whether it is a number or a name that the prompt has.
	asked, specific, copied bool
}

// answerWords returns the content words of the answer. For an encoder these are alike.
func (d *drawing) answerWords() (words []answerWord) {
	asked, given := d.asked(), wordsIn(d.e.Prompt.Text)
	sentences, previous := d.answerSentences(), -1
	for t := range d.e.Steps {
		sentence := sentences[t]
		begins := sentence != previous && (t > 0 || d.chat()) // a capital letter says nothing here
		text := d.wordText(t)
		r, _ := utf8.DecodeRuneInString(text)
		if inWord(r) {
			previous = sentence
		}
		w := answerWord{row: t, sentence: sentence}
		_, w.end = d.generatedWord(t)
		switch {
		case !d.contentWord(t):
		case d.e.Model.Reads():
			words = append(words, w)
		default:
			name := unicode.IsUpper(r)
			w.copied = (name || unicode.IsDigit(r)) && allIn(wordsIn(text), given)
			w.asked = allIn(wordsIn(strings.ToLower(text)), asked)
			w.specific = w.copied || unicode.IsDigit(r) || name && !begins || d.codeMark(t)
			words = append(words, w)
		}
	}
	return words
}

// codeMark reports whether a backtick, which begins a piece of code, stands just before row t.
func (d *drawing) codeMark(t int) bool {
	before := textsOf(d.e.Steps[max(t-1, 0):t])
	return strings.HasSuffix(before, "`") && !strings.HasSuffix(before, "```") &&
		!strings.HasPrefix(d.e.Steps[t].Text, " ")
}

// wordsIn returns the words of a text, divided at all that is no letter, digit or mark.
func wordsIn(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !inWord(r) })
}

// allIn reports whether a list has all of some words, of which there is at least one.
func allIn(words, list []string) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool {
		return !slices.Contains(list, word)
	})
}

// answerSentences returns the number of the sentence of each row. An exclamation, such as "Sure!",
// belongs to the sentence after it.
func (d *drawing) answerSentences() []int {
	of := make([]int, len(d.e.Steps))
	if d.e.Model.Reads() || d.e.Steps[0].IDs != nil {
		return of
	}
	var p attribution.Prompt
	for _, g := range d.e.Steps {
		begin := len(p.Text)
		p.Text += g.Text
		p.Texts, p.IDs = append(p.Texts, g.Text), append(p.IDs, g.ID)
		p.Special = append(p.Special, false)
		p.Offsets = append(p.Offsets, [2]int{begin, len(p.Text)})
	}
	number := 0
	for _, s := range p.Sentences() {
		for _, t := range s.Tokens {
			of[t] = number
		}
		if !strings.HasSuffix(strings.TrimSpace(s.Text), "!") {
			number++
		}
	}
	return of
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
		if all := wordsIn(strings.ToLower(s.Text)); len(all) > 0 {
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

// open chooses the row and the method that a picture opens with: a word of the first sentence of
// the answer, see [drawing.wordToOpen], by the first method that shows something for one. Words of
// a question, which an answer repeats, come after all others. A scorer that compares the first
// prediction with itself comes before them, because it was asked for what there is not. The token
// that a part of the prompt mattered most for, if one was taken away, comes before all.
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
	for _, words := range d.toOpen(row) {
		for _, i := range order {
			if best := d.wordToOpen(&d.views[i], words); best >= 0 {
				d.chosen, d.lead = best, i
				return
			}
		}
	}
	d.lead = slices.IndexFunc(order, func(i int) bool { return d.views[i].has(d.chosen) })
	if d.lead >= 0 {
		d.lead = order[d.lead]
	}
}

// toOpen returns the words that a picture may open with, sentence by sentence, those of the
// question last; of a row that is asked for, this alone.
func (d *drawing) toOpen(row *int) (sentences [][]answerWord) {
	if row != nil {
		return [][]answerWord{{{row: *row, end: *row + 1}}}
	}
	words := d.answerWords()
	rank := func(w answerWord) int {
		if w.asked {
			return w.sentence + len(d.e.Steps)
		}
		return w.sentence
	}
	slices.SortStableFunc(words, func(a, b answerWord) int { return cmp.Compare(rank(a), rank(b)) })
	for i, w := range words {
		if i == 0 || rank(w) != rank(words[i-1]) {
			sentences = append(sentences, nil)
		}
		last := len(sentences) - 1
		sentences[last] = append(sentences[last], w)
	}
	return sentences
}

// Opening returns the generated token that a picture of an explanation opens at, -1 if there is
// none or it lacks the word of s.
func (s Show) Opening(e *attribution.Explanation) int {
	s, err := s.AtWord(e)
	if err != nil {
		return -1
	}
	h := Heatmap{Explanation: e, Filter: s.Filter, Layer: s.Layer}
	return newDrawing(h.picture(true), s.Token).chosen
}

// wordToOpen returns the row of a method that a picture opens with of some words, -1 if it shows
// nothing for any. If there are names or numbers, it is one of them: in a chat the last one that
// the prompt has, which the answer was leading to, and the names just before it. Otherwise it is
// the first word that has half of the largest value, in an encoder that with the largest.
func (d *drawing) wordToOpen(v *view, words []answerWord) int {
	var shown []answerWord
	for _, w := range words {
		if d.strongestOfWord(v, w) > 0 {
			shown = append(shown, w)
		}
	}
	for at := len(shown) - 1; at >= 0 && d.chat(); at-- {
		if !shown[at].copied || shown[at].asked {
			continue
		}
		for at > 0 && shown[at-1].copied && shown[at-1].end == shown[at].row {
			at--
		}
		return d.pieceToOpen(v, shown[at])
	}
	if named := slices.DeleteFunc(slices.Clone(shown), func(w answerWord) bool {
		return !w.specific
	}); len(named) > 0 {
		shown = named
	}
	largest, least := 0.0, opensFrom
	if d.e.Model.Reads() {
		least = 1
	}
	for _, w := range shown {
		largest = max(largest, d.strongestOfWord(v, w))
	}
	for _, w := range shown {
		if d.strongestOfWord(v, w) >= least*largest {
			return d.pieceToOpen(v, w)
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

// pieceToOpen returns the first token of a word for which a method has something to show, because
// what follows it is mostly spelling; -1 if there is none.
func (d *drawing) pieceToOpen(v *view, w answerWord) int {
	for t := w.row; t < w.end; t++ {
		if v.has(t) && d.strongest(v, t) > 0 {
			return t
		}
	}
	return -1
}

// strongestOfWord returns the largest place on the scale that a source has in the row in which a
// word opens, 0 if none has one.
func (d *drawing) strongestOfWord(v *view, w answerWord) float64 {
	t := d.pieceToOpen(v, w)
	if t < 0 {
		return 0
	}
	return d.strongest(v, t)
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
