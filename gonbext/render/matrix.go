package render

import (
	_ "embed"
	"fmt"
	"html"
	"slices"
	"strings"
)

//go:embed matrix.js
var matrixSource string

// plainTable is a matrix for readers without a script.
type plainTable struct {
	title, note string
	axis        string // what the names of rows are, "" if they say it
	columns     []string
	last        []string // the names of columns of texts after the others
	rows        []plainRow
}

// plainRow is a row of a [plainTable], of which one is chosen.
type plainRow struct {
	name   string
	chosen bool
	cells  []plainCell
	silent string   // stands in place of cells
	ends   []string // the texts in the last columns
}

// plainCell is a value with its colour. An empty one has no value, and a grey one no colour. A line
// stands before the first one of generated tokens.
type plainCell struct {
	step               int
	number             string
	empty, grey, first bool
	// marked says that it has a frame, and detail what a readout says of it; see [tableData].
	marked bool
	detail string
}

// A picture without a script has tables of at most matrixColumns columns: wider ones would need
// names that stand upright. Its details, which have every row in a line, are open then.
const matrixColumns = 24

// fits reports whether tables without a script have room for the columns.
func (d *drawing) fits() bool { return len(d.columns) <= matrixColumns }

// columnNames returns the names of all columns.
func (d *drawing) columnNames() (names []string) {
	for _, c := range d.columns {
		names = append(names, d.columnName(c))
	}
	return names
}

// answerBegins returns the first token of what the model wrote, with that which begins a target.
func (p *picture) answerBegins() int {
	if p.targetBegin >= 0 {
		return p.targetBegin
	}
	return len(p.e.Prompt.Texts)
}

// isFirstGenerated reports whether a line stands before a column: that of the first generated
// token, or of the token with which a target begins.
func (d *drawing) isFirstGenerated(c drawnColumn) bool {
	return c.from == d.answerBegins() && c.from > 0
}

// table returns a table, or, if it has no rows, its title.
func (b *board) table(t plainTable) string {
	// Notebooks have colours of their own for rows.
	const row = `style="background:` + sheet + `;color:` + ink + `"`
	var s strings.Builder
	fmt.Fprintf(&s, `<div class="hm-h" style="margin:18px 0 6px"><b>%s</b> <span style="color:%s">`+
		`· %s</span></div>`, html.EscapeString(t.title), dimInk, html.EscapeString(t.note))
	if len(t.rows) == 0 {
		return s.String()
	}
	fmt.Fprintf(&s, `<div style="overflow-x:auto"><table class="hm-plain" `+
		`cellpadding="3" style="border-spacing:1px"><tr %s><th>%s</th>`, row, t.axis)
	for _, name := range slices.Concat(t.columns, t.last) {
		fmt.Fprintf(&s, "<th>%s</th>", html.EscapeString(name))
	}
	for _, r := range t.rows {
		name := html.EscapeString(r.name)
		if r.chosen {
			name = "<b>▸ " + name + "</b>"
		}
		fmt.Fprintf(&s, `</tr><tr %s><th scope="row" style="text-align:right">%s</th>`, row, name)
		if r.silent != "" {
			fmt.Fprintf(&s, `<td colspan="%d" style="text-align:left;color:%s">%s</td>`,
				len(t.columns), dimInk, escape(r.silent, 120))
		}
		for _, c := range r.cells {
			s.WriteString(c.markup(b.theme))
		}
		for i := range t.last {
			fmt.Fprintf(&s, `<td style="color:%s">%s</td>`, dimInk, html.EscapeString(r.ends[i]))
		}
	}
	s.WriteString("</tr></table></div>")
	return s.String()
}

// markup returns a cell in the colours of a theme.
func (c plainCell) markup(colors theme) string {
	class, style, number := "", "", html.EscapeString(c.number)
	if c.marked {
		number = "▸ " + number
	}
	switch {
	case c.empty:
		number = ""
	case c.grey:
		style = "color:" + dimInk
	case c.step == 0:
		class, number = "hm-z", ""
	default:
		class, style = stepClass(c.step), colors.style(c.step)
		if c.step < 0 {
			number = "<u>" + number + "</u>"
		}
	}
	if number == "" {
		style += ";min-width:12px"
	}
	if c.first {
		style += ";border-left:2px solid " + dimInk
	}
	if class != "" {
		class = ` class="` + class + `"`
	}
	return fmt.Sprintf(`<td%s style="%s">%s</td>`, class, strings.Trim(style, ";"), number)
}

// extraColumns returns how many columns of generated tokens stand behind those of the prompt: as
// many as the longest row of a method needs.
func (p *picture) extraColumns() int {
	columns := 0
	for i := range p.views {
		if v := &p.views[i]; v.generated {
			columns = max(columns, v.sources(v.result.Shape[0]-1)-v.result.Shape[1])
		}
	}
	return columns
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

// cellNumber formats a number for a narrow cell: whole percentages if the scale has ten or more.
func (v *view) cellNumber(x float64) string {
	s := v.top
	if text := s.number(x); strings.ContainsAny(text, "N∞e") {
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
