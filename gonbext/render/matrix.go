package render

import (
	"fmt"
	"html"
	"strings"
)

// A matrix with at most cellColumns columns and cellCount cells for each method is a table, with
// the numbers of its coloured cells; a larger one is an image. imageWidth and imageHeight are the
// pixels that an image has about, if its cells are not smaller than a pixel.
const (
	cellColumns = 40
	cellCount   = 1600
	imageWidth  = 1024
	imageHeight = 512
	// Up to fewLayers layers have rows high enough for the number of each.
	fewLayers = 8
)

// tabular reports whether the matrices of this picture are tables.
func (p *picture) tabular() bool {
	m, n := len(p.e.Prompt.Texts), len(p.e.Steps)
	return m <= cellColumns && m*n <= cellCount
}

// matrices returns the matrices of all methods, and takes their size from left. Tables of all
// methods are one element, so that their columns are aligned. Each method is one element of class
// hw-v, with rows of class hw-r for tokens and hw-l for layers, or images of class hw-i and hw-j;
// the script relies on this.
func (b *page) matrices(left *int) string {
	if len(b.e.Prompt.Texts) == 0 || len(b.e.Steps) == 0 || len(b.views) == 0 {
		return ""
	}
	tabular := b.tabular()
	var s strings.Builder
	s.WriteString(b.part(func(c *page) { c.beginMatrices(tabular) }))
	for i := range b.views {
		part := b.part(func(c *page) { c.matrix(i, tabular) })
		if len(part) > *left && i > 0 {
			part = b.part(func(c *page) { c.withoutMatrix(i, tabular) })
		}
		*left -= len(part)
		s.WriteString(part)
	}
	s.WriteString(end(tabular, "</table></div>", "</div>"))
	return s.String()
}

// end returns one of two texts: that of a table, or that of an image.
func end(tabular bool, table, image string) string {
	if tabular {
		return table
	}
	return image
}

// beginMatrices writes what stands above the first method: for tables the names of the columns.
func (b *page) beginMatrices(tabular bool) {
	if !tabular {
		b.WriteString(`<div class="hw-m">`)
		return
	}
	b.WriteString(`<div style="overflow-x:auto;overflow-y:hidden"><table class="hw-m" ` +
		`style="border-collapse:collapse;font-size:11px;margin:0">` +
		`<thead><tr class="hw-c" style="background:none"><td></td>`)
	for j := range b.e.Prompt.Texts {
		name := b.short(j)
		if name == "" {
			name = "·"
		}
		b.printf("<td>%s</td>", escape(name, 0))
	}
	if b.hasOther() {
		b.WriteString("<td>generated</td>")
	}
	b.WriteString("<td>probability</td></tr></thead>")
}

// hasOther reports whether a method says how much of a row generated tokens have.
func (p *picture) hasOther() bool {
	for i := range p.views {
		if v := &p.views[i]; v.wrong == "" && p.otherShare(v, 0) != "" {
			return true
		}
	}
	return false
}

// matrix writes the matrix of method i.
func (b *page) matrix(i int, tabular bool) {
	v := &b.views[i]
	b.beginMethod(v, tabular)
	switch {
	case v.wrong != "":
	case tabular:
		for t := range b.e.Steps {
			b.row(v, t)
		}
		b.layerRows(v)
	default:
		b.images(v)
	}
	b.WriteString(end(tabular, "</tbody>", "</div>"))
}

// withoutMatrix writes the heading of method i and why its matrix is not there.
func (b *page) withoutMatrix(i int, tabular bool) {
	b.beginMethod(&b.views[i], tabular)
	b.WriteString(end(tabular, `<tr style="background:none"><td colspan="99">`, ""))
	b.leftOut("The matrix of " + escape(b.views[i].name, nameLimit) + " is")
	b.WriteString(end(tabular, "</td></tr></tbody>", "</div>"))
}

// beginMethod writes the heading of a method: its name, its layer, and its one scale.
func (b *page) beginMethod(v *view, tabular bool) {
	b.WriteString(end(tabular, `<tbody class="hw-v"><tr style="background:none">`+
		`<td colspan="99" class="hw-h">`, `<div class="hw-v">`))
	// Its width is that of the columns, which it must not stretch.
	b.WriteString(`<div style="width:0;min-width:100%;white-space:normal;text-align:left;` +
		`margin:8px 0 2px 0;font-size:13px">`)
	b.printf(`<b class="hw-n">%s</b> <span style="%s">`, escape(v.name, nameLimit), small)
	if v.wrong != "" {
		b.printf("· %s", escape(v.wrong, 0))
	} else {
		b.printf("· %s, %s", escape(v.top.unit, 2*nameLimit), escape(v.layers(), 0))
		if times := v.top.times(); times != "" {
			b.printf(", numbers %s", times)
		}
	}
	b.WriteString("</span>")
	if v.wrong == "" {
		b.scale(v)
	}
	b.WriteString("</div>")
	b.WriteString(end(tabular, "</td></tr>", ""))
}

// scale writes the colours of a scale between its ends. Values below half a step have none.
func (b *page) scale(v *view) {
	low, high := v.colors.ends()
	least := -levels
	if !v.top.diverging() {
		least = 1
	}
	b.WriteString(` · <span style="white-space:nowrap">` + low + " ")
	for paint := least; paint <= levels; paint++ {
		if paint == 0 {
			b.WriteString("&nbsp;")
			continue
		}
		b.printf(`<span style="%s">&nbsp;</span>`, paintStyle(paint))
	}
	b.WriteString(" " + high)
	if v.beyond {
		b.WriteString(" and more")
	}
	b.WriteString("</span>")
}

// rowName returns the name of the row of token t.
func (p *picture) rowName(t int) string {
	where, what, _ := p.predictionText(p.e.Steps[t])
	if Width(what) > 16 {
		what = Visible(strings.TrimPrefix(p.e.Steps[t].Text, " "), 16)
	}
	return where + what
}

// row writes the line of token t in a table. Cells that stand out have their numbers, so that the
// sign can be read without colours.
func (b *page) row(v *view, t int) {
	b.printf(`<tr class="hw-r" style="background:none"><td style="text-align:left">%s</td>`,
		b.marked(html.EscapeString(b.rowName(t)), t == b.chosen))
	for j := range b.e.Prompt.Texts {
		if !v.has(t) {
			b.WriteString("<td></td>")
			continue
		}
		b.cell(v.paint(b.picture, t, j), v.cellNumber(v.at(t, j)))
	}
	if b.hasOther() {
		b.printf(`<td style="opacity:.8">%s</td>`, b.otherShare(v, t))
	}
	_, _, chance := b.predictionText(b.e.Steps[t])
	b.printf(`<td style="opacity:.8">%s</td></tr>`, chance)
}

// marked returns a name in bold with a mark if it is the chosen one.
func (b *page) marked(name string, chosen bool) string {
	if chosen {
		return "<b>▸ " + name + "</b>"
	}
	return name
}

// cell writes one cell. A cell without a colour is empty.
func (b *page) cell(paint int, number string) {
	switch paint {
	case 0:
		b.WriteString("<td></td>")
	case sinkPaint:
		b.printf(`<td style="%s"></td>`, sinkStyle)
	default:
		b.printf(`<td style="%s">%s</td>`, paintStyle(paint), number)
	}
}

// cellNumber formats a number for a narrow cell: whole percentages if the scale has ten or more.
func (v *view) cellNumber(x float64) string {
	s := v.top
	if text := s.number(x); s.vanishes(x) || strings.ContainsAny(text, "N∞e") {
		return text
	}
	return fixed(s.scaled(x), v.cellDigits())
}

// cellDigits returns the number of digits after the point in a cell.
func (v *view) cellDigits() int {
	switch limit := v.colors.scaled(v.colors.limit); {
	case v.top.lift:
		return 1
	case limit >= 10:
		return 0
	case limit >= 1:
		return 1
	}
	return 2
}

// layerRows writes the values of every layer for the chosen token below the rows of a table, the
// last layer on top, in the same columns. The layer shown is marked.
func (b *page) layerRows(v *view) {
	if !b.layersShown(v) {
		return
	}
	b.printf(`<tr style="background:none"><td colspan="99" class="hw-h"><div style="width:0;`+
		`min-width:100%%;white-space:normal;text-align:left;%s">“<span class="hw-o">%s</span>” `+
		`layer by layer</div></td></tr>`, small, html.EscapeString(b.rowName(b.chosen)))
	last := v.result.Shape[2] - 1
	class, style := "hw-l", "background:none;font-size:8px;line-height:8px"
	if last < fewLayers {
		class, style = "hw-l hw-f", "background:none"
	}
	for k := last; k >= 0; k-- {
		label, shown := "&nbsp;", k == v.level(b.chosen)
		if shown || k%5 == 0 || k == last || last < fewLayers {
			label = b.marked(fmt.Sprint(v.result.Layer(b.chosen, k)), shown)
		}
		b.printf(`<tr class="%s" style="%s"><td style="text-align:right">%s</td>`, class, style,
			label)
		for j := range b.e.Prompt.Texts {
			b.cell(v.layerPaint(b.picture, b.chosen, j, k), "")
		}
		b.WriteString("</tr>")
	}
}

// layersShown reports whether a method has values of several layers for the chosen token.
func (b *page) layersShown(v *view) bool {
	return v.wrong == "" && v.result.Shape[2] > 1 && v.has(b.chosen)
}

// layerPaint returns the paint of a layer's value, also where the row of the layer shown is silent.
func (v *view) layerPaint(p *picture, t, j, k int) int {
	if v.sinks[j] || p.hidden[j] {
		return sinkPaint
	}
	return v.colors.step(v.result.At(t, j, k))
}

// images writes the matrix of a method as an image, and below it the layers of the chosen token.
func (b *page) images(v *view) {
	m := len(b.e.Prompt.Texts)
	width := min(max(imageWidth/m, 1), 24)
	rows := make(grid, v.result.Shape[0])
	for t := range rows {
		for j := range m {
			rows[t] = append(rows[t], v.paint(b.picture, t, j))
		}
	}
	b.printf(`<div style="%s">Lines: %s, the first on top; columns: %s, from left to right.</div>`,
		small, b.words.shown, b.words.tokens)
	b.image("hw-i", rows, width, min(max(imageHeight/max(len(rows), 1), 2), 16))
	if !b.layersShown(v) {
		return
	}
	layers := v.result.Shape[2]
	rows = make(grid, layers)
	for i := range rows {
		for j := range m {
			rows[i] = append(rows[i], v.layerPaint(b.picture, b.chosen, j, layers-1-i))
		}
	}
	layer := func(k int) int { return v.result.Layer(b.chosen, k) }
	b.printf(`<div style="%s">“<span class="hw-o">%s</span>” layer by layer: %d on top, %d at the `+
		`bottom; shown above is layer <span class="hw-u">%d</span>.</div>`, small,
		html.EscapeString(b.rowName(b.chosen)), layer(layers-1), layer(0),
		layer(v.level(b.chosen)))
	b.image("hw-j", rows, width, 6)
}

// image writes a grid as an image with cells of w × h pixels, with a frame that shows its size.
func (b *page) image(class string, g grid, w, h int) {
	columns := 0
	if len(g) > 0 {
		columns = len(g[0])
	}
	b.printf(`<div><img class="%s" alt="" width="%d" height="%d" style="max-width:100%%;`+
		`border:1px solid #8885" src="%s"></div>`, class, columns*w, len(g)*h, g.png(w, h))
}
