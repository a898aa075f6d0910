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

// functionWords are articles, prepositions, conjunctions and auxiliaries, which say little about
// where an answer comes from, and pronouns are those that stand for a name. A picture opens with a
// pronoun as with a name, and with a function word, which I and you are too, only if there is
// nothing else.
var (
	functionWords = strings.Fields("the a an of to in and is was it for on at by that this with " +
		"here as then are were be been being has have had do does did will would can could not " +
		"or etc but if so also than when where how there these those about from into after " +
		"before up down out over under off through between because while such each some any " +
		"very just only more most his hers its their who whom whose which what i you we me us my " +
		"your our der die das ein eine und ist le la les un une et est el los las una y es il lo " +
		"gli e")
	pronouns = strings.Fields("he she they him her them er sie ihm ihr elle elles ils lui")
)

// functionWord reports whether the word of token j is a function word.
func (d *drawing) functionWord(j int) bool {
	return slices.Contains(functionWords, strings.ToLower(plain(d.wordOf(j).String())))
}

// wordText returns the word of row t without spaces and brackets.
func (d *drawing) wordText(t int) string {
	first, end := d.generatedWord(t)
	text := units.WithoutMarks(attribution.TextOf(d.e.Steps[first:end]))
	return strings.TrimSpace(strings.Trim(text, " _("))
}

// contentWord reports whether row t begins a number, or a word of two letters or more, or a
// pronoun, that is no function word.
func (d *drawing) contentWord(t int) bool {
	g := d.e.Steps[t]
	first, _ := d.generatedWord(t)
	text := strings.ToLower(d.wordText(t))
	if first != t || g.Special || g.Rest || slices.Contains(functionWords, text) {
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
	return letters > 1 || wide || slices.Contains(pronouns, text)
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

// A picture opens with the word of the answer that has the greatest score:
//
//	strength × probability × ½ if it is no name, number, identifier or pronoun × ½ if it is asked
//	× ¼ if other parts of the model wrote most of it, see [drawing.writtenByOthers]
//
// Strength is the place on the scale of the strongest word that it came from, half of it if that
// stands in the answer itself. Asked is what the question has too.
const (
	ordinary = .5
	asked    = .5
	ownWord  = .5
	byOthers = .25
	// half is the part of the best score that the last one of several equal words must have: a
	// conclusion opens, and not its first step.
	half = .5
)

// answerWord is a content word of an answer, in rows [row,end).
type answerWord struct {
	row, end int
	text     string  // in small letters
	weight   float64 // what its strength is multiplied by
	// opens is the first of the rows for which a method has something to show, because what follows
	// it is mostly spelling, and score is that there.
	opens int
	score float64
}

// answerWords returns the content words of the answer.
func (d *drawing) answerWords() (words []answerWord) {
	question, given := d.asked(), wordsIn(d.e.Prompt.Text)
	begins := true // a sentence, where a capital letter says nothing
	for t := range d.e.Steps {
		text := d.wordText(t)
		r, _ := utf8.DecodeRuneInString(text)
		first := begins && (t > 0 || d.chat())
		if units.InWord(r) {
			begins = false
		}
		if ends := strings.TrimRight(d.e.Steps[t].Text, " "); strings.HasSuffix(ends, "\n") ||
			strings.ContainsAny(ends, ".!?:") && !units.InWord(r) {
			begins = true
		}
		if !d.contentWord(t) {
			continue
		}
		small := strings.ToLower(text)
		w := answerWord{row: t, text: small, weight: 1}
		_, w.end = d.generatedWord(t)
		for _, g := range d.e.Steps[t:w.end] {
			if p := g.Probability; !g.Unscored && p > 0 {
				w.weight *= p
			}
		}
		name := unicode.IsUpper(r) && (!first || allIn(wordsIn(text), given))
		if !d.e.Model.Reads() && !name && !unicode.IsDigit(r) &&
			!slices.Contains(pronouns, small) && !identifier(text) {
			w.weight *= ordinary
		}
		if allIn(wordsIn(small), question) {
			w.weight *= asked
		}
		words = append(words, w)
	}
	return words
}

// identifier reports whether a word is a name of a program: it has an underscore or a capital
// letter inside.
func identifier(text string) bool {
	return strings.Contains(strings.Trim(text, "_"), "_") ||
		strings.ContainsFunc(text, unicode.IsLower) && text != "" &&
			strings.ContainsFunc(strings.TrimLeftFunc(text, unicode.IsUpper), unicode.IsUpper)
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

// generatedWord returns the rows [first,end) of the word of row t, which in an encoder is one row.
func (d *drawing) generatedWord(t int) (first, end int) {
	if d.e.Model.Reads() {
		return t, t + 1
	}
	m := len(d.e.Prompt.Texts)
	first, end = d.wordAround(m + t)
	return max(first-m, 0), end - m
}

// open chooses the row and the method that a picture opens with: the word of the answer with the
// greatest score, see [drawing.wordToOpen], by the first method that shows something for one. A
// scorer that compares the first prediction with itself comes before them, because it was asked for
// what there is not. The token that a part of the prompt mattered most for, if one was taken away
// and the model would then have said another token, comes before all others, and the only one that
// was tested before that one.
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
	words := []answerWord{{row: d.chosen, end: d.chosen + 1, weight: 1}}
	if row == nil {
		if all := d.answerWords(); len(all) > 0 {
			words = all
		}
	}
	for _, i := range order {
		if best := d.wordToOpen(&d.views[i], words); best >= 0 {
			d.chosen = best
			// What an earlier method has against it is shown, too.
			d.lead = order[slices.IndexFunc(order, func(k int) bool {
				return k == i || d.views[k].has(best) &&
					len(d.standing(&d.views[k], best).below) > 0
			})]
			return
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
	h := Heatmap{
		Explanation: e, Filter: s.Filter, Layer: s.Layer, Token: s.Token, Words: s.By != "token",
	}.inWords()
	d := newDrawing(h.picture(true), h.Token)
	if h.Explanation == e || d.chosen < 0 {
		return d.chosen
	}
	if s.Token != nil && *s.Token >= 0 && *s.Token < len(e.Steps) {
		return *s.Token
	}
	begin, end := d.e.Steps[d.chosen].Tokens[0], d.e.Steps[d.chosen].Tokens[1]
	first := slices.IndexFunc(e.Steps[begin:end], func(g attribution.GeneratedToken) bool {
		return strings.ContainsFunc(g.Text, units.InWord)
	})
	return begin + max(0, first)
}

// wordToOpen returns the row of a method that a picture opens with of some words, -1 if it shows
// nothing for any: that with the greatest score, and of equal words the last one with half of it.
func (d *drawing) wordToOpen(v *view, words []answerWord) int {
	var best *answerWord
	for i := range words {
		w := &words[i]
		w.score = 0
		for w.opens = w.row; w.opens < w.end && w.score == 0; w.opens++ {
			if v.has(w.opens) {
				w.score = d.strength(v, w.opens) * w.weight
			}
		}
		if w.opens--; w.score == 0 {
			continue
		}
		if d.writtenByOthers(v, w.opens) != "" {
			w.score *= byOthers
		}
		if best == nil || w.score > best.score {
			best = w
		}
	}
	if best == nil {
		return -1
	}
	for _, w := range slices.Backward(words) {
		if w.text == best.text && w.score >= half*best.score {
			return w.opens
		}
	}
	return best.opens
}

// strength returns the place on the scale of the strongest word that row t came from, half of it if
// that stands in the answer; 0 if none stands out.
func (d *drawing) strength(v *view, t int) (largest float64) {
	for j := range v.sources(t) {
		x := math.Abs(v.colors.at(v.at(t, j)))
		if d.step(v, t, j) == 0 || !v.difference && v.colors.at(v.at(t, j)) < 0 || !d.isNamed(j) {
			continue
		}
		if j >= len(d.e.Prompt.Texts) {
			x *= ownWord
		}
		if d.functionWord(j) {
			x *= ordinary * ordinary
		}
		largest = max(largest, x)
	}
	return largest
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
