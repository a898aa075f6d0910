package render

import (
	"html"
	"strings"
)

// maxAlternatives is the largest number of alternatives shown for a token.
const maxAlternatives = 20

// settings writes how to read the picture, which reading says, the settings of each method, and the
// model. A picture may be copied out of its notebook, so all of this is in it.
func (b *page) settings(reading string) {
	if b.next != "" {
		b.printf("<div>%s</div>", escape(b.next, 0))
	}
	if len(b.e.Prompt.Texts) > 0 && len(b.views) > 0 {
		b.printf("<div>%s</div>", reading)
	}
	for i := range b.views {
		v := &b.views[i]
		if v.wrong != "" {
			continue
		}
		low, high := v.colors.ends()
		b.printf("<div><b>%s</b>: %s, %s; colours from %s to %s", escape(v.name, nameLimit),
			escape(v.top.unit, 2*nameLimit), escape(v.reading(), 0), low, high)
		if options := v.options(); options != "" {
			b.printf("; %s", escape(options, 0))
		}
		b.WriteString("</div>")
	}
	b.model()
	for _, given := range b.given() {
		if text := strings.TrimSpace(given.text); text != "" {
			text = isolated(Visible(text, 2000))
			b.printf("<div>%s: %s</div>", given.name, html.EscapeString(text))
		}
	}
}

// model writes which model it was, if that is known.
func (b *page) model() {
	if b.e.Model.Name != "" {
		b.printf("<div>model %s</div>", escape(b.provenance(), 0))
	}
}
