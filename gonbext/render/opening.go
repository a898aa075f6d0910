package render

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/compare"
	"github.com/headwater-ml/headwater/internal/study/verdict"
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
	text := units.WithoutMarks(attribution.TextOf(d.e.Steps[first:end]))
	return strings.TrimSpace(strings.Trim(text, " _("))
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
	before := attribution.TextOf(d.e.Steps[max(t-3, 0):t])
	line := strings.TrimRight(units.WithoutMarks(before), " \t")
	after := units.WithoutMarks(attribution.TextOf(d.e.Steps[end:min(end+2, len(d.e.Steps))]))
	return (strings.HasSuffix(line, "\n") || line == "" && d.wordText(t) == "1") &&
		(strings.HasPrefix(after, ". ") || strings.HasPrefix(after, ") "))
}

// answerWord is a content word of an answer, in rows [row,end).
type answerWord struct {
	row, end int
	// specific reports whether it is a number or a name, and copied whether the prompt has it too,
	// but not the question.
	specific, copied bool
	// opens is the first of the rows for which a method has something to show, because what follows
	// it is mostly spelling, and place the largest place of a source on its scale there.
	opens int
	place float64
}

// answerWords returns the content words of the answer, sentence by sentence: first those that the
// question lacks, then those that an answer repeats. For an encoder these are all alike. A first
// sentence without any that goes on a prompt has its first word.
func (d *drawing) answerWords() [][]answerWord {
	asked, given := d.asked(), wordsIn(d.e.Prompt.Text)
	sentences, previous := d.answerSentences(), -1
	words := make([][]answerWord, 2*len(sentences))
	for t, at := range sentences {
		begins := at != previous && (t > 0 || d.chat()) // a capital letter says nothing here
		text := d.wordText(t)
		r, _ := utf8.DecodeRuneInString(text)
		if units.InWord(r) {
			previous = at
		}
		if !d.contentWord(t) {
			continue
		}
		w := answerWord{row: t}
		_, w.end = d.generatedWord(t)
		if name := unicode.IsUpper(r); !d.e.Model.Reads() && (name || unicode.IsDigit(r)) {
			w.copied = allIn(wordsIn(text), given)
			w.specific = w.copied || !name || !begins
		}
		if allIn(wordsIn(strings.ToLower(text)), asked) {
			at, w.copied = at+len(sentences), false
		}
		words[at] = append(words[at], w)
	}
	if !d.chat() && len(words[0]) == 0 && slices.Max(sentences) > 0 {
		// What ends the sentence of the prompt is the answer, also by "are here." alone.
		if first := firstWord(d.e); sentences[first] == 0 {
			words[0] = []answerWord{{row: first, end: first + 1}}
		}
	}
	return words
}

// wordsIn returns the words of a text, divided at all that is no letter, digit or mark.
func wordsIn(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !units.InWord(r) })
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
	text := attribution.TextOf(d.e.Steps)
	ranges := units.SentenceRanges(text)
	end, number := 0, 0
	for t, g := range d.e.Steps {
		for end += len(g.Text); len(ranges) > 1 && end > ranges[1][0]; ranges = ranges[1:] {
			if text[ranges[0][1]-1] != '!' {
				number++
			}
		}
		of[t] = number
	}
	return of
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
// that a part of the prompt mattered most for, if one was taken away and the model would then have
// said another token, comes before all others, and the only one that was tested before that one.
func (d *drawing) open(row *int) {
	d.chosen, d.lead = firstWord(d.e), -1
	if row == nil {
		row = d.onlyTested()
	}
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
	if at := d.nearestContrast(order); row == nil && at >= 0 {
		d.chosen, row = at, &at
	}
	words := [][]answerWord{{{row: d.chosen, end: d.chosen + 1}}}
	if row == nil {
		words = d.answerWords()
	}
	for _, sentence := range words {
		for _, i := range order {
			if best := d.wordToOpen(&d.views[i], sentence); best >= 0 {
				d.chosen = best
				// What an earlier method has against it is shown, too.
				d.lead = order[slices.IndexFunc(order, func(k int) bool {
					return k == i || d.views[k].has(best) &&
						len(d.standing(&d.views[k], best).below) > 0
				})]
				return
			}
		}
	}
	if i := slices.IndexFunc(order, func(i int) bool { return d.views[i].has(d.chosen) }); i >= 0 {
		d.lead = order[i]
	}
}

// nearestContrast returns the generated token that a contrast was nearest to being in place of. It
// is the first, with which a prompt without a chat goes on; in a chat, where other words may begin
// an answer, it is of those that begin a word the one whose log-odds over the contrast are the
// smallest in size, the first of equals, if a method tells them. It is -1 without a contrast.
func (d *drawing) nearestContrast(order []int) int {
	i := slices.IndexFunc(order, func(i int) bool { return d.views[i].contrast() != "" })
	if i < 0 {
		return -1
	}
	at, least, v := 0, math.Inf(1), &d.views[order[i]]
	for t := 0; d.chat() && t < min(len(d.e.Steps), len(v.result.Explained)); t++ {
		g, size := d.e.Steps[t], math.Abs(v.result.Explained[t])
		first, _ := d.generatedWord(t)
		if first == t && !g.Special && !g.Rest && tokenName(g.Text) != v.contrast() &&
			strings.ContainsFunc(g.Text, units.InWord) && size < least {
			at, least = t, size
		}
	}
	return at
}

// onlyTested returns the one token that has a verdict, nil if none or several have.
func (d *drawing) onlyTested() (row *int) {
	for t, g := range d.e.Steps {
		switch {
		case verdict.Of(g) == nil || d.comparison != nil:
		case row != nil:
			return nil
		default:
			row = &t
		}
	}
	return row
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
		for w.opens = w.row; w.opens < w.end && w.place == 0; w.opens++ {
			if v.has(w.opens) {
				w.place = d.strongest(v, w.opens)
			}
		}
		if w.opens--; w.place > 0 {
			shown = append(shown, w)
		}
	}
	for at := len(shown) - 1; at >= 0 && d.chat(); at-- {
		if !shown[at].copied {
			continue
		}
		for at > 0 && shown[at-1].copied && shown[at-1].end == shown[at].row {
			at--
		}
		return shown[at].opens
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
		largest = max(largest, w.place)
	}
	for _, w := range shown {
		if w.place >= least*largest {
			return w.opens
		}
	}
	return -1
}

// whyLead tells why a picture does not open with its first method, and why that was not tested, ""
// if it does.
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
	why := fmt.Sprintf("%s%s nothing for “%s”; %s does", silent[0], verb, d.rowName(d.chosen), lead)
	for i := range d.lead {
		if s := d.tested(&d.views[i], d.chosen); s != nil {
			why += "; " + plain(s.String())
		}
	}
	return why
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
