package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// nameLimit is how many columns of a token are shown; longer ones are cut with a remark.
const nameLimit = 40

// tokenName returns a token as a word: visible, without the space that begins it.
func tokenName(text string) string {
	_, rest := word(text)
	return Visible(rest, nameLimit)
}

// fullName returns the text of prompt token j; a span, which may be a sentence, is cut later than a
// token.
func (p *picture) fullName(j int) string {
	if grouped(p.e) {
		return Visible(p.e.Prompt.Texts[j], 6*nameLimit)
	}
	return tokenName(p.e.Prompt.Texts[j])
}

// short is prompt token j in few columns. The whole of a span stands in the prompt, so that its cut
// needs no remark.
func (p *picture) short(j int) string {
	_, rest := word(p.e.Prompt.Texts[j])
	if !grouped(p.e) {
		return Visible(rest, 16)
	}
	const limit = 24
	name := Visible(rest, 6*nameLimit)
	if Width(name) <= limit {
		return name
	}
	columns := 0
	for i, r := range name {
		if columns += runeWidth(r); columns >= limit {
			return strings.TrimRight(name[:i], " ") + "…"
		}
	}
	return name
}

// continues reports whether prompt token j is a later part of the word before it.
func (p *picture) continues(j int) bool {
	text := p.e.Prompt.Texts[j]
	if j == 0 || p.special(j-1) || p.apart(j) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(text)
	return r == utf8.RuneError || unicode.In(r, unicode.L, unicode.N, unicode.M)
}

// apart reports whether white space parts column j of spans from the one before. A span's own text
// has none at its ends, and a token's begins with it.
func (p *picture) apart(j int) bool {
	if !grouped(p.e) || len(p.e.Prompt.Offsets) <= j {
		return false
	}
	text, end, begin := p.e.Prompt.Text, p.e.Prompt.Offsets[j-1][1], p.e.Prompt.Offsets[j][0]
	if end < 1 || end > begin || begin >= len(text) {
		return true
	}
	return strings.ContainsFunc(text[end-1:begin+1], unicode.IsSpace)
}
