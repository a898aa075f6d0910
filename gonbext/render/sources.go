package render

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/sources"
)

// Sources shows which sources of documents an answer came from: the documents, coloured by the
// scores of each method, and the strongest sources first. It needs no script; where scripts run, a
// menu changes the colours, and a line has the score of the source that is pointed at. A text of it
// has a line for each source, the strongest first, with its score by each method on the colours of
// a page or with a bar.
type Sources struct {
	*sources.Result
	// Palette is the name of the colours; see [Look.Palette].
	Palette string
	// Top, if above 0, is how many sources are listed; default: all up to 20, otherwise 10.
	Top int
	// MaxBytes is the approximate limit of the picture in bytes; default 480,000. Documents that
	// do not fit are left out, which a sentence says.
	MaxBytes int
}

// Check returns nil: every result is a picture.
func (r Sources) Check() error { return nil }

func (r Sources) figure(string) (Figure, error) {
	return Figure{}, usagef("sources are a list and no figure")
}

// plain implements [Picture].
func (r Sources) plain(look Terminal) *text {
	list := strongestSources(r.Result, r.Top)
	t := r.text(list, look)
	for look.MaxBytes > 0 && t.Len() > look.MaxBytes && len(list) > 1 {
		list = list[:len(list)/2]
		t = r.text(list, look)
	}
	return t
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
	t.wrapped("", r.sentence().String())
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

var sourcesScript = script(sourcesSource)

// sourcesRules are the rules of the style sheet that pictures of sources have alone.
const sourcesRules = `.hm .hm-list :is(td,th){padding:1px 8px!important;font-size:13px}` +
	`.hm .hm-list :last-child{white-space:normal;line-height:1.4}` +
	`.hm-sources .hm-text{max-height:26em;overflow-y:auto}` +
	`@media print{.hm-sources .hm-text{max-height:none}}`

// sourcesBoard is the state of writing [Sources] as HTML.
type sourcesBoard struct {
	*board
	Sources
	scales []scale // of the colours of each method
}

// sourcesData is what the script needs beyond the elements of the picture. Scores has for each
// method, in the order of its documents on the page, what the score of each source is.
type sourcesData struct {
	ID       string     `json:"id"`
	Palettes []string   `json:"palettes"`
	Scores   [][]string `json:"scores"`
}

// markup implements [Picture].
func (r Sources) markup(room int) *page {
	// A board needs the name of the model. There are no tokens.
	d := &drawing{picture: &picture{e: &attribution.Explanation{Model: r.Model}}}
	b := sourcesBoard{newBoard(d, r.Palette, limitOf(r.MaxBytes, room)), r, colorScales(r.Result)}
	b.write()
	return b.page()
}

// write writes the parts from top to bottom. The documents by a method are left out where they
// would make the picture larger than its limit.
func (b sourcesBoard) write() {
	b.begin("hm-sources", sourcesRules)
	b.top()
	var first, others, end bytes.Buffer
	fmt.Fprintf(&first, `<p class="hm-say" style="font-size:24px;line-height:1.3;margin:18px 0 `+
		`4px">%s</p><p class="hm-facts hm-dim" style="color:%s;margin:0 0 14px">`,
		b.sentence().html(), dimInk)
	if b.partial() {
		b.Sources.writeAnswer(&first)
		first.WriteString(" · ")
	}
	fmt.Fprintf(&first, "%s</p>", escape(minus(chances(b.Result)), 0))
	b.writeList(&others)
	b.writeEnd(&end)
	data := sourcesData{
		ID:       hashOf(b.Model.Hash + "\x00" + b.Prompt + "\x00" + b.Target + "s"),
		Palettes: PaletteNames(), Scores: [][]string{},
	}
	rest := b.limit - b.Len() - first.Len() - others.Len() - end.Len() - len(sourcesScript()) - 1000
	for i := range b.Methods {
		to, text := &others, b.documents(i)
		if i == 0 {
			to = &first
		}
		scores := b.scores(i)
		if rest -= len(text) + len(pack(scores)); rest < 0 {
			text = fmt.Sprintf(`<div style="%s">The documents by %s are left out here: the `+
				`picture would be larger than %s bytes.</div>`, small,
				escape(b.Methods[i].Method, 0), thousands(b.limit))
			rest += len(text)
		} else {
			data.Scores = append(data.Scores, scores)
		}
		to.WriteString(text)
	}
	for _, part := range []*bytes.Buffer{&first, &others, &end} {
		_, _ = part.WriteTo(b) // a buffer takes all
	}
	b.end(pack(data), sourcesScript())
}

// sentenceLimit is how wide a text that the sentence names may be.
const sentenceLimit = 120

// sentence returns which sources the answer came from by the first method. Sources that it left
// out only together count as one.
func (r Sources) sentence() (s Phrase) {
	text := Visible(strings.TrimSpace(r.Target), sentenceLimit)
	target := piece{text: isolated(text), strong: true}
	above, below, whole := r.named()
	named, verb := above, " came "
	switch {
	case len(above) == 0 && len(below) == 0:
		s.Say("No source stands out for ")
		return append(s, target)
	case len(above) == 0:
		named, verb = below, " came in spite of "
	case whole > 0:
		part := 0.0
		for _, one := range above[:namedOf(above)] {
			part += one.Value
		}
		verb += howMuch(part, whole) + "from "
	default:
		verb += "from "
	}
	s = append(s, target)
	s.Say(verb)
	var all []Phrase
	of := sourceScales(r.Result)[0]
	for _, g := range named[:namedOf(named)] {
		text := "“" + isolated(Visible(r.Sources[g.First].Text, sentenceLimit)) + "”"
		if n := g.End - g.First; n > 1 {
			text = fmt.Sprintf("the %d sources from %s to “%s” together", n, text,
				isolated(Visible(r.Sources[g.End-1].Text, sentenceLimit)))
		}
		all = append(all, Phrase{
			{text: text}, {text: " (" + minus(of.number(g.Value)) + ")", quiet: true},
		})
	}
	s.join(all)
	return s
}

// little is the part of a whole below which it is little.
const little = .25

// howMuch returns an adverb and a space for how much a part is of a whole.
func howMuch(part, whole float64) string {
	switch {
	case part >= whole/2:
		return "mostly "
	case part >= little*whole:
		return "in part "
	}
	return "in small part "
}

// named returns the sources, and groups without scores of their sources, that the first method has
// a score for that is not written as 0: those for the answer and those against it, the strongest
// of each first. whole is the sum of the sizes of all scores, 0 if they do not add up.
func (r Sources) named() (above, below []sources.Group, whole float64) {
	if len(r.Methods) == 0 {
		return nil, nil, 0
	}
	lead, of := &r.Methods[0], sourceScales(r.Result)[0]
	all := lead.Together()
	for j, v := range lead.Values {
		if !math.IsNaN(float64(v)) {
			all = append(all, sources.Group{First: j, End: j + 1, Value: float64(v)})
		}
	}
	for _, g := range all {
		if lead.Method == sources.ContextCite { // whose model is a sum
			whole += math.Abs(g.Value)
		}
		switch {
		case of.vanishes(g.Value):
		case g.Value > 0:
			above = append(above, g)
		case g.Value < 0:
			below = append(below, g)
		}
	}
	for _, side := range [][]sources.Group{above, below} {
		slices.SortStableFunc(side, func(a, b sources.Group) int {
			return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value))
		})
	}
	return above, below, whole
}

// namedOf returns how many of some sources, at least one and the strongest first, a sentence names.
func namedOf(all []sources.Group) int {
	n := 1
	for n < min(len(all), mostNamed) &&
		math.Abs(all[n].Value) >= nameFrom*math.Abs(all[0].Value) {
		n++
	}
	return n
}

// writeEnd writes the warnings, how to read the picture, its cost, and the model.
func (b sourcesBoard) writeEnd(s *bytes.Buffer) {
	for _, warning := range b.Warnings {
		fmt.Fprintf(s, "<div>⚠ %s</div>", escape(warning, 1000))
	}
	fmt.Fprintf(s, `<details class="hm-details"><summary>Details: how to read this, model`+
		`</summary><p>%s</p><div>%s</div>%s</details>`, sourcesLegend,
		escape(cost(b.Result), 0), b.common((*page).model))
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
func (b sourcesBoard) writeList(s *bytes.Buffer) {
	// Notebooks have colours of their own for rows.
	const row = `<tr style="background:` + sheet + `;color:` + ink + `">`
	s.WriteString(`<div class="hm-h" style="margin:18px 0 6px"><b>Strongest sources</b></div>` +
		`<div class="hm-scroll" style="overflow-x:auto"><table class="hm-list" ` +
		`style="border-spacing:1px">` + row)
	for _, m := range b.Methods {
		fmt.Fprintf(s, `<th style="text-align:right">%s</th>`, escape(m.Method, nameLimit))
	}
	s.WriteString(`<th style="text-align:left">source</th></tr>`)
	list := strongestSources(b.Result, b.Top)
	for _, j := range list {
		s.WriteString(row)
		for i, m := range b.Methods {
			v, number := float64(m.Values[j]), "–"
			if !math.IsNaN(v) {
				number = minus(b.scales[i].number(v))
			}
			step := stepOf(b.scales[i].at(v))
			fmt.Fprintf(s, `<td class="%s" style="text-align:right;%s">%s</td>`,
				stepClass(step), b.theme.style(step), number)
		}
		fmt.Fprintf(s, `<td style="text-align:left">%s</td></tr>`,
			escape(sourceName(b.Result, j), 300))
	}
	s.WriteString("</table></div>")
	if left := len(b.Sources.Sources) - len(list); left > 0 {
		fmt.Fprintf(s, `<div style="%s">and %s more</div>`, small, thousands(left))
	}
}

// scores returns what the score of each source by method i is.
func (b sourcesBoard) scores(i int) (all []string) {
	for _, v := range b.Methods[i].Values {
		score := "not left out on its own"
		if v := float64(v); !math.IsNaN(v) {
			score = minus(b.scales[i].value(v))
		}
		all = append(all, score)
	}
	return all
}

// documents returns the documents with every source in the colour of its score by method i. Those
// of the first method are open.
func (b sourcesBoard) documents(i int) string {
	var s strings.Builder
	m := &b.Methods[i]
	heading := fmt.Sprintf(`<b>%s</b> <span style="color:%s">· %s</span>`,
		escape(m.Method, nameLimit), dimInk,
		escape(minus(strings.Join(measures(b.Result, i), "; ")), 0))
	if i == 0 {
		fmt.Fprintf(&s, `<div><div class="hm-h">%s</div>`, heading)
	} else {
		fmt.Fprintf(&s, `<details class="hm-details"><summary>Documents by %s</summary>`, heading)
	}
	s.WriteString(`<div class="hm-text" style="font-size:17px;line-height:1.8">`)
	next := 0
	for d, document := range b.Documents {
		if d < len(b.Names) {
			fmt.Fprintf(&s, `<div class="hm-role"><small>%s</small></div>`,
				escape(b.Names[d], 200))
		} else if d > 0 {
			s.WriteString("<br>")
		}
		s.WriteString(`<div class="hm-prose">`)
		at := 0
		for ; next < len(m.Values) && b.Sources.Sources[next].Document == d; next++ {
			source := b.Sources.Sources[next]
			writeBetween(&s, document[at:source.Begin])
			v := float64(m.Values[next])
			b.source(&s, source.Text, stepOf(b.scales[i].at(v)), !math.IsNaN(v))
			at = source.End
		}
		writeBetween(&s, document[at:])
		s.WriteString("</div>")
	}
	s.WriteString("</div>" + b.legend(b.scales[i]))
	if i == 0 {
		return s.String() + "</div>"
	}
	return s.String() + "</details>"
}

// source writes a source in a document.
func (b sourcesBoard) source(s *strings.Builder, text string, step int, alone bool) {
	style := b.theme.style(step)
	switch {
	case step < 0:
		style += ";text-decoration:underline dotted"
	case !alone:
		style = "border-bottom:1px dotted"
	}
	if style != "" {
		style = fmt.Sprintf(` class="%s" style="%s"`, stepClass(step), style)
	}
	fmt.Fprintf(s, `<span%s>%s</span>`, style, escape(text, 0))
}

// legend returns the colours of a scale between its ends.
func (b sourcesBoard) legend(of scale) string {
	low, high := of.ends()
	s := `<div class="hm-legend"><span>` + minus(low) + `</span><span class="hm-steps">`
	for step := -levels; step <= levels; step++ {
		class := stepClass(step)
		if step == 0 {
			class = "hm-z"
		}
		s += fmt.Sprintf(`<span class="%s" style="%s">&nbsp;&nbsp;</span>`, class,
			b.theme.style(step))
	}
	return s + "</span><span>" + high + "</span></div>"
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

func (r Sources) draw() drawer { return r }

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
		var values []float64
		for _, v := range s.Values {
			values = append(values, float64(v))
		}
		all[i] = all[i].tight(values)
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
