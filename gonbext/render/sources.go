package render

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/sources"
)

// Sources shows which sources of documents an answer came from: the documents, coloured by the
// scores of each method, and the strongest sources first. It needs no script; where scripts run, a
// button changes the colours. A text of it has a line for each source, the strongest first, with
// its score by each method on the colours of a page or with a bar.
type Sources struct {
	*sources.Result
	// Palette is the name of the colours; see [Heatmap.Palette].
	Palette string
	// Top, if above 0, is how many sources are listed; default: all up to 20, otherwise 10.
	Top int
	// MaxBytes is the approximate limit of the picture in bytes; default 480,000. Documents that
	// do not fit are left out, which a sentence says.
	MaxBytes int
}

// plain implements [View].
func (r Sources) plain(look Terminal) (*text, error) {
	list := r.listed(r.Top)
	t := r.text(list, look)
	for look.MaxBytes > 0 && t.Len() > look.MaxBytes && len(list) > 1 {
		list = list[:len(list)/2]
		t = r.text(list, look)
	}
	return t, nil
}

// text returns the text with these sources listed.
func (r Sources) text(list []int, look Terminal) *text {
	t := newText(look)
	t.theme = themeOf(r.Palette)
	t.line(t.bold(sourcesTitle(r.Result)))
	t.wrapped("answer     ", Visible(strings.TrimSpace(r.Answer), 2000))
	if r.partial() {
		t.wrapped("explained  ", Visible(r.Target, 2000))
	}
	t.wrapped("", chances(r.Result))
	t.line("")
	columns := make([]string, len(r.Methods))
	for i, s := range r.Methods {
		columns[i] = Visible(s.Method, nameLimit)
	}
	t.line(strings.Join(columns, "  ") + "  source")
	scales := sourceScales(r.Result)
	for _, j := range list {
		for i, s := range r.Methods {
			t.score(scales[i], float64(s.Values[j]), Width(columns[i]))
		}
		indent := Width(strings.Join(columns, "  ")) + 2
		t.WriteString(isolated(Visible(sourceName(r.Result, j), t.width-indent)))
		t.end()
	}
	if left := len(r.Sources) - len(list); left > 0 {
		t.line(fmt.Sprintf("… and %s more", thousands(left)))
	}
	t.line("")
	for i := range r.Methods {
		label := Visible(r.Methods[i].Method, nameLimit) + "  "
		t.wrapped(label, strings.Join(measures(r.Result, i), "; "))
	}
	t.wrapped("", cost(r.Result))
	t.wrapped("model  ", provenanceOf(r.Model))
	for _, warning := range r.Warnings {
		t.wrapped("note  ", Visible(warning, 1000))
	}
	return t
}

// score writes the score of a source in a column, and two spaces.
func (t *text) score(s scale, v float64, width int) {
	number := "–"
	if !math.IsNaN(v) {
		number = s.number(v)
	}
	if math.IsNaN(v) {
		t.WriteString(right(number, width-1) + " ")
	} else {
		t.placed(s.at(v), number, width)
	}
	t.WriteString("  ")
}

//go:embed sources.js
var sourcesSource string

var sourcesTouch = script(sourcesSource)

// sourcesData is what the script needs beyond the elements of the picture: as in scriptData.
type sourcesData struct {
	ID      string `json:"id"`
	Palette int    `json:"palette,omitempty"`
}

// markup implements [View].
func (r Sources) markup(int) (*page, error) {
	page := newPage(nil, r.MaxBytes)
	left := page.limit - len(sourcesTouch()) - len(styleSheet) - 1000
	var b, end bytes.Buffer
	fmt.Fprintf(&end, `<div style="%s">%s</div>`, small, escape(cost(r.Result), 0))
	for _, warning := range r.Warnings {
		fmt.Fprintf(&end, `<div style="%s">⚠ %s</div>`, small, escape(warning, 1000))
	}
	r.writeLegend(&end)
	fmt.Fprintf(&b, `<div style="font-size:13px"><b>%s</b></div>`,
		escape(sourcesTitle(r.Result), 0))
	b.WriteString(`<div style="font-size:18px;margin:8px 0">`)
	r.writeAnswer(&b)
	fmt.Fprintf(&b, `</div><div>%s</div>`, escape(chances(r.Result), 0))
	r.writeList(&b)
	for i := range r.Methods {
		text := r.documents(i)
		if b.Len()+len(text)+end.Len() > left {
			fmt.Fprintf(&b, `<div style="%s">The documents by %s are left out here: the picture `+
				`would be larger than %s bytes.</div>`, small, escape(r.Methods[i].Method, 0),
				thousands(page.limit))
			continue
		}
		b.WriteString(text)
	}
	b.Write(end.Bytes())
	data := pack(sourcesData{
		ID:      hashOf(r.Model.Hash+"\x00"+r.Prompt+"\x00"+r.Target) + "s",
		Palette: paletteOf(r.Palette).number(),
	})
	page.frame(class+" hw-sources", b.String(), data, sourcesTouch())
	return page, nil
}

// writeLegend writes how to read the picture, and the model, in a part that a reader opens.
func (r Sources) writeLegend(b *bytes.Buffer) {
	fmt.Fprintf(b, `<details class="hw-k" style="%s;font-size:12px"><summary style="cursor:`+
		`pointer">How to read this, model</summary><div>%s</div>`, line, sourcesLegend)
	if model := provenanceOf(r.Model); model != "" {
		fmt.Fprintf(b, "<div>model %s</div>", escape(model, 0))
	}
	b.WriteString("</details>")
}

// sourcesLegend says what the numbers of a picture of sources mean.
const sourcesLegend = "A source has a score for how much more (+) or less (-) probable it makes " +
	"what is explained, which is bold. leave-one-out: ln p with all sources minus ln p without " +
	"this one. context-cite: its weight in a linear model of the log-odds, fitted to random " +
	"halves of the sources. LDS, from -1 to 1: the rank correlation of what the scores predict " +
	"for other random halves with what the model does; near 0 the scores say nothing. Drop: by " +
	"how much ln p falls without the strongest sources."

// provenanceOf returns the name, hash and backend of a model; "" if it has no name.
func provenanceOf(info trace.Info) string {
	if info.Name == "" {
		return ""
	}
	return (&picture{e: &attribution.Explanation{Model: info}}).provenance()
}

// writeAnswer writes the answer with the part that is explained in bold.
func (r Sources) writeAnswer(b *bytes.Buffer) {
	begin, end := 0, 0 // bytes of the texts of the tokens
	for i, token := range r.AnswerTokens {
		if i < r.TargetTokens[0] {
			begin += len(token)
		}
		if i < r.TargetTokens[1] {
			end += len(token)
		}
	}
	whole := strings.Join(r.AnswerTokens, "")
	for i, part := range []string{whole[:begin], whole[begin:end], whole[end:]} {
		if part == "" {
			continue
		}
		tag := map[bool]string{true: "b", false: "span"}[i == 1]
		if begins, rest := word(part); begins {
			part = rest
			b.WriteByte(' ')
		}
		fmt.Fprintf(b, "<%s>%s</%s>", tag, escape(part, 0), tag)
	}
}

// writeList writes a table of the strongest sources.
func (r Sources) writeList(b *bytes.Buffer) {
	colors := paletteOf(r.Palette)
	b.WriteString(`<table style="border-collapse:collapse;margin:8px 0">` +
		`<tr style="background:none">`)
	for _, s := range r.Methods {
		fmt.Fprintf(b, `<td style="text-align:right;padding:1px 8px"><b>%s</b></td>`,
			escape(s.Method, 40))
	}
	b.WriteString(`<td style="padding:1px 8px;text-align:left"><b>source</b></td></tr>`)
	scales := colorScales(r.Result)
	list := r.listed(r.Top)
	for _, j := range list {
		b.WriteString(`<tr style="background:none">`)
		for i, s := range r.Methods {
			number, style := "–", ""
			if v := float64(s.Values[j]); !math.IsNaN(v) {
				number, style = scales[i].number(v), colors.style(scales[i].step(v))
			}
			if style != "" {
				style = ";" + style
			}
			fmt.Fprintf(b, `<td style="text-align:right;padding:1px 8px%s">%s</td>`, style, number)
		}
		fmt.Fprintf(b, `<td style="padding:1px 8px;text-align:left">%s</td></tr>`,
			escape(sourceName(r.Result, j), 300))
	}
	b.WriteString("</table>")
	if left := len(r.Sources) - len(list); left > 0 {
		fmt.Fprintf(b, `<div style="%s">and %s more</div>`, small, thousands(left))
	}
}

// documents returns the documents with every source on the colour of its score by method i.
func (r Sources) documents(i int) string {
	var b strings.Builder
	s := &r.Methods[i]
	colors, of := paletteOf(r.Palette), colorScales(r.Result)[i]
	fmt.Fprintf(&b, `<div style="margin-top:12px"><b>%s</b> <span style="opacity:.8">%s</span> · `,
		escape(s.Method, nameLimit), escape(strings.Join(measures(r.Result, i), "; "), 0))
	writeScale(&b, colors, of, false)
	b.WriteString("</span></div>")
	b.WriteString(`<div class="hw-t" style="max-height:26em;overflow:auto;line-height:1.8;` +
		`margin:4px 0">`)
	next := 0
	for d, document := range r.Documents {
		if d > 0 {
			fmt.Fprintf(&b, `<div style="%s;margin-top:8px"></div>`, line)
		}
		if d < len(r.Names) {
			fmt.Fprintf(&b, `<div style="%s">%s</div>`, small, escape(r.Names[d], 200))
		}
		at := 0
		for ; next < len(r.Sources) && r.Sources[next].Document == d; next++ {
			source := r.Sources[next]
			writeBetween(&b, document[at:source.Begin])
			style, title := "border-bottom:1px dotted", "not left out on its own"
			if v := float64(s.Values[next]); !math.IsNaN(v) {
				style, title = colors.style(of.step(v)), of.value(v)
				if of.step(v) < 0 {
					style += ";border-bottom:2px dotted" // hatching needs the style sheet
				}
			}
			if style != "" {
				style = ` style="` + style + `"`
			}
			fmt.Fprintf(&b, `<span%s title="%s">%s</span>`, style, title, escape(source.Text, 0))
			at = source.End
		}
		writeBetween(&b, document[at:])
	}
	b.WriteString("</div>")
	return b.String()
}

// writeBetween writes the text between two sources, with its line breaks.
func writeBetween(b *strings.Builder, between string) {
	lines := strings.Split(between, "\n")
	for i, line := range lines {
		if i > 0 && i < 3 {
			b.WriteString("<br>")
		}
		if trimmed := strings.TrimSpace(line); trimmed != "" {
			b.WriteString(" " + escape(trimmed, 0) + " ")
		} else if line != "" {
			b.WriteByte(' ')
		}
	}
}

func (r Sources) title() string { return "Sources of “" + r.Target + "”" }

// strongestSources returns the sources that are listed, the strongest by the first method first.
// Those without a score follow, those of the strongest group first.
func strongestSources(r *sources.Result, top int) []int {
	n := len(r.Sources)
	if top <= 0 {
		top = 10
		if n <= 20 {
			top = n
		}
	}
	list := make([]int, n)
	for j := range list {
		list[j] = j
	}
	if len(r.Methods) > 0 {
		lead := &r.Methods[0]
		list = lead.Ranked()
		for _, j := range lead.Strongest() {
			if math.IsNaN(float64(lead.Values[j])) {
				list = append(list, j)
			}
		}
	}
	return list[:min(top, n)]
}

func (r Sources) listed(top int) []int { return strongestSources(r.Result, top) }

// partial reports whether only a part of the answer is explained.
func (r Sources) partial() bool {
	return r.TargetTokens != [2]int{0, len(r.AnswerTokens)}
}

// sourceScales returns the scale of the scores of each method.
func sourceScales(r *sources.Result) []scale {
	var all []scale
	for _, s := range r.Methods {
		values := make([]float64, len(s.Values))
		for j, v := range s.Values {
			values[j] = float64(v)
		}
		of := newScale(s.Unit, attribution.Amount, values)
		of.signed = true
		of.power, of.digits = 0, 2
		all = append(all, of)
	}
	return all
}

// colorScales returns the scales of the colours of HTML, whose limits are close to the largest
// scores.
func colorScales(r *sources.Result) []scale {
	all := sourceScales(r)
	for i, s := range r.Methods {
		var known []float64
		for _, v := range s.Values {
			if !math.IsNaN(float64(v)) {
				known = append(known, float64(v))
			}
		}
		all[i] = all[i].tight(known)
	}
	return all
}

// sourcesTitle returns the title of a picture of sources.
func sourcesTitle(r *sources.Result) string {
	title := "Which part of the documents the answer came from"
	if r.Model.Name != "" {
		title += " · " + Visible(r.Model.Name, 60)
	}
	return title
}

// sourceName returns the text of a source, after the name of its document if there are several.
func sourceName(r *sources.Result, j int) string {
	s := r.Sources[j]
	if len(r.Documents) == 1 {
		return s.Text
	}
	name := strconv.Itoa(s.Document + 1)
	if s.Document < len(r.Names) {
		name = r.Names[s.Document]
	}
	return "[" + name + "] " + s.Text
}

// chances says how probable the target is with all sources and without them.
func chances(r *sources.Result) string {
	return fmt.Sprintf("ln p of what is explained: %s with the documents, %s without them "+
		"(nats, %d of %d tokens)", figure(r.LogProbability), figure(r.WithoutSources),
		r.TargetTokens[1]-r.TargetTokens[0], len(r.AnswerTokens))
}

// measures says what a score of method i means and how far it can be believed.
func measures(r *sources.Result, i int) []string {
	s := &r.Methods[i]
	out := []string{Visible(s.Unit, 2*nameLimit)}
	if s.Method == sources.ContextCite {
		out = append(out, fmt.Sprintf("%d ablations, seed %d, λ %g", r.Ablations, r.Seed,
			r.Penalty))
	}
	lds := "no LDS, because one of its sides is constant,"
	if v := float64(s.LDS); !math.IsNaN(v) {
		lds = fmt.Sprintf("LDS %.2f", v)
	}
	out = append(out, fmt.Sprintf("%s on %d held-out ablations", lds, r.HeldOut))
	var drops []string
	for _, d := range s.Drops {
		drops = append(drops, fmt.Sprintf("top %d: %.2f", d.K, d.Nats))
	}
	if len(drops) > 0 {
		out = append(out, "drop without the "+strings.Join(drops, ", ")+" (nats)")
	}
	if n := len(r.Sources) - len(s.Ranked()); n > 0 {
		out = append(out, fmt.Sprintf("%s of %s sources were left out only together with others%s",
			thousands(n), thousands(len(r.Sources)), strongestTogether(r, i)))
	}
	return append(out, fmt.Sprintf("%d passes", s.Passes))
}

// mostTogether is how many groups are named, and togetherLimit how wide the beginning of a source
// of one may be.
const mostTogether, togetherLimit = 3, 30

// strongestTogether names the strongest groups of sources that method i left out together, "" if
// there are none.
func strongestTogether(r *sources.Result, i int) string {
	var all []string
	of := sourceScales(r)[i]
	for _, g := range r.Methods[i].Together() {
		if len(all) == mostTogether {
			break
		}
		all = append(all, fmt.Sprintf("%s for the %d from “%s” to “%s”", of.number(g.Value),
			g.End-g.First, Visible(r.Sources[g.First].Text, togetherLimit),
			Visible(r.Sources[g.End-1].Text, togetherLimit)))
	}
	if len(all) == 0 {
		return ""
	}
	return ", the strongest " + strings.Join(all, ", ")
}

// cost says what the result took.
func cost(r *sources.Result) string {
	return fmt.Sprintf("%s texts; %s of their %s tokens were read, the others were in the cache.",
		thousands(r.Passes), thousands(r.TokensRead), thousands(r.TokensWhole))
}
