package render

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

func TestLayers(t *testing.T) {
	l := Layers{Heatmap: Heatmap{Explanation: example()}, Tokens: []int{0, 2}}
	t.Run("notebook", func(t *testing.T) { goldenOf(t, l, layersTouch(), "layers.js") })
	t.Run("text", func(t *testing.T) { golden(t, asText(l)) })
	survives(t, layersMarkup(t, l))
}

// layersMarkup is a picture without its script.
func layersMarkup(t *testing.T, l Layers) string {
	t.Helper()
	return strings.Replace(written(t, l), "<script>"+layersTouch()+"</script>", "", 1)
}

// TestLayersScale puts one value far above the others into another layer than the one shown: the
// colours of all panels end there, and the sentence names the layer.
func TestLayersScale(t *testing.T) {
	e := example()
	r := e.Methods["value-zeroing"]
	fill(r, func(int) float64 { return 0.1 })
	r.Row(1, 2)[3] = 0.8
	l := Layers{Heatmap: Heatmap{Explanation: e, Methods: []string{"value-zeroing"}}}
	p := l.open(false)
	v := &p.views[0]
	if v.colors.limit != 0.8 {
		t.Errorf("the colours end at %v, want 0.8", v.colors.limit)
	}
	const want = "most from “to” 80.0 % in layer 2, "
	if got := p.strongest(v, 1); !strings.HasPrefix(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
	if g := p.panelGrid(v, 1); g[3][3] != levels || g[2][3] == levels {
		t.Errorf("row 3 from the top, layer 2, has paint %d of %d", g[3][3], levels)
	}
	// The numbers of the script, decoded, are the values.
	var d layersData
	scriptOf(t, written(t, l), &d)
	if x := d.Panels[1].Rows[2].value(3); x != 0.8 {
		t.Errorf("the script has %v, want 0.8", x)
	}
}

// TestLayersGenerated has what tokens have from generated tokens at every level: panels have their
// columns, and the numbers for the script are those values.
func TestLayersGenerated(t *testing.T) {
	e := generatedExample()
	l := Layers{Heatmap: Heatmap{Explanation: e, Methods: []string{"rollout"}}, Tokens: []int{0, 2}}
	deepened(e)
	t.Run("notebook", func(t *testing.T) { goldenOf(t, l, layersTouch(), "layers.js") })
	t.Run("text", func(t *testing.T) { golden(t, asText(l)) })
	got := written(t, l)
	if !strings.Contains(got, "after a line for each generated") {
		t.Error("it does not say which columns are generated tokens")
	}
	p := l.open(false)
	v := &p.views[0]
	const best = "most from “here” (generated 2) 30.0 % in layer 5, "
	if got := p.strongest(v, 2); !strings.HasPrefix(got, best) {
		t.Errorf("it says %q, want %q", got, best)
	}
	// Layer 3, generated token 1, after 7 prompt tokens.
	if x := p.panelRows(v, 2)[3].value(8); x < 0.1999 || x > 0.2001 {
		t.Errorf("the script has %v, want 0.3·4/6", x)
	}
	long := Layers{Heatmap: Heatmap{Explanation: deepened(sizedBy(64, 512, 30, "rollout"))}}
	if got := written(t, long); len(got) > 500_000 {
		t.Errorf("%d bytes, limit 500,000", len(got))
	}
}

// TestLayersCombined has values that are about all layers up to one, such as those of rollout: no
// part of the picture says that they are from that layer alone.
func TestLayersCombined(t *testing.T) {
	e := example()
	r := e.Methods["value-zeroing"]
	r.Combined = true
	l := Layers{Heatmap: Heatmap{Explanation: e, Methods: []string{"value-zeroing"}}}
	p := l.open(false)
	said := p.strongest(&p.views[0], 1)
	if !strings.Contains(said, " up to layer ") || strings.Contains(said, " in layer ") {
		t.Errorf("it says %q", said)
	}
	var d layersData
	if scriptOf(t, written(t, l), &d); !d.Panels[0].Combined || len(d.Panels[0].Layers) != 6 {
		t.Error("the script is not told")
	}
}

// TestLayersSizes draws long texts and many layers within the limit of a notebook.
func TestLayersSizes(t *testing.T) {
	for _, c := range []struct{ prompt, tokens, layers int }{
		{20, 10, 30}, {100, 16, 48}, {512, 64, 30},
	} {
		l := Layers{Heatmap: Heatmap{Explanation: sized(c.tokens, c.prompt, c.layers)}}
		got := written(t, l)
		if len(got) > 500_000 {
			t.Errorf("%v: %d bytes", c, len(got))
		}
		text := len(written(t, asText(l, Terminal{MaxBytes: 20_000})))
		if text > 20_000 {
			t.Errorf("%v: the text has %d bytes", c, text)
		}
		t.Logf("%v: %d bytes, text %d", c, len(got), text)
		for _, m := range regexp.MustCompile(`height:(\d+)px;line-height`).FindAllString(got, -1) {
			if m == "height:0px;line-height" {
				t.Errorf("%v: a label without height", c)
			}
		}
	}
}

// TestLayersLeftOut leaves out panels that do not fit, among them some before others that do: the
// numbers of the script are those of the panels that are drawn, in their order, and the first one
// of a method has its name.
func TestLayersLeftOut(t *testing.T) {
	e := sized(2, 39, 8)
	name := e.Order[0]
	wide := e.Methods[name]
	n, m := wide.Shape[0], wide.Shape[1]
	narrow := *wide
	narrow.Layers, narrow.Shape = []int{0, 1}, [3]int{n, m, 2}
	fill(&narrow, func(i int) float64 { return wide.At(i/2/m, i/2%m, i%2) })
	narrow.Shown = make([]int, n)
	setGenerated(&narrow, nil, []float64{0.1})
	e.Order, e.Methods["narrow"] = []string{name, "narrow"}, &narrow
	narrow.OtherMass = make([]float64, 2*n)
	l := Layers{Heatmap: Heatmap{Explanation: e}}
	before := 0 // panels that are left out before one that is drawn, with numbers
	for l.MaxBytes = len(written(t, l)) + 3000; l.MaxBytes > 15_000; l.MaxBytes -= 250 {
		got := written(t, l)
		var d layersData
		if !scriptOf(t, got, &d) {
			continue
		}
		drawn := strings.Split(got, `<div class="hw-d"`)[1:]
		if len(drawn) != len(d.Panels) {
			t.Fatalf("%d bytes: %d panels are drawn, and %d have numbers", l.MaxBytes, len(drawn),
				len(d.Panels))
		}
		for i, panel := range drawn {
			if rows := strings.Count(panel, `class="hw-r"`); rows != len(d.Panels[i].Layers) {
				t.Errorf("%d bytes: panel %d has %d layers and numbers of %d", l.MaxBytes, i, rows,
					len(d.Panels[i].Layers))
			}
		}
		if at := strings.Index(got, "left out here"); at >= 0 &&
			strings.LastIndex(got, `<div class="hw-d"`) > at {
			before++
		}
		if len(drawn) > 0 && !strings.Contains(got, `class="hw-n"`) {
			t.Errorf("%d bytes: no panel has the name of its method", l.MaxBytes)
		}
	}
	if before == 0 {
		t.Error("no panel was left out before another one")
	}
}

func TestLayersErrors(t *testing.T) {
	flat := example()
	flat.Order = []string{"flow"}
	for _, c := range []struct {
		layers Layers
		want   string
	}{
		{Layers{}, "needs an explanation"},
		{Layers{Heatmap: Heatmap{Explanation: example()}, Tokens: []int{3}}, "generated token 3"},
		{
			Layers{Heatmap: Heatmap{Explanation: example(), Methods: []string{"rolout"}}},
			"did you mean rollout?",
		},
		{Layers{Heatmap: Heatmap{Explanation: flat}}, "no values of several layers of flow"},
	} {
		err := c.layers.Check()
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
			continue
		}
		for _, got := range []string{written(t, c.layers), written(t, asText(c.layers))} {
			if got = strings.ReplaceAll(got, "\n", " "); !strings.Contains(got, c.want) {
				t.Errorf("the picture says %q, want %q", got, c.want)
			}
		}
	}
}

// TestLayersHostile draws layers of hostile texts.
func TestLayersHostile(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 19))
	pictures := 0
	for drawn, round := 0, 0; drawn < 10_000; round++ {
		e := example()
		if round%2 == 1 {
			e = encoded(trace.MaskedToken)
		}
		e, n := attacked(e, r)
		drawn += n
		l := Layers{Heatmap: Heatmap{Explanation: e}}
		checkPrintable(t, "text", written(t, asText(l)))
		if l.Check() == nil { // two hostile names of methods may be the same
			survives(t, layersMarkup(t, l))
			pictures++
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if pictures < 100 {
		t.Errorf("%d pictures were drawn", pictures)
	}
	survives(t, layersMarkup(t, Layers{Heatmap: Heatmap{Explanation: &attribution.Explanation{}}}))
}

// TestLayerLabels reads the numbers beside images of layers, in tables and beside images of long
// texts: every fifth from the last one down, and the lowest one.
func TestLayerLabels(t *testing.T) {
	label := regexp.MustCompile(`(\d+)(?:<br>|</div>)`)
	for layers, want := range map[int]string{
		9: "8 3 0", 11: "10 5 0", 12: "11 6 0", 13: "12 7 2 0", 30: "29 24 19 14 9 4 0",
	} {
		for _, prompt := range []int{12, 60} {
			e := sizedBy(3, prompt, layers, "rollout")
			for _, picture := range []any{Layers{Heatmap: Heatmap{Explanation: e}}} {
				page := written(t, picture)
				var got []string
				_, labels, found := strings.Cut(page, "font-size:9px;text-align:right\">")
				labels, _, _ = strings.Cut(labels, "<img")
				for _, m := range label.FindAllStringSubmatch(labels, -1) {
					got = append(got, m[1])
				}
				if !found || strings.Join(got, " ") != want {
					t.Errorf("%T of %d layers and %d tokens has the labels %v, want %s", picture,
						layers, prompt, got, want)
				}
			}
		}
	}
}

// TestSums reads once on a page and in a text that lines of layers are sums, of a scorer alone.
func TestSums(t *testing.T) {
	e := sizedBy(3, 12, 3, "rollout", "flow")
	e.Methods["flow"].Scorer = true
	const sums = "sums of layers 0 to the line's"
	for _, picture := range []any{
		Layers{Heatmap: Heatmap{Explanation: e}},
		asText(Layers{Heatmap: Heatmap{Explanation: e}}),
	} {
		got := strings.Join(strings.Fields(written(t, picture)), " ")
		if n := strings.Count(got, sums); n != 1 {
			t.Errorf("%T says it %d times, want once", picture, n)
		}
	}
	e.Methods["flow"].Scorer = false
	if strings.Contains(written(t, Layers{Heatmap: Heatmap{Explanation: e}}), sums) {
		t.Error("lines of methods that are no scorer are said to be sums")
	}
}

// TestNoLayers: of a method that has one layer for each token, the script knows how to get the
// others.
func TestNoLayers(t *testing.T) {
	e := sizedBy(3, 12, 3, "rollout", "value-zeroing")
	one := sizedBy(3, 12, 1, "value-zeroing").Methods["value-zeroing"]
	one.Layers[0], one.Shown = attribution.LayerByToken, []int{1, 0, 2}
	e.Methods["value-zeroing"] = one
	const want = "with --set all-layers or --view layers, or in a cell AllLayers: true of the options"
	var d heatmapData
	scriptOf(t, written(t, Heatmap{Explanation: e}), &d)
	if d.Methods[0].More != "" || d.Methods[1].More != want {
		t.Errorf("the script has %q and %q, want it of the second method", d.Methods[0].More,
			d.Methods[1].More)
	}
}
