package figures_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/export/figure"
	"github.com/headwater-ml/headwater/internal/figures"
	"github.com/headwater-ml/headwater/internal/reproduction"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models"
)

var update = flag.Bool("update", false,
	"make every figure from the full sample, which takes minutes, and record the verdicts")

var only = flag.String("only", "", "with -update: the names of the figures to record, joined by "+
	"commas; the records of others stay")

// opened are the models that tests share.
var opened = map[string]*models.Model{}

func open(t *testing.T, name string) *models.Model {
	t.Helper()
	if opened[name] == nil {
		m, err := models.Open(name, models.Options{Backend: "go"})
		must(t, err)
		opened[name] = m
	}
	return opened[name]
}

func makeFigure(t *testing.T, f figures.Figure, reduced bool) *reproduction.Reproduction {
	t.Helper()
	r, err := figures.Make(t.Context(), f, open(t, f.Model), figures.Options{Reduced: reduced})
	must(t, err)
	return r
}

// reduced are the figures from the reduced sample, which tests share.
var reduced = map[string]*reproduction.Reproduction{}

func reducedFigure(t *testing.T, f figures.Figure) *reproduction.Reproduction {
	t.Helper()
	if reduced[f.ID] == nil {
		reduced[f.ID] = makeFigure(t, f, true)
	}
	return reduced[f.ID]
}

// Every figure is made from a reduced sample, can be drawn, and every claim has the verdict that
// was recorded. A claim that differs has a reason.
func TestRecorded(t *testing.T) {
	if *update {
		record(t)
	}
	for _, f := range figures.All() {
		t.Run(f.ID, func(t *testing.T) {
			r := reducedFigure(t, f)
			if r.LeftOut != "" {
				t.Fatalf("it is left out on its own model: %s", r.LeftOut)
			}
			if len(r.Checks) == 0 {
				t.Error("it checks no claim")
			}
			for _, c := range figures.Compare(r) {
				if c.Was != c.Verdict {
					t.Errorf("%v; record it again with -update after a look at the figure", c)
				}
				if c.Verdict == reproduction.Differs && c.Why == "" {
					t.Errorf("%v: the record has no reason", c)
				}
			}
			for i := range r.Pictures {
				_, err := figures.Draw(r, i, figure.Options{Format: figure.SVG}, "")
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// record makes all figures from both samples and writes verdicts.json. Reasons stay.
func record(t *testing.T) {
	t.Helper()
	var all []figures.Record
	old := figures.Recorded()
	wanted, err := figures.Find(strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })...)
	must(t, err)
	for _, f := range figures.All() {
		if !slices.ContainsFunc(wanted, func(w figures.Figure) bool { return w.ID == f.ID }) {
			for _, o := range old {
				if o.Figure == f.ID {
					all = append(all, o)
				}
			}
			continue
		}
		small := map[string]reproduction.Verdict{}
		for _, c := range makeFigure(t, f, true).Checks {
			small[c.ID] = c.Verdict
		}
		for _, c := range makeFigure(t, f, false).Checks {
			rec := figures.Record{Figure: f.ID, Check: c.ID, Found: c.Found, Verdict: c.Verdict}
			if small[c.ID] != c.Verdict {
				rec.Reduced = small[c.ID]
			}
			for _, o := range old {
				if o.Figure == f.ID && o.Check == c.ID {
					rec.Why = o.Why
				}
			}
			all = append(all, rec)
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	must(t, err)
	must(t, os.WriteFile("verdicts.json", append(text, '\n'), 0o666))
	t.Fatal("recorded; run the test again without -update")
}

// Two runs give equal bytes, of all figures from the reduced sample.
func TestDeterministic(t *testing.T) {
	for _, f := range figures.All() {
		var texts [2]bytes.Buffer
		for k, r := range []*reproduction.Reproduction{
			reducedFigure(t, f), makeFigure(t, f, true),
		} {
			must(t, r.Write(&texts[k]))
			for i := range r.Pictures {
				drawn, err := figures.Draw(r, i, figure.Options{Format: figure.PDF}, "v1")
				must(t, err)
				texts[k].Write(drawn.Bytes)
			}
		}
		if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
			t.Errorf("%s: two runs differ", f.ID)
		}
	}
}

// A figure that does not fit a model is left out and says why.
func TestLeftOut(t *testing.T) {
	for _, c := range []struct{ figure, model, want string }{
		{"s3-fig2", "planted-relay", "it needs ALiBi positions, and planted-relay has none"},
		{"s1-table1", "tiny", "it needs an encoder, and tiny is not one"},
		{"s2-cue", "tiny", "tiny is not one; s2-cue-decoder asks the same of decoders"},
		{
			"s0-matrix", "planted-relay",
			"its text has 27 tokens and 6 are generated, more than the context of planted-relay, 32",
		},
		{
			"s3-fig1", "planted-relay",
			"its text has 53 tokens, more than the context of planted-relay, 32",
		},
		{"s1-growth", "planted-sum", "it compares 3 or more layers, and planted-sum has 1"},
	} {
		some, err := figures.Find(c.figure)
		must(t, err)
		r, err := figures.Make(t.Context(), some[0], open(t, c.model), figures.Options{})
		must(t, err)
		if !strings.Contains(r.LeftOut, c.want) || len(r.Pictures)+len(r.Checks) > 0 {
			t.Errorf("%s on %s: %q with %d pictures, want %q", c.figure, c.model, r.LeftOut,
				len(r.Pictures), c.want)
		}
	}
}

// On every model each figure is made or left out with a reason in one line, and none is an error.
// TestRecorded makes the figures of a model of their own. planted-sum has one layer and a context
// that is too short for most texts.
func TestOtherModels(t *testing.T) {
	for _, model := range append(tiny.Names(), "planted-relay", "planted-sum") {
		for _, f := range figures.All() {
			if f.Model == model {
				continue
			}
			r, err := figures.Make(t.Context(), f, open(t, model), figures.Options{Reduced: true})
			if err != nil {
				t.Errorf("%s: %v", model, err)
				continue
			}
			if r.LeftOut != "" {
				reason, is := strings.CutPrefix(r.LeftOut, f.ID+" is left out: ")
				if !is || reason == "" || strings.Contains(reason, "\n") {
					t.Errorf("%s on %s: the reason is %q", f.ID, model, r.LeftOut)
				}
				if len(r.Pictures)+len(r.Tables)+len(r.Checks)+len(r.Notes) > 0 {
					t.Errorf("%s on %s is left out and has contents", f.ID, model)
				}
				continue
			}
			if len(r.Checks) == 0 {
				t.Errorf("%s on %s checks no claim", f.ID, model)
			}
			for _, c := range r.Checks {
				if strings.Contains(c.Found, "NaN") {
					t.Errorf("%s on %s: %s found %s", f.ID, model, c.ID, c.Found)
				}
			}
			for i := range r.Pictures {
				_, err := figures.Draw(r, i, figure.Options{Format: figure.SVG}, "")
				if err != nil {
					t.Errorf("%s on %s: %v", f.ID, model, err)
				}
			}
		}
	}
}

// makeOne makes a figure from the reduced sample on a model of the test.
func makeOne(
	ctx context.Context, t *testing.T, id string, m trace.Model,
) (*reproduction.Reproduction, error) {
	t.Helper()
	some, err := figures.Find(id)
	must(t, err)
	return figures.Make(ctx, some[0], m, figures.Options{Reduced: true})
}

// copied opens a copy of an embedded model by its path, with some text of its tokenizer replaced.
func copied(t *testing.T, name, old, replacement string) *models.Model {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	m, _ := tiny.Lookup(name)
	must(t, os.CopyFS(dir, m.Files()))
	path := filepath.Join(dir, "tokenizer.json")
	data, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("the tokenizer of %s has no %q", name, old)
	}
	data = bytes.ReplaceAll(data, []byte(old), []byte(replacement))
	must(t, os.WriteFile(path, data, 0o666))
	opened, err := models.Open(dir, models.Options{Backend: "go"})
	must(t, err)
	return opened
}

// A classifier of another task is not compared with what a document states of verb number or of
// sentiment, whether it is opened by its name or by its path.
func TestOtherTask(t *testing.T) {
	sentiment := copied(t, tiny.SentimentName, "[MASK]", "[MASK]")
	for _, c := range []struct {
		figure string
		model  trace.Model
		want   string
	}{
		{"s1-table1", open(t, tiny.SentimentName), `a classifier of verb number: tiny-sentiment ` +
			`has no class "singular"; it has negative, positive`},
		{"s1-table1", sentiment, `verb number: copy has no class "singular"`},
		{"s1-fig2", sentiment, `verb number: copy has no class "singular"`},
		{"s1-table3", open(t, tiny.VerbName), `a classifier of sentiment: tiny-verb has no class`},
	} {
		r, err := makeOne(t.Context(), t, c.figure, c.model)
		must(t, err)
		if !strings.Contains(r.LeftOut, c.want) {
			t.Errorf("%s on %s: %q, want %q", c.figure, c.model.Info().Name, r.LeftOut, c.want)
		}
	}
}

// A model whose mask token is written <mask> gets its own, and the same comes out; with another
// spelling the figure is left out.
func TestMaskToken(t *testing.T) {
	for _, id := range []string{"s2-cue", "s2-faithfulness", "s1-fig4"} {
		some, err := figures.Find(id)
		must(t, err)
		want := reducedFigure(t, some[0])
		got, err := makeOne(t.Context(), t, id, copied(t, tiny.MaskedName, "[MASK]", "<mask>"))
		must(t, err)
		if len(got.Checks) != len(want.Checks) {
			t.Fatalf("%s has %d checks, want %d: %s", id, len(got.Checks), len(want.Checks),
				got.LeftOut)
		}
		for i, c := range got.Checks {
			if c.Found != want.Checks[i].Found {
				t.Errorf("%s/%s found %s, want %s", id, c.ID, c.Found, want.Checks[i].Found)
			}
		}
	}
	r, err := makeOne(t.Context(), t, "s2-grid", copied(t, tiny.MaskedName, "[MASK]", "[GAP]"))
	must(t, err)
	if !strings.Contains(r.LeftOut, "it needs a mask token, and copy has none") {
		t.Errorf("without a mask token: %q", r.LeftOut)
	}
}

// wrapped is a model that reads some words as two tokens, or cannot record tensors.
type wrapped struct {
	*models.Model
	divided string
	fault   error
}

func (m *wrapped) Encode(text string, specials trace.Specials) ([]trace.Token, error) {
	tokens, err := m.Model.Encode(text, specials)
	var all []trace.Token
	for _, token := range tokens {
		if word := strings.TrimSpace(token.Text); word != "" && word == m.divided {
			first := token
			first.Text, token.Text = word[:1], word[1:]
			all = append(all, first)
		}
		all = append(all, token)
	}
	return all, err
}

func (m *wrapped) Trace(
	ctx context.Context, ids []int, taps []trace.Tap,
) ([]trace.Tensor, error) {
	if m.fault != nil {
		return nil, m.fault
	}
	return m.Model.Trace(ctx, ids, taps)
}

// A name or a candidate of several tokens leaves a figure out.
func TestDividedWords(t *testing.T) {
	for divided, want := range map[string]string{
		"sara": "it needs author and sara as one token each, and the tokenizer of tiny-mlm",
		"her":  `the candidate "her" is not one token of tiny-mlm`,
	} {
		m := &wrapped{Model: open(t, tiny.MaskedName), divided: divided}
		r, err := makeOne(t.Context(), t, "s1-fig4", m)
		must(t, err)
		if !strings.Contains(r.LeftOut, want) || len(r.Pictures)+len(r.Checks) > 0 {
			t.Errorf("%s: %q, want %q", divided, r.LeftOut, want)
		}
	}
}

// A fault of the model, a lack of memory and an interruption are errors.
func TestFaults(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	m := open(t, tiny.VerbName)
	broken := errors.New("the disk is gone")
	for _, c := range []struct {
		ctx   context.Context
		fault error
	}{
		{t.Context(), broken},
		{t.Context(), &trace.MemoryError{What: "a pass", Need: 1}},
		{canceled, context.Canceled},
	} {
		model := trace.Model(&wrapped{Model: m, fault: c.fault})
		if c.ctx == canceled {
			model = m
		}
		r, err := makeOne(c.ctx, t, "s1-fig1", model)
		if r != nil || !errors.Is(err, c.fault) {
			t.Errorf("%v: figure %v, error %v", c.fault, r, err)
		}
	}
}

func TestFind(t *testing.T) {
	some, err := figures.Find("s0-lift", "s0")
	must(t, err)
	seen := map[string]bool{}
	for _, f := range some {
		if seen[f.ID] || !strings.HasPrefix(f.ID, "s0-") {
			t.Errorf("s0 has %s, twice or from another document", f.ID)
		}
		seen[f.ID] = true
	}
	if !seen["s0-matrix"] {
		t.Error("s0 has no s0-matrix")
	}
	_, err = figures.Find("s0-matri")
	if err == nil || !strings.Contains(err.Error(), "did you mean s0-matrix?") {
		t.Errorf("error %v, want a proposal", err)
	}
	if _, is := err.(*trace.UsageError); !is {
		t.Errorf("error %T, want a usage error", err)
	}
}

// What comes back from JSON is what was made, and the page has every figure with its verdicts.
func TestPages(t *testing.T) {
	some, err := figures.Find("s0-filter")
	must(t, err)
	r := makeFigure(t, some[0], true)
	r.Claim = `<script>alert("x")</script>`
	var b bytes.Buffer
	must(t, r.Write(&b))
	back, err := reproduction.Read(&b)
	must(t, err)
	if diff := cmp.Diff(r.Checks, back[0].Checks); diff != "" {
		t.Errorf("checks (-made +read):\n%s", diff)
	}
	all := []*reproduction.Reproduction{r}
	images := map[string][]figures.Image{r.ID: {{Name: r.ID, SVG: []byte("<svg/>")}}}
	page := string(figures.Page(all, images))
	for _, want := range []string{"1 of 2 agree", "1 agree, 1 " +
		"differ", "data:image/svg+xml;base64,"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "<script>") {
		t.Error("a claim became markup")
	}
	gallery := string(figures.Gallery(all, images, "figures"))
	for _, want := range []string{"](figures/s0-filter.svg)", ": 1 of 2 agree\n"} {
		if !strings.Contains(gallery, want) {
			t.Errorf("the gallery has no %q", want)
		}
	}
}

// A claim that agreed when it was recorded and does not now is a regression, and so is one that was
// not made; one that differed then is not.
func TestRegression(t *testing.T) {
	check := func(id string, v reproduction.Verdict) reproduction.Check {
		return reproduction.Check{ID: id, Verdict: v}
	}
	r := &reproduction.Reproduction{Checks: []reproduction.Check{
		check("fell", reproduction.Differs), check("rose", reproduction.Agrees),
		check("stayed", reproduction.Differs), check("new", reproduction.Differs),
	}}
	r.ID = "f"
	got := map[string]bool{}
	for _, c := range figures.CompareTo(r, []figures.Record{
		{Figure: "f", Check: "fell", Verdict: reproduction.Agrees},
		{Figure: "f", Check: "rose", Verdict: reproduction.Differs},
		{Figure: "f", Check: "stayed", Verdict: reproduction.Differs},
		{Figure: "f", Check: "gone", Verdict: reproduction.Agrees},
		{Figure: "g", Check: "other", Verdict: reproduction.Agrees},
	}) {
		got[c.ID] = c.Regression()
	}
	want := map[string]bool{
		"fell": true, "rose": false, "stayed": false, "new": false, "gone": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("regressions (-want +got):\n%s", diff)
	}
}

// TestGradientSums: a norm follows the embedding of tiny-verb, so the derivatives by the components
// of an embedding add up to 0 for every word, and only their size says something.
func TestGradientSums(t *testing.T) {
	m := open(t, tiny.VerbName)
	tokens, err := m.Encode("the keys to the cabinet near the doors are", trace.SpecialsOn)
	must(t, err)
	var ids []int
	for _, token := range tokens {
		ids = append(ids, token.ID)
	}
	got, err := m.Gradients(t.Context(), []trace.Query{{
		IDs: ids, Objective: trace.Objective{Quantity: trace.Logit, Token: 0},
	}}, trace.TrueGradient)
	must(t, err)
	data := got[0].Data
	for j := range slices.Chunk(data, len(data)/len(ids)) {
		sum, squares := 0.0, 0.0
		for _, v := range j {
			sum += float64(v)
			squares += float64(v) * float64(v)
		}
		if size := math.Sqrt(squares); size == 0 || math.Abs(sum) > 1e-4*size {
			t.Errorf("the components add up to %g, their norm is %g", sum, size)
		}
	}
}

// Numbers that a claim compares are told apart, unless they are equal.
func TestAgainst(t *testing.T) {
	for want, x := range map[string][2]float64{
		"0.377 against 0.392":   {0.3767, 0.3921},
		"0.3766 against 0.3767": {0.37658, 0.37671},
		"0.5 against 0.5":       {0.5, 0.5},
	} {
		if got := figures.Against(x[0], x[1]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// One figure and one claim are no plural.
func TestTally(t *testing.T) {
	one := &reproduction.Reproduction{Checks: []reproduction.Check{{Verdict: reproduction.Agrees}}}
	out := &reproduction.Reproduction{LeftOut: "no"}
	for want, all := range map[string][]*reproduction.Reproduction{
		"1 figure or table with 1 claim: 1 agree, 0 differ.":                            {one},
		"1 figure or table with 0 claims: 0 agree, 0 differ; 1 figure is left out.":     {out},
		"3 figures and tables with 2 claims: 2 agree, 0 differ; 1 figure is left out.":  {one, one, out},
		"3 figures and tables with 1 claim: 1 agree, 0 differ; 2 figures are left out.": {one, out, out},
	} {
		if got := figures.Tally(all); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Of many layers a picture has some, from the first to the last, and of few it has all.
func TestSpacedLayers(t *testing.T) {
	for _, c := range []struct {
		layers int
		want   []int
	}{
		{1, []int{0}},
		{6, []int{0, 1, 2, 3, 4, 5}},
		{12, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		{13, []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12}},
		{30, []int{0, 3, 5, 8, 11, 13, 16, 18, 21, 24, 26, 29}},
	} {
		if diff := cmp.Diff(c.want, figures.SpacedLayers(c.layers, 12)); diff != "" {
			t.Errorf("%d layers (-want +got):\n%s", c.layers, diff)
		}
	}
}

// The first token has nearly everything after the last layer, or not; in which layer had it less
// than half?
func TestSunk(t *testing.T) {
	for _, c := range []struct {
		first []float64 // of each of two generated tokens, by layer
		sunk  bool
		last  int
	}{
		{[]float64{0.1, 0.4, 0.6, 1, 0.3, 0.48, 0.8, 0.98}, true, 1},
		{[]float64{0.1, 0.4, 0.6, 1, 0.3, 0.48, 0.8, 0.7}, false, 1},
		{[]float64{0.1, 0.2, 0.3, 0.4, 0.1, 0.2, 0.3, 0.4}, false, 3},
		{[]float64{0.7, 0.8, 0.9, 1, 0.7, 0.8, 0.9, 1}, true, 0},
	} {
		m := &attribution.Result{Shape: [3]int{2, 2, 4}}
		for i := range 2 {
			for _, v := range c.first[4*i : 4*i+4] {
				m.Rows = append(m.Rows, []float64{v, 1 - v})
			}
		}
		if sunk, last := figures.Sunk(m), figures.LastSpread(m); sunk != c.sunk || last != c.last {
			t.Errorf("%v: sunk %v and layer %d, want %v and %d", c.first, sunk, last, c.sunk,
				c.last)
		}
	}
}

var must = testhelp.Must // ends a test at an error
