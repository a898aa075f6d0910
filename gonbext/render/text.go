package render

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// textColumns is the largest number of sources of a row in a text; the other prompt tokens are
// summed up.
const textColumns = 60

// text is the state of writing a text. label is the width of the longest name of a method, to
// which all lines are aligned.
type text struct {
	*picture
	bytes.Buffer
	width, label, top int
	color             bool
}

// listed is how many tokens of each row a text lists that would be too large with all of them.
const listed = 5

// newText returns an empty text.
func newText(look Terminal) *text {
	width := look.Width
	if width == 0 {
		width = 100
	}
	return &text{picture: &picture{}, width: max(width, 60), color: look.Color}
}

// plain implements [View].
func (r Heatmap) plain(look Terminal) (*text, error) {
	t := newText(look)
	t.picture, t.top = r.picture(true), r.Top
	for _, v := range t.views {
		t.label = max(t.label, Width(v.label()))
	}
	t.write(0)
	most := look.MaxBytes
	if most > 0 && t.Len() > most {
		t.top = min(max(t.top, 1), listed)
		if r.Top <= 0 {
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
	return t, nil
}

// write writes the picture with the generated tokens from first on.
func (t *text) write(first int) {
	t.Reset()
	t.head()
	if first > 0 {
		t.line("")
		t.wrapped("", fmt.Sprintf("The first %s of %s %s are left out here. All numbers are in "+
			"the explanation.", thousands(first), thousands(len(t.e.Steps)), t.words.shown))
	}
	for i := range t.e.Steps[first:] {
		t.token(first + i)
	}
	t.legend()
}

// head writes title, prompt and answer.
func (t *text) head() {
	// A title that needs several lines is not bold: escapes would be counted as columns.
	if title := t.title(); Width(title) <= t.width {
		t.line(t.bold(title))
	} else {
		t.wrapped("", title)
	}
	if t.comparison != nil {
		for _, heading := range t.comparison.headings() {
			t.wrapped("", heading)
		}
	}
	if t.status != "" {
		t.wrapped("", Visible(t.status, 200))
	}
	if len(t.e.Prompt.Texts) == 0 && len(t.e.Steps) == 0 {
		t.line("There is nothing to show yet.")
		return
	}
	for _, given := range t.given() {
		t.wrapped(left(given.name, 11), Visible(given.text, 2000))
	}
	t.wrapped(left(t.words.answer, 11), t.answer())
	if len(t.e.Steps) == 0 {
		t.line(t.words.nothing)
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
		for columns := t.columns(i, textColumns); len(columns) > 0; {
			columns = t.band(i, columns)
		}
	}
	for k := range t.views {
		t.totals(&t.views[k], i)
	}
}

// band writes as many sources as fit on a line, with the numbers of each method under them.
// It returns the tokens that are left. A column is as wide as its name and numbers need. There is
// at least one in a band, so it always ends, even if a name is wider than the terminal.
func (t *text) band(i int, columns []int) []int {
	// 5 columns as below the number of the token, and 2 between a label and its numbers.
	indent := 5 + t.label + 2
	var names []string
	var widths []int
	used := indent
	for _, j := range columns {
		name := t.heading(j)
		w := t.column(i, j, name)
		if len(names) > 0 && used+w+1 > t.width {
			break
		}
		used += w + 1
		names, widths = append(names, name), append(widths, w)
	}
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
			if columns[c] < v.sources(i) {
				t.number(v, i, columns[c], w)
			} else {
				t.WriteString(strings.Repeat(" ", w+1))
			}
		}
		t.end()
	}
	return columns[len(names):]
}

// heading returns the name of source j above its column; ‿ marks a token that continues the word
// before it, and › a generated token.
func (t *text) heading(j int) string {
	if m := len(t.e.Prompt.Texts); j >= m {
		return "›" + t.generatedName(j-m)
	}
	name := t.short(j)
	if t.continues(j) {
		return "‿" + name
	}
	return name
}

// column returns the width of the column of source j: that of its name or of its longest
// number with a bar. The +1 is for the bar, or for the colour at the right of the number.
func (t *text) column(i, j int, name string) int {
	w := max(Width(name), 5)
	for k := range t.views {
		if v := &t.views[k]; v.has(i) && v.silent[i] == "" && j < v.sources(i) {
			w = max(w, Width(v.rows[i].number(v.at(i, j)))+1)
		}
	}
	return w
}

// bars are nine heights, from nothing to a full block.
var bars = []rune(" ▁▂▃▄▅▆▇█")

// number writes one value of a method. A sink gets the word sink and a hidden token a dot,
// without colour: they are not on the scale.
func (t *text) number(v *view, i, j, width int) {
	x := v.at(i, j)
	s := v.rows[i].number(x)
	switch {
	case v.sink(i, j):
		t.WriteString(right("sink", width) + " ")
		return
	case t.grey(v, i, j):
		t.WriteString(right("·", width) + " ")
		return
	case !t.color:
		t.WriteString(right(s, width-1) + string(bar(v.top.at(x))) + " ")
		return
	}
	c := v.top.color(x)
	fmt.Fprintf(t, "\x1b[48;2;%d;%d;%dm\x1b[38;2;%d;%d;%dm%s\x1b[0m ", c.background[0],
		c.background[1], c.background[2],
		c.text[0], c.text[1], c.text[2], right(s, width-1)+" ")
}

// label returns the name of a method with the unit of its numbers, which begins its lines.
func (v *view) label() string {
	return strings.TrimSpace(Visible(v.name, 24) + " " + v.top.times())
}

// bar returns a bar for a place on the ramp, whose height is the magnitude; for NaN a question
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
		t.wrapped("", fmt.Sprintf("Each line: the strongest %s (sources) of a method, %d at "+
			"most, the strongest first.", tokens, t.top))
	default:
		t.wrapped("", t.words.columns)
		if t.extraColumns() > 0 {
			t.wrapped("", "› is a generated token as a source.")
		}
	}
	for k := range t.views {
		v := &t.views[k]
		if v.wrong != "" {
			t.wrapped("", Visible(v.name, 40)+": "+v.wrong)
			continue
		}
		low, high := v.top.endsBeyond(v.above)
		t.WriteString(right(v.label(), t.label) + "  " + low + " ")
		t.strip(v.top)
		t.line(" " + high)
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

// strip draws the ramp of a scale. It has nine places, as many as there are bars.
func (t *text) strip(s scale) {
	// as in the legend of a page
	low := 0.0
	if s.diverging() {
		low = -1
	}
	for i := range 9 {
		x := low + (1-low)*float64(i)/8
		if !t.color {
			t.WriteRune(bar(x))
			continue
		}
		c := ramp(x).background
		fmt.Fprintf(t, "\x1b[48;2;%d;%d;%dm \x1b[0m", c[0], c[1], c[2])
	}
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
	for i, word := range strings.Fields(strings.ReplaceAll(s, " %", tie+"%")) {
		word = strings.ReplaceAll(word, tie, " ")
		w := Width(word)
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
