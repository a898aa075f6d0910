package render

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/message"
)

// panels is a picture of several matrices with the same columns, of which one is open, worked out
// and not yet drawn. [Layers] has one for each generated token, with a row for each layer, and
// [Maps] one for each layer, with a row for each target. A page draws it, its script draws it again
// at every choice of a reader, and a text lists it.
type panels struct {
	*drawing
	kind    panelKind
	methods []panelMethod
	lead    int // the method that is open
}

// panelKind are the words of a kind of panels.
type panelKind struct {
	name   string // of the class of the page
	title  string // of the open matrix
	small  string // of all matrices
	lines  string // of the part with every row
	legend string
	// targets says that rows are the tokens of the columns.
	targets bool
}

// panelMethod has the matrices of a method. Rows and columns are in the order in which they are
// drawn: the last layer is on top.
type panelMethod struct {
	name, where string // where comes before the name of a row or a matrix that is a layer
	unit        string
	top, colors scale // of numbers and of colours
	scaled      drawnRows
	// parts says that values are what each layer adds to a sum, whose scale ends at totalLimit.
	parts      bool
	totalLimit float64
	rows       []string
	list       []panel
	open       int // in list
}

// panel is a matrix.
type panel struct {
	name string
	// token is the token of the text that chooses the matrix, -1 for none, and row the row that is
	// framed, -1 for none.
	token, row int
	grey       []bool // [columns], sinks and filtered tokens
	// cells are the values, [rows][columns] or fewer: columns that a row cannot see are left out.
	cells [][]panelCell
	total []panelCell // of parts, what all layers wrote
	// say and facts are the sentence about the matrix and the line below it.
	say, facts Phrase
}

// panelCell is the value of a column: that of its token, or the strongest of those folded in it. In
// a row of folded targets it is that of the strongest target.
type panelCell struct {
	value         float64
	token, target int
}

// cell returns the value of the tokens of a column that come before end, the strongest of those
// that are not grey. ok is false if all of them are.
func (m *panelMethod) cell(
	c TextColumn, end int, at func(j int) float64, grey func(j int) bool,
) (cell panelCell, ok bool) {
	j := strongestIn(c, end,
		func(j int) float64 { return math.Abs(m.colors.at(at(j))) }, grey)
	return panelCell{value: at(j), token: j}, !grey(j)
}

// step returns the colour of a cell.
func (m *panelMethod) step(p *panel, i, c int) int {
	if p.grey[c] {
		return 0
	}
	return stepOf(m.colors.at(p.cells[i][c].value))
}

// ranked returns the columns of row i that stand out, the strongest first.
func (m *panelMethod) ranked(p *panel, i int) (columns []int) {
	for c := range p.cells[i] {
		if m.step(p, i, c) != 0 {
			columns = append(columns, c)
		}
	}
	slices.SortStableFunc(columns, func(a, b int) int {
		return cmp.Compare(math.Abs(m.colors.at(p.cells[i][b].value)),
			math.Abs(m.colors.at(p.cells[i][a].value)))
	})
	return columns
}

// scale sets the scale of the numbers and the colours.
func (m *panelMethod) scale(v *view, values []float64) {
	m.top = newScale(v.result.Unit, v.result.Quantity, values)
	m.colors = m.top.tight(values)
	own := *v
	own.top, own.colors = m.top, m.colors
	m.name, m.unit, m.scaled = Visible(v.name, nameLimit), Visible(m.top.unit, 2*nameLimit),
		own.scaled()
}

// list names the strongest sources of row i with their values, "" if nothing stands out.
func (p *panels) list(m *panelMethod, one *panel, i int) string {
	var names []string
	for _, c := range m.ranked(one, i) {
		if len(names) < listed {
			cell := one.cells[i][c]
			names = append(names, p.sourceName(cell.token)+" "+m.top.value(cell.value))
		}
	}
	return strings.Join(names, ", ")
}

// lines calls f with the name of each row of a matrix in which something stands out, and what does.
func (p *panels) lines(m *panelMethod, one *panel, f func(i int, name, list string)) {
	for i := range one.cells {
		if list := p.list(m, one, i); list != "" {
			f(i, p.rowName(m, i), list)
		}
	}
}

// rowName is the name of a row outside of its matrix, and nameOf that of a matrix.
func (p *panels) rowName(m *panelMethod, i int) string {
	if p.kind.targets {
		return p.placedName(p.columns[i].From)
	}
	return m.where + m.rows[i]
}

func (p *panels) nameOf(m *panelMethod, one *panel) string {
	if p.kind.targets {
		return m.where + one.name
	}
	return one.name
}

//go:embed panels.js
var panelsSource string

var panelsScript = script(scaleSource + matrixSource + panelsSource)

// panelsPage is the state of writing panels as HTML.
type panelsPage struct {
	*board
	panels *panels
}

// markup returns the panels as HTML. Near the limit, numbers for the script come before the lines
// of all rows.
func (p *panels) markup(palette, next string, limit int) *page {
	b := panelsPage{newBoard(p.drawing, palette, limit), p}
	b.next = next
	b.begin("hm-panels hm-"+p.kind.name, "")
	b.top()
	if len(b.tokens) == 0 || len(p.methods) == 0 {
		b.WriteString("<p>There is nothing to show yet.</p></div>\n")
		return b.page()
	}
	m := &p.methods[p.lead]
	one := &m.list[m.open]
	var answer strings.Builder
	b.writeAnswer(&answer, one.say.html(), one.facts.html(), p.steps(m, one))
	left := b.limit - b.Len() - answer.Len() - len(panelsScript()) - 3000
	data := packWithin(left, b.data())
	left -= len(data)
	matrix := ""
	if b.fits() {
		matrix = `<div class="hm-methods">` + b.table(p.matrix(m, one)) + "</div>"
	}
	if len(matrix) > left {
		matrix = ""
	}
	left -= len(matrix)
	b.WriteString(answer.String())
	if data == "" {
		b.WriteString(b.common(func(p *page) { p.withoutRoom(noClicks) }))
	}
	b.WriteString(`<div class="hm-after"></div>` + matrix)
	b.closing(left, data != "")
	b.end(data, panelsScript())
	return b.page()
}

// steps returns the colours of the text: those of all layers together, or of the framed row.
func (p *panels) steps(m *panelMethod, one *panel) []int {
	steps := make([]int, len(p.tokens))
	if len(one.cells) == 0 {
		return steps
	}
	row, limit := one.total, m.totalLimit
	if row == nil && one.row >= 0 {
		row, limit = one.cells[one.row], m.colors.limit
	}
	colors := m.colors
	colors.limit = limit
	strongest := 0.0
	for c, cell := range row {
		if !one.grey[c] {
			strongest = max(strongest, math.Abs(colors.at(cell.value)))
		}
	}
	for c, cell := range row {
		if x := colors.at(cell.value); !one.grey[c] && math.Abs(x) >= strongest/12 {
			steps[cell.token] = stepOf(x)
		}
	}
	return steps
}

// matrix returns a matrix as a table.
func (p *panels) matrix(m *panelMethod, one *panel) Table {
	t := Table{
		Title: p.nameOf(m, one), Note: m.name + ", " + m.unit, Columns: p.columnNames(),
		Axis: p.axis(),
	}
	for i, cells := range one.cells {
		t.Rows = append(t.Rows, p.rowOf(m, one, m.rows[i], cells))
		t.Rows[i].Chosen = i == one.row
	}
	return t
}

// rowOf returns a row of a matrix.
func (p *panels) rowOf(m *panelMethod, one *panel, name string, cells []panelCell) Row {
	row := Row{Name: name}
	for c, cell := range cells {
		shown := Cell{
			Grey: one.grey[c], Text: minus(m.number(cell.value)), Empty: math.IsNaN(cell.value),
			First: p.isFirstGenerated(p.columns[c]),
		}
		if !shown.Grey {
			shown.Step = stepOf(m.colors.at(cell.value))
		}
		row.Cells = append(row.Cells, shown)
	}
	return row
}

// axis says what the rows of a matrix are.
func (p *panels) axis() string {
	if p.kind.targets {
		return ""
	}
	return "layer"
}

// number formats a value for a narrow cell.
func (m *panelMethod) number(x float64) string {
	return (&view{top: m.top, colors: m.colors}).cellNumber(x)
}

// closing writes what stands below the picture: warnings, every row in a line as far as there is
// room, but always the sentences that a script shows, and the settings.
func (b panelsPage) closing(limit int, touched bool) {
	b.openDetails(b, "Details: "+b.panels.kind.lines+", settings", "", true)
	begin, left := b.Len(), 0
	for k := range b.panels.methods {
		m := &b.panels.methods[k]
		b.printf(`<div class="hm-lines"><b>%s</b>`, html.EscapeString(m.name))
		for i := range m.list {
			one := &m.list[i]
			var rows strings.Builder
			if !b.panels.kind.targets || i == m.open { // the small ones have as many rows
				b.panels.lines(m, one, func(_ int, name, list string) {
					fmt.Fprintf(&rows, "<br>%s: %s", html.EscapeString(name),
						html.EscapeString(minus(list)))
				})
			}
			line := fmt.Sprintf("<div><span>%s</span> <span>%s</span><small>", one.say.html(),
				one.facts.html())
			if b.Len()-begin+len(line)+rows.Len() > limit {
				if left++; !touched {
					continue
				}
				rows.Reset()
			}
			b.WriteString(line + rows.String() + "</small></div>")
		}
		b.WriteString("</div>")
	}
	b.WriteString(b.common(func(p *page) {
		if left > 0 {
			p.leftOut(thousands(left) + " of these blocks " + message.IsOrAre(left))
		}
		p.settings(b.panels.kind.legend + pageRest)
	}) + "</details>")
}

// panelsData is what the script needs beyond the elements of the picture. Its texts are visible
// names; see [Visible].
type panelsData struct {
	textData
	// Title is that of the open matrix and Small that of all. Targets says that the rows of
	// matrices are the tokens of their columns, which choose them.
	Title   string `json:"title"`
	Small   string `json:"small"`
	Targets bool   `json:"targets,omitempty"`
	// Hidden are the tokens that the filter makes grey, which are no sinks.
	Hidden []int `json:"hidden,omitempty"`
	// Lead is the method that is open.
	Lead    int         `json:"lead"`
	Methods []drawnList `json:"methods"`
}

// drawnList are the matrices of a method.
type drawnList struct {
	drawnRows
	// Where comes before the name of a layer, RowNames are the names of the rows, and Parts says
	// that they are parts of a sum. Open is the matrix that is open at first.
	Where    string   `json:"where"`
	RowNames []string `json:"rowNames"`
	Parts    bool     `json:"parts,omitempty"`
	// TotalLimit is the end of the scale of the sums.
	TotalLimit float64      `json:"totalLimit,omitempty"`
	Open       int          `json:"open"`
	List       []drawnPanel `json:"list"`
}

// drawnPanel is a matrix: the fields are those of panel.
type drawnPanel struct {
	Name  string      `json:"name"`
	Token int         `json:"token"`
	Row   int         `json:"row"`
	Grey  []int       `json:"grey"`
	Cells []packedRow `json:"cells"`
	Total *packedRow  `json:"total,omitempty"`
	// Inside has, for each row and the total, the tokens whose values folded columns have, and
	// Targets, for each row of folded targets, the target of each value.
	Inside  [][]int       `json:"inside"`
	Targets map[int][]int `json:"targets,omitempty"`
}

// data returns what the script needs.
func (b panelsPage) data() panelsData {
	d := panelsData{
		textData: b.textData(b.panels.kind.name, b.columns[len(b.columns)-1].To),
		Title:    b.panels.kind.title, Small: b.panels.kind.small,
		Targets: b.panels.kind.targets, Lead: b.panels.lead,
	}
	for j, is := range b.hidden {
		if is {
			d.Hidden = append(d.Hidden, j)
		}
	}
	for k := range b.panels.methods {
		m := &b.panels.methods[k]
		list := drawnList{
			drawnRows: m.scaled, Where: m.where, RowNames: m.rows, Parts: m.parts,
			TotalLimit: m.totalLimit,
			Open:       m.open,
		}
		for i := range m.list {
			list.List = append(list.List, b.panels.drawn(m, &m.list[i]))
		}
		d.Methods = append(d.Methods, list)
	}
	return d
}

// drawn returns a matrix for the script.
func (p *panels) drawn(m *panelMethod, one *panel) drawnPanel {
	d := drawnPanel{
		Name: one.name, Token: one.token, Row: one.row, Grey: []int{}, Targets: map[int][]int{},
	}
	for c, is := range one.grey {
		if is {
			d.Grey = append(d.Grey, c)
		}
	}
	packed := func(cells []panelCell) packedRow {
		row := make([]float64, len(cells))
		for c := range cells {
			row[c] = cells[c].value
		}
		return packRow(row, exactParts, math.Inf(1), func(j int, near float64) bool {
			return m.top.value(row[j]) == m.top.value(near)
		})
	}
	for i, cells := range append(slices.Clone(one.cells), one.total) {
		inside := []int{}
		for c := range cells {
			if p.columns[c].Folded {
				inside = append(inside, cells[c].token)
			}
			if p.kind.targets && p.columns[i].Folded {
				d.Targets[i] = append(d.Targets[i], cells[c].target)
			}
		}
		if d.Inside = append(d.Inside, inside); i < len(one.cells) {
			d.Cells = append(d.Cells, packed(cells))
		}
	}
	if one.total != nil {
		total := packed(one.total)
		d.Total = &total
	}
	return d
}

// plain writes the panels as text. If that has more than limit bytes, the rows are left out.
func (p *panels) plain(look Terminal) *text {
	t := newText(Terminal{Width: look.Width})
	t.picture = p.picture
	if p.write(t, true); look.MaxBytes > 0 && t.Len() > look.MaxBytes {
		t.Reset()
		p.write(t, false)
	}
	return t
}

// write writes the blocks of all matrices, with or without a line for each row.
func (p *panels) write(t *text, rows bool) {
	t.head()
	for k := range p.methods {
		m := &p.methods[k]
		for i := range m.list {
			one := &m.list[i]
			t.line("")
			t.wrapped("", p.nameOf(m, one)+" · "+m.name+", "+m.unit)
			t.wrapped("     ", one.say.String())
			t.wrapped("     ", one.facts.String())
			if !rows {
				continue
			}
			p.lines(m, one, func(i int, name, list string) {
				mark := " "
				if i == one.row {
					mark = "▸"
				}
				t.wrapped(fmt.Sprintf("   %s %s  ", mark, right(name, 8)), minus(list))
			})
		}
	}
	t.line("")
	if rows {
		t.wrapped("", p.kind.legend+". A line names what stands out in it, the strongest first, "+
			"and ▸ marks the line that other pictures show. Lines in which nothing stands out "+
			"are left out.")
	} else {
		t.wrapped("", "The lines of the rows are left out here: the text would be too long. All "+
			"numbers are in the explanation.")
	}
	t.model()
}
