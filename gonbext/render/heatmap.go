package render

import (
	_ "embed"
	"fmt"
	"github.com/headwater-ml/headwater/attribution"
	"html"
	"maps"
	"strings"
)

func init() {
	takes := map[string]Media{
		"token": InText | InPage, "layer": InAll, "alignment": InAll, "filter": InAll,
		"color": InText, "top": InText, "full": InText, "by": inFiles, "target": inFiles,
		"methods": InAll,
		"lift":    InAll, "alternatives": InAll, "all-layers": InAll, "all-levels": InAll,
		"prove": InAll, "without": InText | InPage, "prompt-scores": InPage,
	}
	RegisterView(View{
		Name: KindHeatmap, Contents: "matrix", Takes: takes, Proves: true, Picture: heatmapOf,
	})
	takes = maps.Clone(takes)
	takes["token"] = InAll
	delete(takes, "alignment")
	RegisterView(View{
		Name: KindText, Help: "one figure of running text", Takes: takes, Proves: true,
		Picture: heatmapOf,
	})
}

// heatmapOf returns the picture of an explanation.
func heatmapOf(s Show, e *attribution.Explanation, _ any) (Picture, error) {
	return s.heatmap(e), nil
}

// heatmap returns the heatmap that s describes.
func (s Show) heatmap(e *attribution.Explanation) Heatmap {
	return Heatmap{
		Explanation: e, Layer: s.Layer, Token: s.Token, Filter: s.Filter, Look: s.Look(),
		Alignment: s.Alignment, Strip: s.Kind == KindText,
	}
}

func (r Heatmap) figure(method string) (Figure, error) {
	d, err := r.Drawn(method)
	if r.Strip {
		return Figure{Strip: &d, Token: r.Token}, err
	}
	return Figure{Matrix: &d}, err
}

//go:embed heatmap.js
var heatmapSource string

//go:embed scale.js
var scaleSource string

var heatmapScript = script(
	scaleSource + matrixSource + scoresSource + heatmapSource)

// heatmapPage is the state of writing a [Heatmap] as HTML.
type heatmapPage struct{ *board }

// Check returns nil: a heatmap says in the picture what its explanation lacks.
func (r Heatmap) Check() error { return nil }

// markup implements [Picture].
func (r Heatmap) markup(room int) *page {
	d := newDrawing(r.picture(true), r.Token)
	b := heatmapPage{newBoard(d, r.Palette, limitOf(r.MaxBytes, room))}
	b.next = r.Next
	b.write()
	return b.page()
}

func (r Heatmap) draw() drawer { return r }

func (r Heatmap) title() string { return titleOf(r.Explanation) }

// write writes the parts from top to bottom. Near the limit each part takes what those before it in
// the order of need have left: the answer with its text, numbers for the script, the lines of all
// tokens, and layers for the script.
func (b heatmapPage) write() {
	classes := "hm-heatmap"
	if b.lead >= 0 && b.views[b.lead].difference {
		classes += " hm-difference"
	}
	b.begin(classes, "")
	b.top()
	for _, line := range []string{b.whyLead(), b.mattered()} {
		if line != "" {
			b.printf(`<div class="hm-dim" style="color:%s">%s</div>`, dimInk,
				html.EscapeString(line))
		}
	}
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
	b.end(data, heatmapScript())
}

// opening returns the answer: the sentence, the facts and the text.
func (b heatmapPage) opening() string {
	var s strings.Builder
	s.WriteString(`<div class="hm-grid"><div>`)
	say, facts := b.answerOf(b.lead, b.chosen)
	steps := make([]int, len(b.tokens))
	if b.lead >= 0 {
		copy(steps, b.textSteps(&b.views[b.lead], b.chosen))
	}
	b.writeAnswer(&s, say, facts, steps)
	return s.String()
}

// answerOf returns the sentence and the facts of a row as HTML.
func (b heatmapPage) answerOf(view, row int) (say, facts string) {
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
	answer, numbers := b.explainRow(v, row)
	return answer.html(), numbers.html()
}

// alternatives writes what could have come in place of the chosen token. The script draws bars.
func (b heatmapPage) alternatives() {
	if b.chosen < 0 || len(b.e.Steps[b.chosen].Alternatives) == 0 {
		return
	}
	b.printf(`<div class="hm-others">`)
	b.WriteString(b.common(func(p *page) { p.alternatives(b.chosen) }))
	b.WriteString("</div>")
}

// methods returns what shows all rows without a script: a table of each method, or lines.
func (b heatmapPage) methods(rest *int) string {
	var s strings.Builder
	s.WriteString(`<div class="hm-methods">`)
	for i := range b.views {
		v := &b.views[i]
		if v.wrong == "" && !b.fits() {
			continue
		}
		part := b.table(b.matrix(v))
		if len(part) > *rest {
			break
		}
		*rest -= len(part)
		s.WriteString(part)
	}
	s.WriteString("</div>")
	return s.String()
}

// matrix returns the rows of a method, with the numbers of what stands out.
func (b heatmapPage) matrix(v *view) Table {
	t := Table{Title: Visible(v.name, nameLimit), Note: v.wrong}
	if v.wrong != "" {
		return t
	}
	t.Columns, t.Last = b.columnNames(), []string{"p"}
	if v.contribution != nil {
		t.Last = []string{"from source", "p"}
	}
	t.Note = Visible(v.top.unit, 2*nameLimit) + ", " + v.layers() + " · rows came from columns"
	for i := range b.e.Steps {
		where, what, chance := b.predictionOf(v, i)
		row := Row{
			Name:   where + inRow(what, b.explanationOf(v).Steps[i].Text),
			Chosen: i == b.chosen, Ends: []string{chance},
		}
		if v.contribution != nil {
			row.Ends = []string{v.sourceShare(i), chance}
		}
		if v.has(i) {
			row.silent = v.silent[i]
		}
		for _, c := range b.columns {
			if row.silent == "" {
				row.Cells = append(row.Cells, b.cell(v, i, c))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// cell returns the strongest value of a column in row t.
func (b heatmapPage) cell(v *view, t int, c TextColumn) Cell {
	best := b.strongestIn(v, t, c)
	cell := Cell{Empty: best < 0, First: b.isFirstGenerated(c)}
	if best >= 0 {
		cell.Grey, cell.Step = b.grey(v, t, best), b.step(v, t, best)
		cell.Text = minus(v.cellNumber(v.at(t, best)))
	}
	return cell
}

// columnName returns the name of a column: that of its token, or of what is folded.
func (d *drawing) columnName(c TextColumn) string {
	if c.Folded {
		return "⋯ " + c.Name
	}
	return d.axisName(c.From)
}

// closing returns what stands below the picture: warnings, and the details.
func (b heatmapPage) closing(rest int) string {
	var s strings.Builder
	b.openDetails(&s, "how the numbers add up, every token in a line", !b.fits())
	s.WriteString(`<div class="hm-how"></div>`)
	if text := b.templateText(); text != "" {
		fmt.Fprintf(&s, "<p>Written around the messages, and not in the text: %s</p>",
			html.EscapeString(text))
	}
	b.lines(&s, rest)
	s.WriteString(b.common(func(p *page) { p.settings(b.words.page) }) + "</details>")
	return s.String()
}

// lines writes every row of every method in a line, as long as they take at most limit bytes, and
// then, once, that there are more.
func (b heatmapPage) lines(s *strings.Builder, limit int) {
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
