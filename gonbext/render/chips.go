package render

import (
	"math"
	"strings"
)

// highlights writes one line for each method: the prompt on the colours of its values, and the
// parts of the row. A method without values gets a sentence instead, so that a missing row is never
// taken for zeros.
func (b *page) highlights(t int) {
	b.WriteString(`<table style="` + card + `;border-collapse:collapse;margin:0;font-size:14px">`)
	for i := range b.views {
		v := &b.views[i]
		b.printf(
			`<tr style="%s">`+
				`<td style="text-align:left;vertical-align:top;padding:5px 12px 5px 0">%s`,
			card, escape(v.name, nameLimit),
		)
		if v.wrong == "" {
			b.printf(`<br><span style="%s;font-size:11px">%s</span>`, soft, v.unit(t))
		}
		b.printf(`</td>` +
			`<td style="text-align:left;vertical-align:top;padding:5px 0;line-height:1.9">`)
		switch {
		case v.wrong != "":
			b.printf(`<span style="%s">%s</span>`, soft, escape(v.wrong, 0))
		case !v.has(t):
			b.printf(`<span style="%s">not yet</span>`, soft)
		case v.silent[t] != "":
			b.printf(`<span style="%s">%s</span>`, soft, escape(b.silence(v, t), 0))
		default:
			b.chips(v, t)
			b.totals(v, t)
		}
		b.WriteString("</td></tr>")
	}
	b.WriteString("</table>")
}

// chips writes the prompt on the colours of one method. If there are more than chipColumns tokens,
// runs of small values are replaced by their count and sum. Its result is one line of HTML of about
// 180 bytes a token.
func (b *page) chips(v *view, t int) {
	columns := b.columns(t, t+1, chipColumns)
	// Every chip has its number in its title; only the largest also show it.
	numbered := v.largest(t, b.hidden)
	next := 0
	// The end of the prompt is a last stop, after which the remark on the rest is written.
	for _, j := range append(columns, len(b.e.Prompt.Texts)) {
		b.omitted(v, t, next, j)
		if next = j + 1; j < len(b.e.Prompt.Texts) {
			b.chip(v, t, j, math.Abs(v.at(t, j)) >= numbered)
		}
	}
}

// shortestRun is the number of tokens from which a remark is shorter than the tokens.
const shortestRun = 5

// omitted writes the remark that replaces prompt tokens j0 to j1. The remark has the sum of their
// values, Σ M[t,j,l] over j0 ≤ j < j1, so the line still accounts for the whole prompt.
func (b *page) omitted(v *view, t, j0, j1 int) {
	if j1-j0 < shortestRun {
		for j := j0; j < j1; j++ {
			b.chip(v, t, j, false)
		}
		return
	}
	sum := 0.0
	for j := j0; j < j1; j++ {
		sum += v.at(t, j)
	}
	b.printf(
		` <span style="%s;border-radius:4px;padding:1px 4px;font-size:12px">… %d %s, %s</span> `,
		muted.style(), j1-j0, b.omittedName(), v.top.value(sum),
	)
}

// omittedName returns what a remark counts: tokens or spans.
func (p *picture) omittedName() string {
	if grouped(p.e) {
		return "spans"
	}
	return "tokens"
}

// chip writes one prompt token on its colour, with its number if numbered is true. Sinks and hidden
// tokens are grey: the scale of the colours leaves them out.
func (b *page) chip(v *view, t, j int, numbered bool) {
	text, x := b.e.Prompt.Texts[j], v.at(t, j)
	if j > 0 && !b.continues(j) {
		b.WriteByte(' ')
	}
	c, remark := v.top.color(x), ""
	switch {
	// The value of a sink is always written, because its colour does not show it.
	case v.sinks[j]:
		c, remark, numbered = muted, ", sink: not in the colour scale", true
	case b.hidden[j]:
		c, remark, numbered = muted, ", hidden by the filter", false
	}
	b.printf(`<span style="%s;padding:1px 3px" title="%s = %s%s">%s`, c.style(),
		escape(text, nameLimit), v.rows[t].value(x), remark, escape(b.fullName(j), 0))
	if numbered {
		b.printf(`<span style="font-size:10px">&nbsp;%s</span>`, v.rows[t].number(x))
	}
	b.WriteString("</span>")
}

// numberedChips is how many values of a line are written as numbers.
const numberedChips = 6

// largest returns the smallest size in row t whose number is written: the numberedChips-th largest,
// but not one that would be shown as 0 if there are others. A size equal to it is also written, so
// there may be more than numberedChips.
func (v *view) largest(t int, hidden []bool) float64 {
	ranked := v.ranked(t, numberedChips, hidden)
	least := math.Inf(-1)
	for i, j := range ranked {
		x := math.Abs(v.at(t, j))
		if i > 0 && v.rows[t].vanishes(x) {
			return least
		}
		least = x
	}
	return least
}

// totals writes what a scorer explains in the row of token t, and the parts of the row as a bar and
// numbers. If the values are no shares there is no bar, because their sums have no meaning: a flow
// is the most that could pass from one token alone.
func (b *page) totals(v *view, t int) {
	if scored := b.scored(v, t); scored != "" {
		b.printf(`<div style="%s;font-size:12px;line-height:1.6">%s</div>`, soft, escape(scored, 0))
	}
	if !v.top.percent {
		return
	}
	whole, parts := b.describeParts(v, t, 0)
	if len(parts) == 0 {
		return
	}
	b.printf(`<div style="%s;font-size:12px;line-height:1.6">`, soft)
	if w := v.rowParts(t); whole && !v.top.signed && !math.IsNaN(w.generated) {
		b.bar(w)
	}
	b.printf("%s</div>", escape(strings.Join(parts, " · "), 0))
}

// bar draws the parts of a row: sink, prompt, generated. Its width is 120 pixels for a whole row.
// Parts are clamped to [0,1], because rounding may put them just outside.
func (b *page) bar(w rowParts) {
	const width = 120
	for _, part := range []struct {
		name  string
		share float64
		color color
	}{
		{"sink", w.sink, sinkBar},
		{b.words.text, w.prompt, ramp(0.6)},
		{"generated tokens", w.generated, generatedBar},
	} {
		if px := int(math.Round(width * min(max(part.share, 0), 1))); px > 0 {
			b.printf(
				`<span style="%s;display:inline-block;width:%dpx;height:8px" title="%s"></span>`,
				part.color.style(), px, part.name,
			)
		}
	}
	b.WriteByte(' ')
}
