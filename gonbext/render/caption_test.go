package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/compare"
)

// TestCaption: the caption of a user stands in place of the line with the model, in figures and
// pages, and below the title of a text; none leaves the line out. A caption is a hostile text.
func TestCaption(t *testing.T) {
	e := example()
	h := Heatmap{Explanation: e}
	compared := compared(t, compare.Side{Explanation: e}, compare.Side{Explanation: e, Method: "flow"})
	flow := flowing(t, e, 3, 1, 2, spread)
	const model, own = "tiny (toy grammar model)", "Figure 3. <b>Keys</b>\x1b"
	for name, c := range map[string]struct {
		view  func(caption string) View
		drawn func(v View) (Drawn, error)
	}{
		"heatmap": {
			func(caption string) View { h.Caption = caption; return h },
			func(v View) (Drawn, error) { return v.(Heatmap).Drawn("rollout") },
		},
		"layers": {
			func(caption string) View { h.Caption = caption; return Layers{Heatmap: h} },
			func(v View) (Drawn, error) { return v.(Layers).Drawn("rollout") },
		},
		"compare": {
			func(caption string) View { compared.Caption = caption; return compared },
			func(v View) (Drawn, error) { return v.(Heatmap).Drawn("") },
		},
		"flow": {
			func(caption string) View { flow.Caption = caption; return flow },
			func(v View) (Drawn, error) {
				d, err := v.(Flow).Drawing()
				return Drawn{Caption: d.Caption}, err
			},
		},
	} {
		for caption, want := range map[string]string{"": model, own: "Figure 3. <b>Keys</b>␛", NoCaption: ""} {
			v := c.view(caption)
			d, err := c.drawn(v)
			must(t, err)
			line := strings.Join(d.Caption, " · ")
			if caption == "" && !strings.HasSuffix(line, want) || caption != "" && line != want {
				t.Errorf("%s, caption %q: the figure has %q, want %q", name, caption, line, want)
			}
			var page, text bytes.Buffer
			must(t, HTML(&page, v))
			must(t, Text(&text, v, Terminal{}))
			_, context, _ := strings.Cut(page.String(), `<span class="hm-context">`)
			context, _, _ = strings.Cut(context, "</span>")
			if caption != "" {
				want = strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(want)
			}
			if caption == "" && !strings.HasPrefix(context, want) || caption != "" && context != want {
				t.Errorf("%s, caption %q: the page has %q, want %q", name, caption, context, want)
			}
			if has := strings.Contains(text.String(), "\nFigure 3. <b>Keys</b>␛\n"); has != (caption == own) {
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
		d, err := f.Drawing()
		must(t, err)
		for _, e := range d.Edges {
			if d.Tokens[e.Source] == 0 {
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
	if all == 0 || strings.Contains(allText, "sinks left out") || allText == text ||
		len(allPage) <= len(page) {
		t.Errorf("asked for, %d edges to the sink are drawn:\n%s", all, allText)
	}
	if err := (Show{Sinks: true}).Check(); err == nil {
		t.Error("a heatmap with edges is no error")
	}
}
