package reproduction

import (
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// formula is what a spreadsheet takes for the beginning of a formula.
const formula = "=+-@\t\r"

// WriteCSV writes the table as CSV, the headings first. A text that a spreadsheet would compute
// begins with an apostrophe; negative numbers stay as they are.
func (t Table) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		safe := make([]string, len(row))
		for i, cell := range row {
			if cell != "" && strings.ContainsRune(formula, rune(cell[0])) && !isNumber(cell) {
				cell = "'" + cell
			}
			safe[i] = cell
		}
		if err := c.Write(safe); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// isNumber reports whether a text has only what numbers consist of.
func isNumber(s string) bool { return strings.Trim(s, "0123456789.±-eE ") == "" }

// Markdown returns the table in the form of GitHub.
func (t Table) Markdown() string {
	var b strings.Builder
	line := func(cells []string) {
		b.WriteByte('|')
		for _, c := range cells {
			b.WriteString(" " + Escaped(c) + " |")
		}
		b.WriteByte('\n')
	}
	line(t.Columns)
	b.WriteString(strings.Repeat("|---", len(t.Columns)) + "|\n")
	for _, r := range t.Rows {
		line(r)
	}
	return b.String()
}

// Escaped returns a text for a line of Markdown or a cell of a table, without a meaning as markup.
func Escaped(text string) string { return markdownCell.Replace(text) }

// markdownCell keeps a text from ending its cell and from being markup.
var markdownCell = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", ">", "&gt;", "[", `\[`,
	"*", `\*`, "_", `\_`, "`", "\\`")

// textColumns is how wide the text of a table may be: what fits a line of a printed page and of the
// PDF that nbconvert makes. leastColumn is the width below which no column is made narrower.
const (
	textColumns = 78
	leastColumn = 12
)

// Text returns the table as aligned text, at most 78 columns wide. Texts of wide columns are
// wrapped. A table with more columns than fit is wider.
func (t Table) Text() string {
	rows := append([][]string{t.Columns}, t.Rows...)
	wide := widths(rows, textColumns-2*(len(t.Columns)-1))
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(t.Title + "\n")
	}
	for _, r := range rows {
		cells, height := make([][]string, len(r)), 1
		for i, c := range r {
			cells[i] = wrap(c, wide[i])
			height = max(height, len(cells[i]))
		}
		for k := range height {
			line := ""
			for i := range cells {
				part := ""
				if k < len(cells[i]) {
					part = cells[i][k]
				}
				line += part + strings.Repeat(" ", wide[i]-utf8.RuneCountInString(part)+2)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	return b.String()
}

// widths returns how wide columns are: as wide as their longest cells if that fits. Else each has
// leastColumn, if its cells have so much, and the rest is divided so that the table has few lines.
func widths(rows [][]string, fit int) []int {
	longest := make([]int, len(rows[0]))
	sizes := make([][]int, len(rows)) // characters of each cell
	for k, r := range rows {
		for i, c := range r {
			sizes[k] = append(sizes[k], utf8.RuneCountInString(c))
			longest[i] = max(longest[i], sizes[k][i])
		}
	}
	wide, sum := make([]int, len(longest)), 0
	for i, n := range longest {
		wide[i] = min(n, leastColumn)
		sum += wide[i]
	}
	for ; sum < fit; sum++ { // first evenly, one after another
		narrowest := -1
		for i := range wide {
			if wide[i] < longest[i] && (narrowest < 0 || wide[i] < wide[narrowest]) {
				narrowest = i
			}
		}
		if narrowest < 0 {
			return wide
		}
		wide[narrowest]++
	}
	for better(wide, longest, sizes) {
	}
	return wide
}

// better moves a part of one column to another one if the table then has fewer lines, and returns
// whether it did.
func better(wide, longest []int, sizes [][]int) bool {
	least := lines(wide, sizes)
	from, to, most := 0, 0, 0
	for i := range wide {
		for j := range wide {
			if i == j {
				continue
			}
			room := min(wide[i]-leastColumn, longest[j]-wide[j])
			for part := 1; part <= room; part++ {
				wide[i], wide[j] = wide[i]-part, wide[j]+part
				if n := lines(wide, sizes); n < least {
					from, to, most, least = i, j, part, n
				}
				wide[i], wide[j] = wide[i]+part, wide[j]-part
			}
		}
	}
	wide[from], wide[to] = wide[from]-most, wide[to]+most
	return most > 0
}

// lines returns about how many lines a table has.
func lines(wide []int, sizes [][]int) (n int) {
	for _, row := range sizes {
		height := 1
		for i, size := range row {
			if wide[i] > 0 {
				height = max(height, (size+wide[i]-1)/wide[i])
			}
		}
		n += height
	}
	return n
}

// wrap divides a text into lines of at most so many characters, between words.
func wrap(text string, most int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for utf8.RuneCountInString(word) > most {
			runes := []rune(word)
			lines, line = append(lines, string(runes[:most])), ""
			word = string(runes[most:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= most:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// Styles of cells; colours stand with a background of their own, so that they fit dark themes.
const (
	cellStyle    = "padding:3px 8px;text-align:left;vertical-align:top;border-bottom:1px solid #999"
	agreesStyle  = "background-color:rgb(214,240,218);color:rgb(16,70,28)"
	differsStyle = "background-color:rgb(255,228,214);color:rgb(120,40,0)"
	otherStyle   = "background-color:rgb(232,232,232);color:rgb(60,60,60)"
)

// openRows is how many rows a table may have that is shown open; a longer one takes a click.
const openRows = 8

// HTML returns the table as HTML with inline styles alone. Verdicts have a colour. A table with
// verdicts is folded to how many claims agree, and a long one to its title; one without a title
// stays open.
func (t Table) HTML() string {
	verdict := slices.Index(t.Columns, "verdict")
	if t.Title == "" || verdict < 0 && len(t.Rows) <= openRows {
		return t.open(t.Title)
	}
	line := t.Title
	if verdict >= 0 {
		line += ": " + tally(t.Rows, verdict)
	}
	return `<details><summary style="font-size:13px;font-weight:bold;padding:2px 0">` +
		html.EscapeString(line) + `</summary>` + t.open("") + `</details>`
}

// tally counts the verdicts in a column of rows: "18 of 24 agree", and what is left out.
func tally(rows [][]string, column int) string {
	agree, judged := 0, 0
	for _, r := range rows {
		switch Verdict(r[column]) {
		case Agrees:
			agree++
			judged++
		case Differs:
			judged++
		}
	}
	line := fmt.Sprintf("%d of %d agree", agree, judged)
	if out := len(rows) - judged; out > 0 {
		line += fmt.Sprintf(", %d left out", out)
	}
	return line
}

// open returns the table as HTML with all rows in sight, under a title if there is one.
func (t Table) open(title string) string {
	var b strings.Builder
	b.WriteString(`<table style="border-collapse:collapse;font-size:13px">`)
	if title != "" {
		b.WriteString(`<caption style="text-align:left;font-weight:bold;padding:4px 8px">` +
			html.EscapeString(title) + `</caption>`)
	}
	b.WriteString("<tr>")
	for _, c := range t.Columns {
		b.WriteString(`<th style="` + cellStyle + `">` + html.EscapeString(c) + `</th>`)
	}
	b.WriteString("</tr>")
	for _, r := range t.Rows {
		b.WriteString("<tr>")
		for i, c := range r {
			style := cellStyle
			if t.Columns[i] == "verdict" {
				switch Verdict(c) {
				case Agrees:
					style += ";" + agreesStyle
				case Differs:
					style += ";" + differsStyle
				default:
					style += ";" + otherStyle
				}
			}
			b.WriteString(`<td style="` + style + `">` + html.EscapeString(c) + `</td>`)
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table>")
	return b.String()
}
