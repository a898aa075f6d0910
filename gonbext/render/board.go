package render

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/message"
)

// Board is a picture as every medium draws it, and nothing else: a view fills it, and a text, a
// page and a figure are written from it. No view writes HTML, JSON or JavaScript. All texts in it
// are visible; see [Visible].
type Board struct {
	// drawing has the title, the caption, and the words of the text with role, turn and fold.
	*drawing
	// Kind is the name of the view.
	Kind string
	// Opened is what the board shows at first, and Opens what a choice of a reader opens in its
	// place, at first that At: a word, a column or a row of the table, as By says. Nil opens
	// nothing.
	Opened Opening
	Opens  []Opening
	At     int
	By     Choice
	Table  Table
	// Graph stands in place of the table; nil for none.
	Graph *Graph
	// Silence says, before all else of a figure, why its values say nothing; "" if they may.
	Silence string
	// Beside has, for each column of the table, the bars beside it.
	Beside []Bars
	// Scale is that of the steps.
	Scale Scale
	// Lines are every column or row of the table in words, for readers without a script, and Lists
	// what a text has below the table. Details is the title of the lines.
	Lines, Lists []Line
	Details      string
	// Legend says how to read it, a paragraph a line, and PageLegend and TextLegend what a page and
	// a text have beyond that; Notes are the sentences below a figure.
	Legend, PageLegend, TextLegend string
	Notes                          []string
	// Caption are the parts of the line below the title of a figure.
	Caption []string
	// Tab is the name of the method, "" for none, and Sides are what values above and below 0 mean.
	Tab   string
	Sides [2]string
	// MaxBytes is the limit of a page in bytes, 0 for the default.
	MaxBytes int
	layout
}

// layout is how the views of this package show a board that is no table of words or numbers alone.
type layout struct {
	// class is that of the element besides that of the kind, script its script, and data what
	// that needs, in at most so many bytes: "" if there is no room. missing says what a reader
	// cannot see then, or beside it.
	class  string
	script func() string
	data   func(limit int) (code, missing string)
	// fixed stands below the text, also where there is little room, and tables are those for
	// readers without a script besides that of the board; aside are such a table and lists beside
	// it.
	fixed  string
	tables []Table
	aside  *Table
	lists  []Line
	// isOpen says that details are open without a script: they have what no table has.
	isOpen bool
	next   string // see [Heatmap.Next]
	// figured works out the figure, of one method where the board has several; nil for that of the
	// table or the graph.
	figured func(method string) (Figure, error)
}

// Choice is what a reader chooses in a board.
type Choice string

// The choices.
const (
	ByWord   Choice = "word"
	ByColumn Choice = "column"
	ByRow    Choice = "row"
	byPanel  Choice = "panel"
)

// Opening is what a choice shows.
type Opening struct {
	// Say is the sentence, Facts the line below it, and More what a text has in a line of its own.
	Say, Facts Phrase
	More       string
	// Token is the word of the text that is framed, -1 for none, and Column and Row are framed in
	// the table. A readout says at first what stands in Column of row Cell.
	Token, Column, Row, Cell int
	// Steps are the colours of the words, nil for none.
	Steps []int
}

// facts are the facts with what is more.
func (o *Opening) facts() Phrase {
	if o.More == "" {
		return o.Facts
	}
	return append(slices.Clone(o.Facts), piece{text: " · " + o.More})
}

// Line is a line of a list: its name, a sentence and its facts, and a list in words, on a page with
// line breaks. A fine one is left out of a text that would be too long.
type Line struct {
	Name       string
	Say, Facts Phrase
	List       string
	Fine       bool
}

// Bars are named parts of a whole, in a box with a title and a note.
type Bars struct {
	Title, Note string
	Bars        []Bar
}

// Bar is a part of a whole from 0 to 1, and what is written beside it.
type Bar struct {
	Name   string
	Part   float64
	Number string
}

// Table is a matrix. Its columns are tokens of the text, or have names of their own.
type Table struct {
	Title, Note string
	Axis        string // what the names of rows are, "" if they say it
	Columns     []string
	Last        []string // the names of columns of texts after the others
	Rows        []Row
	// Heading is the title of a figure, if it is another one than that of the picture, and Name
	// that of its matrix, "" for none; Target and Source are the titles of its rows and columns.
	Heading, Name, Target, Source string
	// Over are the tokens of each column, nil if columns have names of their own, and Bands asks
	// for a line over them that tells who speaks.
	Over  []TextColumn
	Bands bool
	// Words reports whether cells have words, and OfWords whether rows are words of the text, which
	// can be unfolded; then Parts has the cells of every token, [T][columns].
	Words, OfWords bool
	Parts          [][][]Part
	Readout
}

// Row is a row of a [Table], of which one may be chosen, with a cell for each column.
type Row struct {
	Name   string
	Chosen bool
	Cells  []Cell
	Ends   []string // the texts in the last columns
	silent string   // stands in place of cells
	total  bool     // it is the sum of those below it
}

// Cell is a value with its colour. An empty one has no value, and a grey one no colour. A line
// stands before the first one of generated tokens.
type Cell struct {
	// Step is the colour, from -6 to 6; see [StepColors]. Text is a number or a word.
	Step               int
	Text               string
	Empty, Grey, First bool
	// Marked says that it has a frame. Detail is what a readout says of it: the first of what it
	// has, the others, and what it is about, with tabs between them.
	Marked bool
	Detail string
}

// Readout is what a readout of a cell says beside the cell.
type Readout struct {
	// Before and After stand around what a cell of each row has, About is the token that a cell of
	// each column is about, of one entry for all, and At comes before the name of the column.
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
	About  []string `json:"about,omitempty"`
	At     string   `json:"at,omitempty"`
	// Pattern is what the readout says in order: each is the name of one of these or, after "", a
	// text, and perhaps its element.
	Pattern [][]string `json:"pattern,omitempty"`
	// Names are those of the columns in sentences, Empty stands for a cell without parts, and
	// PartsTitle and PartsNote are the title, before the name of the row, and the note of the box
	// with the parts of a row.
	Names      []string `json:"names,omitempty"`
	Empty      string   `json:"empty,omitempty"`
	PartsTitle string   `json:"partsTitle,omitempty"`
	PartsNote  string   `json:"partsNote,omitempty"`
}

//go:embed board.js
var boardSource string

var boardScript = script(scaleSource + matrixSource + boardSource)

// boardRules are the rules of boards beyond those of all pictures: cells with words are wider, and
// columns beside a box of bars have room for a number.
const boardRules = `
.hm .hm-words{width:min(100%,calc(100px + var(--end,46px) + var(--cols)*84px))!important;
min-width:calc(100px + var(--cols)*46px)!important}
.hm .hm-words td[data-c]{text-overflow:ellipsis;padding:0 2px!important}
.hm .hm-words td.hm-z{color:var(--dim)}
.hm-stacks.hm .hm-words.hm-matrix col.hm-label{width:156px}
.hm .hm-came{outline:2px solid var(--ink);outline-offset:-2px;
box-shadow:inset 0 0 0 3px var(--page);font-weight:600!important}
.hm.hm-beside .hm-matrix{min-width:calc(100px + var(--cols)*24px)}
.hm.hm-beside .hm-matrix td b{display:inline}
.hm.hm-beside .hm-matrix td b span{font-size:12px}
.hm.hm-beside .hm-many :is(td,tbody th){height:18px!important}
.hm .hm-routes{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:2px 8px}
.hm .hm-routes{font-size:12px;align-items:center}
.hm .hm-routes>span{display:flex;height:16px;gap:1px}
.hm .hm-routes i{overflow:hidden;text-align:center;font-style:normal;line-height:16px}
.hm .hm-routes [aria-pressed=true]{font-weight:680}`

// Part is a part of a cell: its name, and how much of it.
type Part struct {
	Name  string
	Share float64
}

// plain implements [Picture] for the views that fill a board.
func (b *Board) plain(look Terminal) *text {
	t := newText(Terminal{Width: look.Width})
	t.picture = b.picture
	if b.write(t, false); look.MaxBytes > 0 && t.Len() > look.MaxBytes &&
		slices.ContainsFunc(b.Lists, func(l Line) bool { return l.Fine }) {
		t.Reset()
		b.write(t, true)
	}
	return t
}

// write writes the board as text, a short one without fine lines.
func (b *Board) write(t *text, short bool) {
	t.head()
	// Else each line has its own.
	if b.By == ByWord || len(b.Opens) == 0 && b.By != byPanel {
		t.line("")
		t.wrapped("", b.Opened.Say.String())
		t.wrapped("", b.Opened.Facts.String())
		t.wrapped("", b.Opened.More)
	}
	if b.Table.OfWords {
		t.table(&b.Table, b.Table.Source)
	}
	for _, l := range b.Lists {
		switch {
		case short && l.Fine:
		case l.List == "" && l.Say == nil:
			t.line("")
			t.wrapped("", l.Name)
		case l.Say == nil:
			t.wrapped(l.Name, l.List)
		default:
			t.line("")
			t.wrapped(l.Name, l.Say.String())
			t.wrapped("       ", l.List)
		}
	}
	t.line("")
	for line := range strings.Lines(b.Legend + b.TextLegend) {
		t.wrapped("", line)
	}
	if short {
		t.wrapped("", "The lines of the rows are left out here: the text would be too long. All "+
			"numbers are in the explanation.")
	}
	t.model()
}

// table writes a table of short cells, as many columns side by side as there is room for, with a
// name in its corner.
func (t *text) table(b *Table, corner string) {
	wide, high := 0, 0
	for _, name := range b.Columns {
		high = max(high, Width(name)+1)
	}
	for _, r := range b.Rows {
		wide = max(wide, Width(r.Name))
		for _, c := range r.Cells {
			high = max(high, Width(c.Text)+1)
		}
	}
	for from := 0; from < len(b.Columns); {
		to := min(len(b.Columns), from+max((t.width-wide-2)/high, 1))
		t.line("")
		line := right(corner, wide+2)
		for _, name := range b.Columns[from:to] {
			line += right(name, high)
		}
		t.line(line)
		for _, r := range b.Rows {
			line := "  "
			if r.Chosen {
				line = "▸ "
			}
			line += right(r.Name, wide)
			for _, c := range r.Cells[from:to] {
				line += right(cmp.Or(c.Text, "·"), high)
			}
			t.line(line)
		}
		from = to
	}
}

// drawn works out the figure.
func (b *Board) drawn() Drawn {
	d := *b.drawing
	if b.Graph != nil {
		return Drawn{
			Title: cmp.Or(b.Table.Heading, b.words.title), Caption: b.captioned(b.Caption...),
			Graph: b.Graph, Silence: b.Silence, Notes: b.Notes,
		}
	}
	d.columns = b.Table.Over
	f := d.figureOf(&b.Scale.view)
	f.Words, f.Title = b.Table.Words, cmp.Or(b.Table.Heading, b.words.title)
	f.Target, f.Source = b.Table.Target, b.Table.Source
	f.Caption, f.Notes = b.captioned(b.Caption...), b.Notes
	if b.Table.Over == nil {
		for _, name := range b.Table.Columns {
			f.Columns = append(f.Columns, DrawnColumn{Name: name})
		}
	}
	if len(b.Table.Rows) == 0 {
		return f
	}
	f.Panels = []DrawnPanel{b.Table.panel(len(f.Columns))}
	return f
}

// panel returns the table as a matrix of a figure with so many columns. Rows may have fewer cells.
func (t *Table) panel(columns int) DrawnPanel {
	one := DrawnPanel{Name: plain(t.Name)}
	for _, r := range t.Rows {
		row := DrawnRow{
			Name: plain(r.Name), Beside: strings.Join(r.Ends, " "), Total: r.total,
			Cells: make([]DrawnCell, columns),
		}
		for i, c := range r.Cells {
			if !c.Empty {
				row.Cells[i] = drawnCell(c.Step, c.Grey, plain(c.Text))
				row.Cells[i].Marked = c.Marked
			}
		}
		one.Rows = append(one.Rows, row)
	}
	return one
}

// NewBoard returns a board of the text of an explanation, with a title and without a table.
func NewBoard(e *attribution.Explanation, title string, look Look) *Board {
	b := &Board{drawing: newDrawing(textPicture(e, look), nil)}
	b.words.title = title
	return b
}

// Tokens returns T, the number of tokens of the text: of the prompt and of the answer.
func (b *Board) Tokens() int { return len(b.tokens) }

// Word returns the word of token j < T, in which that token is strong, and Place where it is.
func (b *Board) Word(j int) Phrase  { return b.wordOf(j) }
func (b *Board) Place(j int) string { return b.placeOf(j) }

// SetColumns gives the table a column for each token, where a long text is folded around tokens
// with large places; those are at most T places from 0 to 1.
func (b *Board) SetColumns(places []float64) {
	b.columns = b.fold(places)
	b.Table.Over, b.Table.Columns = b.columns, b.columnNames()
}

// Check implements [Picture]: what fills a board checks its values.
func (b *Board) Check() error { return nil }

func (b *Board) draw() drawer { return b }

func (b *Board) title() string { return titleOf(b.e) }

func (b *Board) figure(method string) (Figure, error) {
	if b.figured != nil {
		return b.figured(method)
	}
	d := b.drawn()
	return Figure{Matrix: &d}, nil
}

// markup writes the board as HTML, about as large as room says if it has no limit of its own. Near
// the limit, what the script needs comes before the lines.
func (p *Board) markup(room int) *page {
	b, rules := newBoard(p.drawing, p.look.Palette, limitOf(p.MaxBytes, room)), ""
	b.next = p.next
	if p.Graph != nil {
		p.layout = p.graphLayout(b)
	} else if p.script == nil {
		p.layout, rules = layout{class: "hm-board", script: boardScript, data: p.packed}, boardRules
	}
	classes := strings.TrimSpace(p.class + " hm-" + p.Kind)
	grid := p.Beside != nil || p.aside != nil
	if p.Beside != nil {
		classes += " hm-beside"
	}
	b.begin(classes, oneLine(rules))
	b.top()
	if len(b.tokens) == 0 || len(p.Table.Columns) == 0 && p.Graph == nil {
		b.WriteString("<p>There is nothing to show yet.</p></div>\n")
		return b.page()
	}
	steps := p.Opened.Steps
	if steps == nil {
		steps = make([]int, len(b.tokens))
	}
	var answer strings.Builder
	b.writeAnswer(&answer, p.Opened.Say.html(), p.Opened.facts().html(), steps)
	left := b.limit - b.Len() - answer.Len() - len(p.fixed) - len(p.script()) - 3000
	side := p.side(b, left/2)
	left -= len(side)
	data, missing := p.layout.data(left * 3 / 4)
	left -= len(data)
	tables := ""
	for _, t := range append([]Table{p.Table}, p.tables...) {
		t.Note = strings.Replace(t.Note, "framed", "▸", 1) // there are no frames in it
		tables += b.table(t)
	}
	isWide := len(p.Table.Columns) > matrixColumns
	if isWide || p.Graph != nil || len(tables) > left*3/4 {
		tables = ""
	} else {
		tables = `<div class="hm-methods">` + tables + "</div>"
		left -= len(tables)
	}
	if grid {
		b.WriteString(`<div class="hm-grid"><div>`)
	}
	b.WriteString(answer.String())
	if missing != "" {
		b.WriteString(b.common(func(p *page) { p.withoutRoom(missing) }))
	}
	b.WriteString(`<div class="hm-after"></div>` + p.fixed + tables)
	if grid {
		b.WriteString(`</div><div class="hm-side">` + side + `</div></div>`)
	}
	p.writeDetails(b, left, isWide || p.isOpen)
	b.end(data, p.script())
	return b.page()
}

// side writes what stands beside the table for readers without a script, the table in at most limit
// bytes.
func (p *Board) side(b *board, limit int) string {
	if p.aside == nil {
		return ""
	}
	s := b.table(*p.aside)
	if len(s) > limit {
		s = ""
	}
	s = "<div>" + s + "</div><div>"
	for _, l := range p.lists {
		s += fmt.Sprintf(`<div class="hm-h" style="margin:12px 0 2px">%s</div><div `+
			`style="color:%s">%s</div>`, html.EscapeString(l.Name), dimInk,
			html.EscapeString(l.List))
	}
	return s + "</div>"
}

// writeDetails writes how to read the board, every line in at most limit bytes, and the model.
func (p *Board) writeDetails(b *board, limit int, isOpen bool) {
	b.openDetails(b, "Details: "+p.Details+", settings", "", isOpen)
	for line := range strings.Lines(p.Legend + p.PageLegend) {
		b.printf("<p>%s</p>", html.EscapeString(strings.TrimSpace(line)))
	}
	b.WriteString(`<div class="hm-lines">`)
	limit += b.Len()
	for i, l := range p.Lines {
		line := l.markup()
		if b.Len()+len(line) > limit {
			n := len(p.Lines) - i
			b.WriteString(b.common(func(p *page) {
				p.leftOut(thousands(n) + " of these lines " + message.IsOrAre(n))
			}))
			break
		}
		b.WriteString(line)
	}
	b.WriteString("</div>" + b.common(func(p *page) { p.settings("") }) + "</details>")
}

// markup returns a line as HTML.
func (l *Line) markup() string {
	list := strings.ReplaceAll(html.EscapeString(l.List), "\n", "<br>")
	if l.Say == nil {
		return "<div>" + html.EscapeString(l.Name) + list + "</div>"
	}
	if list != "" {
		list = "<small><br>" + list + "</small>"
	}
	return "<div><span>" + l.Say.html() + "</span> <span>" + l.Facts.html() + "</span>" + list +
		"</div>"
}

// boardData is what the script needs beyond the elements of the board. Its texts are visible names
// and sentences; see [Visible].
type boardData struct {
	textData
	By    Choice    `json:"by,omitempty"`
	Scale drawnRows `json:"scale"`
	// Opened is shown at first, which is At of Opens, -1 for none of them.
	Opened openData   `json:"opened"`
	At     int        `json:"at"`
	Opens  []openData `json:"opens,omitempty"`
	Tab    string     `json:"tab,omitempty"`
	Table  tableData  `json:"table"`
	Loads  []barsData `json:"loads,omitempty"`
}

// openData is an [Opening]: the pieces of its sentences, each a text and perhaps its element, and a
// letter for each step.
type openData struct {
	Say    []any  `json:"say"`
	Facts  []any  `json:"facts"`
	Token  int    `json:"token"`
	Column int    `json:"column"`
	Row    int    `json:"row"`
	Cell   int    `json:"cell"`
	Steps  string `json:"steps,omitempty"`
}

// data returns an opening for the script.
func (o *Opening) data() openData {
	return openData{
		o.Say.pieces(), o.facts().pieces(), o.Token, o.Column, o.Row, o.Cell, stepLetters(o.Steps),
	}
}

// tableData is a [Table]. Of one whose rows are no words, Cells have for each row the letters of
// its steps, a point for none, and Details the first of what a cell has, the others, and what it is
// about, with tabs between them; Marks are the rows and columns of cells with a frame. Of one whose
// rows are words, Parts and Shares have for each word the first Each parts of every cell.
type tableData struct {
	Title   string      `json:"title"`
	Note    string      `json:"note"`
	Axis    string      `json:"axis,omitempty"`
	Columns []string    `json:"columns"`
	Over    [][3]any    `json:"over,omitempty"`
	Last    []string    `json:"last,omitempty"`
	Rows    []string    `json:"rows,omitempty"`
	Ends    [][]string  `json:"ends,omitempty"`
	Cells   []string    `json:"cells,omitempty"`
	Marks   [][2]int    `json:"marks,omitempty"`
	Labels  [][]string  `json:"labels,omitempty"`
	Details [][]string  `json:"details,omitempty"`
	Words   bool        `json:"words,omitempty"`
	Bands   bool        `json:"bands,omitempty"`
	OfWords bool        `json:"ofWords,omitempty"`
	Each    int         `json:"each,omitempty"`
	Parts   [][]string  `json:"parts,omitempty"`
	Shares  []packedRow `json:"shares,omitempty"`
	Readout
}

// barsData are [Bars]: the parts of each bar are a name, a part and a number.
type barsData struct {
	Title string   `json:"title"`
	Note  string   `json:"note"`
	Bars  [][3]any `json:"bars"`
}

// stepLetters returns a letter for each step: g for none, h to m for those above, f to a for those
// below.
func stepLetters(steps []int) string {
	letters := make([]byte, len(steps))
	some := false
	for i, step := range steps {
		letters[i] = byte('g' + step)
		some = some || step != 0
	}
	if !some {
		return ""
	}
	return string(letters)
}

// pieces returns a phrase for the script.
func (p Phrase) pieces() []any {
	all := []any{}
	for _, one := range p {
		last, isText := "", false
		if len(all) > 0 {
			last, isText = all[len(all)-1].(string)
		}
		switch {
		case one == lineEnd:
			all = append(all, [2]string{"", "br"})
		case one.strong:
			all = append(all, [2]string{one.text, "b"})
		case one.quiet:
			all = append(all, [2]string{one.text, "span"})
		case isText:
			all[len(all)-1] = last + one.text
		default:
			all = append(all, one.text)
		}
	}
	return all
}

// data returns what the script needs, with at most each parts of a cell.
func (p *Board) data(each int) boardData {
	d := boardData{
		textData: p.textData(p.Kind, len(p.tokens)), By: p.By, Scale: p.Scale.scaled(), At: p.At,
		Opened: p.Opened.data(), Tab: p.Tab,
	}
	d.Scale.For, d.Scale.Against = cmp.Or(p.Sides[0], d.Scale.For),
		cmp.Or(p.Sides[1], d.Scale.Against)
	for _, o := range p.Opens {
		d.Opens = append(d.Opens, o.data())
	}
	t := &p.Table
	d.Table = tableData{
		Title: t.Title, Note: t.Note, Axis: t.Axis, Columns: t.Columns, Last: t.Last,
		Words: t.Words, Bands: t.Bands, OfWords: t.OfWords, Readout: t.Readout,
	}
	for _, c := range t.Over {
		d.Table.Over = append(d.Table.Over, [3]any{c.From, c.To, c.Name})
	}
	for _, l := range p.Beside {
		one := barsData{l.Title, l.Note, [][3]any{}}
		for _, b := range l.Bars {
			one.Bars = append(one.Bars, [3]any{b.Name, b.Part, b.Number})
		}
		d.Loads = append(d.Loads, one)
	}
	if t.OfWords {
		d.Table.addParts(t.Parts, each)
		return d
	}
	for i, r := range t.Rows {
		d.Table.Rows = append(d.Table.Rows, r.Name)
		cells := make([]byte, len(r.Cells))
		var labels, details []string
		for c, cell := range r.Cells {
			cells[c] = byte('g' + cell.Step)
			if cell.Empty {
				cells[c] = '.'
			}
			if cell.Marked {
				d.Table.Marks = append(d.Table.Marks, [2]int{i, c})
			}
			labels, details = append(labels, cell.Text), append(details, cell.Detail)
		}
		d.Table.Cells = append(d.Table.Cells, string(cells))
		d.Table.Labels = append(d.Table.Labels, labels)
		d.Table.Details = append(d.Table.Details, details)
		if len(t.Last) > 0 {
			d.Table.Ends = append(d.Table.Ends, r.Ends)
		}
	}
	return d
}

// addParts adds the first parts of the cells of every word.
func (d *tableData) addParts(parts [][][]Part, each int) {
	d.Each = each
	for _, cells := range parts {
		var names []string
		var shares []float64
		for _, cell := range cells {
			for k := range each {
				one := Part{}
				if k < len(cell) {
					one = cell[k]
				}
				names, shares = append(names, one.Name), append(shares, one.Share)
			}
		}
		d.Parts = append(d.Parts, names)
		d.Shares = append(d.Shares, packRow(shares, exactParts, math.Inf(1),
			func(i int, near float64) bool { return rounded(shares[i]) == rounded(near) }))
	}
}

// packed returns the data of the script in at most limit bytes: without room for all parts of cells
// with the first alone, and without room for sentences with the opened one alone; "" if there is no
// room for these either. missing says what a reader cannot see.
func (p *Board) packed(limit int) (code, missing string) {
	most := 1
	for _, cells := range p.Table.Parts {
		for _, cell := range cells {
			most = max(most, len(cell))
		}
	}
	if code = packWithin(limit, p.data(most)); code != "" {
		return code, ""
	}
	if p.By != ByWord {
		return "", noClicks
	}
	d := p.data(1)
	if code = packWithin(limit, d); code != "" {
		return code, "Clicks show the first of each cell alone"
	}
	for i := range d.Opens {
		if i != p.At {
			d.Opens[i].Say, d.Opens[i].Facts, d.Opens[i].Steps = []any{}, []any{}, ""
		}
	}
	if code = packWithin(limit, d); code != "" {
		return code, "Clicks show the first of each cell alone, without a sentence"
	}
	return "", noClicks
}

// Scale is that of the values of a [Board].
type Scale struct{ view }

// NewScale returns the scale of values in a unit.
func NewScale(unit string, of attribution.Quantity, values []float64) Scale {
	top := newScale(unit, of, values)
	return Scale{view{
		result: &attribution.Result{Unit: unit, Facts: attribution.Facts{Quantity: of}},
		top:    top, colors: top.tight(values),
	}}
}

// Step returns the colour of a value, from -6 to 6, and Text the value as sentences have it.
func (s Scale) Step(x float64) int    { return stepOf(s.colors.at(x)) }
func (s Scale) Text(x float64) string { return minus(s.top.value(x)) }

// quotedPrompt returns the prompt or the last message of a chat as a part of a caption, cut if it
// is long, and "" if it is not known.
func (d *drawing) quotedPrompt() string {
	const most = 60
	prompt := d.e.Prompt.Text
	if n := len(d.turns); d.chat() && n > 1 {
		body := d.turns[n-2].body
		prompt = prompt[d.e.Prompt.Offsets[body[0]][0]:d.e.Prompt.Offsets[body[1]-1][1]]
	}
	text := []rune(Visible(strings.TrimSpace(prompt), 0))
	if len(text) > most {
		text = append(text[:most-1:most-1], '…')
	}
	if len(text) == 0 {
		return ""
	}
	return "“" + string(text) + "”"
}
