package render

import (
	"fmt"
	"html"
	"strings"
)

// targetMaps returns, for encoders, the map of every method: targets down, sources across, and
// takes their size from left. An encoder has a row for every target and not only for those
// explained, [L,T,T].
func (b *page) targetMaps(left *int) string {
	var s strings.Builder
	for i := range b.views {
		v := &b.views[i]
		level, ok := b.mapLevel(v)
		if !ok {
			continue
		}
		part := b.part(func(c *page) { c.targetMap(v, level) })
		if len(part) > *left {
			part = b.part(func(c *page) {
				c.leftOut("Targets × sources of " + escape(v.name, nameLimit) + " is")
			})
		}
		*left -= len(part)
		s.WriteString(part)
	}
	return s.String()
}

// mapLevel returns the level of a method's map that belongs to the highlighted layer; ok is false
// if there is none. A map that does not fit the prompt, or does not have that layer, is left out.
func (b *page) mapLevel(v *view) (level int, ok bool) {
	m := b.e.Maps[v.name]
	T := len(b.e.Prompt.Texts)
	if v.wrong != "" || len(b.e.Steps) == 0 || m == nil ||
		m.Shape != [3]int{len(m.Layers), T, T} || len(m.Data) != len(m.Layers)*T*T {
		return 0, false
	}
	for k, layer := range m.Layers {
		// Only encoders have maps, and they show the same layer for every prediction. Layers are
		// compared by number: the map may begin at another layer than the result.
		if layer == v.result.Layer(0, v.level(0)) {
			return k, true
		}
	}
	return 0, false
}

// targetMap writes one level of a map, as a table or an image. Its colours have their own range,
// without sinks and hidden sources. Row t has what target t takes from each source, M[l,t,s].
func (b *page) targetMap(v *view, level int) {
	m := b.e.Maps[v.name]
	var values []float64
	for t := range m.Shape[1] {
		for j, x := range m.Row(level, t) {
			if !v.sinks[j] && !b.hidden[j] {
				values = append(values, x)
			}
		}
	}
	// A range of its own, because the rows of targets that are not explained may be larger.
	own := *v
	own.top = newScale(m.Unit, m.Quantity, values)
	own.colors = own.top.tight(values)
	low, high := own.colors.ends()
	b.printf(`<details class="hw-a" style="%s"><summary style="cursor:pointer">targets × sources, `+
		`%s (%s, %s, colours %s to %s)</summary>`, line, escape(v.name, nameLimit),
		escape(m.Unit, nameLimit), v.layer(0), low, high)
	rows := make(grid, m.Shape[1])
	for t := range rows {
		for j, x := range m.Row(level, t) {
			paint := own.colors.step(x)
			if v.sinks[j] || b.hidden[j] {
				paint = sinkPaint
			}
			rows[t] = append(rows[t], paint)
		}
	}
	if len(rows) > cellColumns {
		side := min(max(imageWidth/len(rows), 1), 16)
		b.image("hw-g", Visible(v.name, nameLimit)+", targets × sources", rows, side, side, "")
		b.WriteString("</details>")
		return
	}
	b.WriteString(`<div style="overflow-x:auto;overflow-y:hidden"><table class="hw-m" ` +
		`style="border-collapse:collapse;font-size:11px;margin:0">` +
		`<tr class="hw-c" style="background:none">` +
		`<td>target ↓ source →</td>`)
	for j := range rows {
		b.printf("<th>%s</th>", html.EscapeString(b.axisName(j)))
	}
	b.WriteString("</tr>")
	for t, row := range rows {
		b.printf(`<tr class="hw-r" style="background:none">`+
			`<th style="text-align:left;font-weight:normal">%s</th>`, b.targetName(t))
		for j, paint := range row {
			b.cell(paint, own.cellNumber(m.Row(level, t)[j]))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table></div></details>")
}

// targetName returns the heading of the row of target t, in bold if its prediction is explained.
// Positions count from 0, and tell equal tokens apart.
func (b *page) targetName(t int) string {
	name := fmt.Sprintf("%s&nbsp;%d", html.EscapeString(b.axisName(t)), t)
	if b.explained(t) {
		return "<b>" + name + "</b>"
	}
	return name
}
