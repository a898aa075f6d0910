package render

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
)

// nameLimit is the largest number of columns of a token; longer ones are cut with a remark.
const nameLimit = 40

// tokenName returns a token in visible form, without its leading space. In running texts, which
// have a direction of their own, it is textName.
func tokenName(text string) string { return isolated(textName(text)) }

// textName returns a token as it stands in a running text.
func textName(text string) string {
	_, rest := word(text)
	return Visible(rest, nameLimit)
}

// short returns prompt token j in few columns. A span is cut without a remark, because the prompt
// shows the whole of it; what stands out inside is named.
func (p *picture) short(j int) string { return p.shortIn(j, shortColumns) }

// shortColumns is the width of the short name of a span, headColumns of one that stands upright.
const shortColumns, headColumns = 24, 12

// startMark stands for the token with which a target begins, which is no word of it, and startName
// is its name in a sentence.
const startMark, startName = "▸", "the start of the target"

// spanText returns prompt token j or, of a label that the chat template writes, what it begins.
func (p *picture) spanText(j int) string {
	switch {
	case j == p.targetBegin:
		return startMark
	case !p.isLabel(j):
		return p.e.Prompt.Texts[j]
	}
	name, _ := p.messageOf(j)
	return "label of " + name
}

// shortIn returns prompt token j, which may be a span in so many columns.
func (p *picture) shortIn(j, limit int) string {
	if limit == headColumns && p.named(j) {
		name, _ := p.messageOf(j)
		return isolated(name)
	}
	inside := ""
	if j < len(p.e.Prompt.Strongest) {
		if inside = Visible(p.e.Prompt.Strongest[j], 0); Width(inside) > limit/2 {
			inside = firstColumns(inside, limit/2) + "…"
		}
	}
	return fewColumns(p.spanText(j), p.e.Spans(), inside, limit)
}

// fewColumns returns a token, or a span of several, in few columns: its beginning and, if that does
// not have it, what stands out inside.
func fewColumns(text string, span bool, inside string, limit int) string {
	_, rest := word(text)
	if !span {
		return isolated(Visible(rest, 16))
	}
	name := Visible(rest, 6*nameLimit)
	if Width(name) <= limit {
		return isolated(name)
	}
	if begin := firstColumns(name, limit); inside == "" || strings.Contains(begin, inside) {
		return isolated(begin + "…")
	}
	return isolated(firstColumns(name, limit-1-Width(inside)) + "… " + inside)
}

// firstColumns returns the beginning of a text that is narrower than some columns, whole words if
// there is a space between two of them.
func firstColumns(text string, columns int) string {
	for i, r := range text {
		if columns -= runeWidth(r); columns <= 0 {
			if end := strings.LastIndexByte(text[:i+1], ' '); end > 0 {
				i = end
			}
			return strings.TrimRight(text[:i], " ")
		}
	}
	return text
}

// generatedName returns generated token t in few columns.
func (p *picture) generatedName(t int) string {
	return fewColumns(p.e.Steps[t].Text, p.e.Steps[t].IDs != nil, "", shortColumns)
}

// noText is the name of a token without text: the space that a tokenizer put before its first word.
const noText = "␣"

// axisName returns token j of the whole text, the prompt first, beside a row or above a column.
func (p *picture) axisName(j int) string {
	m := len(p.e.Prompt.Texts)
	if j < m {
		return cmp.Or(p.short(j), noText)
	}
	return cmp.Or(p.generatedName(j-m), noText)
}

// repeated reports whether another prompt token has the same short name as prompt token j.
func (p *picture) repeated(j int) bool {
	if p.names == nil {
		p.names = map[string]int{}
		for i := range p.e.Prompt.Texts {
			p.names[p.short(i)]++
		}
	}
	return p.names[p.short(j)] > 1
}

// placeOf returns the place of source j in the text: the position of a prompt token, or the number
// of a generated one from 1.
func (p *picture) placeOf(j int) string {
	if m := len(p.e.Prompt.Texts); j >= m {
		return fmt.Sprintf("%s %d", p.words.output, j-m+1)
	}
	return fmt.Sprint(j)
}

// sourceName returns the quoted name of source j: a prompt token, with its position if another
// token has the same name, “John” (3), or a generated token with its number from 1, “John”
// (generated 2).
func (p *picture) sourceName(j int) string {
	if j < len(p.e.Prompt.Texts) && !p.repeated(j) {
		return "“" + p.short(j) + "”"
	}
	return p.placedName(j)
}

// layerWord is the word before the labels of so many layers, "" where these have words of their
// own.
func (p *picture) layerWord(count int) string {
	switch {
	case p.e.Model.EncoderLayers > 0:
		return ""
	case count == 1:
		return "layer "
	}
	return "layers "
}

// itself reports whether source j of row t is the row's own target: what later tokens of it have
// from earlier ones.
func (p *picture) itself(t, j int) bool {
	return j == len(p.e.Prompt.Texts)+t && t < len(p.e.Steps) && p.e.Steps[t].IDs != nil
}

// ownPart returns what row t of a target has from the target itself, "" for other rows.
func (p *picture) ownPart(v *view, t int) string {
	j := len(p.e.Prompt.Texts) + t
	if !p.itself(t, j) || j >= v.sources(t) {
		return ""
	}
	return "the target itself " + v.top.value(v.at(t, j))
}

// placedName returns the quoted name of token j of the text, always with its place.
func (p *picture) placedName(j int) string {
	name := ""
	if m := len(p.e.Prompt.Texts); j < m {
		name = p.short(j)
	} else {
		name = p.generatedName(j - m)
	}
	return fmt.Sprintf("“%s” (%s)", name, p.placeOf(j))
}

// named reports whether span j has a name beside its text, as a turn does.
func (p *picture) named(j int) bool {
	if len(p.e.Prompt.Parts) == 0 || !p.e.Spans() || j >= len(p.e.Prompt.Offsets) {
		return false
	}
	text, o := p.e.Prompt.Text, p.e.Prompt.Offsets[j]
	return 0 <= o[0] && o[0] < o[1] && o[1] <= len(text) &&
		!strings.Contains(text[o[0]:o[1]], p.e.Prompt.Texts[j])
}

// apart reports whether there is white space between span j and the span before it. Unlike a token,
// a span has no white space at its ends.
func (p *picture) apart(j int) bool {
	if !p.e.Spans() || len(p.e.Prompt.Offsets) <= j {
		return false
	}
	text, end, begin := p.e.Prompt.Text, p.e.Prompt.Offsets[j-1][1], p.e.Prompt.Offsets[j][0]
	if p.named(j) || end < 1 || end > begin || begin >= len(text) {
		return true
	}
	return strings.ContainsFunc(text[end-1:begin+1], unicode.IsSpace)
}
