package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/compare"
)

// TestCaption: the caption of a user stands in place of the line with the model, in figures and
// pages, and below the title of a text; none leaves the line out. A caption is a hostile text.
func TestCaption(t *testing.T) {
	e := example()
	h := Heatmap{Explanation: e}
	compared := compared(t, compare.Side{Explanation: e},
		compare.Side{Explanation: e, Method: "flow"})
	flow := flowing(t, e, 3, 1, 2, spread)
	heads := attended(e, 2, 3)
	const model, own = "tiny (toy grammar model)", "Figure 3. <b>Keys</b>\x1b"
	for name, c := range map[string]struct {
		view  func(caption string) Picture
		drawn func(v Picture) (Drawn, error)
	}{
		"heatmap": {
			func(caption string) Picture { h.Caption = caption; return h },
			func(v Picture) (Drawn, error) { return v.(Heatmap).Drawn("rollout") },
		},
		"layers": {
			func(caption string) Picture { h.Caption = caption; return Layers{Heatmap: h} },
			func(v Picture) (Drawn, error) { return drawnOf(v, "rollout") },
		},
		"compare": {
			func(caption string) Picture { compared.Caption = caption; return compared },
			func(v Picture) (Drawn, error) { return v.(Heatmap).Drawn("") },
		},
		"flow": {
			func(caption string) Picture { flow.Caption = caption; return flow },
			func(v Picture) (Drawn, error) { return drawnOf(v) },
		},
		"heads": {
			func(caption string) Picture { heads.Caption = caption; return heads },
			func(v Picture) (Drawn, error) {
				open, err := v.(Heads).OpenHead(nil)
				return Drawn{Caption: open.Caption}, err
			},
		},
		"head": {
			func(caption string) Picture { heads.Caption = caption; return heads },
			func(v Picture) (Drawn, error) {
				open, err := v.(Heads).OpenHead(nil)
				return open.Drawn, err
			},
		},
	} {
		for caption, want := range map[string]string{
			"": model, own: "Figure 3. <b>Keys</b>␛", NoCaption: "",
		} {
			v := c.view(caption)
			d, err := c.drawn(v)
			must(t, err)
			line := strings.Join(d.Caption, " · ")
			shown := strings.HasSuffix(line, want)
			if caption != "" {
				shown = line == want
			}
			if !shown {
				t.Errorf("%s, caption %q: the figure has %q, want %q", name, caption, line, want)
			}
			var page, text bytes.Buffer
			must(t, HTML(&page, v))
			must(t, Text(&text, v, Terminal{}))
			_, context, _ := strings.Cut(page.String(), `<span class="hm-context">`)
			context, _, _ = strings.Cut(context, "</span>")
			if shown = strings.HasPrefix(context, want); caption != "" {
				want = strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(want)
				shown = context == want
			}
			if !shown {
				t.Errorf("%s, caption %q: the page has %q, want %q", name, caption, context, want)
			}
			has := strings.Contains(text.String(), "\nFigure 3. <b>Keys</b>␛\n")
			if has != (caption == own) {
				t.Errorf("%s, caption %q: the text has it: %v", name, caption, has)
			}
		}
	}
	if err := (Show{Caption: strings.Repeat("x", maxCaption+1)}).Check(); err == nil {
		t.Error("a caption of 1001 bytes is no error")
	}
}

// TestSinkEdges: edges to a sink are drawn if they are asked for: the first token has most of what
// the others look at.
func TestSinkEdges(t *testing.T) {
	f := flowing(t, example(), 3, 1, 2, spread)
	count := func() (toSink int, text, page string) {
		for _, e := range f.board().Graph.Edges {
			if e.Quiet && f.Sinks {
				toSink++
			}
		}
		var b, p bytes.Buffer
		must(t, Text(&b, f, Terminal{}))
		must(t, HTML(&p, f))
		return toSink, b.String(), p.String()
	}
	n, text, page := count()
	if n > 0 || !strings.Contains(text, "sinks left out") {
		t.Errorf("%d edges to the sink are drawn", n)
	}
	f.Sinks = true
	all, allText, allPage := count()
	d, err := drawnOf(f)
	must(t, err)
	for _, e := range d.Graph.Edges {
		if toSink := d.Graph.Nodes[e.From].Token == 0; e.Quiet != toSink ||
			!e.Dashed && (e.Step == 0) != toSink {
			t.Errorf("edge %+v: only those to the sink are grey", e)
		}
	}
	if !strings.Contains(d.Notes[0], "Grey edges lead to sinks.") {
		t.Errorf("the note is %q", d.Notes[0])
	}
	if all == 0 || strings.Contains(allText, "sinks left out") || allText == text ||
		allPage == page {
		t.Errorf("asked for, %d edges to the sink are drawn:\n%s", all, allText)
	}
	if err := (Show{Sinks: true}).Check(); err == nil {
		t.Error("a heatmap with edges is no error")
	}
}

// TestCaptionOfHeads: figures of heads quote the prompt, of a chat its last message.
func TestCaptionOfHeads(t *testing.T) {
	for want, e := range map[string]*attribution.Explanation{
		"“the keys to the cabinet”": example(), "“Where is the Colosseum?”": chatted(),
	} {
		open, err := attended(e, 2, 3).OpenHead(nil)
		must(t, err)
		if got := open.Drawn.Caption; got[0] != want {
			t.Errorf("the caption is %q, want %s first", got, want)
		}
	}
}

// TestLayersEnd: matrices of layers end with the last token that one of them has a value of: the
// second generated token has one generated source, the first has none.
func TestLayersEnd(t *testing.T) {
	e := chatted()
	r := e.Methods["raw"]
	r.Layers, r.Shape[2], r.Shown = []int{0, 1}, 2, []int{1, 1}
	r.Rows = [][]float64{r.Rows[0], r.Rows[0], r.Rows[1], r.Rows[1]}
	r.OtherMass = make([]float64, 4)
	for tokens, want := range map[int]int{0: 0, 1: 1} {
		d, err := drawnOf(Layers{Heatmap: Heatmap{Explanation: e}, Tokens: []int{tokens}}, "raw")
		must(t, err)
		generated := 0
		for _, c := range d.Columns {
			if c.Generated {
				generated++
			}
		}
		if generated != want || len(d.Columns) != len(d.Panels[0].Rows[0].Cells) {
			t.Errorf("token %d: %d generated columns, want %d", tokens, generated, want)
		}
	}
}
