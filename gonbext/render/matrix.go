package render

import "strings"

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
