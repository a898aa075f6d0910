package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/units"
)

// isLabel reports whether span j is a label that the chat template wrote between two messages.
func (p *picture) isLabel(j int) bool {
	return p.e.Prompt.Texts[j] == units.LabelSpan && p.named(j)
}

// messageOf returns who says span j of a conversation by turns, "user 2", and the message. Of a
// label it is who says what stands after it.
func (p *picture) messageOf(j int) (name, message string) {
	for ; j < len(p.e.Prompt.Texts); j++ {
		if !p.isLabel(j) {
			name, message, _ = strings.Cut(p.e.Prompt.Texts[j], ": ")
			return Visible(name, nameLimit), message
		}
	}
	return "assistant", ""
}

// readMessages fills turns of a conversation by turns: each has its message, and before it what the
// template wrote.
func (d *drawing) readMessages() {
	m, begin := len(d.e.Prompt.Texts), 0
	for j := range m {
		if d.isLabel(j) {
			d.tokens[j].role = inTemplate
			continue
		}
		name, message := d.messageOf(j)
		d.tokens[j].name = cmp.Or(Visible(message, 6*nameLimit), noText)
		d.turns = append(d.turns, drawnTurn{
			name: name, head: [2]int{begin, j}, body: [2]int{j, j + 1},
		})
		begin = j + 1
	}
	if begin < m && m < len(d.tokens) {
		d.tokens[m].space = true // after what the template wrote
	}
	d.turns = append(d.turns, drawnTurn{
		name: "assistant", head: [2]int{begin, m}, body: [2]int{m, len(d.tokens)},
	})
}

// question returns the tokens of the sentences of the message that is answered which may ask or
// instruct: the line that it begins with, before a document, and its last sentence. They are nil if
// the text is no chat.
func (d *drawing) question() (first, last []int) {
	n := len(d.turns) - 2
	for n >= 0 && d.turns[n].kind != "" { // what a template adds after the message
		n--
	}
	if !d.chat() || n < 0 {
		return nil, nil
	}
	for _, s := range d.e.Prompt.Units().Sentences() {
		inside := slices.DeleteFunc(s.Tokens, func(j int) bool {
			return j < d.turns[n].body[0] || j >= d.turns[n].body[1]
		})
		if len(inside) == 0 || !strings.ContainsFunc(s.Text, units.InWord) {
			continue
		}
		if end := d.textOf(inside[len(inside)-1]); last == nil && strings.Contains(end, "\n") {
			first = inside
		}
		last = inside
	}
	return first, last
}

// questions returns the tokens that stay in a picture whatever a method has of them, because what
// is answered may be there: those of [drawing.question] or, of a text that is no chat, its last.
func (d *drawing) questions() (tokens []int) {
	if first, last := d.question(); last != nil {
		return slices.Concat(first[:min(len(first), mostAsked)], last[max(len(last)-mostAsked, 0):])
	}
	m := len(d.e.Prompt.Texts)
	for j := max(m-lastRead, 0); j < m && !d.e.Model.Reads() && !d.chat(); j++ {
		tokens = append(tokens, j)
	}
	return tokens
}

// asked returns the words of the question, in small letters, which an answer repeats.
func (d *drawing) asked() []string {
	_, last := d.question()
	var text strings.Builder
	for _, j := range last {
		text.WriteString(d.textOf(j))
	}
	return wordsIn(strings.ToLower(text.String()))
}
