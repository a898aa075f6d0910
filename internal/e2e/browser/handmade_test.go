package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// await waits for the promise that an expression is.
var await = chromedp.EvalAwaitPromise

// touched is a picture whose rows are known: the keys to are, with two generated tokens by two
// methods of two layers.
func touched() *attribution.Explanation {
	e := &attribution.Explanation{
		Model:  trace.Info{Name: "hand-made"},
		Prompt: attribution.Prompt{Texts: []string{"the", " key", "s", " to"}},
		Steps: []attribution.GeneratedToken{
			{Text: " are", Probability: 0.9}, {Text: " here", Probability: 0.5},
		},
		Order:   []string{"direct", "value-zeroing"},
		Methods: map[string]*attribution.Result{},
	}
	e.Methods["direct"] = &attribution.Result{
		Unit: "part of the logit", Layers: []int{1}, Shape: [3]int{2, 4, 1},
		Rows:    [][]float64{{0, 2, 1, 0}, {0, 0, -1, 2}},
		Options: map[string]string{"scorer": "direct"}, Facts: attribution.Facts{Evidence: trace.Traced, Scorer: true, Combined: true, AddsUp: true},
	}
	// Both layers of a token stand together; layer 1 is shown.
	e.Methods["value-zeroing"] = &attribution.Result{
		Unit: "share of change", Facts: attribution.Facts{Evidence: trace.Traced, Quantity: attribution.Share}, Layers: []int{0, 1}, Shape: [3]int{2, 4, 2},
		Rows: [][]float64{
			{0.5, 0, 0, 0.5}, {0, 0.6, 0.2, 0},
			{0, 0.6, 0, 0}, {0, 0, 0, 0.6},
		},
		Options: map[string]string{},
	}
	place(e)
	return e
}

// fill sets the values of a result over the prompt; i counts levels, of prompt tokens, of tokens.
func fill(r *attribution.Result, value func(i int) float64) {
	n, m, l := r.Shape[0], r.Shape[1], r.Shape[2]
	r.Rows = make([][]float64, n*l)
	for i := range n * m * l {
		at := i/l/m*l + i%l
		r.Rows[at] = append(r.Rows[at], value(i))
	}
}

// place says where the prompt tokens of a picture stand: one after another.
func place(e *attribution.Explanation) {
	p := &e.Prompt
	m := len(p.Texts)
	p.Text, p.Offsets, p.IDs, p.Special = "", nil, make([]int, m), make([]bool, m)
	for j, text := range p.Texts {
		begin := len(p.Text)
		p.IDs[j] = j + 1 // no generated token has one of these
		p.Text += text
		p.Offsets = append(p.Offsets, [2]int{begin, len(p.Text)})
	}
}

// fed returns the picture of touched with what generated tokens have from those before them.
func fed() *attribution.Explanation {
	e := touched()
	direct, vz := e.Methods["direct"].Rows, e.Methods["value-zeroing"].Rows
	direct[1], vz[2], vz[3] = append(direct[1], -1.5), append(vz[2], 0), append(vz[3], 0.3)
	for _, r := range e.Methods {
		r.Shown = []int{1, 1}
	}
	return e
}

// lengthened returns a picture of touched with 60 more prompt tokens, whose values are 0.
func lengthened(e *attribution.Explanation) *attribution.Explanation { return lengthenedBy(e, 60) }

// lengthenedBy is lengthened with so many tokens.
func lengthenedBy(e *attribution.Explanation, tokens int) *attribution.Explanation {
	for i := range tokens {
		e.Prompt.Texts = append(e.Prompt.Texts, fmt.Sprint(" w", i))
	}
	place(e)
	for _, r := range e.Methods {
		for i, row := range r.Rows {
			r.Rows[i] = slices.Concat(row[:4], make([]float64, tokens), row[4:])
		}
		r.Shape[1] = len(e.Prompt.Texts)
	}
	return e
}

// cellOf returns the picture of an explanation in the output of a notebook's cell.
func cellOf(t *testing.T, e *attribution.Explanation) string {
	t.Helper()
	return htmlOf(render.Heatmap{Explanation: e})
}

func pageOf(t *testing.T, e *attribution.Explanation) string {
	t.Helper()
	h := render.Heatmap{Explanation: e}
	return document(h)
}

func click(selector string, i int) string {
	return fmt.Sprintf("document.querySelectorAll(%q)[%d].click()", selector, i)
}

func press(keys ...string) string {
	var s strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&s, "document.querySelector('.hm').dispatchEvent(new KeyboardEvent("+
			"'keydown', {key: %q, bubbles: true, cancelable: true}));", key)
	}
	return s.String()
}

// deep is touched with values of direct at so many layers: key has its value from layer 3 up.
func deep(layers int) *attribution.Explanation {
	e := touched()
	r := e.Methods["direct"]
	r.Layers, r.Shape = nil, [3]int{2, 4, layers}
	r.Shown = []int{layers - 1, layers - 1}
	for k := range layers {
		r.Layers = append(r.Layers, k)
	}
	rows := r.Rows // [n][m]
	fill(r, func(i int) float64 {
		if source, k := i/layers%4, i%layers; i/layers != 1 || k >= 3 {
			return rows[i/layers/4][source]
		}
		return 0
	})
	return e
}

// fedDeep is fed with what generated tokens have from those before them at both layers.
func fedDeep() *attribution.Explanation {
	e := fed()
	e.Methods["value-zeroing"].Rows[2][4] = 0.5 // here, at layer 0
	return e
}

// longText is touched with 520 prompt tokens, of which one stands out for each generated
// token: w100
// for are, and w200 for here. w100 and s are a word.
func longText() *attribution.Explanation {
	e := touched()
	e.Prompt.Texts = nil
	for j := range 520 {
		e.Prompt.Texts = append(e.Prompt.Texts, fmt.Sprintf(" w%d", j))
	}
	e.Prompt.Texts[101] = "s"
	place(e)
	for _, r := range e.Methods {
		r.Shape[1] = 520
		fill(r, func(int) float64 { return 0 })
	}
	r := e.Methods["direct"]
	r.Rows[0][100], r.Rows[1][200] = 1, 1
	return e
}

// conversation is touched as a chat of a system, a user and the model.
func conversation() *attribution.Explanation {
	e := touched()
	e.Prompt.Texts = nil
	add := func(role string, kind trace.PartKind, texts ...string) {
		begin := len(strings.Join(e.Prompt.Texts, ""))
		e.Prompt.Texts = append(e.Prompt.Texts, texts...)
		e.Prompt.Parts = append(e.Prompt.Parts, trace.Part{
			Role: role, Kind: kind, Begin: begin, End: begin + len(strings.Join(texts, "")),
			Turn: map[string]int{"user": 1, "assistant": 2}[role],
		})
	}
	add("system", trace.Label, "<s>", "system", "\n")
	add("system", trace.Words, "You", " are", " terse", ".")
	add("system", trace.Label, "<e>", "\n")
	add("user", trace.Label, "<s>", "user", "\n")
	add("user", trace.Words, "One", " two", ".", " Three", "s", ".")
	add("user", trace.Label, "<e>", "\n")
	add("assistant", trace.Label, "<s>", "assistant", "\n")
	place(e)
	m := len(e.Prompt.Texts)
	for j, text := range e.Prompt.Texts {
		e.Prompt.Special[j] = text == "<s>" || text == "<e>"
	}
	for _, r := range e.Methods {
		r.Shape[1] = m
		fill(r, func(int) float64 { return 0 })
	}
	r := e.Methods["direct"]
	r.Rows[0][13], r.Rows[0][15], r.Rows[1][16] = 1, 2, 1 // are from two and Three, here from s
	return e
}

// encoded is an explanation by an encoder among the goldens, which have no tokenizer of their own.
func encoded(t *testing.T, golden, text string, opts attribution.Options) *attribution.Explanation {
	t.Helper()
	dir := t.TempDir()
	for name, from := range map[string]string{
		"config.json": goldens + golden + "/config.json", "model.safetensors": goldens + golden + "/model.safetensors",
		"tokenizer.json": "../../../cmd/headwater/explain/testdata/words.json",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(read(t, from)), 0o600))
	}
	opts.Methods = []string{"rollout", "flow", "value-zeroing"}
	return fixture.Explain(t, fixture.Open(t, dir, "go"), text, opts)
}
