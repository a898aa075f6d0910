package render

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"sync"
)

//go:embed heatmap.css
var heatmapStyle string

//go:embed heatmap.js
var heatmapSource string

var heatmapScript = script(heatmapSource)

// heatmapSheet returns the style sheet of heatmaps, on one line.
var heatmapSheet = sync.OnceValue(func() string { return oneLine(heatmapStyle) + themeSheet() })

// heatmapPage is the state of writing a [Heatmap] as HTML: a drawing, and how many bytes it may
// take.
type heatmapPage struct {
	*drawing
	bytes.Buffer
	limit int
	next  string // see [Heatmap.Next]
	theme theme
}

// markup implements [View].
func (r Heatmap) markup(room int) (*page, error) {
	b := &heatmapPage{
		drawing: newDrawing(r.picture(true), r.Token), limit: limitOf(r.MaxBytes, room),
		next: r.Next, theme: themeOf(r.Palette),
	}
	b.write()
	p := newPage(b.picture, b.limit)
	_, err := b.WriteTo(p)
	return p, err
}

func (r Heatmap) title() string { return titleOf(r.Explanation) }

func (b *heatmapPage) printf(format string, args ...any) { fmt.Fprintf(b, format, args...) }

// part returns what the parts that all pages have write.
func (b *heatmapPage) common(write func(*page)) string {
	p := newPage(b.picture, b.limit)
	p.chosen, p.lead, p.next = b.chosen, b.lead, b.next
	write(p)
	return p.String()
}

// write writes the parts from top to bottom. Near the limit each part takes what those before it in
// the order of need have left: the answer with its text, numbers for the script, the lines of all
// tokens, and layers for the script.
func (b *heatmapPage) write() {
	b.printf(`<div class="hm %s" data-palette="%s" tabindex="0" style="background:%s;color:%s;`+
		`padding:0 2px 8px;font:14px/1.45 system-ui,-apple-system,'Segoe UI','DejaVu Sans',`+
		`sans-serif"><style>%s</style>`, NoMathematics, b.theme.name, sheet, ink,
		heatmapSheet())
	b.top()
	if len(b.tokens) == 0 {
		b.WriteString("<p>There is nothing to show yet.</p></div>\n")
		return
	}
	rest := b.limit - b.Len() - len(heatmapScript()) - 2000
	opening := b.opening()
	rest -= len(opening)
	data := ""
	if b.lead >= 0 {
		data = b.scriptData(rest)
		rest -= len(data)
	}
	methods := b.methods(&rest)
	closing := b.closing(rest)
	b.WriteString(opening + methods + `<div class="hm-after"></div></div><div class="hm-side">`)
	b.alternatives()
	b.WriteString("</div></div>")
	if data == "" && b.lead >= 0 {
		b.WriteString(b.common(func(p *page) { p.withoutRoom(noClicks) }))
	}
	b.WriteString(closing)
	if data != "" {
		b.printf(`<script type="text/plain">%s</script><script>%s</script>`, data,
			heatmapScript())
	}
	b.WriteString("</div>\n")
}

// top writes which model it was, and how much it read and wrote.
func (b *heatmapPage) top() {
	b.printf(`<div class="hm-top" style="color:%s;font-size:13px"><div class="hm-tabs" `+
		`role="tablist" aria-label="method"></div><span class="hm-context">`, dimInk)
	var all []string
	if name := b.e.Model.Name; name != "" {
		if note := b.e.Model.Note; note != "" {
			name += " (" + note + ")"
		}
		all = append(all, Visible(name, 2*nameLimit))
	}
	if len(b.tokens) > 0 {
		all = append(all, b.picture.facts())
	}
	b.printf(`%s</span></div>`, html.EscapeString(strings.Join(all, " · ")))
	if b.status != "" {
		b.printf(`<div class="hm-dim" style="color:%s">%s</div>`, dimInk, escape(b.status, 200))
	}
	if c := b.comparison; c != nil {
		for _, heading := range c.headings() {
			b.printf(`<div class="hm-dim" style="color:%s">%s</div>`, dimInk,
				html.EscapeString(minus(heading)))
		}
	}
}

// opening returns the answer: the sentence, the facts and the text.
func (b *heatmapPage) opening() string {
	var s strings.Builder
	s.WriteString(`<div class="hm-grid"><div>`)
	say, facts := b.answerOf(b.lead, b.chosen)
	fmt.Fprintf(&s, `<p class="hm-say" aria-live="polite" style="font-size:24px;line-height:1.3;`+
		`margin:18px 0 4px">%s</p><p class="hm-facts hm-dim" style="color:%s;margin:0 0 14px">`+
		`%s</p>`,
		say, dimInk, facts)
	b.text(&s)
	return s.String()
}

// answerOf returns the sentence and the facts of a row as HTML.
func (b *heatmapPage) answerOf(view, row int) (say, facts string) {
	switch {
	case len(b.e.Steps) == 0:
		return html.EscapeString(b.words.nothing), ""
	case view < 0:
		if len(b.views) == 0 {
			return html.EscapeString(b.answer()), ""
		}
		return html.EscapeString(b.views[0].wrong), ""
	}
	v := &b.views[view]
	return b.sentence(v, row).html(), b.facts(v, row).html()
}

// text writes the turns. Each token is one element, span or u, in order, which the script relies
// on.
func (b *heatmapPage) text(s *strings.Builder) {
	steps := make([]int, len(b.tokens))
	if b.lead >= 0 {
		copy(steps, b.calm(&b.views[b.lead], b.chosen))
	}
	folds := map[int]int{} // where a fold begins, and its end
	for _, c := range b.columns {
		if r := b.tokens[c.from].role; c.folded {
			for from := c.from; from < c.to; {
				to := from + 1
				for r = b.tokens[from].role; to < c.to && b.tokens[to].role == r; {
					to++
				}
				if r == inPrompt || r == inSystem {
					folds[from] = to
				}
				from = to
			}
		}
	}
	fmt.Fprintf(s, `<div class="hm-text"%s style="font-size:17px;line-height:1.8">`, b.direction())
	for _, turn := range b.turns {
		if turn.name == "" {
			b.turnText(s, turn, steps, folds)
			continue
		}
		fmt.Fprintf(s, `<div class="hm-turn"><div class="hm-role"><small>%s</small></div><div>`,
			html.EscapeString(turn.name))
		b.turnText(s, turn, steps, folds)
		s.WriteString("</div></div>")
	}
	s.WriteString("</div>")
}

// turnText writes the tokens of a turn.
func (b *heatmapPage) turnText(s *strings.Builder, turn drawnTurn, steps []int, folds map[int]int) {
	end := -1 // of the fold that is open
	code, open := false, false
	for j := turn.head[0]; j < max(turn.body[1], turn.tail[1]); j++ {
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
		if to := folds[j]; to > 0 {
			end = to
			peek := ""
			if t.role == inSystem {
				begin, end := b.e.Prompt.Offsets[j][0], b.e.Prompt.Offsets[to-1][1]
				peek = " · " + html.EscapeString(fewColumns(b.e.Prompt.Text[begin:end], true))
			}
			fmt.Fprintf(s, `<details><summary>⋯ %s tokens%s</summary>`, thousands(to-j), peek)
		}
		b.token(s, j, steps[j])
		if j >= turn.body[0] && j < turn.body[1] {
			b.lineEnd(s, j)
		}
		if j+1 == end {
			s.WriteString("</details>")
		}
	}
	if open {
		s.WriteString("</div>")
	}
}

// token writes one token of the text.
func (b *heatmapPage) token(s *strings.Builder, j, step int) {
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
	if t.code && t.blank() { // what stands after a line break is the indentation of a line
		name = strings.ReplaceAll(name, "↵", "↵<br>")
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
func (b *heatmapPage) lineEnd(s *strings.Builder, j int) {
	t := b.tokens[j]
	if j < len(b.e.Prompt.Texts) && b.named(j) { // a turn of a chat
		s.WriteString("<br>")
	}
	if t.ends != "" {
		fmt.Fprintf(s, `<small class="hm-w">%s</small>`, html.EscapeString(t.ends))
	}
	lines := min(t.lines, 8)
	switch {
	case t.code && t.blank():
		return
	case !t.code:
		lines = min(lines, 1)
		if j+1 < len(b.tokens) && b.tokens[j+1].blank() && b.tokens[j+1].lines > 0 {
			lines = 0
		}
	}
	s.WriteString(strings.Repeat("<br>", lines))
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
	return slices.ContainsFunc(d.columns, func(c drawnColumn) bool {
		return c.folded && c.from <= j && j < c.to
	})
}

// alternatives writes what could have come in place of the chosen token. The script draws bars.
func (b *heatmapPage) alternatives() {
	if b.chosen < 0 || len(b.e.Steps[b.chosen].Alternatives) == 0 {
		return
	}
	b.printf(`<div class="hm-others">`)
	b.WriteString(b.common(func(p *page) { p.alternatives(b.chosen) }))
	b.WriteString("</div>")
}

// A picture without a script has a matrix for each method if that has at most fewColumns columns:
// wider ones would need names that stand upright, and stand in lines then.
const matrixColumns = 24

// methods returns what shows all rows without a script: a matrix of each method, or lines.
func (b *heatmapPage) methods(rest *int) string {
	var s strings.Builder
	s.WriteString(`<div class="hm-methods">`)
	for i := range b.views {
		v := &b.views[i]
		var part strings.Builder
		fmt.Fprintf(&part, `<div class="hm-h" style="margin:18px 0 6px"><b>%s</b> `+
			`<span style="color:%s">`, escape(v.name, nameLimit), dimInk)
		if v.wrong != "" {
			fmt.Fprintf(&part, "· %s</span></div>", escape(v.wrong, 0))
			s.WriteString(part.String())
			continue
		}
		if len(b.columns) > matrixColumns {
			continue
		}
		fmt.Fprintf(&part, "· %s, %s · rows came from columns</span></div>", escape(v.top.unit,
			2*nameLimit), escape(v.layers(), 0))
		b.matrix(&part, v)
		if part.Len() > *rest {
			break
		}
		*rest -= part.Len()
		s.WriteString(part.String())
	}
	s.WriteString("</div>")
	return s.String()
}

// matrix writes the rows of a method, with the numbers of what stands out.
func (b *heatmapPage) matrix(s *strings.Builder, v *view) {
	// Notebooks have colours of their own for rows.
	const row = `style="background:` + sheet + `;color:` + ink + `"`
	s.WriteString(`<div style="overflow-x:auto"><table style="border-spacing:1px"><tr ` +
		row + `><th></th>`)
	for _, c := range b.columns {
		fmt.Fprintf(s, "<th>%s</th>", html.EscapeString(b.columnName(c)))
	}
	s.WriteString("<th>p</th></tr>")
	m := len(b.e.Prompt.Texts)
	for t := range b.e.Steps {
		where, what, chance := b.predictionOf(v, t)
		name := html.EscapeString(where + inRow(what, b.stepText(v, t)))
		if t == b.chosen {
			name = "<b>▸ " + name + "</b>"
		}
		fmt.Fprintf(s, `<tr %s><th scope="row" style="text-align:right">%s</th>`, row, name)
		if v.has(t) && v.silent[t] != "" {
			fmt.Fprintf(s, `<td colspan="%d" style="text-align:left;color:%s">%s</td>`,
				len(b.columns), dimInk, escape(v.silent[t], 120))
		} else {
			for _, c := range b.columns {
				b.cell(s, v, t, c, m)
			}
		}
		fmt.Fprintf(s, `<td style="color:%s">%s</td></tr>`, dimInk, chance)
	}
	s.WriteString("</table></div>")
}

// cell writes the value of a column in row t.
func (b *heatmapPage) cell(s *strings.Builder, v *view, t int, c drawnColumn, m int) {
	best, has := -1, v.has(t) && c.from < v.sources(t)
	for j := c.from; has && j < min(c.to, v.sources(t)); j++ {
		if best < 0 || math.Abs(v.at(t, j)) > math.Abs(v.at(t, best)) {
			best = j
		}
	}
	edge := ""
	if c.from == m && m > 0 {
		edge = "border-left:2px solid " + dimInk
	}
	if best < 0 {
		fmt.Fprintf(s, `<td style="%s"></td>`, edge)
		return
	}
	step, number := b.step(v, t, best), minus(v.cellNumber(v.at(t, best)))
	switch {
	case b.grey(v, t, best):
		fmt.Fprintf(s, `<td style="color:%s">%s</td>`, dimInk, number)
	case step == 0:
		fmt.Fprintf(s, `<td class="hm-z" style="%s"></td>`, edge)
	default:
		if step < 0 {
			number = "<u>" + number + "</u>"
		}
		fmt.Fprintf(s, `<td class="%s" style="%s;%s">%s</td>`, stepClass(step),
			b.theme.style(step), edge, number)
	}
}

// columnName returns the name of a column: that of its token, or how many are folded.
func (b *heatmapPage) columnName(c drawnColumn) string {
	switch {
	case !c.folded:
		return b.axisName(c.from)
	case b.tokens[c.from].role == inPrompt:
		return fmt.Sprintf("⋯ %d", c.to-c.from)
	}
	return "⋯"
}

// closing returns what stands below the picture: warnings, and the details.
func (b *heatmapPage) closing(rest int) string {
	var s strings.Builder
	for _, warning := range b.e.Warnings {
		fmt.Fprintf(&s, "<div>⚠ %s</div>", escape(warning, 1000))
	}
	open := ""
	if len(b.columns) > matrixColumns { // without a script, the lines stand for the matrix
		open = " open"
	}
	s.WriteString(`<details class="hm-details"` + open + `><summary>Details: how the numbers add ` +
		`up, every token in a line, settings</summary><div class="hm-how"></div>`)
	b.lines(&s, rest)
	s.WriteString(b.common(func(p *page) { p.settings(b.words.page) }) + "</details>")
	return s.String()
}

// lines writes every row of every method in a line, as long as they take at most limit bytes, and
// then, once, that there are more.
func (b *heatmapPage) lines(s *strings.Builder, limit int) {
	begin, left := s.Len(), 0
	for i := range b.views {
		v := &b.views[i]
		fmt.Fprintf(s, `<div class="hm-lines"><b>%s</b>`, escape(v.name, nameLimit))
		for t := range b.e.Steps {
			say, facts := b.answerOf(i, t)
			_, _, chance := b.predictionOf(v, t)
			var more []string
			for _, part := range []string{chance, b.rest(v, t), b.changed(v, t)} {
				if part != "" {
					more = append(more, part)
				}
			}
			line := fmt.Sprintf("<div><span>%s</span> <span>%s</span> <small>%s</small></div>",
				say, facts, html.EscapeString(minus(strings.Join(more, " · "))))
			if s.Len()-begin+len(line) > limit {
				left = max(left, len(b.e.Steps)-t)
				break
			}
			s.WriteString(line)
		}
		s.WriteString("</div>")
	}
	if left > 0 {
		s.WriteString(b.common(func(p *page) { p.lastLeftOut(left) }))
	}
}
