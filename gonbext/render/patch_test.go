package render

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/patch"
)

// patched is an explanation of a model of 3 layers of 2 heads with patches of a kind of places.
func patched(place patch.Place, recovery ...float64) *attribution.Explanation {
	texts := []string{"<bos>", " John", " gave", " to"}
	e := &attribution.Explanation{
		Model: trace.Info{Name: "m", Layers: 3, Heads: 2},
		Prompt: attribution.Prompt{
			Text: " John gave to", Texts: texts, IDs: make([]int, 4),
			Offsets: [][2]int{{0, 0}, {0, 5}, {5, 10}, {10, 13}},
			Special: []bool{true, false, false, false},
		},
		Steps:   []attribution.GeneratedToken{{Text: " Mary"}},
		Methods: map[string]*attribution.Result{},
		Studies: attribution.Findings{patch.Name: &patch.Result{
			Place: place, Direction: patch.Denoising, Clean: texts,
			Corrupted: []string{"<bos>", " <b>Mary", " gave", " to"}, Different: []int{1},
			Position: 3, Answer: patch.Token{ID: 1, Text: " Mary"},
			Foil: patch.Token{ID: 2, Text: " John"}, CleanDifference: 2, CorruptedDifference: -1,
			Axes: [2]string{"layer", "position"}, Shape: [2]int{3, 4}, Recovery: recovery, Runs: 9,
		}},
	}
	if place == patch.Path {
		patch.Of(e).Receiver = &patch.Node{
			Kind: patch.HeadNode, Layer: 2, Head: 1, Through: trace.KeyVector,
		}
	}
	if place.ByHead() {
		patch.Of(e).Axes[1], patch.Of(e).Shape[1] = "head", 2
	}
	return e
}

// shared makes both heads one place.
func shared(e *attribution.Explanation) *attribution.Explanation {
	patch.Of(e).Shared = [][]int{{0, 1}}
	return e
}

// ofTwoStacks makes the first layer the encoder, and the others the block of the decoder.
func ofTwoStacks(e *attribution.Explanation) *attribution.Explanation {
	e.Model.EncoderLayers = 1
	return e
}

// TestPatch: the sentence of a picture of patching, what stands in its figure, and that its page
// escapes tokens.
func TestPatch(t *testing.T) {
	for name, c := range map[string]struct {
		e      *attribution.Explanation
		noise  bool
		say    string
		column string // the second
		cells  string // of the last layer
	}{
		"residual": {
			patched(patch.Residual, 0, 1, 0, 0, 0, .875, -.25, .125, 0, 0, 0, 1), false,
			"Mary instead of John: the difference is carried by ⟨John│<b>Mary⟩ up to layer 1, " +
				"then by the last token (“to”) from layer 2", "⟨John│<b>Mary⟩", " | | |100",
		},
		"shared": {
			patched(patch.Residual, 0, 1, 0, 0, 0, .625, 0, .375, 0, .25, 0, .75), false,
			"up to layer 1, then by the last token (“to”) from layer 2; several positions share it in " +
				"layers 1 to 2", "⟨John│<b>Mary⟩", " |25| |75",
		},
		"shared once": {
			patched(patch.Residual, 0, 1, 0, 0, 0, .625, 0, .375, 0, 0, 0, 1), false,
			"; several positions share it in layer 1.", "⟨John│<b>Mary⟩", " | | |100",
		},
		"two stacks": {
			ofTwoStacks(patched(patch.Residual, 0, 1, 0, 0, 0, .875, -.25, .125, 0, 0, 0, 1)),
			false, "up to decoder 0 self, then by the last token (“to”) from decoder 0 cross",
			"⟨John│<b>Mary⟩", " | | |100",
		},
		"two stacks, heads": {
			ofTwoStacks(patched(patch.Heads, 0, 0, 0, .5, -.25, .125)), false,
			"head decoder 0 self.1 alone brings back 50 %", "1", "−25|12",
		},
		"spread": {
			patched(patch.Residual, 0, .25, 0, 0, 0, .25, 0, .375, 0, 0, 0, .25), false,
			"no position alone carries half of the difference", "⟨John│<b>Mary⟩", " | | |25",
		},
		"attention": {
			patched(patch.Attention, 0, 0, 0, 0, 0, .5, 0, 0, 0, 0, .01, .25), false,
			"attention of layer 1 at ⟨John│<b>Mary⟩ alone brings back 50 %, attention of layer 2 " +
				"at the last token (“to”) 25 %", "⟨John│<b>Mary⟩", " | | |25",
		},
		"heads": {
			patched(patch.Heads, 0, 0, 0, .5, -.25, .125), false,
			"head 1.1 alone brings back 50 %", "1", "−25|12",
		},
		"noising": {
			patched(patch.LastHeads, 0, 0, 0, .5, .375, .125), true,
			"head 1.1 alone takes away 50 %, head 2.0 38 %", "1", "38|12",
		},
		"none": {
			patched(patch.Heads, 0, 0, 0, .04, 0, -.0425), false,
			"no head alone carries a twentieth of the difference; the largest works against it, " +
				"head 2.1, −4.2 %", "1",
			" |−4.2",
		},
		"path": {
			patched(patch.Path, 0, 0, 0, .5, -.25, .125), false,
			"Mary instead of John: on the path to the key of head 2.1, head 1.1 alone brings back 50 %",
			"1", "−25|12",
		},
		"estimate": {
			patched(patch.LastHeads, 0, 0, 0, .5, .375, .125), true,
			"estimated by one gradient, head 1.1 alone would take away 50 %, head 2.0 38 %", "1",
			"38|12",
		},
		"alike": { // but each of its own
			patched(patch.Values, 0, 0, 0, .5, .5, .5), false,
			"the value of head 1.1 alone brings back 50 %, the value of head 2.0 50 %, the value " +
				"of head 2.1 50 %", "1", "50|50",
		},
		"star": {
			shared(patched(patch.Keys, 0, 0, .5, .5, .375, .375)), true,
			"estimated by AtP*, the key of head 1.0 alone would move the difference by 50 %, " +
				"the key of head 2.0 38 %", "1", "38|38",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.noise {
				patch.Of(c.e).Direction = patch.Noising
			}
			patch.Of(c.e).Correlation = new(-.5)
			about := "correlate with it by −0.50"
			if patch.Of(c.e).Star = name == "star"; patch.Of(c.e).Star {
				about = "estimates by AtP* correlate with its size by −0.50"
			}
			if name == "estimate" || name == "star" {
				patch.Of(c.e).Estimate, patch.Of(c.e).Recovery = patch.Of(c.e).Recovery, nil
			}
			r := Patch{Explanation: c.e}
			f, err := drawnOf(r)
			must(t, err)
			if !strings.Contains(f.Notes[0], c.say) {
				t.Errorf("sentence %q, want %q", f.Notes[0], c.say)
			}
			if !strings.Contains(f.Notes[0], about) {
				t.Errorf("no correlation in %q", f.Notes[0])
			}
			const pairs = "A is this prompt and B the other one. Where they differ, what A has stands " +
				"before the │ and what B has after it."
			title := map[string]string{
				"path":     "Which heads pass the difference between two prompts to the key of head 2.1",
				"estimate": "Where the difference between two prompts is carried, estimated by one gradient",
				"star":     "Where the difference between two prompts is carried, estimated by AtP*",
			}[name]
			if f.Title != cmp.Or(title, "Where the difference between two prompts is carried") {
				t.Errorf("the title is %q", f.Title)
			}
			if f.Notes[1] != pairs ||
				!strings.Contains(f.Notes[0], "+2.00 after A, −1.00 after B") {
				t.Errorf("the notes are %q", f.Notes)
			}
			if got := f.Columns[1].Name; got != c.column {
				t.Errorf("column %q, want %q", got, c.column)
			}
			var cells []string
			for _, cell := range f.Panels[0].Rows[0].Cells {
				if cell.Number == "" {
					cell.Number = " "
				}
				cells = append(cells, cell.Number)
			}
			if got := strings.Join(cells, "|"); got != c.cells {
				t.Errorf("cells %q, want %q", got, c.cells)
			}
			p := r.board().markup(1 << 20)
			if html := p.String(); strings.Contains(html, "<b>Mary⟩") {
				t.Error("a token is markup in the page")
			}
			text := r.board().plain(Terminal{Width: 400})
			if !strings.Contains(text.String(), strings.TrimSuffix(c.say, ".")) ||
				strings.Count(text.String(), pairs) != 1 || strings.Count(p.String(), pairs) != 1 {
				t.Errorf("text without %q:\n%s", c.say, text.String())
			}
		})
	}
}

// TestPatchClasses: patches of a classifier have numbers of classes, and the picture their names.
func TestPatchClasses(t *testing.T) {
	e := patched(patch.Heads, 0, 0, 0, .5, 0, 0)
	patch.Of(e).Answer, patch.Of(e).Foil = patch.Token{ID: 1}, patch.Token{ID: 0}
	e.Steps = []attribution.GeneratedToken{{ID: 1, Text: "good", Class: true,
		Alternatives: []attribution.Alternative{{ID: 1, Text: "good"}, {ID: 0, Text: "bad"}}}}
	text := Patch{Explanation: e}.board().plain(Terminal{Width: 400})
	for _, want := range []string{"“good” instead of “bad” ·", "good instead of bad: head 1.1"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// TestPatchManyHeads: a model may have more heads than the text has tokens.
func TestPatchManyHeads(t *testing.T) {
	e := patched(patch.Heads, make([]float64, 27)...)
	e.Model.Heads, patch.Of(e).Shape[1], patch.Of(e).Recovery[26] = 9, 9, .5
	r := Patch{Explanation: e}
	f, err := drawnOf(r)
	must(t, err)
	if len(f.Columns) != 9 || f.Columns[8].Name != "8" || f.Source != "head" {
		t.Errorf("columns %v of %q, want 9 heads", f.Columns, f.Source)
	}
	p := r.board().markup(1 << 20)
	text := r.board().plain(Terminal{Width: 400})
	for _, got := range []string{p.String(), text.String()} {
		if !strings.Contains(got, "head 8") && !strings.Contains(got, "2.8") {
			t.Errorf("no head 8 in %s", got)
		}
	}
}

// TestPatchRefusals: patches that do not fit are refused and not drawn.
func TestPatchRefusals(t *testing.T) {
	for name, change := range map[string]func(e *attribution.Explanation){
		"none":       func(e *attribution.Explanation) { e.Studies = nil },
		"place":      func(e *attribution.Explanation) { patch.Of(e).Place = "\x1b[31m" },
		"no edges":   func(e *attribution.Explanation) { patch.Of(e).Place = patch.Edges },
		"direction":  func(e *attribution.Explanation) { patch.Of(e).Direction = "\x1b[31m" },
		"shape":      func(e *attribution.Explanation) { patch.Of(e).Shape[1] = 5 },
		"numbers":    func(e *attribution.Explanation) { patch.Of(e).Recovery = nil },
		"other":      func(e *attribution.Explanation) { patch.Of(e).Corrupted = nil },
		"different":  func(e *attribution.Explanation) { patch.Of(e).Different = []int{4} },
		"position":   func(e *attribution.Explanation) { patch.Of(e).Position = 4 },
		"no answer":  func(e *attribution.Explanation) { e.Steps = nil },
		"no columns": func(e *attribution.Explanation) { e.Prompt.Texts = nil },
		"receiver": func(e *attribution.Explanation) {
			patch.Of(e).Receiver = &patch.Node{Kind: "\x1b[31m"}
		},
	} {
		e := patched(patch.Residual, make([]float64, 12)...)
		change(e)
		if (Patch{Explanation: e}).Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// edged is an explanation with patched edges.
func edged(edges ...patch.Edge) *attribution.Explanation {
	e := patched(patch.Heads)
	patch.Of(e).Place = patch.Edges
	patch.Of(e).Edges = &patch.EdgeResult{
		Steps: 5, Count: 12345, Strongest: edges, CPR: 1.25, CMD: .0625,
		Circuits: []patch.Circuit{{Share: .001, Edges: 12, Signed: 1.5, Absolute: -.25}},
		Kept:     patch.Kept{Edges: 1234, Faithfulness: .8125, Difference: 1.5},
	}
	return e
}

// TestPatchedEdges: the sentence of a picture of edges, its list, the nodes of its graph, and that
// hostile names are escaped and nodes that the model lacks refused.
func TestPatchedEdges(t *testing.T) {
	head := func(layer, head int, through trace.Tap) patch.Node {
		return patch.Node{Kind: patch.HeadNode, Layer: layer, Head: head, Through: through}
	}
	e := edged(
		patch.Edge{
			Sender: patch.Node{Kind: patch.InputNode}, Receiver: head(0, 1, trace.Value), Score: .5,
		},
		patch.Edge{
			Sender: head(0, 1, ""), Receiver: patch.Node{Kind: patch.FeedForwardNode, Layer: 2},
			Score: -.25,
		},
		patch.Edge{
			Sender:   patch.Node{Kind: patch.FeedForwardNode, Layer: 2},
			Receiver: patch.Node{Kind: patch.LogitsNode}, Score: .125,
		},
	)
	r := Patch{Explanation: e}
	text := r.board().plain(Terminal{Width: 400})
	for _, want := range []string{
		"Mary instead of John: 1,234 of 12,345 edges, those with the largest absolute " +
			"scores, keep 81 % of the difference; of those with the highest scores, 12 keep 150 %",
		"+1.50 if all edges but the 1,234 have what they have after B · CPR 1.25, the area under " +
			"what the highest scores keep · CMD 0.062, the area between that of the largest " +
			"absolute scores and 100 %",
		"A is this prompt and B the other one. ",
		"input → head 0.1 value +50.0 %", "head 0.1 → feed-forward 2 −25.0 %",
		"12 edges (0.1 %): the highest scores keep 150 %, the largest absolute ones −25 %.",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	p := r.board().markup(1 << 20)
	if strings.Contains(p.String(), "<b>Mary⟩") {
		t.Error("a token is markup in the page")
	}
	drawn, err := drawnOf(r)
	must(t, err)
	g := drawn.Graph
	svg, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(g.svg(themeOf("")),
		"data:image/svg+xml;base64,"))
	must(t, err)
	for _, name := range []string{">input<", ">0.1<", ">ff 2<", ">logits<"} {
		if strings.Count(string(svg), name) != 1 {
			t.Errorf("no node %s in %s", name, svg)
		}
	}
	size := fmt.Sprintf(`width="%g" height="%g"`, g.size().width, g.size().height)
	if !strings.Contains(string(svg), size) || !strings.Contains(p.String(), size) {
		t.Errorf("the image is not %s", size)
	}
	// The weakest edge first.
	want := []GraphEdge{
		{From: 3, To: 2, Width: .25, Step: 3},
		{From: 0, To: 3, Width: .5, Step: -5},
		{From: 1, To: 0, Width: 1, Side: 1, Step: 6},
	}
	if !slices.Equal(g.Edges, want) {
		t.Errorf("edges %+v, want %+v", g.Edges, want)
	}
	for _, edge := range g.Edges { // what they lead from is below what they lead into
		if a, b := g.Nodes[edge.From], g.Nodes[edge.To]; a.Level >= b.Level {
			t.Errorf("%+v is not below %+v", a, b)
		}
	}
	if got := g.Parts[3]; !slices.Equal(got, []GraphPart{{0, -.25}}) {
		t.Errorf("the feed-forward part has %v", got)
	}
	if len(g.Gaps) != 1 || g.Columns != 2 {
		t.Errorf("gaps %v, %v columns", g.Gaps, g.Columns)
	}
	for _, want := range []string{"1,234 of 12,345 edges", "B the other one", "at the left"} {
		if notes := strings.Join(drawn.Notes, " "); !strings.Contains(notes, want) {
			t.Errorf("no %q in %q", want, notes)
		}
	}
	for name, wrong := range map[string]patch.Edge{
		"layer":   {Sender: head(3, 0, "")},
		"head":    {Receiver: head(0, -1, "")},
		"score":   {Score: math.NaN()},
		"kind":    {Sender: patch.Node{Kind: "\x1b[31mhead"}},
		"through": {Receiver: head(0, 0, "\x1b[31mquery")},
	} {
		if wrong.Sender.Kind == "" {
			wrong.Sender.Kind = patch.InputNode
		}
		if wrong.Receiver.Kind == "" {
			wrong.Receiver.Kind = patch.LogitsNode
		}
		if err := (Patch{Explanation: edged(wrong)}).Check(); err == nil {
			t.Errorf("an edge with a wrong %s is taken", name)
		}
	}
}
