package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/message"
)

//go:embed style.css
var styleSheet string

//go:embed page.js
var script string

// levels is the number of colours of a token, from none to the deepest.
const levels = 17

// writer writes HTML.
type writer struct {
	bytes.Buffer
	scan *scan
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// esc returns a text as HTML in which every character is visible and none has an effect.
func esc(text string, limit int) string { return html.EscapeString(render.Visible(text, limit)) }

// page returns the page.
func (s *scan) page() ([]byte, error) {
	charts, err := s.charts()
	if err != nil {
		return nil, err
	}
	w := &writer{scan: s}
	w.head()
	w.about()
	w.summary()
	w.charts(charts)
	w.wordTable()
	w.texts()
	w.printf("</main>\n<script>%s</script>\n</body>\n</html>\n", script)
	return w.Bytes(), nil
}

// title names the input by its files, without the folder of a machine.
func (w *writer) title() string {
	files := w.scan.manifest.Input.Files
	if len(files) == 1 {
		return "Corpus " + esc(files[0].Name, 80)
	}
	return fmt.Sprintf("Corpus of %d files", len(files))
}

func (w *writer) head() {
	sum := sha256.Sum256([]byte(script))
	w.printf(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; `+
		`style-src 'unsafe-inline'; script-src 'sha256-%s'">
<title>%s</title>
<style>%s%s</style></head>
<body><main>
<h1>%[2]s</h1>
`, base64.StdEncoding.EncodeToString(sum[:]), w.title(), styleSheet, colors())
}

// colors returns the style of each level, in light and in dark.
func colors() string {
	var light, dark strings.Builder
	one := func(b *strings.Builder, k int, background chart.RGB) {
		fmt.Fprintf(b, ".q%d{background:%s;color:%s}", k, background, chart.Legible(background))
	}
	from, to := chart.RGB{0x22, 0x27, 0x2e}, chart.RGB{0xa5, 0xd6, 0xff}
	for k := range levels {
		x := float64(k) / (levels - 1)
		one(&light, k, chart.Ramp(x))
		var c chart.RGB
		for i := range c {
			c[i] = uint8(math.Round((1-x)*float64(from[i]) + x*float64(to[i])))
		}
		one(&dark, k, c)
	}
	return light.String() + "\n@media(prefers-color-scheme:dark){" + dark.String() + "}\n"
}

// fact writes one line of what the corpus is.
func (w *writer) fact(name, value string) {
	w.printf("<dt>%s</dt><dd>%s</dd>\n", name, value)
}

// about writes what the corpus is, and what is not on the page.
func (w *writer) about() {
	s, m := w.scan, w.scan.manifest
	if n := s.found.Incomplete; n > 0 {
		w.printf("<p class=warn><b>%d of %d shards are missing or damaged.</b> This page "+
			"has %d of %d records.</p>\n", n, s.found.Shards, s.found.Records, m.Input.Records)
	}
	w.printf("<dl>\n")
	var names []string
	for i := range s.methods {
		names = append(names, html.EscapeString(s.name(i)))
	}
	dtype := ""
	if m.Model.DType != "" {
		dtype = ", " + esc(m.Model.DType, 20)
	}
	name := path.Base(filepath.ToSlash(m.Model.Name)) // without the folder of a machine
	w.fact("Model", fmt.Sprintf("%s (%s, backend %s%s), SHA-256 %s…", esc(name, 80),
		esc(m.Model.Family, 40), esc(m.Model.Backend, 20), dtype,
		esc(m.Model.Hash[:min(12, len(m.Model.Hash))], 12)))
	w.fact("Methods", strings.Join(names, ", "))
	w.fact("Options", w.settings())
	w.fact("Input", w.files())
	w.fact("Records", fmt.Sprintf("%d in %s; %s and %s", s.found.Records,
		message.Count(s.found.Shards-s.found.Incomplete, "shard"),
		message.Count(s.prompts, "prompt token"), message.Count(s.tokens, "generated token")))
	w.fact("Errors", w.errors())
	w.fact("Made by", fmt.Sprintf("headwater %s, manifest %s…", esc(m.Version, 40),
		esc(m.Hash[:min(12, len(m.Hash))], 12)))
	w.printf("</dl>\n")
}

// mostFiles is how many input files are named.
const mostFiles = 5

// files names the input files.
func (w *writer) files() string {
	files := w.scan.manifest.Input.Files
	var parts []string
	for _, f := range files[:min(mostFiles, len(files))] {
		parts = append(parts, fmt.Sprintf("%s (%s)", esc(f.Name, 80),
			message.Count(f.Records, "record")))
	}
	if more := len(files) - mostFiles; more > 0 {
		parts = append(parts, message.Count(more, "more file"))
	}
	return strings.Join(parts, ", ")
}

// settings returns the options that are not default, as names and values.
func (w *writer) settings() string {
	text, err := json.Marshal(w.scan.manifest.Options)
	all := map[string]json.RawMessage{}
	if err != nil || json.Unmarshal(text, &all) != nil {
		return ""
	}
	delete(all, "methods") // they have a line of their own
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, esc(name, 40)+" "+esc(string(all[name]), 200))
	}
	if len(parts) == 0 {
		return "default"
	}
	return strings.Join(parts, ", ")
}

// mostReasons is how many reasons are listed.
const mostReasons = 5

// errors writes how many records have no scores, and why.
func (w *writer) errors() string {
	s := w.scan
	if s.found.Errors == 0 {
		return "none"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s without scores<ul>", message.Count(s.found.Errors, "record"))
	rest := s.found.Errors
	for i, reason := range s.sortedReasons() {
		if i == mostReasons {
			break
		}
		fmt.Fprintf(&b, "<li>%d: %s</li>", s.reasons[reason], esc(reason, 160))
		rest -= s.reasons[reason]
	}
	if rest > 0 {
		fmt.Fprintf(&b, "<li>%d: other reasons</li>", rest)
	}
	b.WriteString("</ul>")
	if s.numbered {
		b.WriteString("N stands for a number.")
	}
	return b.String()
}

// summary writes a table of the methods.
func (w *writer) summary() {
	w.printf(`<h2>Methods</h2>
<p>Means over generated tokens. A share is the magnitude of a value divided by the sum of the ` +
		`magnitudes of all tokens before the generated one. The first token and control tokens ` +
		`are sinks: they often have a large share whatever the text is about, so they are no ` +
		`strongest token.</p>
<div class=wide><table><tr><th>method<th>unit<th>generated tokens<th>strongest<th>first token` +
		`<th>prompt<th>generated<th>without values</tr>
`)
	for i := range w.scan.methods {
		m := &w.scan.methods[i]
		generated := mean{float64(m.prompt.n) - m.prompt.sum, m.prompt.n}
		w.printf("<tr><td>%s<td>%s<td class=n>%d%s%s%s%s<td class=n>%d</tr>\n",
			html.EscapeString(w.scan.name(i)), esc(w.scan.manifest.Methods[i].Unit, 60), m.prompt.n,
			cell(m.strongest.mean), cell(m.first.mean), cell(m.prompt.mean), cell(generated),
			m.silent)
	}
	w.printf("</table></div>\n")
}

// cell returns a cell with a mean share.
func cell(m mean) string {
	if m.n == 0 {
		return "<td class=n>–"
	}
	return "<td class=n>" + percent(m.value())
}

// charts writes the charts with their sentences and their numbers.
func (w *writer) charts(all []drawn) {
	w.printf("<h2>Where generated tokens come from</h2>\n")
	if len(all) == 0 {
		w.printf("<p>No generated token has values.</p>\n")
		return
	}
	w.printf("<div class=charts>\n")
	for _, d := range all {
		text := d.says
		if d.how != "" {
			text += " " + d.how
		}
		w.printf(`<figure><img alt="%s" src="data:image/svg+xml;base64,%s"><figcaption>%s`,
			html.EscapeString(d.chart.Title+". "+d.says),
			base64.StdEncoding.EncodeToString(d.svg), html.EscapeString(text))
		w.numbers(&d.chart)
		w.printf("</figcaption></figure>\n")
	}
	w.printf("</div>\n")
}

// numbers writes the numbers of a chart as a table that opens.
func (w *writer) numbers(c *chart.Chart) {
	w.printf("<details><summary>Numbers</summary><table><tr><th>%s",
		html.EscapeString(c.X.Label()))
	var xs []float64
	for _, line := range c.Series {
		w.printf("<th>%s", html.EscapeString(line.Name))
		xs = append(xs, line.X...)
	}
	w.printf("</tr>")
	slices.Sort(xs)
	for _, x := range slices.Compact(xs) {
		w.printf("<tr><td class=n>%s", strconv.FormatFloat(x, 'g', 4, 64))
		for _, line := range c.Series {
			value := "–"
			if i := slices.Index(line.X, x); i >= 0 {
				value = fmt.Sprintf("%.4g", line.Y[i])
			}
			w.printf("<td class=n>%s", value)
		}
		w.printf("</tr>")
	}
	w.printf("</table></details>")
}

// wordTable writes what was found of each word.
func (w *writer) wordTable() {
	s := w.scan
	if len(s.words) == 0 {
		return
	}
	w.printf("<h2>Words</h2>\n<p>Texts with each word, and the share of its tokens in their " +
		"generated tokens.</p>\n<div class=wide><table><tr><th>word<th>texts<th>mean share" +
		"<th>largest share</tr>\n")
	for i := range s.words {
		x := &s.words[i]
		largest := "–"
		if x.shares.n > 0 {
			largest = percent(x.largest)
		}
		w.printf("<tr><td>%s<td class=n>%d%s<td class=n>%s</tr>\n", esc(x.text, 60), x.texts,
			cell(x.shares), largest)
	}
	w.printf("</table></div>\n")
	for _, text := range s.found.NeverSeen {
		w.printf("<p class=warn>The word <b>%s</b> is in no text with scores. A word is found "+
			"whole and in the same case.</p>\n", esc(text, 60))
	}
}

// texts writes the list of texts with their pictures.
func (w *writer) texts() {
	s := w.scan
	method := html.EscapeString(s.name(s.lead))
	all := s.top.all
	if len(s.words) > 0 {
		var words []string
		for i := range s.words {
			words = append(words, esc(s.words[i].text, 60))
		}
		w.printf("<h2>Texts in which most comes from %s</h2>\n<p>The share is that of all "+
			"tokens of %s", strings.Join(words, ", "),
			map[bool]string{true: "the word", false: "these words"}[len(words) == 1])
	} else {
		w.printf("<h2>Texts in which most comes from one token</h2>\n<p>The share is that of the " +
			"strongest prompt token that is no sink")
	}
	w.printf(" in the generated token where it is largest, by %s. %s listed. Open a text to "+
		"see its prompt, coloured by the shares; choose a generated token to see where it comes "+
		"from.</p>\n",
		method, areListed(len(all), s.options.Top))
	if len(all) == 0 {
		return
	}
	w.printf(`<div class=list><div class="row top">`)
	for i, name := range []string{"rank", "id", "share", "generated", "probability", "text"} {
		w.printf(`<button type=button disabled data-sort=%d>%s</button>`, i, name)
	}
	w.printf("</div>\n<div class=rows>\n")
	for i, x := range all {
		w.printf(`<details><summary class=row><span>%d</span><span>%s</span><span>%s</span>`+
			`<span>%s</span><span>%.3f</span><span>%s</span></summary>`, i+1,
			html.EscapeString(x.id), percent(x.share), html.EscapeString(x.predicted),
			x.probability, html.EscapeString(x.begin))
		w.picture(&x.picture)
		w.printf("</details>\n")
	}
	w.printf("</div></div>\n")
}

func areListed(n, top int) string {
	switch n {
	case 0:
		return "There is none to be"
	case 1:
		return "One text is"
	case top:
		return fmt.Sprintf("The first %d texts are", n)
	}
	return fmt.Sprintf("All %d texts are", n)
}

// digits are those of the numbers that the script reads, two for each share.
const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// level returns the colour of a share.
func (p *picture) level(v uint16) int {
	return min(int(math.Floor(float64(v)/float64(p.scale)*(levels-1)+0.5)), levels-1)
}

// strongestOf is how many sources of a generated token are listed.
const strongestOf = 3

// picture writes the prompt, coloured for one generated token, and the generated tokens with their
// strongest sources.
func (w *writer) picture(p *picture) {
	m := len(p.prompt)
	w.printf(`<div class=pic data-scale=%d data-v="`, p.scale)
	for _, v := range p.shares {
		w.WriteByte(digits[v>>6])
		w.WriteByte(digits[v&63])
	}
	w.printf(`"><p class=s>`)
	w.cut(p.before)
	for j, token := range p.prompt {
		v := p.shares[p.chosen*m+j]
		class := fmt.Sprintf("q%d", p.level(v))
		if token.sink {
			class = "k"
		}
		if token.marked {
			class += " m"
		}
		if token.spaced {
			w.WriteByte(' ')
		} else {
			w.WriteString("<wbr>")
		}
		w.printf(`<i class="%s" title="%s">%s</i>`, class, percent(float64(v)/fullShare),
			html.EscapeString(token.text))
	}
	w.cut(p.after)
	w.printf("</p><p class=g>")
	w.cut(p.earlier)
	for t, token := range p.generated {
		w.printf(`<button type=button disabled aria-pressed=%v>%s</button>`, t == p.chosen,
			html.EscapeString(token.text))
	}
	w.cut(p.later)
	w.printf("</p><table><tr><th>generated<th>probability<th>strongest prompt tokens, sinks left " +
		"out<th>from generated tokens</tr>\n")
	for t, token := range p.generated {
		w.printf("<tr><td>%s<td class=n>%.3f<td>", html.EscapeString(token.text), token.probability)
		if token.withoutNumbers {
			w.printf("no values<td class=n>–</tr>\n")
			continue
		}
		w.sources(p, p.shares[t*m:(t+1)*m])
		w.printf("<td class=n>%s</tr>\n", percent(token.fromGenerated))
	}
	w.printf("</table><p class=key>The deepest colour is %s. Point at a token to read its share. "+
		"Grey tokens are sinks.", percent(float64(p.scale)/fullShare))
	if len(w.scan.words) > 0 {
		w.printf(" Underlined tokens belong to the words.")
	}
	w.printf("</p></div>")
}

// cut returns how many tokens are not shown.
func (w *writer) cut(n int) {
	if n > 0 {
		w.printf(" <small>… %s …</small> ", message.Count(n, "token"))
	}
}

// sources writes the strongest sources of a row.
func (w *writer) sources(p *picture, row []uint16) {
	var order []int
	for j, token := range p.prompt {
		if !token.sink && row[j] > 0 {
			order = append(order, j)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(row[b]) - int(row[a]) })
	for i, j := range order[:min(strongestOf, len(order))] {
		if i > 0 {
			w.printf(", ")
		}
		w.printf("%s %s", html.EscapeString(p.prompt[j].text), percent(float64(row[j])/fullShare))
	}
}
