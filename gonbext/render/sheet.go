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

// text writes the turns in the colours of steps, [len(tokens)]. Each token is one element, span or
// u, in order, which scripts rely on.
func (b *board) text(s *strings.Builder, steps []int) {
	fmt.Fprintf(s, `<div class="hm-text"%s style="font-size:17px;line-height:1.8">`, b.direction())
	for _, turn := range b.turns {
		if turn.name == "" {
			b.turnText(s, turn, steps)
			continue
		}
		fmt.Fprintf(s, `<div class="hm-turn"><div class="hm-role"><small>%s</small></div><div>`,
			html.EscapeString(turn.name))
		b.turnText(s, turn, steps)
		s.WriteString("</div></div>")
	}
	s.WriteString("</div>")
}

// turnText writes the tokens of a turn.
func (b *board) turnText(s *strings.Builder, turn drawnTurn, steps []int) {
	folded := -1 // where the fold that is open ends
	end := max(turn.body[1], turn.tail[1])
	code, open := false, false
	for j := turn.head[0]; j < end; j++ {
		t := b.tokens[j]
		if !open || t.code != code {
			if open {
				s.WriteString("</div>")
			}
			open, code = true, t.code
			class := "hm-prose"
			if code {
				class = "hm-code"
			}
			s.WriteString(`<div class="` + class + `">`)
		} else if t.space {
			s.WriteByte(' ')
		}
		if to := b.foldedUpTo(j, end); to > j && j >= folded {
			folded = to
			fmt.Fprintf(s, "<details><summary>%s</summary>", html.EscapeString(b.foldedText(j, to)))
		}
		b.token(s, j, steps[j])
		if j >= turn.body[0] && j < turn.body[1] {
			b.lineEnd(s, j)
		}
		if j+1 == folded {
			s.WriteString("</details>")
		}
	}
	if open {
		s.WriteString("</div>")
	}
}

// token writes one token of the text.
func (b *board) token(s *strings.Builder, j, step int) {
	t := b.tokens[j]
	tag, class, style := "span", "", ""
	if t.role == inAnswer || t.role == ending || b.explained(j) {
		tag = "u"
	}
	switch {
	case t.role == inTemplate || t.role == ending:
		class = " hm-k"
		if b.headOf(j) && b.isFolded(j) {
			class += " hm-head"
		}
	case t.blank():
		class = " hm-w"
	}
	name := html.EscapeString(t.name)
	if t.blank() {
		name = t.broken(name)
	}
	switch {
	case b.isChosen(j):
		class += " hm-here"
		style = ` style="outline:2px solid"`
		name = "<b>" + name + "</b>"
	case step != 0:
		class += " " + stepClass(step)
		style = ` style="` + b.theme.style(step) + `"`
	}
	if class != "" {
		class = ` class="` + class[1:] + `"`
	}
	fmt.Fprintf(s, "<%s%s%s>%s</%s>", tag, class, style, name, tag)
}

// lineEnd writes the line breaks at the end of a token. Empty lines of prose are not shown: marks
// say that they are there.
func (b *board) lineEnd(s *strings.Builder, j int) {
	t := b.tokens[j]
	if t.ends != "" {
		fmt.Fprintf(s, `<small class="hm-w">%s</small>`, t.broken(html.EscapeString(t.ends)))
	}
	if t.lines > 0 && !t.code &&
		!(j+1 < len(b.tokens) && b.tokens[j+1].blank() && b.tokens[j+1].lines > 0) {
		s.WriteString("<br>")
	}
}

// broken returns the marks of white space in a program with the line breaks: what stands after one
// is the indentation of a line.
func (t drawnToken) broken(marks string) string {
	if !t.code {
		return marks
	}
	return strings.ReplaceAll(marks, "↵", "↵<br>")
}

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

// headOf reports whether a token is of the template before a message.
func (d *drawing) headOf(j int) bool {
	turn := d.turnOf(j)
	return d.chat() && j < turn.head[1]
}

// isFolded reports whether a source is folded.
func (d *drawing) isFolded(j int) bool {
	return slices.ContainsFunc(d.columns, func(c TextColumn) bool {
		return c.Folded && c.From <= j && j < c.To
	})
}
