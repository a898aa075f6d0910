package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
)

// isTemplate reports whether span j is what the chat template wrote between two messages.
func (p *picture) isTemplate(j int) bool {
	return p.e.Prompt.Texts[j] == attribution.TemplateSpan && p.named(j)
}

// messageOf returns who says span j of a conversation by turns, "user 2", and the message. Of a
// span of the template it is who says the message after it.
func (p *picture) messageOf(j int) (name, message string) {
	for ; j < len(p.e.Prompt.Texts); j++ {
		if !p.isTemplate(j) {
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
		if d.isTemplate(j) {
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

// questions returns the tokens of the message that is answered which may ask or instruct, whatever
// a method has of them: those at the end of it and in a line before a document.
func (d *drawing) questions() (tokens []int) {
	m, n := len(d.e.Prompt.Texts), len(d.turns)-2
	if !d.chat() || n < 0 {
		for j := max(m-lastRead, 0); j < m && !d.e.Model.Reads(); j++ {
			tokens = append(tokens, j)
		}
		return tokens
	}
	var first, last []int
	for _, s := range d.e.Prompt.Sentences() {
		inside := slices.DeleteFunc(s.Tokens, func(j int) bool {
			return j < d.turns[n].body[0] || j >= d.turns[n].body[1]
		})
		if len(inside) == 0 || !strings.ContainsFunc(s.Text, inWord) {
			continue
		}
		if end := d.textOf(inside[len(inside)-1]); last == nil && strings.Contains(end, "\n") {
			first = inside
		}
		last = inside
	}
	return slices.Concat(first[:min(len(first), mostAsked)], last[max(len(last)-mostAsked, 0):])
}
