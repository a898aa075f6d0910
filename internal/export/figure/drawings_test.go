package figure_test

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/compare"
	"github.com/headwater-ml/headwater/internal/export/figure"
)

// explanation returns two generated tokens of a prompt, by two methods: one with three layers and
// one that scores the whole model.
func explanation(texts ...string) *attribution.Explanation {
	m := len(texts)
	e := &attribution.Explanation{
		Prompt: attribution.Prompt{
			Texts: texts, IDs: make([]int, m), Special: make([]bool, m), Offsets: make([][2]int, m),
		},
		Steps: []attribution.GeneratedToken{
			{Text: " is", Probability: 0.9}, {Text: " red", Probability: 0.25},
		},
		Order: []string{"rollout", "direct"},
		Methods: map[string]*attribution.Result{
			"rollout": {
				Layers: []int{0, 1, 2}, Shape: [3]int{2, m, 3}, Unit: "share of attention", Facts: attribution.Facts{Quantity: attribution.Share},
				Shown: []int{2, 2}, OtherMass: []float64{0, 0, 0, 0.1, 0.1, 0.1},
			},
			"direct": {
				Layers: []int{2}, Shape: [3]int{2, m, 1}, Unit: "logit", Shown: []int{0, 0},
				Options: map[string]string{"scorer": "direct"}, Facts: attribution.Facts{Scorer: true, Combined: true, AddsUp: true}, OtherMass: []float64{0, 0},
			},
		},
	}
	e.Model.Name = "tiny"
	fill(e.Methods["rollout"], func(i int) float64 { return float64(i%7) / 20 })
	fill(e.Methods["direct"], func(i int) float64 { return float64(i%5) - 2 })
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

// heads returns attention of some layers and heads over a text: each token looks at itself, but
// head 0 of layer 1 looks from the token before the second generated one at prompt token 1. The
// picture is that of a generated token, if one is given.
func heads(e *attribution.Explanation, layers, count int, token ...int) render.Heads {
	m := len(e.Prompt.Texts)
	T := m + len(e.Steps)
	h := render.Heads{Explanation: e}
	if len(token) > 0 {
		h.Token = &token[0]
	}
	h.Attention.Shape = []int{layers, count, T, T}
	h.Attention.Data = make([]float32, layers*count*T*T)
	for k := range layers * count {
		for i := range T {
			h.Attention.Data[(k*T+i)*T+i] = 1
		}
	}
	row := h.Attention.Data[(1*count*T+m)*T:][:T] // layer 1, head 0, token m
	row[m], row[1] = 0.25, 0.75
	return h
}

// maps are maps of an explanation in which target i has all of its row from source i-1, the first
// one from itself. The last level has 0.75 and 0.25 from the two before it.
func maps(e *attribution.Explanation, layers int) render.Maps {
	T := len(e.Prompt.Texts) + len(e.Steps)
	m := &attribution.Map{
		Unit: "share of attention", Facts: attribution.Facts{AddsUp: true, Quantity: attribution.Share}, Shape: [3]int{layers, T, T},
		Data: make([]float64, layers*T*T), Options: map[string]string{"aggregation": "layer"},
	}
	for l := range layers {
		m.Layers = append(m.Layers, l)
		for i := range T {
			m.Row(l, i)[max(i-1, 0)] = 1
		}
	}
	last := m.Row(layers-1, T-1)
	last[T-1], last[T-2], last[T-3] = 0, 0.75, 0.25
	return render.Maps{Explanation: e, Map: m, Method: "raw"}
}

// one is the open map alone.
func one(m render.Maps) render.Maps {
	m.One = true
	return m
}

// matrix, head, heatmap, strip and layers draw a figure that was worked out.
func matrix(d render.Drawn, err error) (figure.Drawing, error) {
	if err != nil {
		return figure.Drawing{}, err
	}
	return figure.Matrix(d)
}

// graph draws a picture that has one matrix or graph, or that of a method.
func graph(v render.Picture, method ...string) (figure.Drawing, error) {
	f, err := render.FigureOf(v, strings.Join(method, ""))
	if err != nil {
		return figure.Drawing{}, err
	}
	return figure.Of(f)
}

func head(o render.OpenedHead, err error) (figure.Drawing, error) {
	return matrix(o.Drawn, err)
}

func heatmap(
	e *attribution.Explanation, method string, filter attribution.Filter,
) (figure.Drawing, error) {
	return matrix(render.Heatmap{Explanation: e, Filter: filter}.Drawn(method))
}

func strip(
	e *attribution.Explanation, method string, t int, filter attribution.Filter,
) (figure.Drawing, error) {
	d, err := render.Heatmap{Explanation: e, Filter: filter}.Drawn(method)
	if err != nil {
		return figure.Drawing{}, err
	}
	return figure.Strip(d, t)
}

func layers(
	e *attribution.Explanation, method string, tokens []int, filter attribution.Filter,
) (figure.Drawing, error) {
	h := render.Heatmap{Explanation: e, Filter: filter}
	return graph(render.Layers{Heatmap: h, Tokens: tokens}, method)
}

// drawings are one of everything that can be drawn.
func drawings(t *testing.T, texts ...string) map[string]figure.Drawing {
	t.Helper()
	e := explanation(texts...)
	m := len(texts)
	g := &attribution.FlowGraph{
		Layers: []int{0, 1}, Tokens: m, Path: []int{m - 1, m - 1, 0},
		Cut: &attribution.Cut{
			Target: m - 1, Flow: 0.5, Layer: 1,
			Edges: []attribution.CutEdge{{Layer: 0, Target: m - 1, Source: 0, Width: 0.5}},
		},
	}
	for range 2 {
		for u := range m {
			for v := range m {
				g.Widths = append(g.Widths, map[bool]float64{true: 0.5, false: 0.1}[u == v])
			}
		}
	}
	all := map[string]figure.Drawing{}
	add := func(name string) func(figure.Drawing, error) {
		return func(d figure.Drawing, err error) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all[name] = d
		}
	}
	add("matrix")(heatmap(e, "rollout", nil))
	add("signed")(heatmap(e, "direct", nil))
	add("layers")(layers(e, "rollout", []int{1}, nil))
	add("strip")(strip(e, "rollout", figure.AllTokens, nil))
	add("graph")(graph(render.Flow{Explanation: e, Graph: g}))
	add("layer maps")(layers(e, "rollout", []int{0, 1}, attribution.Filter{"is"}))
	compared, err := render.Compare(compare.Side{Explanation: e}, compare.Side{
		Explanation: e, Method: "direct",
	})
	must(t, err)
	add("compare")(matrix(compared.Drawn("")))
	add("heads")(figure.Heads(heads(e, 3, 2)))
	add("head")(head(heads(e, 3, 2, 0).OpenHead(&[2]int{2, 1})))
	add("maps")(graph(maps(e, 14)))
	add("map")(graph(one(maps(e, 3))))
	add("lines")(figure.Chart(chart.Chart{
		Kind: chart.Lines, Title: texts[0], Subtitle: texts[m-1], X: chart.Axis{Title: texts[0]},
		Y:      chart.Axis{Title: texts[0], Unit: texts[0]},
		Series: []chart.Series{{Name: texts[0], X: []float64{0, 1}, Y: []float64{1, 2}}, {Name: "b"}},
		Rules:  []chart.Rule{{At: 0.5, Label: texts[0]}},
	}))
	add("scatter")(figure.Chart(chart.Chart{
		Kind: chart.Scatter, Ellipses: []chart.Ellipse{{RadiusX: 1, RadiusY: 2, Label: texts[0]}},
		Series: []chart.Series{{
			X: []float64{0, 1}, Y: []float64{1, 2}, Value: []float64{0, 1},
		}},
	}))
	add("bars")(figure.Chart(chart.Chart{
		Kind: chart.Bars, X: chart.Axis{Categories: texts},
		Series: []chart.Series{{Y: make([]float64, m)}},
	}))
	add("histogram")(figure.Chart(chart.Chart{
		Kind: chart.Histogram, Series: []chart.Series{{Y: []float64{1, 2, 2}}},
	}))
	add("ternary")(figure.Chart(chart.Chart{
		Kind: chart.Ternary, Corners: [3]string{texts[0], "b", "c"},
		Series: []chart.Series{{X: []float64{1}, Y: []float64{2}, C: []float64{3}}},
	}))
	return all
}
