package render

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// HTML is a heatmap for a notebook. It has one block for each generated token, the first one open,
// with the prompt highlighted by every method, the alternatives, and maps of layers × prompt.
//
// A highlighted token takes about 180 bytes, or 80 in the line of a closed block, and a cell of a
// map 75. If the picture would be larger than MaxBytes, parts are left out: maps before highlighted
// prompts, and the last tokens first. A sentence in their place says so.
type HTML struct {
	Heatmap
	// MaxBytes is the approximate limit of the result in bytes; default 480,000, which notebooks
	// show without delay.
	MaxBytes int
}

const (
	defaultMaxBytes = 480_000
	blockBytes      = 2800 // reserved for a block without highlighted tokens and maps
)

// chipColumns, mapColumns and summaryColumns are the largest numbers of prompt tokens in a line of
// highlighted tokens, in a map, and in the line of a closed block.
const (
	chipColumns    = 160
	mapColumns     = 40
	summaryColumns = 24
)

// maxAlternatives is the largest number of alternatives shown for a token.
const maxAlternatives = 20

// The styles of the page. Each sets a background and a text colour.
const (
	card   = "background-color:rgb(255,255,255);color:rgb(28,32,38)"
	soft   = "background-color:rgb(255,255,255);color:rgb(92,98,108)"
	panel  = "background-color:rgb(246,247,249);color:rgb(28,32,38)"
	badge  = "background-color:rgb(255,236,179);color:rgb(84,56,0)"
	strong = "background-color:rgb(28,32,38);color:rgb(255,255,255)"
)

// The colours of bars: the chosen token, other alternatives, sinks, and generated tokens.
var chosenBar, otherBar, sinkBar, generatedBar = solid(rgb{28, 32, 38}), solid(rgb{
	170, 178,
	190,
}), solid(rgb{190, 194, 200}), solid(rgb{120, 126, 136})

// WriteTo writes the picture as one div. The only error is that of w. It is built in memory and
// written at once, so that an error of w is not lost.
func (r HTML) WriteTo(w io.Writer) (int64, error) {
	b := &page{picture: r.picture(), limit: r.MaxBytes}
	if b.limit <= 0 {
		b.limit = defaultMaxBytes
	}
	b.write()
	return b.WriteTo(w)
}

// page is the state of writing [HTML].
type page struct {
	*picture
	bytes.Buffer
	limit int
}

func (b *page) printf(format string, args ...any) { fmt.Fprintf(b, format, args...) }

// write writes the parts from top to bottom: title, blocks of tokens, legend. Every element has an
// inline style, because the sanitisers of notebooks drop style sheets.
func (b *page) write() {
	b.printf(
		`<div style="%s;border:1px solid rgb(216,220,226);border-radius:8px;padding:12px 16px;`+
			`font-family:system-ui,sans-serif;font-size:14px;line-height:1.5;max-width:1100px">`,
		card,
	)
	b.head()
	if len(b.e.Steps) > 0 {
		b.tokens()
	}
	b.legend()
	b.WriteString("</div>\n")
}

// head writes title, status, prompt and answer. The prompt and the answer are cut at 2000 columns;
// the explanation has all of them.
func (b *page) head() {
	b.printf(`<div style="font-size:16px"><b>%s</b>`, b.words.title)
	if b.e.Model.Note != "" {
		b.printf(` <span style="%s;border-radius:9px;padding:1px 9px;font-size:12px">%s</span>`,
			badge, escape(b.e.Model.Note, nameLimit))
	}
	b.WriteString("</div>")
	if b.status != "" {
		b.printf(`<div style="%s">%s</div>`, soft, escape(b.status, 200))
	}
	if len(b.e.Prompt.Texts) == 0 && len(b.e.Steps) == 0 {
		b.printf(`<div style="%s">There is nothing to show yet.</div>`, soft)
		return
	}
	answer := b.answer()
	if b.e.Model.Bidirectional && answer != "" {
		answer = "→ " + answer
	}
	b.printf(`<div style="margin:4px 0 2px 0">%s <b>%s</b></div>`, escape(b.e.Prompt.Text, 2000),
		html.EscapeString(answer))
	b.printf(`<div style="%s;font-size:12px;margin-bottom:8px">%s</div>`, soft,
		escape(b.facts(), 0))
	if len(b.e.Steps) == 0 {
		b.printf(`<div style="%s">%s</div>`, soft, b.words.nothing)
	}
}

// tokens writes the blocks. Near the limit, highlighted prompts have priority over maps, and the
// first method over others. Parts are made first and added up in the order of their priority, and
// then written in the order of the page. So the result depends on the sizes of the parts alone.
func (b *page) tokens() {
	// Blocks without any parts may take half of the limit, and there is always one.
	n := min(len(b.e.Steps), max(b.limit/2/blockBytes, 1))
	chips, maps := make([]string, n), make([]string, n)
	// 2000 bytes are reserved for each method in the legend.
	used := b.Len() + n*blockBytes + len(b.views)*2000
	for t := range n {
		chips[t] = b.part(func(c *page) { c.highlights(t) })
		// The sentence instead is short, and counted as well.
		if used+len(chips[t]) > b.limit {
			chips[t] = b.part(func(c *page) {
				c.leftOut("The highlighted " + b.words.text + " is")
			})
		}
		used += len(chips[t])
	}
	// By method and not by token, so that the first method has its maps before the second has any.
	left := make([][]string, n)
	for i := range b.views {
		for t := range n {
			m := b.part(func(c *page) { c.layerMap(i, t) })
			if used+len(m) > b.limit {
				left[t] = append(left[t], escape(b.views[i].name, nameLimit))
				continue
			}
			maps[t] += m
			used += len(m)
		}
	}
	for t := range n {
		if len(left[t]) > 0 {
			maps[t] += b.part(func(c *page) {
				c.leftOut("Layers × " + b.words.text + " of " + strings.Join(left[t], ", ") + " is")
			})
		}
	}
	for t := range n {
		b.block(t, chips[t], maps[t])
	}
	// Blocks that even without their parts would be too many.
	if left := len(b.e.Steps) - n; left > 0 {
		b.leftOut(fmt.Sprintf("The last %s %s are", thousands(left), b.words.shown))
	}
	b.targetMaps(used)
}

// part returns the HTML that f writes. The picture is shared, and only read.
func (b *page) part(f func(*page)) string {
	c := &page{picture: b.picture, limit: b.limit}
	f(c)
	return c.String()
}

// leftOut writes a sentence on what is left out and why.
func (b *page) leftOut(what string) {
	b.printf(
		`<div style="%s;font-size:12px">%s left out here: the picture would be larger than `+
			`%s bytes. All numbers are in the explanation.</div>`,
		soft, what, thousands(b.limit),
	)
}

// block writes generated token t. It is a details element, which opens and closes without a script.
// The first one is open.
func (b *page) block(t int, chips, maps string) {
	// Only the first: a page of open blocks would be long.
	open := ""
	if t == 0 {
		open = " open"
	}
	g := b.e.Steps[t]
	b.printf(`<details%s style="%s;border-top:1px solid rgb(228,231,236);padding:4px 0">`+
		`<summary style="%s;cursor:pointer">`, open, card, card)
	b.summary(t)
	b.WriteString("</summary>")
	b.printf(`<div style="padding:4px 0 6px 18px">`)
	b.WriteString(chips)
	b.alternatives(g.ID, t)
	b.WriteString(maps)
	b.WriteString("</div></details>")
}

// summary writes the line that is visible when the block is closed: number, token, probability, and
// the main sources by the first method whose row is coloured.
func (b *page) summary(t int) {
	g := b.e.Steps[t]
	where, what, chance := b.predictionText(g)
	// Columns in em, so that the summaries of closed blocks begin at the same place.
	width := 13
	switch {
	case g.Class:
		width = 24
	case where != "":
		width = 20
	}
	b.printf(
		`<span style="display:inline-block;width:%dem;vertical-align:top">`+
			`<span style="%s">%d</span> %s`,
		width, soft, t+1, html.EscapeString(where),
	)
	b.printf(
		`<span style="%s;border-radius:4px;padding:1px 7px;font-weight:bold">%s</span> `+
			`<span style="%s">%s`,
		strong, html.EscapeString(what), soft, chance,
	)
	if g.Forced {
		b.WriteString(", given")
	}
	b.WriteString("</span></span>")
	v := b.speaking(t)
	if v == nil {
		return
	}
	if line := b.silence(v, t); line != "" {
		b.printf(`<span style="%s">%s, %s</span>`, soft, escape(v.name, nameLimit), escape(line, 0))
		return
	}
	b.printf(`<span style="%s;font-size:12px">%s </span> `, soft, escape(v.name, nameLimit))
	// Only scorers have one. Then the colours are about this token and not that one.
	if against := v.contrast(); against != "" {
		b.printf(`<span style="%s">rather than %s </span> `, soft, escape(against, 0))
	}
	// A short prompt is shown whole, in colours. 1500 tokens on all lines together are about 120
	// kB, a quarter of the default limit.
	if len(b.e.Prompt.Texts) <= summaryColumns && len(b.e.Prompt.Texts)*len(b.e.Steps) <= 1500 {
		for j := range b.e.Prompt.Texts {
			c := v.top.color(v.at(t, j))
			if v.sinks[j] || b.hidden[j] {
				c = muted
			}
			b.printf(`<span style="%s;padding:1px 3px">%s</span>`, c.style(), escape(b.short(j), 0))
		}
		return
	}
	b.printf(`<span style="%s">← `, soft)
	// A long one is stood for by the four tokens with the largest values.
	for i, j := range v.ranked(t, 4, b.hidden) {
		if i > 0 {
			b.WriteString(" · ")
		}
		b.printf("%s %s", escape(b.short(j), 0), v.rows[t].value(v.at(t, j)))
	}
	b.WriteString("</span>")
}

// speaking returns the first method whose row of token t is coloured, or the first of all if none
// is; nil if the first method has no values.
func (b *page) speaking(t int) *view {
	if len(b.views) == 0 || !b.views[0].has(t) {
		return nil
	}
	for i := range b.views {
		if v := &b.views[i]; v.has(t) && v.silent[t] == "" {
			return v
		}
	}
	return &b.views[0]
}

// alternatives writes the alternatives at step t with their probabilities, with the chosen token
// marked. A bar of 140 pixels stands for the probability 1.
func (b *page) alternatives(chosen, t int) {
	alternatives := b.e.Steps[t].Alternatives
	if len(alternatives) == 0 {
		return
	}
	b.printf(
		`<table style="%s;border-collapse:collapse;margin:4px 0;font-size:12px"><tr style="%s">`+
			`<td style="%s;text-align:left;padding:0 12px 0 0" colspan="3">%s</td></tr>`,
		card, card, soft, b.words.chance,
	)
	for _, a := range alternatives[:min(len(alternatives), maxAlternatives)] {
		// The chosen token is bold and dark. It need not be the first: a caller may have given it.
		weight, fill := "normal", otherBar
		if a.ID == chosen {
			weight, fill = "bold", chosenBar
		}
		// Rounded up, so that a small probability has a bar of at least one pixel.
		px := 0
		if a.Probability > 0 {
			px = int(math.Ceil(140 * min(a.Probability, 1)))
		}
		b.printf(
			`<tr style="%s"><td style="text-align:left;padding:0 10px 0 0;font-weight:%s">%s</td>`,
			card, weight, escape(tokenName(a.Text), 0),
		)
		b.printf(`<td style="text-align:right;padding:0 8px 0 0">%s</td>`, share(a.Probability))
		b.printf(
			`<td style="text-align:left;padding:0">`+
				`<span style="%s;display:inline-block;width:%dpx;height:9px"></span></td></tr>`,
			fill.style(), px,
		)
	}
	if left := len(alternatives) - maxAlternatives; left > 0 {
		b.printf(
			`<tr style="%s">`+
				`<td style="%s;text-align:left;padding:0" colspan="3">… and %d more</td></tr>`,
			card, soft, left,
		)
	}
	b.WriteString("</table>")
}
