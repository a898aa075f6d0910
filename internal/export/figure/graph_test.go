package figure_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/export/figure"
)

// TestGraph draws what the page draws: of one layer, the edges of the target alone, that of the
// sink in grey, and the flow beside each name. Of b nothing reaches the target, so its edges, which
// are the widest, are not there.
func TestGraph(t *testing.T) {
	e := explanation("<s>", " a", " b", " c")
	e.Methods["flow"] = &attribution.Result{
		Layers: []int{0}, Shape: [3]int{2, 4, 1}, Unit: "flow", Shown: []int{0, 0},
		Rows: [][]float64{{0.5, 0.25, 0, 0.125}, {0, 0, 0, 0}},
	}
	g := &attribution.FlowGraph{
		Layers: []int{7}, Tokens: 4, Path: []int{3, 1},
		Widths: []float64{
			1, 0, 0, 0,
			0.5, 0.5, 0, 0,
			0.1, 0.9, 0, 0,
			0.5, 0.25, 0.01, 0.125,
		},
		Cut: &attribution.Cut{Target: 3, Source: 1, Flow: 0.25, Layer: 7},
	}
	f := render.Flow{Explanation: e, Graph: g}
	d, err := render.FigureOf(f, "")
	must(t, err)
	var drawn []render.GraphEdge
	for _, e := range d.Matrix.Graph.Edges {
		if !e.Quiet && e.Step > 0 {
			drawn = append(drawn, e)
		}
	}
	want := []render.GraphEdge{
		{From: 3, To: 7, Width: 0.125, Step: 2}, {From: 1, To: 7, Width: 0.25, Step: 3},
	}
	if !slices.Equal(drawn, want) {
		t.Errorf("edges %+v, want %+v", drawn, want)
	}
	drawing, err := graph(f)
	texts := textsOf(t, figure.Options{}, drawing, err)
	for _, want := range []string{
		"flow from “a” to “c”, which predicts “is”: 0.25", "0.50", "0.25", "0.00", "0.12", "7",
		"The number beside a name is the flow from it. 1 edge narrower than " +
			"0.02 is not drawn.",
	} {
		if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("the graph has %q and lacks %q", texts, want)
		}
	}
	svg, err := figure.Draw(figure.Options{Format: figure.SVG}, about, drawing)
	must(t, err)
	if bytes.Contains(svg.Bytes, []byte("stroke:#C6C6C6")) {
		t.Error("there are edges of the sink, which nobody asked for")
	}
	// A line of the graph for each token, and five nodes: two ends and those reached in layer 7.
	if n := bytes.Count(svg.Bytes, []byte("fill:#3A7D44")); n != 2 {
		t.Errorf("%d ordinary nodes, want 2: the sink and the target before the layer", n)
	}
	f.Token = 5
	const want5 = "generated token 5"
	if _, err := graph(f); err == nil || !strings.Contains(err.Error(), want5) {
		t.Errorf("of a token that is not there: %v", err)
	}
}

// TestGraphSilence draws flows that fall from token to token: the note says first that they say
// nothing about the token.
func TestGraphSilence(t *testing.T) {
	texts := strings.Fields("a b c d e f g h i j")
	m := len(texts)
	e := explanation(texts...)
	r := &attribution.Result{
		Layers: []int{0}, Shape: [3]int{2, m, 1}, Unit: "flow", Shown: []int{0, 0},
		Options: map[string]string{"aggregation": "flow"}, Facts: attribution.Facts{Combined: true},
	}
	fill(r, func(i int) float64 { return 0.9 - 0.05*float64(i%m) })
	e.Methods["flow"], r.OtherMass = r, []float64{0, 0}
	g := &attribution.FlowGraph{
		Layers: []int{7}, Tokens: m, Path: []int{m - 1, 1}, Widths: make([]float64, m*m),
		Cut: &attribution.Cut{Target: m - 1, Source: 1, Flow: 0.85, Layer: 7},
	}
	g.Widths[(m-1)*m+1] = 0.85
	drawing, err := graph(render.Flow{Explanation: e, Graph: g})
	all := strings.Join(textsOf(t, figure.Options{}, drawing, err), " ")
	silence := strings.Index(all, "The flows say nothing about “is”: the row has the order of the "+
		"positions, as weights at random give it.")
	if note := strings.Index(all, "The number beside a name"); silence < 0 || note < silence {
		t.Errorf("the figure says %q", all)
	}
}
