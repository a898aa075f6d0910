package render

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func TestLayers(t *testing.T) {
	l := Layers{Heatmap: Heatmap{Explanation: example()}, Tokens: []int{0, 2}}
	t.Run("notebook", func(t *testing.T) { goldenOf(t, l, panelsScript(), "panels.js") })
	t.Run("text", func(t *testing.T) { golden(t, asText(l)) })
	survives(t, panelsMarkup(t, l))
}

// panelsMarkup is a picture of layers or maps without its script.
func panelsMarkup(t *testing.T, v Picture) string {
	t.Helper()
	return strings.Replace(written(t, v), "<script>"+panelsScript()+"</script>", "", 1)
}

// TestLayersScale puts one value far above the others into another layer than the one shown: the
// colours of all matrices end there, and the line of facts names the layer.
func TestLayersScale(t *testing.T) {
	e := example()
	r := e.Methods["value-zeroing"]
	fill(r, func(int) float64 { return 0.1 })
	r.Row(1, 2)[3] = 0.8
	l := Layers{Heatmap: Heatmap{Explanation: e, Methods: []string{"value-zeroing"}}}
	p := l.panels()
	m := &p.methods[0]
	if m.colors.limit != 0.8 {
		t.Errorf("the colours end at %v, want 0.8", m.colors.limit)
	}
	const want = "the largest of all layers: to 80.0 % in layer 2"
	if got := m.list[1].facts.String(); !strings.Contains(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
	// Layer 0 is at the bottom.
	if n := len(m.rows); m.rows[n-1] != "0" || m.rows[0] != "5" {
		t.Errorf("the rows are %v, want the last layer on top", m.rows)
	}
	if a, b := m.step(&m.list[1], 3, 3), m.step(&m.list[1], 2, 3); a != levels || b == levels {
		t.Errorf("row 3 from the top, layer 2, has colour %d, the one above it %d", a, b)
	}
	// The numbers of the script, decoded, are the values.
	var d panelsData
	scriptOf(t, written(t, l), &d)
	if x := d.Methods[0].List[1].Cells[3].value(3); x != 0.8 {
		t.Errorf("the script has %v, want 0.8", x)
	}
}

// TestLayersOpen: of the tokens shown, the one is open of which the first method with layers says
// most, unless another one is asked for.
func TestLayersOpen(t *testing.T) {
	e := example()
	for t := range e.Steps {
		e.Steps[t].Text = []string{" keys", " cabinet", " door"}[t]
	}
	r := e.Methods["value-zeroing"]
	fill(r, func(int) float64 { return 0.01 })
	r.Row(2, r.Level(2))[3] = 0.8
	r.Row(1, r.Level(1))[3] = 0.3
	h := Heatmap{Explanation: e, Methods: []string{"value-zeroing"}}
	for _, c := range []struct {
		tokens []int
		token  *int
		want   int // of tokens
	}{{[]int{0, 1, 2}, nil, 2}, {[]int{0, 1}, nil, 1}, {[]int{0, 1}, new(0), 0}, {nil, nil, 2}} {
		h.Token = c.token
		p := Layers{Heatmap: h, Tokens: c.tokens}.panels()
		if got := p.methods[0].open; got != c.want {
			t.Errorf("of tokens %v number %d is open, want %d", c.tokens, got, c.want)
		}
	}
}

// TestLayersParts: of a scorer, whose values add up over layers, a row is what its layer adds, and
// the whole is the value that other pictures show.
func TestLayersParts(t *testing.T) {
	e := example()
	r := e.Methods["value-zeroing"]
	r.Scorer, r.Combined, r.AddsUp = true, true, true
	fill(r, func(i int) float64 { return float64(i%6) * float64(i%6) / 100 })
	for t := range r.Shown {
		r.Shown[t] = 5
	}
	l := Layers{Heatmap: Heatmap{Explanation: e, Methods: []string{"value-zeroing"}}}
	p := l.panels()
	m, one := &p.methods[0], &p.methods[0].list[0]
	if !m.parts || one.row != -1 {
		t.Fatalf("parts: %t, row %d is framed; want parts, and none", m.parts, one.row)
	}
	v := &p.views[0]
	for c, total := range one.total {
		sum := 0.0
		for i := range one.cells {
			sum += one.cells[i][c].value
		}
		if want := v.at(0, c); math.Abs(sum-want) > 1e-12 || total.value != want {
			t.Errorf("column %d adds up to %v, its whole is %v, want %v", c, sum, total.value, want)
		}
	}
	var d panelsData
	if scriptOf(t, written(t, l), &d); !d.Methods[0].Parts || d.Methods[0].List[0].Total == nil {
		t.Error("the script is not told")
	}
}

// TestLayersGenerated has what tokens have from generated tokens at every level: matrices have
// their columns, and the numbers for the script are those values.
func TestLayersGenerated(t *testing.T) {
	e := generatedExample()
	l := Layers{Heatmap: Heatmap{Explanation: e, Methods: []string{"rollout"}}, Tokens: []int{0, 2}}
	deepened(e)
	t.Run("notebook", func(t *testing.T) { goldenOf(t, l, panelsScript(), "panels.js") })
	t.Run("text", func(t *testing.T) { golden(t, asText(l)) })
	p := l.panels()
	m := &p.methods[0]
	// What the framed layer has is not told twice.
	if got := m.list[1].facts.String(); !strings.HasPrefix(got, "here 30.0 %") ||
		strings.Contains(got, "of all layers") {
		t.Errorf("it says %q", got)
	}
	// Layer 3, generated token 1, after 7 prompt tokens.
	if x := p.drawn(m, &m.list[1]).Cells[5-3].value(8); x < 0.1999 || x > 0.2001 {
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
	r.Row(1, 2)[3] = 0.8
	l := Layers{Heatmap: Heatmap{Explanation: e, Methods: []string{"value-zeroing"}}}
	said := l.panels().methods[0].list[1].facts.String()
	if !strings.Contains(said, " up to layer ") || strings.Contains(said, " in layer ") {
		t.Errorf("it says %q", said)
	}
	var d panelsData
	if scriptOf(t, written(t, l), &d); d.Methods[0].Where != "up to layer " ||
		len(d.Methods[0].RowNames) != 6 {
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
	}
}

// TestLayersLeftOut: the smaller the limit, the more is left out, the lines of rows first and then
// the numbers of the script, and a sentence says so.
func TestLayersLeftOut(t *testing.T) {
	l := Layers{Heatmap: Heatmap{Explanation: sized(6, 39, 8)}}
	whole := len(written(t, l))
	lines, scripts := 0, 0
	for l.MaxBytes = whole + 3000; l.MaxBytes > 15_000; l.MaxBytes -= 1000 {
		got := written(t, l)
		left := strings.Contains(got, "of these lines")
		bare := strings.Contains(got, noClicks)
		if bare == strings.Contains(got, "<script>") || bare && !left {
			t.Errorf("%d bytes: a script: %t, lines left out: %t", l.MaxBytes, !bare, left)
		}
		if left && !bare {
			lines++
		}
		if bare {
			scripts++
		}
	}
	if lines == 0 || scripts == 0 {
		t.Errorf("%d pictures left out lines alone, %d the script too", lines, scripts)
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
