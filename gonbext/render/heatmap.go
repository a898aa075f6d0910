package render

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/headwater-ml/headwater/attribution"
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
		Alignment: s.Alignment, Strip: s.Kind == KindText, Words: s.By != "token",
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

//go:embed heatmap.css
var heatmapRules string

//go:embed scale.js
var scaleSource string

var heatmapScript = script(
	scaleSource + matrixSource + scoresSource + heatmapSource)

// heatmapPage is the state of writing a [Heatmap] as HTML. Where that is about words, finer is the
// same of tokens.
type heatmapPage struct {
	*board
	finer *heatmapPage
}

// Check returns nil: a heatmap says in the picture what its explanation lacks.
func (r Heatmap) Check() error { return nil }

// markup implements [Picture].
func (r Heatmap) markup(room int) *page {
	words := r.inWords()
	b := words.pageOf(room)
	if words.Explanation != r.Explanation {
		b.finer = r.pageOf(room)
	}
	b.write()
	return b.page()
}

// pageOf begins the page of a picture.
func (r Heatmap) pageOf(room int) *heatmapPage {
	d := newDrawing(r.picture(true), r.Token)
	b := &heatmapPage{board: newBoard(d, r.Palette, limitOf(r.MaxBytes, room))}
	b.next = r.Next
	return b
}

func (r Heatmap) draw() drawer { return r }

func (r Heatmap) title() string { return titleOf(r.Explanation) }

// write writes the parts from top to bottom. Near the limit each part takes what those before it in
// the order of need have left: the answer with its text, numbers for the script, the lists of
// methods, and the lines of all tokens.
func (b heatmapPage) write() {
	classes := "hm-heatmap"
	if b.lead >= 0 && b.views[b.lead].difference {
		classes += " hm-difference"
	}
	b.begin(classes, oneLine(heatmapRules))
	b.state()
	if len(b.tokens) == 0 {
		b.WriteString("<p>There is nothing to show yet.</p></div>\n")
		return
	}
	rest := b.limit - b.Len() - len(heatmapScript()) - 2000
	opening := b.opening()
	rest -= len(opening)
	data := ""
	if b.lead >= 0 {
		d := b.data()
		if data = packWithin(rest, d); b.finer != nil {
			d.Finer = b.finer.asFiner()
			data = cmp.Or(packWithin(rest, d), data)
		}
		rest -= len(data)
	}
	lists := b.lists(&rest)
	closing := b.closing(rest)
	b.WriteString(`<div class="hm-body">` + opening + `<div class="hm-after"></div>` + lists)
	if data == "" && b.lead >= 0 {
		b.WriteString(b.common(func(p *page) { p.withoutRoom(noClicks) }))
	}
	b.WriteString(closing + "</div>")
	b.end(data, heatmapScript())
}

// asFiner returns the picture for the switch of one of words.
func (b heatmapPage) asFiner() *finerData {
	if b.lead < 0 {
		return nil
	}
	return &finerData{
		b.opening() + `<div class="hm-after"></div>` + b.closing(b.limit), b.data(),
	}
}

// opening returns the answer: the sentence, its test and the text.
func (b heatmapPage) opening() string {
	var s strings.Builder
	say, test, _ := b.answerOf(b.lead, b.chosen)
	steps := make([]int, len(b.tokens))
	if b.lead >= 0 {
		copy(steps, b.textSteps(&b.views[b.lead], b.chosen))
	}
	b.writeAnswer(&s, say, test, steps)
	return s.String()
}

// answerOf returns the sentence of a row and its test, as HTML, and its facts.
func (b heatmapPage) answerOf(view, row int) (say, test, facts string) {
	switch {
	case len(b.e.Steps) == 0:
		return html.EscapeString(b.words.nothing), "", ""
	case view < 0:
		if len(b.views) == 0 {
			return html.EscapeString(b.answer()), "", ""
		}
		return html.EscapeString(b.views[0].wrong), "", ""
	}
	v := &b.views[view]
	answer, numbers := b.explainRow(v, row)
	return answer.html(), b.testOf(v, row).html(), numbers.String()
}

// lists returns what shows all rows without a script: the strongest sources of each, by each
// method.
func (b heatmapPage) lists(rest *int) string {
	var s strings.Builder
	s.WriteString(`<div class="hm-methods">`)
	for i := range b.views {
		part := b.list(&b.views[i])
		if len(part) > *rest {
			break
		}
		*rest -= len(part)
		s.WriteString(part)
	}
	s.WriteString("</div>")
	return s.String()
}

// list returns the rows of a method as a table: its name, its strongest sources, and its
// probability.
func (b heatmapPage) list(v *view) string {
	var s strings.Builder
	note := v.name + ": " + v.wrong
	if v.wrong == "" {
		note = v.name + ", " + v.top.unit + ", " + v.layers()
	}
	fmt.Fprintf(&s, `<div class="hm-h" style="margin:18px 0 6px"><b>%s</b> <span style="color:%s">`+
		`· %s</span></div>`, b.rowsTitle(), dimInk, escape(note, 4*nameLimit))
	if v.wrong != "" {
		return s.String()
	}
	s.WriteString(`<table class="hm-plain" cellpadding="3">`)
	for t := range b.e.Steps {
		if t != b.chosen && !b.e.Model.Reads() && !b.listed(len(b.e.Prompt.Texts)+t) {
			continue
		}
		where, what, chance := b.predictionOf(v, t)
		name := html.EscapeString(where + inRow(what, b.explanationOf(v).Steps[t].Text))
		if t == b.chosen {
			name = "<b>▸ " + name + "</b>"
		}
		// Notebooks have colours of their own for rows.
		fmt.Fprintf(&s, `<tr style="background:%s;color:%s"><td style="text-align:right">%s</td>`+
			`<td style="text-align:left">`, sheet, ink, name)
		switch {
		case !v.has(t):
		case v.silent[t] != "":
			s.WriteString(escape(v.silent[t], 120))
		default:
			for _, j := range b.chips(v, t) {
				s.WriteString(b.chip(v, t, j))
			}
		}
		fmt.Fprintf(&s, `</td><td style="color:%s">%s`, dimInk, chance)
		if of := v.sourceShare(t); of != "" {
			s.WriteString(" · from source " + of)
		}
		s.WriteString("</td></tr>")
	}
	s.WriteString("</table>")
	return s.String()
}

// listed reports whether token j has a column and, of an answer, a row: of words, punctuation and
// what a template writes have none.
func (d *drawing) listed(j int) bool {
	switch t, m := d.tokens[j], len(d.e.Prompt.Texts); {
	case !d.e.ByWords():
		return true
	case t.role == inTemplate || t.role == ending:
		return false
	case j >= m:
		return d.e.Steps[j-m].Word != ""
	}
	return d.e.Prompt.Words[j] != ""
}

// spoken reports whether a token has a letter or a digit.
func (t drawnToken) spoken() bool {
	return strings.ContainsFunc(t.name, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r)
	})
}

// mostChips is how many sources a row of a list has.
const mostChips = 3

// chips returns the strongest sources of row t: those of the second step and a quarter of the
// strongest, or else the strongest, if that has a colour.
func (b heatmapPage) chips(v *view, t int) (sources []int) {
	for j := range v.sources(t) {
		if b.step(v, t, j) != 0 && b.listed(j) {
			sources = append(sources, j)
		}
	}
	slices.SortStableFunc(sources, func(i, j int) int {
		return cmp.Compare(b.size(v, t, j), b.size(v, t, i))
	})
	n := min(len(sources), 1)
	for n > 0 && n < min(len(sources), mostChips) &&
		b.size(v, t, sources[n]) >= max(stepsAt[1], b.size(v, t, sources[0])/4) {
		n++
	}
	return sources[:n]
}

// chip returns source j of row t in a list. Those of the answer are underlined.
func (b heatmapPage) chip(v *view, t, j int) string {
	name, step := html.EscapeString(b.axisName(j)), b.step(v, t, j)
	if m := len(b.e.Prompt.Texts); j >= m && j != m+t {
		name = "<u>" + name + "</u>"
	}
	return fmt.Sprintf(`<span class="%s" style="%s">&nbsp;%s %s&nbsp;</span> `, stepClass(step),
		b.theme.style(step), name, minus(v.cellNumber(v.at(t, j))))
}

// rowsTitle is the title of the matrix and of the lists.
func (b heatmapPage) rowsTitle() string {
	switch {
	case b.e.Model.Reads():
		return "Every prediction"
	case b.e.ByWords():
		return "Every word of the answer"
	case len(b.e.Steps) > 0 && b.e.Steps[0].IDs != nil:
		return "Every part of the answer"
	case b.targetBegin >= 0:
		return "Every token of the target"
	}
	return "Every token of the answer"
}

// notes say how to read the matrix and the list.
func (b heatmapPage) notes() (notes [2]string) {
	notes = [2]string{"· rows came from columns", "· its strongest sources"}
	if !b.e.Model.Reads() {
		notes[1] += ", underlined if they stand in the answer"
	}
	if slices.ContainsFunc(b.e.Steps, func(g attribution.GeneratedToken) bool {
		return !g.Unscored
	}) {
		notes[0] += " · p: how probable it was"
		notes[1] += " · how probable it was"
	}
	return notes
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
	b.openDetails(&s, "Details", " · where the numbers come from, the test, what else it could "+
		"have written · method "+b.methodNames(), false)
	s.WriteString(`<div class="hm-how"></div>`)
	for _, line := range []string{b.whyLead(), b.mattered()} {
		if line != "" {
			s.WriteString("<div>" + html.EscapeString(line) + "</div>")
		}
	}
	if b.chosen >= 0 {
		s.WriteString(`<div class="hm-others">` +
			b.common(func(p *page) { p.alternatives(b.chosen) }) + "</div>")
	}
	if text := b.templateText(); text != "" {
		fmt.Fprintf(&s, "<p>Written around the messages, and not in the text: %s</p>",
			html.EscapeString(text))
	}
	b.lines(&s, rest)
	s.WriteString(b.common(func(p *page) { p.settings(b.words.page) }) + "</details>")
	return s.String()
}

// methodNames lists the methods.
func (b heatmapPage) methodNames() string {
	var names []string
	for i := range b.views {
		names = append(names, Visible(b.views[i].name, nameLimit))
	}
	return and(names)
}

// lines writes every row of every method in a line, as long as they take at most limit bytes, and
// then, once, that there are more.
func (b heatmapPage) lines(s *strings.Builder, limit int) {
	begin, left := s.Len(), 0
	for i := range b.views {
		v := &b.views[i]
		fmt.Fprintf(s, `<div class="hm-lines"><b>%s</b>`, escape(v.name, nameLimit))
		for t := range b.e.Steps {
			say, test, facts := b.answerOf(i, t)
			_, _, chance := b.predictionOf(v, t)
			var more []string
			for _, part := range []string{facts, chance, b.rest(v, t), b.changed(v, t)} {
				if part != "" {
					more = append(more, part)
				}
			}
			line := fmt.Sprintf("<div><span>%s</span> <span>%s</span> <small>%s</small></div>",
				say, test, html.EscapeString(minus(strings.Join(more, " · "))))
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
