package render

import (
	"html"
	"strings"
)

// lineBreak ends the line after a token that ends one, so that a chat reads as a chat.
func (b *page) lineBreak(text string) {
	if strings.HasSuffix(text, "\n") {
		b.WriteString("<br>")
	}
}

// spaced reports whether a space stands before prompt token j in a running text.
func (p *picture) spaced(j int) bool {
	begins, _ := word(p.e.Prompt.Texts[j])
	return begins || p.special(j) || p.special(j-1) || p.apart(j)
}

// token writes the element of one token. The chosen one is bold and has a border.
func (b *page) token(tag, name, style, title string, chosen bool) {
	b.WriteString("<" + tag)
	if chosen {
		style = strings.TrimPrefix(style+";border:2px solid", ";")
	}
	if style != "" {
		b.printf(` style="%s"`, style)
	}
	if title != "" {
		b.printf(` title="%s"`, html.EscapeString(title))
	}
	name = html.EscapeString(name)
	if chosen {
		name = "<b>" + name + "</b>"
	}
	b.printf(">%s</%s>", name, tag)
}

// explained reports whether an encoder's prediction at prompt token j is explained.
func (p *picture) explained(j int) bool {
	for t := range p.e.Steps {
		if p.explainedBy(t, j) {
			return true
		}
	}
	return false
}

// explainedBy reports whether an encoder's prediction t is at position j.
func (p *picture) explainedBy(t, j int) bool {
	return p.e.Model.Reads() && t >= 0 && p.e.Steps[t].Position != nil &&
		*p.e.Steps[t].Position == j
}

// paint returns the paint of source j in row t: none in a row that is silent, grey for sinks and
// hidden tokens.
func (v *view) paint(p *picture, t, j int) int {
	switch {
	case p.grey(v, t, j):
		return sinkPaint
	case v.silent[t] != "":
		return 0
	}
	return v.colors.step(v.at(t, j))
}

// named is how many sources a sentence names.
const named = 5

// most begins the list of the largest values of a row.
func (v *view) most() string {
	if v.alike() {
		return "most like "
	}
	return "most from "
}
