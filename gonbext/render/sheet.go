package render

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/headwater-ml/headwater/attribution/trace"
)

//go:embed board.css
var boardStyle string

// boardSheet returns the style sheet of every board, on one line.
var boardSheet = sync.OnceValue(func() string { return oneLine(boardStyle) + themeSheet() })

// board is the state of writing a picture as HTML: a white or, in a dark host, a black sheet with
// one line on the model, a sentence, the text, and below them what a kind of picture adds.
type board struct {
	*drawing
	bytes.Buffer
	limit int    // of the picture, in bytes
	next  string // see [Heatmap.Next]
	theme theme
}

// newBoard begins a board of about limit bytes.
func newBoard(d *drawing, palette string, limit int) *board {
	return &board{drawing: d, limit: limit, theme: themeOf(palette)}
}

// page returns what was written.
func (b *board) page() *page {
	p := newPage(b.picture, b.limit)
	_, _ = b.WriteTo(p) // a buffer takes all
	return p
}

func (b *board) printf(format string, args ...any) { fmt.Fprintf(b, format, args...) }

// begin opens the element of the picture, of these classes besides its own, with its style sheet:
// that of all boards and the rules of its kind.
func (b *board) begin(classes, rules string) {
	if b.e.Model.EncoderLayers > 0 {
		classes += " hm-stacks"
	}
	b.printf(`<div class="%s" data-palette="%s" tabindex="0" style="background:%s;color:%s;`+
		`padding:0 2px 8px;font:14px/1.45 system-ui,-apple-system,'Segoe UI','DejaVu Sans',`+
		`sans-serif"><style>%s%s</style>`, strings.TrimSpace("hm "+NoMathematics+" "+classes),
		b.theme.name, sheet, ink, boardSheet(), rules)
}

// end closes the element, with the script and its data where there are some.
func (b *board) end(data, script string) {
	if data != "" {
		b.printf(`<script type="text/plain">%s</script><script>%s</script>`, data, script)
	}
	b.WriteString("</div>\n")
}

// writeAnswer writes the sentence, its facts, and the text in the colours of steps, one for each
// token.
func (b *board) writeAnswer(s *strings.Builder, say, facts string, steps []int) {
	fmt.Fprintf(s, `<p class="hm-say" aria-live="polite" style="font-size:24px;line-height:1.3;`+
		`margin:18px 0 4px">%s</p><p class="hm-facts hm-dim" style="color:%s;margin:0 0 14px">`+
		`%s</p>`, say, dimInk, facts)
	b.text(s, steps)
}

// openDetails writes the warnings, and begins the details, with a line on what they have. Without a
// script they are open where they have what no table has. about, if not empty, is what they have
// besides their title, and the facts on the model stand behind it.
func (b *board) openDetails(s io.Writer, title, about string, isOpen bool) {
	for _, warning := range b.e.Warnings {
		fmt.Fprintf(s, "<div>⚠ %s</div>", escape(warning, 1000))
	}
	open := ""
	if isOpen {
		open = " open"
	}
	fmt.Fprintf(s, `<details class="hm-details"%s><summary>%s`, open, title)
	if about != "" {
		fmt.Fprintf(s, `<span>%s</span> <span class="hm-context">%s</span>`,
			html.EscapeString(about), b.context())
	}
	_, _ = io.WriteString(s, "</summary>")
}

// common returns what a part writes that pages without a board have too.
func (b *board) common(write func(*page)) string {
	p := newPage(b.picture, b.limit)
	p.next = b.next
	write(p)
	return p.String()
}

// top writes which model it was, and how much it read and wrote.
func (b *board) top() {
	b.printf(`<div class="hm-top" style="color:%s;font-size:13px"><div class="hm-tabs" `+
		`role="tablist" aria-label="method"></div><span class="hm-context">%s</span></div>`,
		dimInk, b.context())
	b.state()
}

// context returns which model it was, and how much it read and wrote, as HTML.
func (b *board) context() string {
	all := b.captioned()
	if len(b.tokens) > 0 && b.look.Caption == "" {
		all = append(all, b.picture.facts())
	}
	return html.EscapeString(strings.Join(all, " · "))
}

// state writes what is told of a picture that grows, and of the sides of a comparison.
func (b *board) state() {
	if b.status != "" {
		b.printf(`<div class="hm-dim" style="color:%s">%s</div>`, dimInk, escape(b.status, 200))
	}
	for _, heading := range b.headings() {
		b.printf(`<div class="hm-dim" style="color:%s">%s</div>`, dimInk,
			html.EscapeString(minus(heading)))
	}
}

// text writes the turns in the colours of steps, [len(tokens)]. Each token that stands in the text
// is one element, span or u, in order, which scripts rely on.
func (b *board) text(s *strings.Builder, steps []int) {
	fmt.Fprintf(s, `<div class="hm-text"%s style="font-size:18px;line-height:1.6">`, b.direction())
	for _, turn := range b.turns {
		if turn.name == "" {
			b.turnText(s, turn, steps)
			continue
		}
		class := "hm-turn"
		if turn.body[0] < turn.body[1] && b.isQuiet(turn, steps) {
			class += " hm-quiet"
		}
		if turn.kind == trace.Added {
			class += " hm-added"
		}
		fmt.Fprintf(s, `<div class="%s"><div class="hm-role"><small>%s</small></div><div>`, class,
			html.EscapeString(turn.label()))
		b.turnText(s, turn, steps)
		s.WriteString("</div></div>")
	}
	s.WriteString("</div>")
}

// label returns the name of a turn in the margin.
func (t drawnTurn) label() string {
	if t.kind == trace.Added {
		return "system (added by the template)"
	}
	return t.name
}

// isQuiet reports whether a turn is of a system or of a template and has no colour.
func (b *board) isQuiet(turn drawnTurn, steps []int) bool {
	return b.tokens[turn.body[0]].role == inSystem &&
		!slices.ContainsFunc(steps[turn.body[0]:turn.body[1]], func(n int) bool { return n != 0 })
}

// textWriter writes the tokens of a turn: paragraphs of prose, programs as they are, and what is
// folded.
type textWriter struct {
	*board
	*strings.Builder
	steps []int
	block string // the element that is open: div of prose, pre of a program, "" for none
	white string // the white space since the last token
	fold  int    // where the fold that is open ends, 0 for none
	inner bool   // a program is open within a fold of prose
}

// turnText writes the tokens of a turn.
func (b *board) turnText(s *strings.Builder, turn drawnTurn, steps []int) {
	w := textWriter{board: b, Builder: s, steps: steps}
	for j := turn.head[0]; j < max(turn.body[1], turn.tail[1]); j++ {
		w.token(j)
	}
	w.endFold()
	w.begin("")
}

// token writes token j with the white space before it.
func (w *textWriter) token(j int) {
	t := w.tokens[j]
	before, name, after := t.whiteSpace()
	if own, _ := word(w.textOf(j)); own || t.space && !t.code {
		before = " " + before
	}
	w.white += before
	if j >= w.fold {
		w.endFold()
	}
	if c, ok := w.pillAt(j); ok {
		w.space(t)
		w.fold = c.To
		end := " "
		if t.code { // opens below
			end = "\n"
		}
		w.WriteString("<details><summary>" + html.EscapeString(c.pill()) + "</summary>" + end)
	}
	if !w.inText(j) {
		if t.blank() {
			w.white += name + after
		}
		return
	}
	w.space(t)
	first, end := w.wordAround(j)
	if j == first && end > j+1 {
		w.WriteString("<bdi>")
	}
	w.element(w.Builder, j, name, w.steps[j])
	if j == end-1 && end > first+1 {
		w.WriteString("</bdi>")
	}
	w.white = after
}

// whiteSpace returns the name of a token, and the white space before and after it.
func (t drawnToken) whiteSpace() (before, name, after string) {
	name = t.name + t.ends
	if t.code {
		name = whiteMarks.Replace(name)
	}
	const marks = "␣↵⇥ \n"
	core := strings.TrimLeft(name, marks)
	before = whiteMarks.Replace(name[:len(name)-len(core)])
	name = strings.TrimRight(core, marks)
	return before, name, whiteMarks.Replace(core[len(name):])
}

// whiteMarks replaces the marks of white space.
var whiteMarks = strings.NewReplacer("␣", " ", "↵", "\n", "⇥", "    ")

// space writes the white space before a token: as it is in a program, and otherwise a space, a line
// break, or another paragraph.
func (w *textWriter) space(t drawnToken) {
	block := "div"
	if t.code {
		block = "pre"
	}
	lines := strings.Count(w.white, "\n")
	switch {
	case w.fold > 0 && w.block == "div" && t.code != w.inner:
		w.WriteString(map[bool]string{true: `<pre class="hm-code">`, false: "</pre>"}[t.code])
		w.inner = t.code
	case w.fold == 0 && (w.block != block || lines > 1 && !t.code):
		w.begin(block)
	case t.code || w.block == "pre":
		indent := w.white[strings.LastIndexByte(w.white, '\n')+1:]
		w.WriteString(strings.Repeat("\n", min(lines, 2)) + indent)
	case lines > 0:
		w.WriteString("<br>")
	case w.white != "":
		w.WriteByte(' ')
	}
	w.white = ""
}

// begin ends the element that is open and begins another one.
func (w *textWriter) begin(block string) {
	if w.block != "" {
		w.WriteString("</" + w.block + ">")
	}
	switch w.block = block; block {
	case "div":
		w.WriteString(`<div class="hm-prose">`)
	case "pre":
		// The indentation of the first line stays.
		w.WriteString(`<pre class="hm-code">` + w.white[strings.LastIndexByte(w.white, '\n')+1:])
	}
}

// endFold ends the fold that is open.
func (w *textWriter) endFold() {
	if w.inner {
		w.WriteString("</pre>")
	}
	if w.fold > 0 {
		w.WriteString("</details>")
	}
	w.fold, w.inner = 0, false
}

// element writes token j of the text by its name.
func (b *board) element(s *strings.Builder, j int, name string, step int) {
	t := b.tokens[j]
	tag, class, style := "span", "", ""
	if t.role == inAnswer || b.explained(j) {
		tag = "u"
	}
	name = html.EscapeString(name)
	switch {
	case b.isChosen(j):
		class, style = "hm-here", ` style="outline:2px solid"`
		name = "<b>" + name + "</b>"
	case step < 0 && !b.isDifference():
		class = stepClass(step)
		style = ` style="text-decoration:underline dotted ` + b.theme.below[3] + `"`
	case step != 0:
		class = stepClass(step)
		style = ` style="` + b.theme.style(step) + `"`
	}
	if step != 0 && b.mentioned[j] {
		class = strings.TrimSpace(class + " hm-src")
	}
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(s, "<%s%s%s>%s</%s>", tag, class, style, name, tag)
}

// isDifference reports whether colours are of a difference, whose two sides are alike.
func (d *drawing) isDifference() bool { return d.lead >= 0 && d.views[d.lead].difference }

// stepClass returns the class of a step: p1 to p6, n1 to n6, "" for none.
func stepClass(step int) string {
	switch {
	case step > 0:
		return fmt.Sprintf("p%d", step)
	case step < 0:
		return fmt.Sprintf("n%d", -step)
	}
	return ""
}

// isChosen reports whether a token of the text is that of the row chosen.
func (d *drawing) isChosen(j int) bool {
	if d.e.Model.Reads() {
		return d.explainedBy(d.chosen, j)
	}
	return d.chosen >= 0 && j == len(d.e.Prompt.Texts)+d.chosen
}
