package render

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
)

// A matrix with at most cellColumns columns and cellCount cells for each method is a table, with
// the numbers of its coloured cells, unless with the columns of generated tokens it has more than
// allColumns; a larger one is an image. imageWidth and imageHeight are the pixels that
// an image has about, if its cells are not smaller than a pixel.
const (
	cellColumns = 40
	allColumns  = 64
	cellCount   = 1600
	imageWidth  = 1024
	imageHeight = 512
	// Up to fewLayers layers have a row each in a table, with its number; more are an image, with
	// lines of layerHeight pixels.
	fewLayers   = 8
	layerHeight = 6
	// divider is the border between the columns of prompt tokens and generated tokens.
	divider = "border-left:2px solid #8888"
	// labelMargin is the room of the numbers of layers beside an image that is in no table.
	labelMargin = "margin-left:22px"
)

// tabular reports whether the matrices of this picture are tables.
func (p *picture) tabular() bool {
	m, n := len(p.e.Prompt.Texts), len(p.e.Steps)
	return m <= cellColumns && m*n <= cellCount && m+p.extraColumns() <= allColumns
}

// extraColumns returns how many columns of generated tokens stand behind those of the prompt: as
// many as the longest row of a method needs.
func (p *picture) extraColumns() int {
	columns := 0
	for i := range p.views {
		for _, row := range p.views[i].generated {
			columns = max(columns, len(row))
		}
	}
	return columns
}

// matrices returns the matrices of all methods, and takes their size from left. Tables of all
// methods are one element, so that their columns are aligned. Each method is one element of class
// hw-v, with rows of class hw-r for tokens, or an image of class hw-i. Its layers are rows of
// class hw-l or an image of class hw-j; the script relies on this.
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
	b.WriteString(`<div style="overflow-x:auto;overflow-y:hidden">`)
	class := "hw-m"
	if len(b.e.Prompt.Texts)+b.extraColumns() > cellColumns {
		class = "hw-m hw-z" // smaller on paper
	}
	b.printf(`<table class="%s" style="border-collapse:collapse;font-size:11px;margin:0">`, class)
	b.columnWidths()
	b.WriteString(`<thead><tr class="hw-c" style="background:none"><td></td>`)
	for j := range b.e.Prompt.Texts {
		b.printf("<th>%s</th>", html.EscapeString(b.axisName(j)))
	}
	for q := range b.extraColumns() {
		b.printf("<th>%s</th>", html.EscapeString(b.generatedName(q)))
	}
	if b.hasOther() {
		b.WriteString("<th>generated</th>")
	}
	b.WriteString("<th>probability</th></tr></thead>")
}

// columnWidths writes the columns of a table: those of tokens have the same width, which the
// longest number needs, so that an image of layers below them is aligned. A border stands before
// the generated tokens.
func (b *page) columnWidths() {
	longest := 0
	for i := range b.views {
		v := &b.views[i]
		for t := 0; v.has(t) && t < len(b.e.Steps); t++ {
			for j := range v.sources(t) {
				if paint := v.paint(b.picture, t, j); paint != 0 && paint != sinkPaint {
					longest = max(longest, Width(v.cellNumber(v.at(t, j))))
				}
			}
		}
	}
	width := max(22, 7*longest+4)
	b.printf(`<colgroup></colgroup><colgroup span="%d" style="width:%dpx"></colgroup>`,
		len(b.e.Prompt.Texts), width)
	if g := b.extraColumns(); g > 0 {
		b.printf(`<colgroup span="%d" style="width:%dpx;%s"></colgroup>`, g, width, divider)
	}
}

// hasOther reports whether a method without columns of generated tokens says how much of a row they
// have together.
func (p *picture) hasOther() bool {
	columns := p.extraColumns() > 0
	for i := range p.views {
		v := &p.views[i]
		if v.wrong == "" && !(columns && v.generated != nil) && p.otherShare(v, 0) != "" {
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
		b.printf("· %s</span>", escape(v.wrong, 0))
	} else {
		silent, why := v.silentRows()
		all := silent > 0 && silent == v.result.Shape[0]
		b.printf(`· %s, <span class="hw-y">%s`, escape(v.top.unit, 2*nameLimit),
			escape(v.layers(), 0))
		switch {
		case all:
			b.WriteString(" · not coloured: " + html.EscapeString(why))
		case silent > 0:
			b.printf(" · %s of %s lines are not coloured; their sentences say why",
				thousands(silent), thousands(len(b.e.Steps)))
		}
		b.WriteString("</span>")
		if times := v.top.times(); times != "" {
			b.printf(", numbers %s", times)
		}
		b.WriteString("</span>") // with full opacity, as colours have in cells
		if !all || b.layersShown(v) {
			b.scale(v)
		}
	}
	b.WriteString("</div>")
	b.WriteString(end(tabular, "</td></tr>", ""))
}

// scale writes the colours of a method.
func (b *page) scale(v *view) { b.scaleOf(v.colors, v.beyond) }

// scaleOf writes the colours of a scale between its ends. Values below half a step have none.
// beyond says that there are values beyond its ends.
func (b *page) scaleOf(s scale, beyond bool) {
	b.WriteString(" · ")
	writeScale(b, b.palette, s, beyond)
	b.WriteString("</span>")
}

// writeScale writes the colours of a scale between its ends, in an element that is not closed.
// beyond says that there are values beyond them.
func writeScale(b io.Writer, colors *palette, s scale, beyond bool) {
	low, high := s.endsBeyond(beyond)
	least := -levels
	if !s.diverging() {
		least = 1
	}
	// A narrow table breaks the line beside the colours.
	fmt.Fprintf(b, `<span>%s <span style="white-space:nowrap">`, low)
	for paint := least; paint <= levels; paint++ {
		if paint == 0 {
			fmt.Fprint(b, "&nbsp;")
			continue
		}
		fmt.Fprintf(b, `<span style="%s">&nbsp;</span>`, colors.style(paint))
	}
	fmt.Fprint(b, "</span> "+high)
}

// rowName returns the name of the row of token t.
func (p *picture) rowName(t int) string {
	where, what, _ := p.predictionText(t)
	return where + inRow(what, p.e.Steps[t].Text)
}

// inRow returns the name of a token in the columns of a row, where its text is cut.
func inRow(name, text string) string {
	if Width(name) > 16 {
		return isolated(Visible(strings.TrimPrefix(text, " "), 16))
	}
	return name
}

// row writes the line of token t in a table. Cells that stand out have their numbers, so that the
// sign can be read without colours.
func (b *page) row(v *view, t int) {
	silent := ""
	if v.has(t) && v.silent[t] != "" {
		silent = ` <span class="hw-0" style="font-size:10px;opacity:.8">not coloured</span>`
	}
	where, what, chance := b.predictionOf(v, t)
	b.printf(`<tr class="hw-r" style="background:none"><th style="text-align:left">%s%s</th>`,
		b.marked(html.EscapeString(where+inRow(what, b.stepText(v, t))), t == b.chosen), silent)
	sources := 0
	if v.has(t) {
		sources = v.sources(t)
	}
	for j := range sources {
		b.cell(v.paint(b.picture, t, j), v.cellNumber(v.at(t, j)))
	}
	b.WriteString(strings.Repeat("<td></td>", len(b.e.Prompt.Texts)+b.extraColumns()-sources))
	if b.hasOther() {
		b.printf(`<td style="opacity:.8">%s</td>`, b.otherShare(v, t))
	}
	b.printf(`<td style="opacity:.8">%s</td></tr>`, chance)
}

// marked returns a name in bold with a mark if it is the chosen one.
func (b *page) marked(name string, chosen bool) string {
	if chosen {
		return "<b>▸&nbsp;" + name + "</b>" // one line where style sheets are removed
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
		b.printf(`<td style="%s">%s</td>`, b.palette.style(paint), number)
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
// last layer on top, in the same columns. The layer shown is marked. More than a few layers are an
// image: as rows they would stand tall where style sheets are removed.
func (b *page) layerRows(v *view) {
	shown := b.layersShown(v)
	if !shown && b.noLayers(v) == "" {
		return
	}
	b.WriteString(`<tr style="background:none"><td colspan="99" class="hw-h"><div style="width:0;` +
		`min-width:100%;white-space:normal;text-align:left">` + b.noLayers(v))
	if shown {
		b.layersHeading(v)
	}
	b.WriteString("</div></td></tr>")
	if !shown {
		return
	}
	layers, columns := v.result.Shape[2], len(b.e.Prompt.Texts)
	if v.deep {
		columns += b.extraColumns()
	}
	if layers > fewLayers {
		b.WriteString(`<tr style="background:none">`)
		b.labelCell(v, b.chosen, layerHeight)
		b.printf(`<td colspan="%d" style="padding:0">`, columns)
		b.image("hw-j", v.layersName(b.picture), b.layerGrid(v, columns, 0), 22, layerHeight,
			fmt.Sprintf("width:100%%;height:%dpx", layers*layerHeight))
		b.WriteString("</td></tr>")
		return
	}
	for k := layers - 1; k >= 0; k-- {
		label := b.marked(fmt.Sprint(v.result.Layer(b.chosen, k)), k == v.level(b.chosen))
		b.printf(`<tr class="hw-l" style="background:none"><th style="text-align:right">%s</th>`,
			label)
		sources := v.levelSources(b.chosen)
		for j := range sources {
			b.cell(v.layerPaint(b.picture, b.chosen, j, k), "")
		}
		b.WriteString(strings.Repeat("<td></td>", columns-sources) + "</tr>")
	}
}

// layerLabels writes what stands beside an image of the layers of token t, each beside its line,
// which is height pixels high: the number of every fifth layer, from the last one down, and of the
// lowest one.
func (b *page) layerLabels(v *view, t, height int) {
	rest := (v.result.Shape[2] - 1) % panelLabel // lines below the last of these labels
	// A label is in the middle of as many lines as lie between two, and so is on its own line.
	b.printf(`<div style="height:%dpx;line-height:%dpx;margin-top:-%dpx;font-size:9px;`+
		`text-align:right">`, v.result.Shape[2]*height+panelLabel/2*height, panelLabel*height,
		panelLabel/2*height)
	for k := v.result.Shape[2] - 1; k >= 0; k -= panelLabel {
		label := fmt.Sprint(v.result.Layer(t, k))
		if k == 1 {
			label = "&nbsp;" // it has no room above that of the lowest layer
		}
		b.WriteString(label + "<br>")
	}
	if rest > 0 {
		b.printf(`<div style="margin-top:%dpx">%d</div>`, (rest-panelLabel)*height,
			v.result.Layer(t, 0))
	}
	b.WriteString("</div>")
}

// labelCell writes the cell of a table with layerLabels.
func (b *page) labelCell(v *view, t, height int) {
	b.WriteString(`<td style="padding:0 4px 0 0;vertical-align:top">`)
	b.layerLabels(v, t, height)
	b.WriteString("</td>")
}

// besideLabels writes an image of the layers of token t that is in no table, with the numbers of
// layers at its left.
func (b *page) besideLabels(v *view, t, height int, image func()) {
	b.WriteString(`<div class="hw-1"><div style="float:left;width:18px">`)
	b.layerLabels(v, t, height)
	b.WriteString(`</div><div style="` + labelMargin + `">`)
	image()
	b.WriteString("</div></div>")
}

// layersHeading writes what the layers of the chosen token are.
func (b *page) layersHeading(v *view) {
	b.printf(`<div style="%s">“<span class="hw-o">%s</span>” layer by layer%s`, small,
		html.EscapeString(b.rowName(b.chosen)), v.sums(", "))
	if layers := v.result.Shape[2]; layers > fewLayers || !b.tabular() {
		layer := func(k int) int { return v.result.Layer(b.chosen, k) }
		b.printf(`: %d on top, %d at the bottom; shown above: <span class="hw-u">%s</span>`,
			layer(layers-1), layer(0), v.result.LayerName(b.chosen, v.level(b.chosen)))
	}
	b.WriteString("</div>")
}

// layerGrid returns the paints of every layer of the chosen token, the last on top, with this
// number of columns, of which line, 0 or 1, is a line before the generated tokens.
func (b *page) layerGrid(v *view, columns, line int) grid {
	rows := make(grid, v.result.Shape[2])
	for i := range rows {
		rows[i] = b.layerLine(v, b.chosen, len(rows)-1-i, columns, line)
	}
	return rows
}

// layerLine returns the paints of one layer of token t, as layerGrid does.
func (p *picture) layerLine(v *view, t, k, columns, line int) []int {
	row, m := make([]int, columns), v.result.Shape[1]
	for j := range v.levelSources(t) {
		at := j
		if j >= m {
			at += line
		}
		row[at] = v.layerPaint(p, t, j, k)
	}
	if v.deep && line > 0 && columns > m {
		row[m] = dividerPaint
	}
	return row
}

// layersShown reports whether a method has values of several layers for the chosen token.
func (b *page) layersShown(v *view) bool {
	return v.wrong == "" && v.result.Shape[2] > 1 && v.has(b.chosen)
}

// anyLayers reports whether any method has values of several layers for the chosen token.
func (b *page) anyLayers() bool {
	return slices.ContainsFunc(b.views, func(v view) bool { return b.layersShown(&v) })
}

// noLayers returns what stands in the place of the layers of a method that has one layer alone, how
// to get the others, where another method has layers; else "".
func (b *page) noLayers(v *view) string {
	if v.wrong != "" || v.difference || v.result.Shape[2] != 1 || !b.anyLayers() {
		return ""
	}
	how := ""
	switch {
	case v.result.Layers[0] == attribution.LayerByToken:
		how = "with --all-layers or --view layers, or in a cell AllLayers: true of the options"
	case v.result.TopOnly:
		how = "with --all-levels or --view layers, or in a cell AllLevels: true of the options"
	default:
		return ""
	}
	return fmt.Sprintf(`<div style="%s">Layer by layer: %s.</div>`, small, how)
}

// layerPaint returns the paint of a layer's value, also where the row of the layer shown is silent.
func (v *view) layerPaint(p *picture, t, j, k int) int {
	if p.grey(v, t, j) {
		return sinkPaint
	}
	return v.colors.step(v.atLevel(t, j, k))
}

// images writes the matrix of a method as an image, and below it the layers of the chosen token. A
// thin line, unlike the column of a sink, divides the prompt from the generated tokens.
func (b *page) images(v *view) {
	m := len(b.e.Prompt.Texts)
	columns, more := m, ""
	if g := b.extraColumns(); g > 0 {
		columns, more = m+1+g, ", then a thin line and the generated tokens"
	}
	width := min(max(imageWidth/columns, 1), 24)
	rows := make(grid, v.result.Shape[0])
	for t := range rows {
		rows[t] = make([]int, columns)
		for j := range v.sources(t) {
			at := j
			if j >= m {
				at++
			}
			rows[t][at] = v.paint(b.picture, t, j)
		}
		if columns > m {
			rows[t][m] = dividerPaint
		}
	}
	b.printf(`<div style="%s">Lines: %s, the first on top; columns: %s, from left to `+
		`right%s.</div>`, small, b.words.shown, b.words.tokens, more)
	name := fmt.Sprintf("%s, %d %s × %d %s", Visible(v.name, nameLimit), len(rows), b.words.shown,
		m, b.words.tokens)
	before, after := "", ""
	if b.anyLayers() { // the columns are above those of the layers, of any method
		before, after = `<div style="`+labelMargin+`">`, "</div>"
	}
	b.WriteString(before)
	b.image("hw-i", name, rows, width, min(max(imageHeight/max(len(rows), 1), 2), 16), "")
	b.WriteString(after + b.noLayers(v))
	if !b.layersShown(v) {
		return
	}
	b.layersHeading(v)
	b.besideLabels(v, b.chosen, layerHeight, func() {
		b.image("hw-j", v.layersName(b.picture), b.layerGrid(v, columns, 1), width, layerHeight, "")
	})
}

// layersName says in words what an image of the layers of one token is.
func (v *view) layersName(p *picture) string {
	columns := fmt.Sprintf("%d %s", len(p.e.Prompt.Texts), p.words.tokens)
	if v.deep {
		columns += " and the generated tokens"
	}
	return fmt.Sprintf("%s, %d layers × %s", Visible(v.name, nameLimit), v.result.Shape[2], columns)
}

// image writes a grid as an image with cells of w × h pixels, with a frame that shows its size. A
// screen reader says name, which also stands where images are blocked.
func (b *page) image(class, name string, g grid, w, h int, style string) {
	columns := 0
	if len(g) > 0 {
		columns = len(g[0])
	}
	box := "<div>"
	if strings.Contains(style, "width:100%") {
		box = `<div style="width:100%">`
	}
	if style != "" {
		style = ";" + style
	}
	b.printf(`%s<img class="%s" alt="%s" width="%d" height="%d" style="max-width:100%%;`+
		`border:1px solid #8885%s" src="%s"></div>`, box, class, html.EscapeString(name), columns*w,
		len(g)*h, style, g.png(b.palette, w, h))
}
