package render

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// flowing returns the graph of flow from a source to the target of generated token t, through
// attention of that many layers. attend says how much target i of layer l attends to source j; rows
// are divided by their sums.
func flowing(
	t *testing.T, e *attribution.Explanation, layers, token, source int,
	attend func(l, i, j int) float64,
) Flow {
	t.Helper()
	T := len(e.Prompt.Texts) + token
	in := trace.Tensor{
		Name: "attention", Axes: "LTS", Shape: []int{layers, T, T},
		Data: make([]float32, layers*T*T),
	}
	for l := range layers {
		for i := range T {
			row, sum := in.Data[(l*T+i)*T:][:T], 0.0
			for j := range i + 1 {
				sum += attend(l, i, j)
			}
			for j := range i + 1 {
				row[j] = float32(attend(l, i, j) / sum)
			}
		}
	}
	g, err := attribution.NewFlowGraph(context.Background(),
		attribution.InMemory([]trace.Tensor{in}), attribution.Options{}, T-1, source)
	must(t, err)
	return Flow{Explanation: e, Graph: g, Token: token}
}

// spread is attention that differs from place to place, with a sink.
func spread(l, i, j int) float64 {
	if j == 0 {
		return float64(i + 1)
	}
	return float64((l*7+i*3+j*5)%11) / 10
}

func TestFlow(t *testing.T) {
	f := flowing(t, example(), 3, 1, 2, spread)
	t.Run("notebook", func(t *testing.T) { goldenOf(t, f, graphScript(), "boardgraph.js") })
	t.Run("text", func(t *testing.T) { golden(t, asText(f)) })
	survives(t, flowMarkup(t, f))
}

// flowMarkup is a picture without its script.
func flowMarkup(t *testing.T, f Flow) string {
	t.Helper()
	return strings.Replace(written(t, f), "<script>"+graphScript()+"</script>", "", 1)
}

// TestFlowKnown draws a graph whose numbers are known. In the upper layer the last token looks at
// token 5 alone, in the lower one token 5 looks at token 2 alone, and all others look at
// themselves. With the residual each edge of that path is 1/2 wide, and so is the flow.
func TestFlowKnown(t *testing.T) {
	f := flowing(t, example(), 2, 0, 2, func(l, i, j int) float64 {
		from := i
		switch {
		case l == 1 && i == 6:
			from = 5
		case l == 0 && i == 5:
			from = 2
		}
		if j == from {
			return 1
		}
		return 0
	})
	got := f.open().sentences()
	want := []string{
		"At most 0.500 flows from “keys” to “inet”, which predicts “are” 93.1 %",
		"Widest path, 0.500: “keys” (2) → “cab” (5) in layer 0 (0.500) → “inet” (6) in layer 1 " +
			"(0.500).",
		"Minimum cut, 0.500: 1 edge into “inet” (6) in layer 1, the last one: the target itself " +
			"limits the flow, and nothing below does.",
	}
	want[0] = strings.NewReplacer("“keys”", "“keys” (2)", "“inet”", "“inet” (6)").Replace(want[0])
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("it says %q, want %q", got[i], want[i])
		}
	}
	// The target reaches the nodes of tokens 5 and 6 before layer 1, and of 2, 5 and 6 before
	// layer 0: two edges of the upper layer and three of the lower one.
	p := f.open()
	if len(p.edges) != 5 || p.narrow != 0 || p.hidden != 0 {
		t.Errorf("%d edges are drawn, %d are narrow and %d hidden; want 5, 0, 0", len(p.edges),
			p.narrow, p.hidden)
	}
	for l, want := range [][]float64{{0, 0, 0.5, 0, 0, 0.5, 0.5}, {0, 0, 0, 0, 0, 0.5, 0.5}} {
		for j, reach := range p.reach[l] {
			if reach != want[j] {
				t.Errorf("token %d before layer %d is reached by %v, want %v", j, l, reach, want[j])
			}
		}
	}
}

// TestFlowSilence draws flows that fall from token to token, as weights at random give them: before
// what it says of them, the picture says why they say nothing about the token, as the matrix does.
// Flows in another order have no such line.
func TestFlowSilence(t *testing.T) {
	const m = 12
	e := long(m)
	r := e.Methods["flow"]
	e.Prompt.Special = make([]bool, m)
	r.OtherMass = make([]float64, r.Shape[0]*r.Shape[2])
	r.Combined = true
	set := func(flow func(t, j int) float64) {
		for t := range r.Shape[0] {
			for j := range m {
				r.Row(t, 0)[j] = flow(t, j)
			}
		}
	}
	f := flowing(t, e, 2, 1, 2, spread)
	set(func(_, j int) float64 { return 0.75 - 0.02*float64(j) })
	const want = ": the row has the order of the positions, as weights at random give it."
	if got := f.open().sentences(); len(got) != 4 || !strings.HasSuffix(got[0], want) {
		t.Errorf("the first of %d sentences is %q, want %q at its end", len(got), got[0], want)
	}
	first := f.open().sentences()[0]
	if got := written(t, f); !strings.Contains(got, ">"+first+"</p>") {
		t.Errorf("the page does not begin with %q", first)
	}
	plain := strings.Join(strings.Fields(written(t, asText(f))), " ")
	if a, b := strings.Index(plain, first), strings.Index(plain, "at most"); a < 0 || a > b {
		t.Errorf("the text has %q at %d and the flow at %d", first, a, b)
	}
	if d, err := drawnOf(f); err != nil || d.Silence != first {
		t.Errorf("the drawing says %q (%v), want %q", d.Silence, err, first)
	}
	set(func(t, j int) float64 { return 0.1 + 0.05*float64((7*j+5*t)%m) })
	if got := f.open().sentences(); len(got) != 3 {
		t.Errorf("flows in another order: %q", got)
	}
}

// TestFlowCutNodes draws a minimum cut with an edge that is too narrow to be drawn as one: its ends
// have nodes, and no other token that the target does not reach.
func TestFlowCutNodes(t *testing.T) {
	f := flowing(t, example(), 2, 0, 2, func(l, i, j int) float64 {
		switch {
		case l == 1 && i == 6:
			return map[int]float64{4: 0.02, 5: 0.98}[j]
		case l == 0 && (i == 4 || i == 5):
			return map[int]float64{2: 1}[j]
		}
		return map[int]float64{i: 1}[j]
	})
	d, err := drawnOf(f)
	must(t, err)
	if n := len(f.Graph.Cut.Edges); n != 2 {
		t.Fatalf("the cut has %d edges, want those from tokens 4 and 5", n)
	}
	var got [3][]int
	for _, n := range d.Graph.Nodes {
		if !n.Hidden {
			got[int(n.Level)] = append(got[int(n.Level)], n.Token)
		}
	}
	if diff := cmp.Diff([3][]int{{2, 5, 6}, {4, 5, 6}, {6}}, got); diff != "" {
		t.Errorf("tokens with nodes (-want +got):\n%s", diff)
	}
}

// TestFlowParts draws texts and models that are too large to show: the ends and the widest path
// stay, and a sentence says what is left out.
func TestFlowParts(t *testing.T) {
	e := long(120)
	f := flowing(t, e, 33, 2, 60, func(l, i, j int) float64 {
		if l == 5 && j == 60 {
			return 50 // all that comes from token 60 passes layer 5
		}
		return spread(l, i, j)
	})
	p := f.open()
	if len(p.rows) != flowRows || len(p.layers) != flowLayers {
		t.Fatalf("%d tokens and %d layers are shown, want %d and %d", len(p.rows), len(p.layers),
			flowRows, flowLayers)
	}
	for _, token := range append(f.Graph.Path, f.Graph.Cut.Target, f.Graph.Cut.Source) {
		if !slices.Contains(p.rows, token) {
			t.Errorf("token %d of the path is not shown", token)
		}
	}
	got := written(t, f)
	for _, want := range []string{
		"Of 122 tokens, those 40 are shown", "Of 33 layers, those 30 are shown",
		"are not drawn",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if len(got) > 480_000 {
		t.Errorf("%d bytes", len(got))
	}
	t.Logf("%d bytes", len(got))
	if plain := written(t, asText(f)); len(plain) > 20_000 {
		t.Errorf("the text has %d bytes", len(plain))
	}
}

// TestFlowImage reads the image: it is well-formed and has no text but the numbers of the layers,
// the first one at the bottom, and the names of the tokens with the flow from them.
func TestFlowImage(t *testing.T) {
	f := flowing(t, example(), 3, 1, 2, spread)
	image := regexp.MustCompile(regexp.QuoteMeta("data:image/svg+xml;base64,") + `([^"]*)"`)
	m := image.FindStringSubmatch(written(t, f))
	if m == nil {
		t.Fatal("there is no image")
	}
	text, err := base64.StdEncoding.DecodeString(m[1])
	must(t, err)
	d := xml.NewDecoder(strings.NewReader(string(text)))
	letters, paths := "", 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		switch token := token.(type) {
		case xml.CharData:
			letters += string(token) + " "
		case xml.StartElement:
			if token.Name.Local == "path" {
				paths++
			}
		}
	}
	if want := "0 1 2 <bos> 0.02 the 0.05 keys 0.03"; !strings.HasPrefix(letters, "0 1 2 ") ||
		strings.Count(letters, " ") < len(f.open().rows) {
		t.Errorf("the image has the text %q, want such as %s", letters, want)
	}
	g := f.board().Graph
	low, high := g.size().at(g.Levels)(0, 0), g.size().at(g.Levels)(0, 1)
	if low[1] <= high[1] || high[1] <= 0 {
		t.Errorf("level 1 is at %v, level 0 at %v", high, low)
	}
	if paths < 3 {
		t.Errorf("the image has %d paths", paths)
	}
}

func TestFlowErrors(t *testing.T) {
	good := flowing(t, example(), 2, 1, 2, spread)
	change := func(change func(f *Flow, g *attribution.FlowGraph)) Flow {
		f, g := good, *good.Graph
		f.Graph = &g
		change(&f, &g)
		return f
	}
	for _, c := range []struct {
		flow Flow
		want string
	}{
		{Flow{}, "needs an explanation and a graph"},
		{change(func(f *Flow, _ *attribution.FlowGraph) { f.Token = 9 }), "generated token 9"},
		{change(func(_ *Flow, g *attribution.FlowGraph) { g.Widths = g.Widths[1:] }), "does not fit"},
		{change(func(_ *Flow, g *attribution.FlowGraph) { g.Tokens = 40 }), "does not fit"},
		{change(func(_ *Flow, g *attribution.FlowGraph) { g.Cut = nil }), "no ends"},
		{change(func(_ *Flow, g *attribution.FlowGraph) { g.Path = g.Path[1:] }), "path of 2 nodes"},
		{change(func(_ *Flow, g *attribution.FlowGraph) { g.Path = []int{0, 0, 99} }), "token 99"},
	} {
		err := c.flow.Check()
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
			continue
		}
		for _, got := range []string{written(t, c.flow), written(t, asText(c.flow))} {
			if got = strings.ReplaceAll(got, "\n", " "); !strings.Contains(got, c.want) {
				t.Errorf("the picture says %q, want %q", got, c.want)
			}
		}
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}

// TestOneOfMany says how many there are of what is often more than one.
func TestOneOfMany(t *testing.T) {
	e := example()
	e.Model.Family, e.Model.Layers, e.Model.Heads, e.Model.Width = "tiny", 1, 1, 8
	got := (&picture{e: e}).provenance()
	if want := "tiny, 1 layer × 1 head × width 8"; !strings.Contains(got, want) {
		t.Errorf("the model is %q, want %q", got, want)
	}
	f := &flowPage{
		drawing: newDrawing(textPicture(e, Look{}), nil),
		g:       &attribution.FlowGraph{Tokens: 1, Layers: []int{0}, Cut: &attribution.Cut{}},
		rows:    []int{0}, layers: []int{0}, narrow: 1, hidden: 1,
	}
	const one = "1 edge narrower than 0.02 is not drawn. 1 wider edge leads to what is not shown."
	if got := f.partly(); !strings.Contains(got, one) {
		t.Errorf("the graph says %q, want %q", got, one)
	}
	f.narrow, f.hidden = 1234, 2
	const many = "1,234 edges narrower than 0.02 are not drawn. 2 wider edges lead to what is not"
	if got := f.partly(); !strings.Contains(got, many) {
		t.Errorf("the graph says %q, want %q", got, many)
	}
}

var must = testhelp.Must // ends a test at an error
