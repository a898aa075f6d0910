package render

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// text is the state of writing a text. label is the width of the longest name of a method, to
// which all lines are aligned, and drawn is what a heatmap is drawn from.
type text struct {
	*picture
	bytes.Buffer
	drawn             *drawing
	theme             theme
	width, label, top int
	color             bool
	calm              bool // lists only what has a colour in the text or nearly one
}

// A text lists mostListed sources of a row at most, and listed where it would be too large.
const mostListed, listed = 12, 5

// newText returns an empty text.
func newText(look Terminal) *text {
	width := look.Width
	if width == 0 {
		width = 100
	}
	return &text{picture: &picture{}, theme: themes[0], width: max(width, 60), color: look.Color}
}

// plain implements [Picture].
func (r Heatmap) plain(look Terminal) *text {
	t, r := newText(look), r.inWords()
	t.drawn, t.theme = newDrawing(r.picture(true), r.Token), themeOf(r.Palette)
	if t.picture, t.top = t.drawn.picture, r.Top; r.Top == 0 {
		t.top, t.calm = mostListed, true
	}
	for _, v := range t.views {
		t.label = max(t.label, Width(v.label()))
	}
	t.write(0)
	most := look.MaxBytes
	if most > 0 && t.Len() > most {
		if t.top = min(t.top, listed); r.Top <= 0 {
			t.top = listed
		}
		t.write(0)
	}
	// The blocks of tokens have about the same size; what they are over by says how many to leave
	// out.
	for first := 0; most > 0 && t.Len() > most && first < len(t.e.Steps); {
		shown := len(t.e.Steps) - first
		first += max(shown-shown*most/t.Len(), 1)
		t.write(first)
	}
	return t
}

// write writes the picture with the generated tokens from first on.
func (t *text) write(first int) {
	t.Reset()
	t.opening()
	t.head()
	if first > 0 {
		t.line("")
		t.wrapped("", fmt.Sprintf("The first %s of %s %s are left out here. All numbers are in "+
			"the explanation.", thousands(first), thousands(len(t.e.Steps)), t.words.shown))
	}
	for i := range t.e.Steps[first:] {
		t.token(first + i)
	}
	t.alignment()
	t.legend()
}

// opening writes where the token comes from that a picture opens with, and the facts of its row.
func (t *text) opening() {
	d := t.drawn
	if d.lead < 0 {
		return
	}
	v := &t.views[d.lead]
	say, facts := d.explainRow(v, d.chosen)
	t.wrapped("", t.phrase(say))
	t.wrapped("", d.testOf(v, d.chosen).String())
	if facts != nil {
		t.wrapped(Visible(v.name, nameLimit)+"  ", t.phrase(facts))
	}
	t.wrapped("", d.whyLead())
	t.wrapped("", d.mattered())
	t.line("")
}

// phrase returns a phrase with its strong pieces in bold.
func (t *text) phrase(p Phrase) string {
	var b strings.Builder
	for _, piece := range p {
		if piece.strong {
			piece.text = t.bold(piece.text)
		}
		b.WriteString(piece.text)
	}
	return b.String()
}

// head writes title, prompt and answer.
func (t *text) head() {
	t.wrapped("", t.bold(t.title()))
	if t.look.Caption != "" {
		for _, caption := range t.captioned() {
			t.wrapped("", caption)
		}
	}
	for _, heading := range t.headings() {
		t.wrapped("", heading)
	}
	if t.status != "" {
		t.wrapped("", Visible(t.status, 200))
	}
	if len(t.e.Prompt.Texts) == 0 && len(t.e.Steps) == 0 {
		t.line("There is nothing to show yet.")
		return
	}
	if t.drawn != nil {
		t.turns()
	} else {
		for _, given := range t.given() {
			t.wrapped(left(given.name, 11), Visible(given.text, 2000))
		}
	}
	if t.drawn == nil || t.e.Model.Reads() {
		t.wrapped(left(t.words.answer, 11), t.answer())
	}
	if len(t.e.Steps) == 0 {
		t.line(t.words.nothing)
	}
}

// turns writes who says what, in the colours of the row that the picture opens with.
func (t *text) turns() {
	d, m := t.drawn, len(t.e.Prompt.Texts)
	steps := make([]int, len(d.tokens))
	if d.lead >= 0 {
		copy(steps, d.textSteps(&t.views[d.lead], d.chosen))
	}
	for _, turn := range d.turns {
		if end := turn.body[1]; turn.name != "" {
			name := turn.label()
			if Width(name) > 10 { // a line of its own
				t.line(name)
				name = " "
			}
			t.passage(name, turn.head[0], max(end, turn.tail[1]), steps)
			continue
		}
		t.passage(t.words.text, 0, m, steps)
		t.passage(t.words.answer, m, len(d.tokens), steps)
	}
}

// passage writes the tokens [from,to) as a running text, with what is folded counted and the lines
// of programs. What a chat template or a tokenizer added is left out where it has no colour.
func (t *text) passage(label string, from, to int, steps []int) {
	var b strings.Builder
	d := t.drawn
	for j := from; j < to; j++ {
		token := d.tokens[j]
		if c, ok := d.pillAt(j); ok {
			b.WriteString(" " + c.pill() + " ")
			j = min(c.To, to) - 1
			continue
		}
		if token.role == inTemplate || token.role == ending || j == d.targetBegin {
			continue
		}
		first, _, name := d.characterOf(j)
		if j > first { // the first token of a character has it
			continue
		}
		if token.space {
			b.WriteByte(' ')
		}
		colored := func(s string) string {
			if s != "" && d.isChosen(j) {
				s = t.bold(s)
			}
			return t.paint(steps[j], s)
		}
		marks := token.ends
		if token.code && token.blank() {
			name, marks = "", name
		}
		for i, word := range strings.Split(name, " ") {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(colored(word))
		}
		if !token.code {
			b.WriteString(colored(marks) + strings.Repeat(" ", min(len(marks), 1)))
			continue
		}
		for i, spaces := range strings.Split(marks, "↵") { // a line and its indentation
			if i > 0 {
				b.WriteString(colored("↵") + "\n")
			}
			b.WriteString(strings.NewReplacer("␣", " ", "⇥", "    ").Replace(spaces))
		}
	}
	for line := range strings.Lines(b.String()) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if label != "" { // the text begins
			indent = 0
		}
		t.wrapped(left(label, 11)+strings.Repeat(" ", indent), line)
		label = ""
	}
}

// alignment lists the links of each method, if they were asked for.
func (t *text) alignment() {
	for i := range t.views {
		v := &t.views[i]
		var all []string
		for row, j := range v.links {
			if t.aligned && j >= 0 {
				all = append(all, strings.ReplaceAll(t.generatedName(row)+" – "+t.place(j), " ",
					tie))
			}
		}
		if all != nil {
			t.line("")
			t.wrapped("alignment by "+Visible(v.name, nameLimit)+"  ", strings.Join(all, ", "))
		}
	}
}

// token writes the block of generated token i. The prompt is written in bands, each as wide as the
// terminal.
func (t *text) token(i int) {
	g := t.e.Steps[i]
	t.line("")
	where, what, chance := t.predictionText(i)
	if t.e.Model.Reads() && !g.Class {
		what = isolated(strconv.Quote(textName(g.Text)))
	}
	line := fmt.Sprintf("%3d  %s%s  %s", i+1, where, t.bold(what), chance)
	if g.Forced {
		line += "  (given)"
	}
	t.line(line)
	var others []string
	for _, a := range g.Alternatives {
		// The token itself is in the line above.
		if a.ID != g.ID && len(others) < maxAlternatives {
			others = append(others, alternativeName(g, a)+" "+share(a.Probability))
		}
	}
	if len(others) > 0 {
		what := "instead"
		if !t.e.Model.Head.Competes() {
			what = "others"
		}
		t.wrapped("     "+what+": ", strings.Join(others, " · "))
	}
	// With a list of the largest values there are no columns; totals writes the list.
	if coloured := func(v view) bool { return v.has(i) && v.silent[i] == "" }; t.top <= 0 &&
		slices.ContainsFunc(t.views, coloured) {
		for columns := t.drawn.columnsOf(i); len(columns) > 0; {
			columns = t.band(i, columns)
		}
	}
	for k := range t.views {
		t.totals(&t.views[k], i)
	}
}

// band writes as many columns as fit on a line, with the numbers of each method under them.
// It returns the columns that are left. A column is as wide as its name and numbers need. There is
// at least one in a band, so it always ends, even if a name is wider than the terminal.
func (t *text) band(i int, columns []TextColumn) []TextColumn {
	// 5 columns as below the number of the token, and 2 between a label and its numbers.
	indent := 5 + t.label + 2
	var names []string
	var widths []int
	used := indent
	for _, c := range columns {
		name := t.heading(c)
		w := t.column(i, c, name)
		if len(names) > 0 && used+w+1 > t.width {
			break
		}
		used += w + 1
		names, widths = append(names, name), append(widths, w)
	}
	t.parts(indent, columns[:len(names)], widths)
	t.WriteString(strings.Repeat(" ", indent))
	for c, name := range names {
		t.WriteString(left(name, widths[c]) + " ")
	}
	t.end()
	for k := range t.views {
		v := &t.views[k]
		if !v.has(i) || v.silent[i] != "" {
			continue
		}
		t.WriteString("     " + right(v.label(), t.label) + "  ")
		for c, w := range widths {
			if j := t.strongestIn(v, i, columns[c]); j >= 0 {
				t.number(v, i, j, w)
			} else {
				t.WriteString(strings.Repeat(" ", w+1))
			}
		}
		t.end()
	}
	return columns[len(names):]
}

// parts writes over the columns of a model of two stacks which are the source and which the target.
func (t *text) parts(indent int, columns []TextColumn, widths []int) {
	if t.targetBegin < 0 {
		return
	}
	t.WriteString(strings.Repeat(" ", indent))
	ofTarget := func(c int) bool { return columns[c].From >= t.targetBegin }
	for c := 0; c < len(columns); {
		first, width := c, -1
		for ; c < len(columns) && ofTarget(c) == ofTarget(first); c++ {
			width += widths[c] + 1
		}
		name := t.words.text
		if ofTarget(first) {
			name = t.words.answer
		}
		t.WriteString(name + " " + strings.Repeat("─", max(width-Width(name)-1, 0)) + " ")
	}
	t.end()
}

// heading returns the name of a column; ‿ marks a token that continues the word before it, and › a
// generated token.
func (t *text) heading(c TextColumn) string {
	j, m := c.From, len(t.e.Prompt.Texts)
	switch {
	case c.Folded:
		return t.drawn.columnName(c)
	case j >= m:
		return "›" + t.generatedName(j-m)
	case t.drawn.tokens[j].joins:
		return "‿" + t.short(j)
	}
	return t.short(j)
}

// column returns the width of a column: that of its name or of its longest number with a bar. The
// +1 is for the bar, or for the colour at the right of the number.
func (t *text) column(i int, c TextColumn, name string) int {
	w := max(Width(name), 5)
	for k := range t.views {
		if v := &t.views[k]; v.has(i) && v.silent[i] == "" {
			if j := t.strongestIn(v, i, c); j >= 0 {
				w = max(w, Width(v.rows[i].number(v.at(i, j)))+1)
			}
		}
	}
	return w
}

// bars are nine heights, from nothing to a full block.
var bars = []rune(" ▁▂▃▄▅▆▇█")

// number writes one value of a method. A sink gets the word sink, a hidden token and the difference
// of one that one side lacks a dot, without colour: they are not on the scale.
func (t *text) number(v *view, i, j, width int) {
	switch {
	case v.sink(i, j) && t.only(j) < 0:
		t.WriteString(right("sink", width) + " ")
	case t.grey(v, i, j):
		t.WriteString(right("·", width) + " ")
	default:
		t.placed(v.colors.at(v.at(i, j)), minus(v.rows[i].number(v.at(i, j))), width)
		t.WriteByte(' ')
	}
}

// placed writes a number in the colour of its place on a scale, or with a bar after it.
func (t *text) placed(place float64, number string, width int) {
	end := " "
	if !t.color {
		end = string(bar(place))
	}
	t.WriteString(t.paint(terminalStep(place), right(number, width-1)+end))
}

// terminalStep is [stepOf], but a terminal has no colour below [StandsOut] of the scale, as its
// background is not known.
func terminalStep(place float64) int {
	if math.Abs(place) < StandsOut {
		return 0
	}
	return stepOf(place)
}

// paint returns a text on the colour of a step where colours are on.
func (t *text) paint(step int, s string) string {
	if !t.color || step == 0 || s == "" {
		return s
	}
	cell, letters := t.theme.colors(step)
	begin := fmt.Sprintf("\x1b[48;2;%d;%d;%dm\x1b[38;2;%d;%d;%dm", cell[0], cell[1], cell[2],
		letters[0], letters[1], letters[2])
	return begin + s + "\x1b[0m"
}

// label returns the name of a method with the unit of its numbers, which begins its lines.
func (v *view) label() string {
	return strings.TrimSpace(Visible(v.name, 24) + " " + v.top.times())
}

// bar returns a bar for a place on a scale, whose height is the magnitude; for NaN a question
// mark. The height is x in eighths, rounded.
func bar(x float64) rune {
	if math.IsNaN(x) {
		return '?'
	}
	return bars[int(math.Round(math.Abs(x)*8))]
}

// legend writes scales, units, provenance and warnings.
func (t *text) legend() {
	t.line("")
	switch {
	case len(t.e.Prompt.Texts) == 0:
	case t.top > 0:
		tokens := t.words.tokens
		if t.extraColumns() > 0 {
			tokens = "tokens"
		}
		t.wrapped("", fmt.Sprintf("Each line: the strongest %s (sources) of a method, at "+
			"most %d, the largest first.", tokens, t.top))
	default:
		t.wrapped("", t.words.columns)
		if t.extraColumns() > 0 {
			t.wrapped("", "› is a generated token as a source.")
		}
		if count(t.drawn.columns) < len(t.drawn.columns) {
			t.wrapped("", "⋯ stands for folded tokens; below it is the strongest of them.")
		}
	}
	for k := range t.views {
		v := &t.views[k]
		if v.wrong != "" {
			t.wrapped("", Visible(v.name, 40)+": "+v.wrong)
			continue
		}
		t.WriteString(right(v.label(), t.label) + "  ")
		t.strip(v)
		how := Visible(v.top.unit, 2*nameLimit) + ", " + v.reading()
		if options := v.options(); options != "" {
			how += "; " + options
		}
		t.wrapped(strings.Repeat(" ", t.label+2), how)
	}
	t.model()
	for _, warning := range t.e.Warnings {
		t.wrapped("note  ", Visible(warning, 1000))
	}
}

// model writes which model it was, if that is known.
func (t *text) model() {
	if t.e.Model.Name != "" {
		t.wrapped("model  ", t.provenance())
	}
}

// strip writes the scale of a method: its colours, each with the number from which on it stands, or
// the nine heights of bars.
func (t *text) strip(v *view) {
	s, least := v.colors, 0
	if s.diverging() {
		least = -levels
	}
	if t.color {
		for step := least; step <= levels; step++ {
			t.WriteString(t.paint(step, " "+v.stepBegins(step, StandsOut)+" "))
		}
		t.end()
		return
	}
	low, high := s.endsBeyond(v.above)
	t.WriteString(minus(low) + " ")
	for i := range 9 {
		x := float64(i) / 8
		if least < 0 {
			x = 2*x - 1
		}
		t.WriteRune(bar(x))
	}
	t.line(" " + high)
}

// line writes one line.
func (t *text) line(s string) {
	t.WriteString(s)
	t.end()
}

// end ends a line and removes spaces before its end. Editors remove such spaces, and then a golden
// would differ.
func (t *text) end() {
	trimmed := bytes.TrimRight(t.Bytes(), " ")
	t.Truncate(len(trimmed))
	t.WriteByte('\n')
}

// tie is a space at which lines are not broken. [Visible] never returns it.
const tie = "\x00"

// wrapped writes s after a label. It breaks lines at spaces, but not between a number and its %,
// and indents them to the label's width. A word wider than the terminal stays whole on a line of
// its own.
func (t *text) wrapped(label, s string) {
	if s == "" {
		return
	}
	indent := Width(label)
	t.WriteString(label)
	at := indent
	for i, word := range strings.Fields(strings.NewReplacer(" %", tie+"%", "” (",
		"”"+tie+"(").Replace(s)) {
		word = strings.ReplaceAll(word, tie, " ")
		w := Width(escapes.ReplaceAllString(word, ""))
		if i > 0 && at+1+w > t.width {
			t.end()
			t.WriteString(strings.Repeat(" ", indent))
			at = indent
		} else if i > 0 {
			t.WriteByte(' ')
			at++
		}
		t.WriteString(word)
		at += w
	}
	t.end()
}

// escapes are what colours a text. No token has one; see [Visible].
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// bold returns s in bold where colours are on.
func (t *text) bold(s string) string {
	if !t.color {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}

// left and right fill s up to a width in columns, with s at that side.
func left(s string, width int) string  { return s + strings.Repeat(" ", max(width-Width(s), 0)) }
func right(s string, width int) string { return strings.Repeat(" ", max(width-Width(s), 0)) + s }
