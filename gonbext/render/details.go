package render

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
)

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
		if !v.standsOut(p, t, j) || inOther && v.standsOut(p, other, j) {
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
func (d *drawing) rest(v *view, t int) string {
	if !v.has(t) {
		return ""
	}
	var all []string
	if v.difference {
		return d.comparison.rows[t]
	}
	if scored := d.scoredLine(v, t); scored != "" {
		all = append(all, scored)
	}
	if own := d.ownPart(v, t); own != "" {
		all = append(all, own)
	}
	if v.top.percent && !d.divided() {
		_, parts := d.describeParts(v, t, 0)
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
	b.printf(`<div style="%s">%s`, small, b.words.chance)
	own, other := alternativesOf(g), ""
	if c := b.comparison; c != nil {
		own = alternativesOf(c.Sides[0].Explanation.Steps[t])
		other = alternativesOf(c.Sides[1].Explanation.Steps[t])
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
