package render

// legend writes how to read the colours: the axes, then scale, unit and settings of each method,
// then warnings and provenance. A picture may be copied out of its notebook, so it says all of this
// itself.
func (b *page) legend() {
	b.printf(`<div style="%s;border-radius:6px;padding:8px 12px;margin-top:8px;font-size:12px">`,
		panel)
	if len(b.e.Prompt.Texts) > 0 && len(b.views) > 0 {
		b.printf(`<div style="%s">%s</div>`, panel, b.words.lines)
		b.printf(`<table style="%s;border-collapse:collapse;margin:4px 0;font-size:12px">`, panel)
		for i := range b.views {
			b.scaleRow(&b.views[i])
		}
		b.WriteString("</table>")
	}
	// A warning may quote tokens, so it is escaped like them.
	for _, warning := range b.e.Warnings {
		b.printf(`<div style="%s">⚠ %s</div>`, panel, escape(warning, 1000))
	}
	if b.e.Model.Name != "" {
		b.printf(`<div style="%s">model %s</div>`, panel, escape(b.provenance(), 0))
	}
	b.WriteString("</div>")
}

// scaleRow writes the scale of one method: its ends, the ramp between them, the unit and the
// settings. The ends are those of the highlighted layer; maps over layers name their own.
func (b *page) scaleRow(v *view) {
	cell := panel + ";text-align:left;vertical-align:top;padding:2px 10px 2px 0"
	b.printf(`<tr style="%s"><td style="%s"><b>%s</b></td>`, panel, cell, escape(v.name, nameLimit))
	// A method that has no values has no scale, but a reason.
	if v.wrong != "" {
		b.printf(`<td style="%s" colspan="4">%s</td></tr>`, cell, escape(v.wrong, 0))
		return
	}
	low, high := v.top.ends()
	// Values of one sign begin at the neutral colour, others at the deepest rust.
	from := 0.0
	if v.top.diverging() {
		from = -1
	}
	b.printf(
		`<td style="%s;text-align:right;vertical-align:top;padding:2px 4px 2px 0;`+
			`white-space:nowrap">%s</td>`+
			`<td style="%s;padding:2px 4px 2px 0;white-space:nowrap">`,
		panel, low, cell,
	)
	// Cell i has the colour of the value i/(cells-1) of the way from the low end to the high one.
	const cells = 13
	for i := range cells {
		c := ramp(from + (1-from)*float64(i)/(cells-1))
		b.printf(`<span style="%s;display:inline-block;width:10px;height:10px"></span>`, c.style())
	}
	b.printf(`</td><td style="%s;white-space:nowrap">%s</td><td style="%s">%s, %s<br>%s</td></tr>`,
		cell, high, cell, escape(v.top.unit, nameLimit), escape(v.reading(), 0), escape(v.options(),
			0))
}
