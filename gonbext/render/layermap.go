package render

import (
	"fmt"
	"strings"
)

// layerMap writes M[t,:,:] of method i, if it has several layers: layers down, the last one at the
// top, and prompt tokens across. Cells contain the numbers, so that the map can be read without
// colours. A result with one layer has no map, which would only repeat the highlighted line.
func (b *page) layerMap(i, t int) {
	v := &b.views[i]
	if !v.has(t) || len(v.result.Layers) < 2 || v.result.Shape[1] == 0 {
		return
	}
	attribute := ""
	if i == 0 {
		attribute = " open"
	}
	// A scale over all layers and tokens, so that the maps of a method can be compared.
	low, high := v.all.ends()
	b.printf(
		`<details%s style="%s;margin:2px 0"><summary style="%s;font-size:12px;cursor:pointer">`+
			`layers × %s, %s (%s, colours %s to %s)</summary>`,
		attribute, card, soft,
		b.words.text, escape(v.name, nameLimit), escape(v.all.unit, nameLimit), low, high,
	)
	// The same columns as other maps of this token, chosen by all methods together.
	columns := b.columns(t, t+1, mapColumns)
	b.printf(`<div style="overflow-x:auto"><table cellpadding="4" `+
		`style="%s;border-collapse:collapse;margin:0;font-size:11px;line-height:1.3">`, card)
	b.mapHeader(columns, v)
	// The last layer is at the top of the map, and so comes first.
	for k := len(v.result.Layers) - 1; k >= 0; k-- {
		b.mapRow(v, t, k, columns)
	}
	b.WriteString("</table></div>")
	if left := len(b.e.Prompt.Texts) - len(columns); left > 0 {
		b.printf(
			`<div style="%s;font-size:12px">The %d of %d %s with the largest highlighted values; `+
				`%d are left out. All numbers are in the explanation.</div>`,
			soft, len(columns), len(b.e.Prompt.Texts), b.words.tokens, left,
		)
	}
	b.WriteString("</details>")
}

// mapHeader writes the prompt tokens above their columns. They are the same columns for every
// layer.
func (b *page) mapHeader(columns []int, v *view) {
	b.printf(`<tr style="%s;text-align:right"><td style="%s">layer ↑ &nbsp; %s →</td>`, card, soft,
		b.words.text)
	for _, j := range columns {
		style := card
		if v.sinks[j] || b.hidden[j] {
			style = muted.style()
		}
		b.printf(`<td style="%s">%s</td>`, style, escape(b.short(j), 0))
	}
	b.WriteString("</tr>")
}

// mapRow writes the values of one layer. It has the values M[t,j,k] for the columns j.
func (b *page) mapRow(v *view, t, k int, columns []int) {
	b.printf(`<tr style="%s;text-align:right"><td>%d</td>`, card, v.result.Layers[k])
	for _, j := range columns {
		x := v.result.At(t, j, k)
		// The scale is that of all layers, so a colour means the same value in every row.
		c := v.all.color(x)
		if v.sinks[j] || b.hidden[j] {
			c = muted
		}
		b.printf(`<td style="%s">%s</td>`, c.style(), cellNumber(v.all, x))
	}
	b.WriteString("</tr>")
}

// cellNumber returns the number in a cell; percentages of 10 and more have no digits after the
// point. A cell is narrow, and its colour says the rest.
func cellNumber(s scale, x float64) string {
	if n := s.number(x); s.percent && len(n) > 3 && strings.Contains(n, ".") {
		return fmt.Sprintf("%.0f", 100*x)
	}
	return s.number(x)
}
