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
	"text/template"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/corpus"
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

// pageText is the page, which contents fills in.
//
//go:embed page.tmpl
var pageText string

// contents is what the page shows. Texts that come from the corpus are HTML already where a comment
// says so.
type contents struct {
	Title, Style, Script, ScriptHash string // HTML
	Facts                            [][2]string
	Found                            *Found
	Input                            corpus.Input
	Methods                          []methodRow
	Charts                           []drawn
	Words                            []word
	Texts                            []*listed
	Lead, Listed                     string // HTML
	Columns                          []string
}

// methodRow is a row of the table of methods.
type methodRow struct {
	Name, Unit     string // HTML
	Tokens, Silent int64
	Means          []mean
}

// page returns the page.
func (s *scan) page() ([]byte, error) {
	charts, err := s.charts()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(script))
	w := &writer{scan: s}
	c := contents{
		Title: w.title(), Style: styleSheet + colors(), Script: script,
		ScriptHash: base64.StdEncoding.EncodeToString(sum[:]), Facts: w.facts(), Found: &s.found,
		Input: s.manifest.Input, Charts: charts, Words: s.words, Texts: s.top.all,
		Lead: html.EscapeString(s.name(s.lead)), Listed: areListed(len(s.top.all), s.options.Top),
		Columns: []string{"rank", "id", "share", "generated", "probability", "text"},
	}
	for i := range s.methods {
		m := &s.methods[i]
		generated := mean{float64(m.prompt.n) - m.prompt.sum, m.prompt.n}
		c.Methods = append(c.Methods, methodRow{
			html.EscapeString(s.name(i)), esc(s.manifest.Methods[i].Unit, 60), m.prompt.n, m.silent,
			[]mean{m.strongest.mean, m.first.mean, m.prompt.mean, generated},
		})
	}
	t := template.Must(template.New("").Funcs(template.FuncMap{
		"html": html.EscapeString, "visible": esc, "percent": percent, "cell": cell,
		"base64": base64.StdEncoding.EncodeToString, "inc": func(i int) int { return i + 1 },
		"largest": func(x word) string {
			if x.Shares.n == 0 {
				return "–"
			}
			return percent(x.largest)
		},
		"picture": func(x *listed) string {
			w.Reset()
			w.picture(&x.picture)
			return w.String()
		},
	}).Parse(pageText))
	var b bytes.Buffer
	err = t.Execute(&b, c)
	return b.Bytes(), err
}

// title names the input by its files, without the folder of a machine.
func (w *writer) title() string {
	files := w.scan.manifest.Input.Files
	if len(files) == 1 {
		return "Corpus " + esc(files[0].Name, 80)
	}
	return fmt.Sprintf("Corpus of %d files", len(files))
}

// colors returns the style of each level, in light and in dark.
func colors() string {
	var light, dark strings.Builder
	one := func(b *strings.Builder, k int, background chart.RGB) {
		fmt.Fprintf(b, ".q%d{background:%s;color:%s}", k, background, background.Legible())
	}
	from, to := chart.RGB{0x22, 0x27, 0x2e}, chart.RGB{0xa5, 0xd6, 0xff}
	for k := range levels {
		x := float64(k) / (levels - 1)
		one(&light, k, chart.Ramp("", x))
		var c chart.RGB
		for i := range c {
			c[i] = uint8(math.Round((1-x)*float64(from[i]) + x*float64(to[i])))
		}
		one(&dark, k, c)
	}
	return light.String() + "\n@media(prefers-color-scheme:dark){" + dark.String() + "}\n"
}

// facts are what the corpus is, names and values in HTML.
func (w *writer) facts() [][2]string {
	s, m := w.scan, w.scan.manifest
	var names []string
	for i := range s.methods {
		names = append(names, html.EscapeString(s.name(i)))
	}
	dtype := ""
	if m.Model.DType != "" {
		dtype = ", " + esc(m.Model.DType, 20)
	}
	name := path.Base(filepath.ToSlash(m.Model.Name)) // without the folder of a machine
	return [][2]string{
		{"Model", fmt.Sprintf("%s (%s, backend %s%s), SHA-256 %s…", esc(name, 80),
			esc(m.Model.Family, 40), esc(m.Model.Backend, 20), dtype,
			esc(m.Model.Hash[:min(12, len(m.Model.Hash))], 12))},
		{"Methods", strings.Join(names, ", ")},
		{"Options", w.settings()},
		{"Input", w.files()},
		{"Records", fmt.Sprintf("%d in %s; %s and %s", s.found.Records,
			message.Count(s.found.Shards-s.found.Incomplete, "shard"),
			message.Count(s.prompts, "prompt token"), message.Count(s.tokens, "generated token"))},
		{"Errors", w.errors()},
		{"Made by", fmt.Sprintf("headwater %s, manifest %s…", esc(m.Version, 40),
			esc(m.Hash[:min(12, len(m.Hash))], 12))},
	}
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

// cell returns a cell with a mean share.
func cell(m mean) string {
	if m.n == 0 {
		return "<td class=n>–"
	}
	return "<td class=n>" + percent(m.value())
}

// Numbers returns the numbers of a chart as rows of a table: x, then what each line has there.
func (d drawn) Numbers() (rows [][]string) {
	var xs []float64
	for _, line := range d.Chart.Series {
		xs = append(xs, line.X...)
	}
	slices.Sort(xs)
	for _, x := range slices.Compact(xs) {
		row := []string{strconv.FormatFloat(x, 'g', 4, 64)}
		for _, line := range d.Chart.Series {
			value := "–"
			if i := slices.Index(line.X, x); i >= 0 {
				value = fmt.Sprintf("%.4g", line.Y[i])
			}
			row = append(row, value)
		}
		rows = append(rows, row)
	}
	return rows
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
