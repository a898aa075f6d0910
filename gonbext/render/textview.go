package render

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// text writes the prompt and the generated tokens as one text. Only what stands out in the row of
// the chosen token is coloured. Each token is one element, in order, which the script relies on;
// spaces and line breaks stand between the elements, where they survive if styles are removed.
func (b *page) text() {
	f := b.newFolds()
	if f != nil {
		b.minimap(f)
	}
	b.WriteString(b.beginText())
	names := b.textNames()
	for j, text := range b.e.Prompt.Texts {
		if j > 0 && b.spaced(j) {
			b.WriteByte(' ')
		}
		b.WriteString(names[j])
		b.WriteString(f.before(j))
		b.source(j)
		b.lineBreak(text)
		if b.named(j) && !strings.HasSuffix(text, "\n") {
			b.WriteString("<br>")
		}
		b.WriteString(f.after(j))
	}
	if !b.e.Model.Reads() {
		for t, g := range b.e.Steps {
			if begins, _ := word(g.Text); begins || t > 0 && b.e.Steps[t-1].Special || t == 0 &&
				len(b.e.Prompt.Texts) > 0 && b.special(len(b.e.Prompt.Texts)-1) {
				b.WriteByte(' ')
			}
			b.WriteString(f.before(len(b.e.Prompt.Texts) + t))
			b.target(t)
			b.lineBreak(g.Text)
			b.WriteString(f.after(len(b.e.Prompt.Texts) + t))
		}
	}
	b.WriteString("</div>")
	if b.e.Model.Reads() {
		b.predictions()
	}
	b.WriteString(`<div class="hw-s" style="margin:4px 0 8px 0">`)
	if b.lead >= 0 {
		b.saying(&b.views[b.lead], b.chosen)
		b.alternatives(b.chosen)
	}
	b.WriteString("</div>")
}

// textNames returns the names of the two texts of a pair, as HTML that stands before the first
// token of each.
func (p *picture) textNames() map[int]string {
	first, second := -1, -1
	for j := len(p.e.Prompt.Texts) - 1; j >= 0 && p.e.Prompt.Second > 0; j-- {
		switch {
		case p.special(j):
		case p.e.Prompt.InSecond(j):
			second = j
		default:
			first = j
		}
	}
	return map[int]string{
		first:  "<small>" + firstText + "</small> ",
		second: "<br><small>" + secondText + "</small> ",
	}
}

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

// source writes prompt token j on the colour of the chosen row.
func (b *page) source(j int) {
	tag := "span"
	if b.explained(j) {
		tag = "u"
	}
	style, title := b.marks(j)
	b.token(tag, b.fullName(j), style, title, b.explainedBy(b.chosen, j))
}

// target writes generated token t, on the colour of the chosen row if it comes before it.
func (b *page) target(t int) {
	style, title := b.marks(len(b.e.Prompt.Texts) + t)
	name := textName(b.e.Steps[t].Text)
	if b.e.Steps[t].IDs != nil { // a sentence, or the whole answer
		name = Visible(strings.TrimSpace(b.e.Steps[t].Text), 50*nameLimit)
	}
	b.token("u", name, style, title, t == b.chosen)
}

// marks returns the style and the title that a source has in the chosen row.
func (b *page) marks(source int) (style, title string) {
	if b.lead < 0 || source >= b.views[b.lead].sources(b.chosen) {
		return "", ""
	}
	v := &b.views[b.lead]
	paint := v.paint(b.picture, b.chosen, source)
	if paint == 0 {
		return "", ""
	}
	style = b.palette.style(paint)
	if paint < 0 {
		style += ";border-bottom:2px dotted" // hatching needs the style sheet
	}
	return style, v.rows[b.chosen].sum(v.at(b.chosen, source))
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

// predictions writes what an encoder predicted.
func (b *page) predictions() {
	if answer := b.answer(); answer != "" {
		b.printf(`<div style="font-size:18px">→ <b>%s</b></div>`, html.EscapeString(answer))
	}
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

// sentence returns what the colours of row t say, as HTML: the prediction, the method with its
// layer, and the strongest sources.
func (p *picture) sentence(v *view, t int) string {
	where, what, chance := p.predictionOf(v, t)
	s := html.EscapeString(where) + "<b>" + html.EscapeString(what) + "</b>"
	if p.generatedAgain(t) {
		s += fmt.Sprintf(" (generated %d)", t+1)
	}
	if chance != "" {
		s += " " + chance
	}
	return s + " · " + escape(v.name, nameLimit) + ", " + v.layer(t) + ": " +
		html.EscapeString(p.says(v, t))
}

// generatedAgain reports whether a decoder generated the text of token t more than once, so that
// its number is needed to tell which one is meant.
func (p *picture) generatedAgain(t int) bool {
	if p.e.Model.Reads() {
		return false
	}
	if p.answers == nil {
		p.answers = map[string]int{}
		for _, g := range p.e.Steps {
			p.answers[g.Text]++
		}
	}
	return p.answers[p.e.Steps[t].Text] > 1
}

// named is how many sources a sentence names.
const named = 5

// says returns which sources row t names, in visible form: "most from “Mary” 56.2 %, “John”
// (3) 23.3 %". If nothing has a colour it says so.
func (p *picture) says(v *view, t int) string {
	if v.wrong != "" {
		return v.wrong
	}
	if !v.has(t) {
		return "not yet"
	}
	if silence := p.silence(v, t); silence != "" {
		return silence
	}
	var above, below []string
	ranked := v.ranked(t, named, p.greySources(v, t))
	for i, j := range ranked {
		source := p.sourceName(j) + " " + v.rows[t].value(v.at(t, j))
		if i == 0 {
			source = p.restsOn(v, j) + source
		}
		switch paint := v.paint(p, t, j); {
		case paint > 0 && paint != nanPaint:
			above = append(above, source)
		case paint < 0:
			below = append(below, source)
		}
	}
	if len(above)+len(below) == 0 {
		if len(ranked) == 0 {
			return "no source has a value"
		}
		return "nothing stands out; the largest is " + p.sourceName(ranked[0]) + " " +
			v.rows[t].value(v.at(t, ranked[0])) + p.rowSink(v, t)
	}
	if against := v.contrast(); against != "" {
		what := tokenName(p.e.Steps[t].Text)
		return speaks(above, below, "for “"+what+"”:", "for “"+against+"”:")
	}
	if v.difference {
		return speaks(above, below, "more in A from", "more in B from")
	}
	if v.scorer() && v.top.signed {
		return speaks(above, below, "for it", "against it")
	}
	if v.top.lift {
		return speaks(above, below, "more than position explains", "less")
	}
	return v.most() + strings.Join(append(above, below...), ", ") + p.rowSink(v, t)
}

// restsOn says of a source with the largest share of a row, before its name, that attention rests
// on it whatever the row is about: "the first token (attention often rests on it) ". It is empty
// for other sources, and in an encoder for a first token that is a word.
func (p *picture) restsOn(v *view, j int) string {
	const often = " (attention often rests on it) "
	switch {
	case !v.top.percent || v.top.signed || v.scorer() || v.difference || j >= len(v.sinks) ||
		grouped(p.e) && len(strings.Fields(p.e.Prompt.Texts[j])) > 1:
		return ""
	case j == 0 && !p.e.Model.Bidirectional:
		return "the first token" + often
	case p.special(j) && !p.explained(j):
		return "the control token" + often
	}
	return ""
}

// rowSink says which token is a sink of row t alone, and how much it has: "; 93.6 % rests on “The”
// (0), a sink in this row".
func (p *picture) rowSink(v *view, t int) string {
	j := v.rowSinks[t]
	if j < 0 || v.difference {
		return ""
	}
	return fmt.Sprintf("; %s rests on %s, a sink in this row", v.top.sum(v.at(t, j)),
		p.sourceName(j))
}

// most begins the list of the largest values of a row.
func (v *view) most() string {
	if v.alike() {
		return "most like "
	}
	return "most from "
}

// speaks joins the sources on both sides of a neutral value.
func speaks(above, below []string, high, low string) string {
	var parts []string
	if len(above) > 0 {
		parts = append(parts, high+" "+strings.Join(above, ", "))
	}
	if len(below) > 0 {
		parts = append(parts, low+" "+strings.Join(below, ", "))
	}
	return strings.Join(parts, "; ")
}

// otherShare returns the part of row t that generated tokens have, for methods of which it is a
// part; "" if there is none.
func (p *picture) otherShare(v *view, t int) string {
	if p.e.Model.Reads() || !v.has(t) || v.top.lift || !v.top.percent && !v.scorer() {
		return ""
	}
	w := v.rowParts(t)
	if math.IsNaN(w.generated) {
		return ""
	}
	if v.top.percent {
		return v.top.sum(w.generated)
	}
	return v.cellNumber(w.generated)
}
