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
func (d *drawing) isFirstGenerated(c TextColumn) bool {
	return c.From == d.answerBegins() && c.From > 0
}

// table returns a table, or, if it has no rows, its title.
func (b *board) table(t Table) string {
	// Notebooks have colours of their own for rows.
	const row = `style="background:` + sheet + `;color:` + ink + `"`
	var s strings.Builder
	fmt.Fprintf(&s, `<div class="hm-h" style="margin:18px 0 6px"><b>%s</b> <span style="color:%s">`+
		`· %s</span></div>`, html.EscapeString(t.Title), dimInk, html.EscapeString(t.Note))
	if len(t.Rows) == 0 {
		return s.String()
	}
	fmt.Fprintf(&s, `<div style="overflow-x:auto"><table class="hm-plain" `+
		`cellpadding="3" style="border-spacing:1px"><tr %s><th>%s</th>`, row, t.Axis)
	for _, name := range slices.Concat(t.Columns, t.Last) {
		fmt.Fprintf(&s, "<th>%s</th>", html.EscapeString(name))
	}
	for _, r := range t.Rows {
		name := html.EscapeString(r.Name)
		if r.Chosen {
			name = "<b>▸ " + name + "</b>"
		}
		fmt.Fprintf(&s, `</tr><tr %s><th scope="row" style="text-align:right">%s</th>`, row, name)
		if r.silent != "" {
			fmt.Fprintf(&s, `<td colspan="%d" style="text-align:left;color:%s">%s</td>`,
				len(t.Columns), dimInk, escape(r.silent, 120))
		}
		for _, c := range r.Cells {
			s.WriteString(c.markup(b.theme))
		}
		for i := range t.Last {
			fmt.Fprintf(&s, `<td style="color:%s">%s</td>`, dimInk, html.EscapeString(r.Ends[i]))
		}
	}
	s.WriteString("</tr></table></div>")
	return s.String()
}

// markup returns a cell in the colours of a theme.
func (c Cell) markup(colors theme) string {
	class, style, number := "", "", html.EscapeString(c.Text)
	if c.Marked {
		number = "▸ " + number
	}
	switch {
	case c.Empty:
		number = ""
	case c.Grey:
		style = "color:" + dimInk
	case c.Step == 0:
		class, number = "hm-z", ""
	default:
		class, style = stepClass(c.Step), colors.style(c.Step)
		if c.Step < 0 {
			number = "<u>" + number + "</u>"
		}
	}
	if number == "" {
		style += ";min-width:12px"
	}
	if c.First {
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
	case v.top.percent && limit >= 10:
		return 0
	case limit >= 1:
		return 1
	}
	return 2
}
