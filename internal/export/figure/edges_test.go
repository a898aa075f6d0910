package figure_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/export/figure"
	"github.com/headwater-ml/headwater/internal/study/patch"
)

// edgesOf is a picture of edges from the heads of layers 0 and 2 into the logits, one of which
// works against the answer.
func edgesOf(t *testing.T, heads int) render.Patch {
	e := explanation("<s>", " a", " b")
	e.Model.Layers, e.Model.Heads = 3, heads
	var list []string
	for h := range heads {
		score := .5 / float64(h+1)
		if h == 1 {
			score = -.01 // drawn thicker than it is
		}
		list = append(list, fmt.Sprintf(`{"sender": {"kind": "head", "layer": %d, "head": %d},
			"receiver": {"kind": "logits"}, "score": %g}`, 2*(h%2), h, score))
	}
	found := &patch.Result{}
	must(t, json.Unmarshal([]byte(`{"place": "edges", "direction": "noising",
		"corrupted": ["<s>", " c", " b"], "different": [1], "answer": {"text": " cat"},
		"foil": {"text": " dog"}, "edges": {"count": 1000,
		"kept": {"edges": 12, "faithfulness": 0.8}, "strongest": [`+strings.Join(list, ",")+`]}}`),
		found))
	e.Studies.Set(patch.Name, found)
	return render.Patch{Explanation: e}
}

// TestEdges: a figure of edges names its nodes, explains them and its marks, and
// has a stroke for each edge. Names stay inside the figure if there are many heads, in every size.
func TestEdges(t *testing.T) {
	drawing, err := graph(edgesOf(t, 4))
	texts := textsOf(t, figure.Options{}, drawing, err)
	all := strings.Join(texts, " ")
	for _, want := range []string{
		"Which edges carry the difference between two prompts", "the 4 edges with the largest",
		"cat instead of dog: 12 of 1,000 edges, those with the largest absolute scores",
		"carries the difference, as thick as its score, at most 50.0 %",
		"works against the answer, at most 1.0 %", "layers left out",
		"A is this prompt and B the other one.", "An edge leads into the query (at the left)",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the figure has %q and lacks %q", texts, want)
		}
	}
	for _, name := range []string{"0.0", "2.1", "0.2", "2.3", "logits"} {
		if !slices.Contains(texts, name) {
			t.Errorf("there is no node %s in %q", name, texts)
		}
	}
	for _, format := range figure.Formats() {
		for _, size := range []render.Size{render.Column, render.Double, render.Slide} {
			many, err := graph(edgesOf(t, 40))
			must(t, err)
			f, err := figure.Draw(figure.Options{
				Format: format, Look: render.Look{Size: size},
			}, about, many)
			must(t, err)
			if format == figure.SVG {
				if n := bytes.Count(f.Bytes, []byte("C")); n < 40 {
					t.Errorf("%s: %d curves of 40 edges", size, n)
				}
			}
		}
	}
	r := edgesOf(t, 2)
	patch.Of(r.Explanation).Edges.Strongest[0].Sender.Layer = 9
	if _, err := graph(r); err == nil {
		t.Error("an edge from a layer that is not there is drawn")
	}
}
