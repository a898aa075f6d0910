package render

import (
	"html"
	"strings"
)

// maxAlternatives is the largest number of alternatives shown for a token.
const maxAlternatives = 20

// legend writes warnings, and settings in a part that a reader opens.
func (b *page) legend() {
	// A warning may quote tokens, so it is escaped like them.
	for _, warning := range b.e.Warnings {
		b.printf(`<div style="%s">⚠ %s</div>`, small, escape(warning, 1000))
	}
	what := "How to read this, settings, model"
	if b.next != "" {
		what = "How to read this, what else to see, settings, model"
	}
	b.printf(`<details class="hw-k" style="%s;font-size:12px"><summary style="cursor:pointer">`+
		`%s</summary>`, line, what)
	b.settings(b.words.lines)
	b.WriteString("</details>")
}

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
