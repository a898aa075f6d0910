package render

import "fmt"

// targetMaps writes, for encoders, the map of every method: targets down, sources across. used is
// the size of the picture so far, in bytes. An encoder has a row for every target and not only for
// those explained, [L,T,T].
func (b *page) targetMaps(used int) {
	m := len(b.e.Prompt.Texts)
	for i := range b.views {
		v := &b.views[i]
		level, ok := b.mapLevel(v)
		if !ok {
			continue
		}
		name := "Targets × sources of " + escape(v.name, nameLimit)
		// A map has m² cells of about 75 bytes, and m columns have to fit a page.
		if m > mapColumns {
			b.printf(
				`<div style="%s;font-size:12px">%s is left out here: it has %d tokens, and a `+
					`map that can be read has %d at most. `+
					`All numbers are in the explanation.</div>`,
				soft, name, m, mapColumns,
			)
			continue
		}
		part := b.part(func(c *page) { c.targetMap(v, level) })
		// These maps are counted last, so they are the first to be left out.
		if used+len(part) > b.limit {
			b.leftOut(name + " is")
			continue
		}
		b.WriteString(part)
		used += len(part)
	}
}

// mapLevel returns the level of a method's map that belongs to the highlighted layer; ok is false
// if there is none. A map that does not fit the prompt, or does not have that layer, is left out.
func (b *page) mapLevel(v *view) (level int, ok bool) {
	m := b.e.Maps[v.name]
	if v.wrong != "" || m == nil || m.Shape != [3]int{
		len(m.Layers), len(b.e.Prompt.Texts),
		len(b.e.Prompt.Texts),
	} ||
		len(m.Data) != m.Shape[0]*m.Shape[1]*m.Shape[2] {
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

// targetMap writes one level of a map. Its colours have their own range, without sinks and hidden
// sources. Row t has what target t takes from each source, M[l,t,s].
func (b *page) targetMap(v *view, level int) {
	m := b.e.Maps[v.name]
	var values []float64
	for t := range m.Shape[1] {
		for j, x := range m.Row(level, t) {
			// as in the other scales
			if !v.sinks[j] && !b.hidden[j] {
				values = append(values, x)
			}
		}
	}
	// A range of its own, because the rows of targets that are not explained may be larger.
	s := newScale(m.Unit, values)
	low, high := s.ends()
	b.printf(
		`<details style="%s;border-top:1px solid rgb(228,231,236);padding:4px 0">`+
			`<summary style="%s;font-size:12px;cursor:pointer">`+
			`targets × sources, %s (%s, layer %d, colours %s to %s)</summary>`,
		card, soft, escape(v.name, nameLimit), escape(m.Unit, nameLimit),
		m.Layers[level], low, high,
	)
	b.printf(`<div style="overflow-x:auto"><table cellpadding="4" `+
		`style="%s;border-collapse:collapse;margin:0;font-size:11px;line-height:1.3">`, card)
	b.printf(`<tr style="%s;text-align:right"><td style="%s">target ↓ &nbsp; source →</td>`,
		card, soft)
	for j := range b.e.Prompt.Texts {
		b.printf(`<td style="%s">%s</td>`, b.sourceStyle(v, j, card), escape(b.short(j), 0))
	}
	b.WriteString("</tr>")
	for t := range m.Shape[1] {
		// One line for each target; the cells are its sources.
		b.printf(`<tr style="%s;text-align:right"><td>%s</td>`, card, b.target(t))
		for j, x := range m.Row(level, t) {
			b.printf(`<td style="%s">%s</td>`, b.sourceStyle(v, j, s.color(x).style()),
				cellNumber(s, x))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table></div></details>")
}

// sourceStyle returns the style of a cell in the column of source j: muted for sinks and hidden
// tokens, else otherwise. The whole column is grey, heading and cells, so that a sink is not taken
// for a small value.
func (b *page) sourceStyle(v *view, j int, otherwise string) string {
	if v.sinks[j] || b.hidden[j] {
		return muted.style()
	}
	return otherwise
}

// target returns the heading of the row of target t, in bold if its prediction is explained.
// Positions count from 0, and tell equal tokens apart.
func (b *page) target(t int) string {
	name := fmt.Sprintf("%s&nbsp;%d", escape(b.short(t), 0), t)
	for _, g := range b.e.Steps {
		if g.Position != nil && *g.Position == t {
			return "<b>" + name + "</b>"
		}
	}
	return name
}
