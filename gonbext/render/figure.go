package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/compare"
)

// Drawn is a picture worked out for a figure, which only draws it: matrices with the same columns,
// with the folds and the steps of colour of a page.
type Drawn struct {
	// Title is the heading, and Caption are the parts of the line below it.
	Title   string
	Caption []string
	// Unit is the meaning of a colour, and Target and Source are the titles of rows and columns.
	Unit, Target, Source string
	Columns              []DrawnColumn
	Panels               []DrawnPanel
	// Graph stands in place of the panels; nil for none.
	Graph *Graph
	// Silence says before all else why the values say nothing, "" if they may.
	Silence string
	// Stacked panels stand below each other, also where there is room for several side by side.
	Stacked bool
	// Words reports whether cells have words, which are cut, and not numbers.
	Words bool
	// Steps are the colours of the legend, from the lowest up.
	Steps []DrawnStep
	// Notes are sentences on sinks, silent rows and what a filter hides.
	Notes []string
}

// DrawnColumn is a token, or several that are folded.
type DrawnColumn struct {
	Name string
	// Speaker names whose text it is: prompt, generated, or a role of a chat; empty for templates.
	Speaker           string
	Folded, Generated bool
	// Grey reports whether it is a sink of all rows, in layers, maps and heads.
	Grey bool
}

// DrawnPanel is a matrix. Name is empty if it is the only one, and Note is a remark on its title.
type DrawnPanel struct {
	Name, Note string
	Rows       []DrawnRow
}

// DrawnRow is a prediction, a layer or a token, and what it has from each column.
type DrawnRow struct {
	Name string
	// Facts are the probability of a prediction and what the other fields do not show, and Beside
	// is what stands at the end of its row: its layer where rows have several, and its source
	// contribution in a model of two stacks.
	Facts  []string
	Beside string
	// Total reports whether the row is the sum of those below it.
	Total bool
	// Cells has a value for each column, and Text is the text before a prediction.
	Cells []DrawnCell
	Text  []DrawnToken
}

// DrawnCell is the value of a column in a row. Step is its colour, from -6 to 6, see [StepColors];
// 0 is none. Measured reports whether there is a value. Number is written in the cell, as on a
// page: the value of what has a colour, and of a sink; or a word. A marked cell has a frame.
type DrawnCell struct {
	Step     int
	Number   string
	Measured bool
	Marked   bool
	// Chart is what a cell of a chart has beyond that, nil for others.
	Chart *DrawnChartCell
}

// DrawnChartCell is a cell of a chart: Color stands in place of that of its step, Title where a
// reader points at it, and Markers on it. One that is not measured has a dot.
type DrawnChartCell struct {
	Color   chart.RGB
	Title   string
	Markers []DrawnMarker
}

// DrawnMarker is a symbol on a cell, with its number, its colour and its title.
type DrawnMarker struct {
	Symbol int
	Color  chart.RGB
	Title  string
}

// drawnCell returns a cell with a value.
func drawnCell(step int, grey bool, number string) DrawnCell {
	if step == 0 && !grey {
		number = ""
	}
	return DrawnCell{Step: step, Number: minus(number), Measured: true}
}

// DrawnToken is a token of a running text, or several that are folded.
type DrawnToken struct {
	Text string
	Step int
	// Speaker, if not empty, is who begins to speak here. Apart reports whether a space stands
	// before the token, and Breaks whether its line ends after it.
	Speaker                          string
	Apart, Breaks, Generated, Folded bool
}

// DrawnStep is a colour of a legend: its step and the value at which it begins.
type DrawnStep struct {
	Step   int
	Begins string
}

// StepColors returns the colours of a step on white in a palette of [PaletteNames]: that of a cell
// and that of letters on it. Those of step 0 are white and black.
func StepColors(palette string, step int) (cell, ink chart.RGB) {
	return themeOf(palette).colors(step)
}

// Drawn works out a method of the picture or, of a comparison, both sides and their difference. It
// returns an error if the explanation does not have the method, or nothing to draw.
func (h Heatmap) Drawn(method string) (Drawn, error) {
	if h.Explanation == nil {
		return Drawn{}, pkg.Errorf("there is no explanation")
	}
	h = h.inWords()
	e := h.Explanation
	if h.comparison != nil {
		method = h.comparison.names[0]
	}
	r, err := e.M(method)
	if err != nil {
		return Drawn{}, err
	}
	n, m := len(e.Steps), len(e.Prompt.Texts)
	if err := r.Check(m); err != nil || r.Shape[0] != n || len(e.Prompt.Special) != m {
		return Drawn{}, pkg.Errorf("the values of %q have shape %v, which does not fit %d "+
			"generated and %d prompt tokens", method, r.Shape, n, m)
	}
	if n == 0 || m == 0 {
		return Drawn{}, pkg.Errorf("the explanation has %d prompt and %d generated "+
			"tokens; there is nothing to draw", m, n)
	}
	if h.Methods = e.Order; !slices.Contains(e.Order, method) {
		h.Methods = []string{method}
	}
	d := newDrawing(h.picture(true), h.Token)
	if h.comparison != nil {
		return d.compared(), nil
	}
	v := &d.views[slices.Index(h.Methods, method)]
	f := d.figureOf(v)
	f.Title, f.Caption = method, d.captioned(v.layers())
	f.Panels, f.Notes = []DrawnPanel{{Rows: d.drawnRows(v)}}, d.notes(v)
	return f, nil
}

// figureOf returns a figure in the scale of a method, with the columns and without a panel.
func (d *drawing) figureOf(v *view) Drawn {
	f := Drawn{
		Unit:   v.top.unit + strings.ReplaceAll(v.signsMean(), " - ", " − "),
		Target: "generated token", Source: "prompt token",
	}
	switch {
	case d.targetBegin >= 0:
		f.Target, f.Source = "target token", "source token, then target token"
	case d.e.Model.Reads():
		f.Target, f.Source = "prediction", "token of the text"
	case len(d.columns) > 0 && d.columns[len(d.columns)-1].To > len(d.e.Prompt.Texts):
		f.Source += ", then generated token"
	}
	if v.top.percent {
		f.Unit += ", in per cent"
	}
	least := 0
	if v.colors.diverging() {
		least = -levels
	}
	for step := least; step <= levels; step++ {
		f.Steps = append(f.Steps, DrawnStep{step, v.stepBegins(step, 0)})
	}
	for _, c := range d.columns {
		f.Columns = append(f.Columns, d.drawnColumn(c))
	}
	return f
}

// captioned returns the parts of the line below the title of a figure: some, and the name of the
// model, or the caption that a user gave.
func (p *picture) captioned(parts ...string) []string {
	switch p.look.Caption {
	case "":
		return nonEmpty(append(parts, p.modelName())...)
	case NoCaption:
		return nil
	}
	return []string{Visible(p.look.Caption, 0)}
}

// modelName returns the name of the model with the remark that every picture must show.
func (p *picture) modelName() string {
	name, note := p.e.Model.ShownName(), p.note()
	if p.comparison != nil && p.comparison.models() {
		name = "" // the lines of the sides have theirs
	}
	if name != "" && note != "" {
		note = " (" + note + ")"
	}
	return Visible(name, 2*nameLimit) + note
}

// nonEmpty returns the texts that are not empty.
func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// compared works out a comparison.
func (d *drawing) compared() Drawn {
	c := d.comparison
	f := d.figureOf(&d.views[0])
	f.Title, f.Stacked = c.title, true
	f.Unit = d.views[0].top.unit + "; one scale for A and B"
	if d.views[0].top.lift {
		f.Unit = "lift, and of A − B the ratio of both lifts; one scale for A and B"
	}
	f.Caption = d.captioned(c.differs(), c.given(), minus(c.all))
	about := cutAlike(c.about, 3*nameLimit)
	for i := range d.views {
		v := &d.views[i]
		one := DrawnPanel{
			Name: plain(Visible(c.names[i], 4*nameLimit)), Note: v.differenceScale(),
			Rows: d.drawnRows(v),
		}
		if i != compare.Difference {
			one.Note = strings.Join(nonEmpty(about[i], v.layers()), " · ")
			for _, note := range d.notes(v) {
				f.Notes = append(f.Notes, c.names[i][:3]+note)
			}
		}
		if len(one.Rows) > 0 {
			f.Panels = append(f.Panels, one)
		}
	}
	if f.Notes = append(f.Notes, d.e.Warnings...); len(f.Notes) > mostNotes+2 {
		more := len(f.Notes) - mostNotes - 2
		f.Notes = append(f.Notes[:mostNotes+2], countOf(more, "more remarks")+" left out.")
	}
	return f
}

// differenceScale tells what the colours of a difference mean, which are not in the legend.
func (v *view) differenceScale() string {
	var begins []string
	for step := 1; step <= levels; step++ {
		begins = append(begins, v.stepBegins(step, 0))
	}
	return "positive: A has more; its own scale, steps of both signs from " +
		strings.Join(begins, ", ")
}

func (d *drawing) drawnColumn(c TextColumn) DrawnColumn {
	m := len(d.e.Prompt.Texts)
	column := DrawnColumn{Name: plain(d.axisName(c.From)), Folded: c.Folded}
	role := d.tokens[c.From].role
	template := role == inSystem || role == inTemplate && (c.Folded || d.chat())
	if c.Folded {
		column.Name = d.columnName(c)
	} else if c.From < m && d.named(c.From) && !template {
		column.Name, _ = d.messageOf(c.From)
		return column
	}
	switch turn := d.turnOf(c.To - 1); {
	case c.From >= d.answerBegins():
		column.Generated, column.Speaker = true, d.words.answer
	case !template && turn.name != "":
		column.Speaker = turn.name
	case !template && !d.e.Model.Reads():
		column.Speaker = d.words.text
	}
	return column
}

// drawnRows returns the rows of a method.
func (d *drawing) drawnRows(v *view) (rows []DrawnRow) {
	for t := 0; v.has(t); t++ {
		where, what, chance := d.predictionOf(v, t)
		row := DrawnRow{
			Name: plain(where + inRow(what, d.explanationOf(v).Steps[t].Text)),
			Text: d.drawnText(v, t), Facts: nonEmpty(chance),
		}
		if v.layers() != v.layer(t) && !v.difference {
			row.Facts = append(row.Facts, v.layer(t))
		}
		row.Facts = append(row.Facts, nonEmpty(v.fromSource(t))...)
		row.Beside = strings.Join(row.Facts[len(nonEmpty(chance)):], ", ")
		row.Facts = append(row.Facts, nonEmpty(d.fromGenerated(v, t))...)
		for _, c := range d.columns {
			var cell DrawnCell
			if j := d.strongestIn(v, t, c); j >= 0 && !math.IsNaN(v.at(t, j)) {
				cell = drawnCell(d.step(v, t, j), d.grey(v, t, j), v.cellNumber(v.at(t, j)))
				cell.Marked = d.aligned && t < len(v.links) && j == v.links[t]
			}
			row.Cells = append(row.Cells, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// drawnText returns the text before row t. What was added to it is left out where it has no colour.
func (d *drawing) drawnText(v *view, t int) (all []DrawnToken) {
	steps := d.textSteps(v, t)
	end := len(d.tokens)
	if m := len(d.e.Prompt.Texts); !d.e.Model.Reads() {
		end = m + min(t, max(v.sources(t)-m, 0))
	}
	speaker := -1
	for j := 0; j < end; j++ {
		turn := slices.IndexFunc(d.turns, func(turn drawnTurn) bool {
			return j < max(turn.body[1], turn.tail[1])
		})
		token := d.tokens[j]
		one := DrawnToken{
			Text: plain(token.name + token.ends), Apart: token.space, Breaks: token.lines > 0,
			Generated: token.role == inAnswer || token.role == ending,
		}
		if j < len(steps) {
			one.Step = steps[j]
		}
		if c, ok := d.pillAt(j); ok {
			one = DrawnToken{Text: c.pill(), Apart: true, Folded: true}
			j = min(c.To, end) - 1
		} else if token.role == inTemplate || token.role == ending {
			continue
		}
		if turn != speaker {
			speaker, one.Speaker = turn, d.turns[turn].name
		}
		all = append(all, one)
	}
	return all
}

// plain returns a name without the marks around one from right to left.
func plain(name string) string {
	return strings.NewReplacer(isolateBegin, "", isolateEnd, "").Replace(name)
}

// leastGenerated is the least part of a row on generated tokens that a text names.
const leastGenerated = 0.1

// fromGenerated returns what row t has from generated tokens where the text does not show them, ""
// if that is less than a tenth of the row, or if the values are no parts of a whole.
func (d *drawing) fromGenerated(v *view, t int) string {
	other := v.rowParts(t).generated
	if v.sources(t) > len(v.sinks) || !v.top.percent && !v.result.AddsUp || v.top.lift {
		return ""
	}
	all := math.Abs(other)
	for j := range v.sources(t) {
		all += math.Abs(v.at(t, j))
	}
	if !(math.Abs(other) >= leastGenerated*all) || all == 0 || math.IsInf(all, 0) {
		return ""
	}
	return "generated tokens " + minus(v.top.sum(other))
}

// mostNotes is how many notes a figure has at most.
const mostNotes = 4

// notes returns sentences on the sinks of a method, its silent rows and what the filter hides.
func (d *drawing) notes(v *view) []string {
	notes := d.sinkNotes(v, func(int) bool { return true })
	if d.aligned && v.links != nil {
		notes = append(notes, "Framed: the token of the source with the largest value of each "+
			"row, where it has a colour.")
	}
	for t := range d.e.Steps {
		if first, _ := d.generatedWord(t); first < t {
			continue // its word has been tested
		}
		if line := d.testOf(v, t).String(); line != "" {
			notes = append(notes, fmt.Sprintf("“%s”: %s.", plain(d.rowName(t)), plain(line)))
		}
	}
	for t, why := range v.silent {
		if why != "" {
			notes = append(notes, fmt.Sprintf("“%s” is not coloured: %s.",
				plain(d.rowName(t)), why))
		}
	}
	if more := len(notes) - mostNotes; more > 0 {
		notes = append(notes[:mostNotes], countOf(more, "more remarks")+" left out.")
	}
	most := 0.0
	for t := range d.e.Steps {
		if other := v.rowParts(t).generated; v.top.percent && !v.generated && other > most {
			most = other
		}
	}
	if most >= 0.005 {
		notes = append(notes, "What a row lacks to 100 %, at most "+share(most)+
			", rests on generated tokens.")
	}
	return append(notes, nonEmpty(d.hiddenNote())...)
}

// sinkNotes returns sentences on the sinks of a method and of its rows t that are shown.
func (d *drawing) sinkNotes(v *view, shown func(t int) bool) (notes []string) {
	if sinks, err := d.e.Sinks(v.name, v.fixed); err == nil && sinksKnown(d.e, v.name) {
		for _, s := range sinks {
			low, high := share(slices.Min(s.Shares)), share(slices.Max(s.Shares))
			if low != high {
				low = strings.TrimSuffix(low, " %") + " to " + high
			}
			notes = append(notes, fmt.Sprintf("Grey: the sink “%s”, %s of each row. Colours are "+
				"those of the other tokens.", plain(d.short(s.Position)), low))
		}
	}
	if v.result.LastAsks {
		return append(notes, "Grey: the last token before a prediction, which asks for it.")
	}
	for t, j := range v.rowSinks {
		if j >= 0 && shown(t) {
			notes = append(notes, fmt.Sprintf("“%s” is a sink in the row of “%s”, with more than "+
				"half of it. Colours are those of the other tokens.", plain(d.short(j)),
				plain(d.rowName(t))))
		}
	}
	return notes
}

// hiddenNote names the tokens that the filter hides, "" if there are none.
func (d *drawing) hiddenNote() string {
	var names []string
	for j := range d.tokens {
		if name := "“" + plain(d.axisName(j)) + "”"; d.hidden[j] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	const most = 8
	switch {
	case names == nil:
		return ""
	case len(names) > most:
		names = append(names[:most], "…")
	}
	return "Grey, and left out of the colours by the filter: " + strings.Join(names, ", ") + "."
}
