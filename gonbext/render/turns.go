package render

import (
	"cmp"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
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
		turn := drawnTurn{name: name, head: [2]int{begin, j}, body: [2]int{j, j + 1}}
		if kind := trace.PartKind(name); kind == trace.Added || kind == trace.Tools {
			turn.kind, d.tokens[j].role = kind, inSystem
		}
		d.turns = append(d.turns, turn)
		begin = j + 1
	}
	if begin < m && m < len(d.tokens) {
		d.tokens[m].space = true // after what the template wrote
	}
	d.turns = append(d.turns, drawnTurn{
		name: "assistant", head: [2]int{begin, m}, body: [2]int{m, len(d.tokens)},
	})
}

// asked returns the words of the last sentence of the message that is answered, in small letters,
// which an answer repeats; nil if the text is no chat.
func (d *drawing) asked() []string {
	n := d.lastMessage()
	if !d.chat() || n < 0 {
		return nil
	}
	all := d.sentencesOf(d.turns[n].body[0], min(d.turns[n].body[1], len(d.e.Prompt.Texts)))
	for i := len(all) - 1; i >= 0; i-- {
		if strings.ContainsFunc(all[i].text, units.InWord) {
			return wordsIn(strings.ToLower(all[i].text))
		}
	}
	return nil
}
