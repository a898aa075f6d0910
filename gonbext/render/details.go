package render

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
)

// details returns what each token has to say in words, in one part that a reader opens: its
// strongest sources by every method, what changed since the token before, and the tokens that might
// have come instead. It takes its size
// from left.
func (b *page) details(left *int) string {
	if len(b.e.Steps) == 0 {
		return ""
	}
	var s strings.Builder
	fmt.Fprintf(&s, `<details class="hw-a" style="%s"><summary style="cursor:pointer">`+
		`All %s: %s</summary>`, line, b.words.shown, b.words.told)
	for t := range b.e.Steps {
		part := b.part(func(c *page) { c.block(t) })
		if len(part) > *left && t > 0 {
			rest := len(b.e.Steps) - t
			part = b.part(func(c *page) {
				c.lastLeftOut(rest)
			})
			s.WriteString(part)
			break
		}
		*left -= len(part)
		s.WriteString(part)
	}
	s.WriteString("</details>")
	return s.String()
}

// block writes token t: a sentence for each method, of class hw-q, which the script shows when the
// token is chosen; the parts of the row; and the alternatives.
func (b *page) block(t int) {
	b.printf(`<div class="hw-d" style="padding:4px 0 4px 12px">`)
	if len(b.views) == 0 {
		where, what, chance := b.predictionText(t)
		b.printf("%s<b>%s</b> %s", html.EscapeString(where), html.EscapeString(what), chance)
	}
	for i := range b.views {
		v := &b.views[i]
		if v.wrong != "" {
			b.printf(`<div class="hw-q">%s: %s</div>`, escape(v.name, nameLimit),
				escape(v.wrong, 0))
			continue
		}
		b.WriteString(`<div class="hw-q">`)
		b.saying(v, t)
		b.WriteString("</div>")
	}
	b.alternatives(t)
	b.WriteString("</div>")
}

// saying writes the sentence on row t of a method, and below it what the row adds up to.
func (b *page) saying(v *view, t int) {
	b.WriteString(b.sentence(v, t))
	if rest := b.rest(v, t); rest != "" {
		b.printf(`<div style="%s">%s</div>`, small, html.EscapeString(rest))
	}
	if changed := b.changed(v, t); changed != "" {
		b.printf(`<div style="%s">%s</div>`, small, html.EscapeString(changed))
	}
}

// changed returns which sources stand out in row t and did not in the row before, and the reverse,
// the largest first: "since “gave”: now “Mary” 2.1 % → 56.2 %; no longer “store” 30.1 % → 0.4 %".
// It is empty for the first row, beside rows without colours, and for an encoder, whose predictions
// do not follow each other.
func (p *picture) changed(v *view, t int) string {
	if t == 0 || !v.has(t) || v.silent[t] != "" || v.silent[t-1] != "" || v.difference ||
		p.e.Model.Reads() {
		return ""
	}
	const most = 3 // of each
	now := p.appeared(v, t, t-1)
	gone := p.appeared(v, t-1, t)
	var parts []string
	if len(now) > 0 {
		parts = append(parts, "now "+strings.Join(now[:min(len(now), most)], ", "))
	}
	if len(gone) > 0 {
		parts = append(parts, "no longer "+strings.Join(gone[:min(len(gone), most)], ", "))
	}
	if parts == nil {
		parts = []string{"the same sources"}
	}
	return "since “" + p.generatedName(t-1) + "”: " + strings.Join(parts, "; ")
}

// appeared lists the sources that stand out in row t and not in another row, the largest first,
// with their values in the earlier and in the later of the two rows.
func (p *picture) appeared(v *view, t, other int) (sources []string) {
	for _, j := range v.ranked(t, v.sources(t), p.greySources(v, t)) {
		inOther := j < v.sources(other)
		if v.paint(p, t, j) == 0 || inOther && v.paint(p, other, j) != 0 {
			continue
		}
		value := v.rows[t].value(v.at(t, j))
		if inOther {
			before := v.rows[other].value(v.at(other, j))
			if other > t {
				before, value = value, before
			}
			value = before + " → " + value
		}
		sources = append(sources, p.sourceName(j)+" "+value)
	}
	return sources
}

// rest returns what the parts of a row add up to: what a scorer explains and how much of it is on
// the first token, and the shares of sinks, prompt and generated tokens.
func (p *picture) rest(v *view, t int) string {
	if !v.has(t) {
		return ""
	}
	var all []string
	if v.difference {
		return p.comparison.rows[t]
	}
	if scored := p.scoredLine(v, t); scored != "" {
		all = append(all, scored)
	}
	if own := p.ownPart(v, t); own != "" {
		all = append(all, own)
	}
	if v.top.percent && !p.divided() {
		_, parts := p.describeParts(v, t, 0)
		all = append(all, parts...)
	}
	return strings.Join(all, " · ")
}

// alternatives writes the most probable tokens of step t, with the chosen one in bold.
func (b *page) alternatives(t int) {
	g := b.e.Steps[t]
	if len(g.Alternatives) == 0 {
		return
	}
	b.printf(`<div class="hw-e" style="%s">%s`, small, b.words.chance)
	own, other := alternativesOf(g), ""
	if c := b.comparison; c != nil {
		own = alternativesOf(c.sides[0].Explanation.Steps[t])
		other = alternativesOf(c.sides[1].Explanation.Steps[t])
	}
	if other == "" || other == own {
		b.WriteString(own)
	} else {
		b.printf(" in A%s<br>%s in B%s", own, b.words.chance, other)
	}
	b.WriteString("</div>")
}

// alternativeName returns the name of a token that might have come. If the token that came, or
// another of its alternatives, has the same name but for the space before it, that is said.
func alternativeName(g attribution.GeneratedToken, a attribution.Alternative) string {
	begins, name := word(a.Text)
	same := func(text string) bool {
		other, rest := word(text)
		return rest == name && other != begins
	}
	if !same(g.Text) && !slices.ContainsFunc(g.Alternatives,
		func(b attribution.Alternative) bool { return same(b.Text) }) {
		return tokenName(a.Text)
	}
	if begins {
		return tokenName(a.Text) + " (after a space)"
	}
	return tokenName(a.Text) + " (no space)"
}

// alternativesOf lists the most probable tokens of a step as HTML, with the chosen one in bold.
func alternativesOf(g attribution.GeneratedToken) string {
	var all []string
	for _, a := range g.Alternatives[:min(len(g.Alternatives), maxAlternatives)] {
		s := html.EscapeString(alternativeName(g, a))
		if a.ID == g.ID {
			s = "<b>" + s + "</b>"
		}
		all = append(all, s+" "+share(a.Probability))
	}
	s := ": "
	if g.Forced {
		s = " (the token was given): "
	}
	s += strings.Join(all, " · ")
	if left := len(g.Alternatives) - maxAlternatives; left > 0 {
		s += fmt.Sprintf(" … and %d more", left)
	}
	return s
}
