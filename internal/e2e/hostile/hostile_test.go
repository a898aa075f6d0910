// Package hostile puts 10,000 hostile texts through every view and every format of file: none acts
// as anything but text. It costs about 20 seconds of one core.
package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/compare"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/corpus/report"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/export"
	"github.com/headwater-ml/headwater/internal/export/figure"
	"github.com/headwater-ml/headwater/internal/reproduction"
	"github.com/headwater-ml/headwater/internal/study/patch"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// htmlOf returns a picture as a notebook has it, and pageOf as a document.
var htmlOf, pageOf = fixture.HTML, fixture.Page

// seed is that of all random numbers here. enough is how many texts are drawn in every form.
const seed, enough = 20, 10_000

// raster is how many rounds share one PDF and one PNG, which take longest.
const raster = 15

// TestViews draws every view: the pages have our scripts and styles alone and ask for nothing, and
// what a terminal prints has no character that acts.
func TestViews(t *testing.T) {
	own := newMarkup(t)
	r := rand.New(rand.NewPCG(seed, 1))
	s := &source{next: func() string { return text(r) }}
	for round := 0; s.given < enough; round++ {
		pages, terminals := views(t, s, r, round%3 == 2)
		for name, page := range pages {
			own.check(t, name, page)
		}
		for name, terminal := range terminals {
			checkPrintable(t, name, terminal)
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d texts", s.given)
}

// views returns every view of one explanation, by name: those in HTML and those for terminals.
func views(
	t *testing.T, s *source, r *rand.Rand, encoder bool,
) (pages, terminals map[string]string) {
	t.Helper()
	e := s.explanation(r, encoder)
	h := render.Heatmap{Explanation: e, Status: s.text(), Filter: attribution.Filter{s.text()}}
	layers := render.Layers{Heatmap: h}
	heads := render.Heads{Explanation: e, Attention: attention(e)}
	maps := render.Maps{Explanation: e, Method: e.Order[0], Map: mapped(e)}
	e.Model.Experts = 4
	experts := render.Experts{Explanation: e, Routes: *routed(e)}
	compared, err := render.Compare(compare.Side{Explanation: e, Method: e.Order[0]},
		compare.Side{Explanation: e, Method: "direct"})
	must(t, err)
	result := s.caused()
	table := s.table()
	next, short, strongest := h, h, h
	next.Next, short.MaxBytes, strongest.Top = s.text(), 30_000, 3
	pages = map[string]string{
		"text":    htmlOf(next),
		"page":    pageOf(h),
		"growing": htmlOf(render.Heatmap{Status: s.text()}),
		"short":   htmlOf(short),
		"table":   table.HTML(),
	}
	terminals = map[string]string{"strongest": textOf(strongest)}
	all := map[string]render.Picture{
		"heatmap": h, "layers": layers, "heads": heads, "maps": maps, "experts": experts, "compared": compared,
		"sources": render.Sources{Result: result}, "lens": render.Lens{Explanation: e},
		"patch": render.Patch{Explanation: e},
	}
	if !encoder {
		all["flow"] = render.Flow{Explanation: e, Graph: graph(t, e, steps-1), Token: steps - 1}
	}
	for name, v := range all {
		pages[name], pages[name+" page"] = htmlOf(v), pageOf(v)
		terminals[name] = textOf(v)
	}
	return pages, terminals
}

// patched are patches of a prompt whose tokens all differ.
func (s *source) patched(e *attribution.Explanation) *patch.Result {
	m := len(e.Prompt.Texts)
	r := &patch.Result{
		Place: patch.Residual, Direction: patch.Denoising, Clean: e.Prompt.Texts,
		Answer: patch.Token{Text: s.text()}, Foil: patch.Token{Text: s.text()},
		Shape: [2]int{e.Model.Layers, m}, Recovery: make([]float64, e.Model.Layers*m),
	}
	for j := range m {
		r.Corrupted, r.Different = append(r.Corrupted, s.text()), append(r.Different, j)
		r.Recovery[j] = float64(j%3) - .5
	}
	return r
}

// textOf returns a picture as a text.
func textOf(v render.Picture) string {
	var b strings.Builder
	_ = render.Text(&b, v, render.Terminal{})
	return b.String()
}

// graph returns the flow to the prediction of generated token t.
func graph(t *testing.T, e *attribution.Explanation, token int) *attribution.FlowGraph {
	t.Helper()
	T := prompts + token
	in := trace.Tensor{
		Name: "attention", Axes: "LTS", Shape: []int{layers, T, T},
		Data: make([]float32, layers*T*T),
	}
	for i := range layers * T {
		for j := range i%T + 1 {
			in.Data[i*T+j] = 1 / float32(i%T+1)
		}
	}
	g, err := attribution.NewFlowGraph(context.Background(),
		attribution.InMemory([]trace.Tensor{in}), attribution.Options{}, T-1, 2)
	must(t, err)
	return g
}

// table is a table of a reproduced figure, whose texts are visible already.
func (s *source) table() reproduction.Table {
	text := func() string { return render.Visible(s.text(), 0) }
	t := reproduction.Table{Title: text(), Columns: []string{text(), text()}}
	for range 3 {
		t.Rows = append(t.Rows, []string{text(), text()})
	}
	return t
}

// TestFiles writes every format of file: each can be read by a parser that is not ours, has the
// texts as they are, and does nothing.
func TestFiles(t *testing.T) {
	own := newMarkup(t)
	r := rand.New(rand.NewPCG(seed, 2))
	s := &source{next: func() string { return text(r) }}
	for round := 0; s.given < enough; round++ {
		e := s.explanation(r, false)
		e.Model.Experts = 4
		o := export.Options{
			Recorded: render.Recorded{
				"flow graph": graph(t, e, 0), "attention": recorded(e), "map": mapped(e),
				"experts": routed(e),
			},
			Made: export.NewMade(strings.ToValidUTF8(s.text(), "\ufffd"),
				attribution.Options{MaxTokens: steps}, units.Grouping{}, "float32", "v1"),
		}
		for _, f := range export.Formats() {
			if slow := f == export.PDF || f == export.PNG; slow && round%raster != 0 {
				continue
			}
			// Each kind of figure shows all prompt tokens.
			kinds := render.Kinds()
			o.Kind, o.Method = kinds[(round+round/raster)%len(kinds)], e.Order[0]
			if f == export.HTML && o.Kind == render.KindHead {
				o.Kind = render.KindHeads // whose page opens any head
			}
			file, _, err := export.Encode(e, f, o)
			if err != nil {
				t.Fatalf("round %d, %s of %s: %v", round, o.Kind, f, err)
			}
			checkFile(t, own, f, file, e, o)
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d texts", s.given)
}

// recorded is the attention of an explanation.
func recorded(e *attribution.Explanation) *trace.Tensor {
	a := attention(e)
	return &a
}

// routed are the experts of an explanation: each token passes the first one of one layer.
func routed(e *attribution.Explanation) *trace.Tensor {
	T := len(e.Prompt.Texts)
	if !e.Model.Reads() {
		T += len(e.Steps)
	}
	return &trace.Tensor{Shape: []int{1, T, 1, 2}, Data: make([]float32, 2*T)}
}

// mapped is a map of one layer over the tokens of an explanation, in which each has all of its row
// from itself.
func mapped(e *attribution.Explanation) *attribution.Map {
	T := len(e.Prompt.Texts) + len(e.Steps)
	m := &attribution.Map{
		Layers: []int{0}, Shape: [3]int{1, T, T}, Data: make([]float64, T*T),
		Unit: "share of attention", Facts: attribution.Facts{Quantity: attribution.Share},
	}
	for i := range T {
		m.Row(0, i)[i] = 1
	}
	return m
}

// TestCharts draws charts of every kind as files.
func TestCharts(t *testing.T) {
	r := rand.New(rand.NewPCG(seed, 3))
	s := &source{next: func() string { return text(r) }}
	for round := 0; s.given < enough; round++ {
		for kind, c := range s.charts() {
			d, err := figure.Chart(c)
			if err != nil {
				t.Fatalf("round %d, %s: %v", round, kind, err)
			}
			for _, f := range figure.Formats() {
				if round%raster != 0 && f != figure.SVG && f != figure.TeX {
					continue
				}
				const about = `{"form":1}`
				file, err := figure.Draw(figure.Options{Format: f}, about, d)
				if err != nil {
					t.Fatalf("round %d, %s of %s: %v", round, f, kind, err)
				}
				checkFigure(t, f, file.Bytes, about)
			}
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d texts", s.given)
}

// TestReport makes the page of a corpus of hostile texts.
func TestReport(t *testing.T) {
	r := rand.New(rand.NewPCG(seed, 4))
	s := &source{next: func() string { return text(r) }}
	plain := &source{next: func() string { return " x word" }}
	own := &markupOf{}
	own.learn(t, reported(t, plain, 10*prompts))
	page := reported(t, s, enough)
	own.check(t, "report", page)
	if n := strings.Count(page, "<div class=pic"); n < enough/prompts/2 {
		t.Errorf("the page has %d pictures; want one for most of %d texts", n, enough/prompts)
	}
	t.Logf("%d texts", s.given)
}

// reported returns the page of a corpus with that many texts of s.
func reported(t *testing.T, s *source, texts int) string {
	t.Helper()
	dir, seen := t.TempDir(), s.given
	path := filepath.Join(dir, "texts.jsonl")
	var b strings.Builder
	records := 0
	for ; s.given < seen+texts; records++ {
		prompt := ""
		for range prompts {
			prompt += "x" + s.text()
		}
		id := fmt.Sprint(records, s.text())
		line, err := json.Marshal(map[string]any{"id": id, "text": prompt})
		must(t, err)
		b.Write(append(line, '\n'))
	}
	must(t, os.WriteFile(path, []byte(b.String()), 0o600))
	from, err := corpus.OpenSource(t.Context(), path, "")
	must(t, err)
	one := s.explanation(rand.New(rand.NewPCG(1, 1)), false)
	methods := []string{"rollout", "<b>" + s.text()}
	for _, name := range methods {
		one.Methods[name] = &attribution.Result{Unit: s.text()}
	}
	one.Order = methods
	m, err := corpus.MakePlan(t.Context(), from, corpus.Settings{
		Version: "test", Shards: 2, Tasks: 1,
		Model: corpus.Model{Name: s.text(), Hash: s.text(), Family: s.text()},
		Try: func(context.Context, corpus.Record) (*attribution.Explanation, error) {
			return one, nil
		},
	})
	must(t, err)
	place, err := corpus.OpenPlace(filepath.Join(dir, "corpus"))
	must(t, err)
	c, err := corpus.Create(t.Context(), place, m)
	must(t, err)
	runner := &corpus.Runner{
		Corpus: c, Source: from, Explainer: divider{s}, Shards: c.ShardsOf(0, 1), Workers: 1,
	}
	if _, err := runner.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if _, err := report.Write(t.Context(), &page, c, report.Options{
		Top: report.MaxTop, Words: []string{"x", "<b>"}, Method: methods[1],
	}); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// divider explains a text without a model: a token begins at each x. Every seventh text has an
// error.
type divider struct{ *source }

// Explain calls each for every record.
func (d divider) Explain(
	_ context.Context, records []corpus.Record, each func(int, corpus.Result),
) error {
	for i, record := range records {
		if record.Number%7 == 6 {
			each(i, corpus.Result{Err: strings.ToValidUTF8(d.text(), "?")})
			continue
		}
		result := corpus.Result{Text: record.Prompt}
		x := corpus.Scores{Layers: []int32{0}}
		words := strings.SplitAfter(record.Prompt, "x")
		at := 0
		for k, word := range words {
			result.PromptIDs = append(result.PromptIDs, int32(k))
			result.PromptTexts = append(result.PromptTexts, word)
			result.PromptBegin = append(result.PromptBegin, int32(at))
			at += len(word)
			result.PromptEnd = append(result.PromptEnd, int32(at))
		}
		for t := range 2 {
			result.IDs, result.Texts = append(result.IDs, int32(t)), append(result.Texts, d.text())
			result.Probability = append(result.Probability, 0.5)
			for k := range words {
				x.Scores = append(x.Scores, float32(1+k%5)/float32(3*len(words)))
			}
			x.Generated, x.Shown = append(x.Generated, 0.1), append(x.Shown, 0)
			x.Totals, x.Firsts = append(x.Totals, 0.9), append(x.Firsts, 0.1)
		}
		result.Methods = []corpus.Scores{x, x}
		each(i, result)
	}
	return nil
}

// newMarkup returns what pages of plain texts have.
func newMarkup(t *testing.T) *markupOf {
	t.Helper()
	own := &markupOf{}
	r := rand.New(rand.NewPCG(seed, 0))
	words := []string{"word", " two", "\n", " line\n", "عربي", "  ", "long" + strings.Repeat(" word", 20)}
	s := &source{next: func() string { return words[r.IntN(len(words))] }}
	for _, encoder := range []bool{false, true, false} {
		pages, _ := views(t, s, r, encoder)
		for _, page := range pages {
			own.learn(t, page)
		}
	}
	e := s.explanation(r, false)
	file, _, err := export.Encode(e, export.HTML, export.Options{
		Made: export.NewMade("a", attribution.Options{}, units.Grouping{}, "", ""),
	})
	must(t, err)
	own.learn(t, string(file))
	if n := len(own.scripts); n != 6 || !slices.ContainsFunc(own.styles, func(s string) bool {
		return strings.Contains(s, ".hm")
	}) {
		t.Fatalf("plain pages have %d scripts, want 6, of which boards share one; "+
			"styles %.40q", n, own.styles)
	}
	return own
}

var must = testhelp.Must // ends a test at an error
