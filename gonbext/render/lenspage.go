package render

import (
	_ "embed"
	"fmt"
	"html"
	"strings"
)

//go:embed lens.js
var lensSource string

var lensScript = script(scaleSource + matrixSource + lensSource)

// lensData is what the script needs beyond the elements of the picture. Its texts are visible
// names; see [Visible].
type lensData struct {
	textData
	Chosen int `json:"chosen"`
	// Positions says that columns are positions of the text, and Title and Note are those of the
	// matrix.
	Positions bool   `json:"positions,omitempty"`
	Title     string `json:"title"`
	Note      string `json:"note"`
	// Rows are the names of the rows from the top, After where each reads, in words, and Wrote what
	// its layer wrote.
	Rows  []string     `json:"rows"`
	After []string     `json:"after"`
	Wrote []string     `json:"wrote,omitempty"`
	Scale drawnRows    `json:"scale"`
	Lens  []lensColumn `json:"lens"`
}

// lensColumn is a column of the matrix, the tokens [from,to) of the text. Its lists have an entry
// for each row, from the top; those of a folded one are missing.
type lensColumn struct {
	From   int  `json:"from"`
	To     int  `json:"to"`
	Folded bool `json:"folded,omitempty"`
	// Steps are the classes of the cells and Came those with the token that came, whose name is
	// Name.
	Steps []string `json:"steps"`
	Came  []bool   `json:"came"`
	Name  string   `json:"name"`
	// Likely has for each row the most probable tokens with their probabilities, and Own the
	// probability and the rank of the token that came.
	Likely [][][2]any `json:"likely"`
	Own    [][2]any   `json:"own"`
}

// lensRules are the rules of its style sheet: cells have words.
const lensRules = ".hm .hm-words{width:min(100%,calc(100px + var(--end,46px) + " +
	"var(--cols)*84px))!important;min-width:calc(100px + var(--cols)*46px)!important}" +
	".hm .hm-words td[data-c]{text-overflow:ellipsis;padding:0 2px!important}" +
	".hm .hm-words td.hm-z{color:var(--dim)}" +
	".hm-stacks.hm .hm-words.hm-matrix col.hm-label{width:156px}" +
	".hm .hm-came{outline:2px solid var(--ink);outline-offset:-2px;" +
	"box-shadow:inset 0 0 0 3px var(--page);font-weight:600!important}"

// mostLikely is how many tokens a cell names.
const mostLikely = 5

// data returns what the script needs.
func (d *lensDrawing) data() lensData {
	m := d.scaled()
	data := lensData{
		textData: d.textData("lens", len(d.tokens)), Chosen: d.chosen,
		Positions: d.positions != nil, Scale: m.scaled,
	}
	data.Title, data.Note = d.matrixTitle()
	for _, l := range d.rows() {
		data.Rows = append(data.Rows, d.rowName(l))
		data.After = append(data.After, d.afterRows(l, l))
		if d.wrote(d.e.Model.Layers) != "" {
			data.Wrote = append(data.Wrote, d.wrote(l))
		}
	}
	for i, c := range d.matrix {
		layers, g := d.layersOf(i)
		column := lensColumn{
			From: c.from, To: c.to, Folded: c.folded, Name: tokenName(g.Text), Steps: []string{},
		}
		for _, l := range d.rows() {
			step, _, came := d.cell(i, l)
			column.Steps, column.Came = append(column.Steps, stepClass(step)),
				append(column.Came, came)
			if layers == nil {
				continue
			}
			var likely [][2]any
			for _, a := range layers[l].Likely[:min(len(layers[l].Likely), mostLikely)] {
				likely = append(likely, [2]any{tokenName(a.Text), rounded(a.Probability)})
			}
			column.Likely = append(column.Likely, likely)
			column.Own = append(column.Own,
				[2]any{rounded(layers[l].Probability), layers[l].Rank})
		}
		data.Lens = append(data.Lens, column)
	}
	return data
}

// table returns the matrix for readers without a script.
func (d *lensDrawing) table() plainTable {
	t := plainTable{axis: "layer"}
	t.title, t.note = d.matrixTitle()
	t.note = strings.Replace(t.note, "framed", "▸", 1)
	for _, c := range d.matrix {
		t.columns = append(t.columns, d.columnName(c))
	}
	if d.wrote(d.e.Model.Layers) != "" {
		t.last = []string{"of its logit"}
	}
	for _, l := range d.rows() {
		row := plainRow{name: d.rowName(l), ends: []string{d.wrote(l)}}
		for i, c := range d.matrix {
			step, name, came := d.cell(i, l)
			if came {
				name = "▸ " + name
			}
			row.cells = append(row.cells, plainCell{
				step: step, number: name, grey: step == 0, first: d.positions != nil &&
					d.isFirstGenerated(c),
			})
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// steps returns the colours of the text: of positions, how probable the token was there at best.
func (d *lensDrawing) steps() []int {
	steps := make([]int, len(d.tokens))
	if d.positions == nil {
		return steps
	}
	for at, layers := range d.positions.Positions {
		for _, layer := range layers {
			steps[at] = max(steps[at], stepOf(layer.Probability))
		}
	}
	return steps
}

// markup implements [Picture].
func (r Lens) markup(room int) *page {
	d := r.open()
	b := newBoard(d.drawing, r.Palette, limitOf(r.MaxBytes, room))
	b.begin("hm-lens", lensRules)
	b.top()
	if d.chosen < 0 {
		b.WriteString("<p>There is nothing to show yet.</p></div>\n")
		return b.page()
	}
	say, facts := d.explain(d.chosen)
	if more := d.mostWritten(); more != "" {
		facts.say(" · " + more)
	}
	var answer strings.Builder
	b.writeAnswer(&answer, say.html(), facts.html(), d.steps())
	left := b.limit - b.Len() - answer.Len() - len(lensScript()) - 3000
	data := packWithin(left, d.data())
	left -= len(data)
	b.WriteString(answer.String())
	if data == "" {
		b.WriteString(b.common(func(p *page) { p.withoutRoom(noClicks) }))
	}
	b.WriteString(`<div class="hm-after"></div>`)
	fits := len(d.matrix) <= matrixColumns
	if table := b.table(d.table()); fits && len(table) <= left {
		b.WriteString(`<div class="hm-methods">` + table + "</div>")
		left -= len(table)
	}
	d.lines(b, left, !fits)
	b.end(data, lensScript())
	return b.page()
}

// lines writes the details: what the picture shows, and every column in a line in at most limit
// bytes.
func (d *lensDrawing) lines(b *board, limit int, isOpen bool) {
	b.openDetails(b, "how to read this, every column in a line", isOpen)
	legend := lensLegend + "."
	if d.wrote(d.e.Model.Layers) != "" {
		legend += " At the right: " + lensWrote + "."
	}
	b.printf(`<p>%s</p><div class="hm-lines">`, html.EscapeString(legend))
	b.linesWithin(b, b.Len()+limit, len(d.matrix), func(i int) string {
		name, list := d.line(i)
		if list == "" {
			return ""
		}
		say, facts := phrase{{text: name, strong: true}}, phrase(nil)
		if d.positions == nil {
			say, facts = d.explain(i)
		}
		return fmt.Sprintf("<div><span>%s</span> <span>%s</span><small><br>%s</small></div>",
			say.html(), facts.html(), html.EscapeString(list))
	})
	b.WriteString("</div>" + b.common(func(p *page) { p.settings("") }) + "</details>")
}
