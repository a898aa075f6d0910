package hostile

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/sources"
	"github.com/headwater-ml/headwater/internal/study/lens"
	"github.com/headwater-ml/headwater/internal/study/patch"
)

// pieces are parts of texts that would act if a format took them for anything but text.
var pieces = []string{
	// Markup and scripts.
	"<script>alert(1)</script>", "</script>", "<img src=x onerror=alert(1)>", "<!--", "-->",
	"<![CDATA[",
	"]]>", `" onmouseover="alert(1)`, `' style='background:url(x)`, "</td></table></div>",
	"</details>",
	"</title>", "</textarea>", "<svg onload=alert(1)>", "<math><mtext></math>",
	"<?xml version='1.0'?>",
	`<meta http-equiv="refresh" content="0;url=https://example.com">`, "<base href=//example.com>",
	`<iframe srcdoc="<script>alert(1)</script>">`, "<plaintext>", "<template>",
	"<a href=javascript:alert(1)>",
	`<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>&x;`, "&lt;", "&#60;", "&amp;",
	"&nbsp", "javascript:",
	// Styles.
	"</style>", "<style>*{display:none}</style>", "@import url(//example.com/a.css);",
	"expression(alert(1))",
	"url(https://example.com/x.png)", "}*{color:red}", "/*", "*/", `\3c script`,
	"style=\"font-family:",
	// Characters that act by themselves.
	"\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u2028", "\u2029", "\x00", "\x01", "\x07",
	"\x08", "\x1b[31m",
	"\x1b]0;title\x07", "\x7f", "\u0085", "\u00ad", "\r\n", "\r", "\t", "\n", "\v", "\uffff",
	"\ufffd", "\U000e0041", "\U0010ffff",
	"\xe2\x82", "\xff", "\xc0\xbc", "\xed\xa0\x80", "a\u0301\u0301\u0301\u0301\u0301", "東京", "ع",
	"😀", "中",
	// Mathematics, TeX and spreadsheets.
	"$x$", "$$", "$", `\(a\)`, `\[a\]`, `\begin{equation}`, `\write18{id}`, `\input{/etc/passwd}`,
	`\catcode`, "^^5c", `\end{document}`, `\csname`, "{", "}", "%", "#", "&", "_", "~", "^", `\`,
	`\\`,
	"=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1", "\t=1", "|x", ";=1", ",",
	// Data.
	`"`, "'", "`", `\"`, `\u003c`, `","headwater":{"form":2},"`, "{}", "[1,", "null", "</json>",
	"\\x", "${alert(1)}",
	"datum.x", "']+alert(1)+['", "names_00000000", "%headwater {}|", "(p=", "/Headwater (x)",
	"endstream endobj",
	`<metadata id="headwater">{}</metadata>`, `<meta name="headwater" content="{}">`, "PAR1",
	// Texts that look like none, and like others.
	" ", "  ", "", "a", "<", ">", "null\x00null", "Ġthe", "▁the", "https://example.com/x.png",
	"../../etc/passwd",
}

// hugeBytes is about how long one text in hugeEvery is.
const hugeBytes, hugeEvery = 20_000, 400

// text joins up to five pieces, or repeats one many times.
func text(r *rand.Rand) string {
	if r.IntN(hugeEvery) == 0 {
		piece := pieces[r.IntN(len(pieces))] + "<"
		return strings.Repeat(piece, hugeBytes/len(piece))
	}
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// source gives texts, and counts them.
type source struct {
	next  func() string
	given int
}

func (s *source) text() string {
	s.given++
	return s.next()
}

// The sizes of one explanation: prompt tokens, generated tokens, layers, heads.
const prompts, steps, layers, heads = 60, 3, 3, 2

// explanation has three methods: one of several layers, the flow, and a scorer. All of its texts
// come from s. With an encoder it has predictions instead of generated tokens.
func (s *source) explanation(r *rand.Rand, encoder bool) *attribution.Explanation {
	e := &attribution.Explanation{
		Version: attribution.Version,
		Model: trace.Info{
			Name: s.text(), Hash: s.text(), Note: s.text(), Family: s.text(), Backend: s.text(),
			Layers: layers, Heads: heads, Width: 8, Vocab: 100,
		},
		Methods:  map[string]*attribution.Result{},
		Warnings: []string{s.text(), s.text()},
	}
	if encoder {
		e.Model.Bidirectional, e.Model.Head = true, trace.MaskedToken
	}
	for j := range prompts {
		word := s.text()
		begin := len(e.Prompt.Text)
		e.Prompt.Text += word
		e.Prompt.Texts = append(e.Prompt.Texts, word)
		e.Prompt.IDs = append(e.Prompt.IDs, j)
		e.Prompt.Offsets = append(e.Prompt.Offsets, [2]int{begin, begin + len(word)})
		e.Prompt.Special = append(e.Prompt.Special, j == 0)
	}
	for t := range steps {
		step := attribution.GeneratedToken{ID: 7 + t, Text: s.text(), Probability: 0.5}
		if encoder {
			step.Position = &t
		}
		for k := range 2 {
			step.Alternatives = append(step.Alternatives, attribution.Alternative{
				ID: 50 + k, Text: s.text(), Probability: 0.25,
			})
		}
		after := make(lens.Layers, layers+1)
		for l := range after {
			after[l] = lens.Layer{Likely: step.Alternatives, Probability: 0.125, Rank: 3}
		}
		step.Studies.Set(lens.Name, &after)
		e.Steps = append(e.Steps, step)
	}
	for i, name := range []string{"rollout", "flow", "direct"} {
		levels := []int{layers, 1, 1}[i]
		result := &attribution.Result{
			Unit: s.text(), Shape: [3]int{steps, prompts, levels},
			Options: map[string]string{
				"residual": s.text(), s.text(): s.text(), "row": "prediction",
			},
		}
		for k := layers - levels; k < layers; k++ {
			result.Layers = append(result.Layers, k)
		}
		if name == "direct" {
			result.Scorer, result.Contrast = true, s.text()
			result.Explained = []float64{1, 2, 3}
		}
		for t := range steps {
			result.Shown = append(result.Shown, layers-1)
			for range levels {
				result.OtherMass = append(result.OtherMass, 0.25)
				row := make([]float64, prompts, prompts+t)
				for j := range row {
					row[j] = r.Float64() / prompts
				}
				if !encoder {
					row = row[:prompts+t]
				}
				result.Rows = append(result.Rows, row)
			}
		}
		// A name that no method has, as in a file that somebody has edited.
		if i == 0 && r.IntN(2) == 0 {
			name = s.text()
		}
		e.Order, e.Methods[name] = append(e.Order, name), result
	}
	e.Studies.Set(patch.Name, s.patched(e))
	return e
}

// attention is that of a text of T tokens: every token looks at those up to itself, [L,H,T,T].
func attention(e *attribution.Explanation) trace.Tensor {
	T := prompts + steps
	if e.Model.Bidirectional {
		T = prompts
	}
	a := trace.Tensor{
		Name: "attention", Axes: "LHTS", Shape: []int{layers, heads, T, T},
		Data: make([]float32, layers*heads*T*T),
	}
	for at := range layers * heads {
		for i := range T {
			row := a.Data[(at*T+i)*T:][:T]
			for j := range i + 1 {
				row[j] = float32(1+(i+j+at)%3) / float32(3*(i+1))
			}
		}
	}
	return a
}

// caused is a result of two documents whose texts come from s.
func (s *source) caused() *sources.Result {
	none := evaluate.Value(0)
	result := &sources.Result{
		Model: trace.Info{Name: s.text()}, Prompt: s.text(), Answer: s.text(), Target: s.text(),
		TargetTokens: [2]int{0, 1}, AnswerTokens: []string{s.text(), s.text()},
		Warnings: []string{s.text()}, Ablations: 8, HeldOut: 8, Passes: 17,
	}
	for d := range 2 {
		document := ""
		for range 10 {
			one := sources.Source{Text: "x" + s.text(), Document: d, Begin: len(document)}
			document += one.Text
			one.End = len(document)
			result.Sources = append(result.Sources, one)
		}
		result.Documents = append(result.Documents, document)
		result.Names = append(result.Names, s.text())
	}
	values := make([]evaluate.Value, len(result.Sources))
	for i := range values {
		values[i] = evaluate.Value(i%5) - 2
	}
	result.Methods = []sources.Scores{
		{Method: s.text(), Unit: s.text(), Values: values, LDS: none},
		{Method: sources.LeaveOneOut, Unit: s.text(), Values: values, LDS: none},
	}
	return result
}

// charts returns a chart of every kind whose texts come from s.
func (s *source) charts() map[chart.Kind]chart.Chart {
	many := func(n int) (all []string) {
		for range n {
			all = append(all, s.text())
		}
		return all
	}
	points := func() chart.Series {
		return chart.Series{
			Name: s.text(), X: []float64{0, 1, 2}, Y: []float64{1, 0, 2}, Labels: many(3),
			Columns: []chart.Column{
				{Name: s.text(), Values: []float64{0, 1, 2}},
				{Name: fmt.Sprint("named ", s.text()), Values: []float64{0, 1, 2}, Named: true},
			},
		}
	}
	all := map[chart.Kind]chart.Chart{}
	for _, kind := range []chart.Kind{
		chart.Lines, chart.Bars, chart.Histogram, chart.Scatter, chart.Heatmap, chart.Ternary,
		chart.Layered,
	} {
		c := chart.Chart{
			Kind: kind, Title: s.text(), Subtitle: s.text(),
			X: chart.Axis{Title: s.text(), Unit: s.text()}, Y: chart.Axis{Title: s.text()},
			Color: chart.Scale{Title: s.text()},
		}
		switch kind {
		case chart.Heatmap:
			c.Matrix = &chart.Matrix{
				Rows: many(2), Columns: many(20), Data: make([]float64, 40), RowNotes: many(2),
			}
		case chart.Layered:
			c.Graph = &chart.Graph{
				Tokens: many(3), Weights: []float64{1, 0, 0, .5, .5, 0, .3, .3, .4},
			}
		case chart.Bars:
			c.X.Categories = many(3)
			c.Series = []chart.Series{{Name: s.text(), Y: []float64{1, 2, 3}}}
		case chart.Histogram:
			c.Series = []chart.Series{{Name: s.text(), Y: []float64{1, 2, 3}}}
		case chart.Ternary:
			c.Corners = [3]string{s.text(), s.text(), s.text()}
			p := points()
			p.C, p.Columns = []float64{1, 2, 3}, nil
			c.Series = []chart.Series{p}
		case chart.Scatter:
			c.Names = many(3)
			c.Series = []chart.Series{points(), points()}
			c.Rules = []chart.Rule{{At: 1, Label: s.text()}}
			c.Ellipses = []chart.Ellipse{{RadiusX: 1, RadiusY: 1, Label: s.text()}}
		default:
			p := points()
			p.Columns = nil
			c.Series = []chart.Series{p}
		}
		all[kind] = c
	}
	return all
}
