package figure_test

import (
	"bytes"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/compare"
	"github.com/headwater-ml/headwater/internal/export/figure"
)

// textsOf returns the texts of a figure as SVG, in the order in which they are drawn.
func textsOf(t *testing.T, o figure.Options, d figure.Drawing, err error) []string {
	t.Helper()
	must(t, err)
	o.Format = figure.SVG
	f, err := figure.Draw(o, about, d)
	must(t, err)
	var all []string
	for _, found := range regexp.MustCompile(`<text[^>]*>([^<]*)<`).FindAllSubmatch(f.Bytes, -1) {
		all = append(all, string(found[1]))
	}
	return all
}

// shares is an explanation of one generated token and two prompt tokens by two methods: A has 0.5
// and 0.25 of them, B has 0.125 and 0.5.
func shares() *attribution.Explanation {
	e := explanation("the", " keys")
	e.Steps, e.Order = e.Steps[:1], []string{"a", "b"}
	e.Methods = map[string]*attribution.Result{}
	for name, data := range map[string][]float64{"a": {0.5, 0.25}, "b": {0.125, 0.5}} {
		e.Methods[name] = &attribution.Result{
			Layers: []int{0}, Shape: [3]int{1, 2, 1}, Unit: "share of attention", Facts: attribution.Facts{Quantity: attribution.Share}, Rows: [][]float64{data},
			Shown: []int{0},
		}
	}
	return e
}

// A comparison has the numbers of both sides and A minus B, by hand 38 and -25 in percent, the
// names of the columns once, and a scale that ends at the largest of both sides, 0.5, whose last
// colours begin at 3/4 of it. That of the difference ends at 0.38.
func TestCompare(t *testing.T) {
	e := shares()
	a := compare.Side{Explanation: e}
	h, err := render.Compare(a, compare.Side{Explanation: e, Method: "b"})
	must(t, err)
	d, err := matrix(h.Drawn(""))
	got := textsOf(t, figure.Options{}, d, err)
	from := slices.Index(got, "A: a")
	if from < 0 {
		t.Fatalf("there is no side A in %q", got)
	}
	want := []string{
		"A: a", "layer 0", "prompt", "50", "25", "is", "B: b", "layer 0", "12", "50", "is",
		"A − B", "positive: A has more; its own scale, steps of both signs from 1.6 %, 3.8 %, " +
			"7.6 %, 13 %, 19 %, 29 %",
		"38", "−25", "is", "the", "keys", "prompt token", "0", "2.1 %", "5.0 %", "10 %", "17 %", "25 %",
		"38 %",
	}
	if rest := got[from:]; len(rest) < len(want) || !slices.Equal(rest[:len(want)], want) {
		t.Errorf("the figure has %q, want %q", rest, want)
	}
	h.Filter = attribution.Filter{"keys"}
	d, err = matrix(h.Drawn(""))
	said := strings.Join(textsOf(t, figure.Options{}, d, err), "\n")
	if !strings.Contains(said, "A: Grey, and left out of the colours by the filter: “keys”.") {
		t.Errorf("the filter is not named:\n%s", said)
	}
}

// The grid frames the head that looks at one token in particular from there, and one head has its
// numbers: 25 and 75 % in the row of the token that looks, none of what has no colour.
func TestHeads(t *testing.T) {
	e := explanation("the", " keys", " to", " the")
	d, err := figure.Heads(heads(e, 3, 2, 1))
	got := strings.Join(textsOf(t, figure.Options{}, d, err), "\n")
	const says = "Before red, head 0 of layer 1 looked at keys 75 %."
	if !strings.Contains(got, "Framed: "+says) || !strings.Contains(got, "3 × 2 heads") {
		t.Errorf("the grid lacks %q:\n%s", says, got)
	}
	d, err = head(heads(e, 3, 2, 1).OpenHead(nil))
	all := textsOf(t, figure.Options{}, d, err)
	if all[0] != "layer 1, head 0" {
		t.Errorf("the head is %q", all[0])
	}
	numbers := strings.Join(all, " ")
	// What has no colour has no number, as on a page.
	const rows = "looks 100 100 100 100 75 25 100 the "
	if !strings.Contains(numbers, rows) {
		t.Errorf("%q lacks the rows %s", numbers, rows)
	}
	// In a long text the columns are folded that no head looks at in particular.
	words := slices.Repeat([]string{" word", " word", " word", "."}, 25)
	d, err = head(heads(explanation(words...), 3, 2, 1).OpenHead(nil))
	folded := strings.Join(textsOf(t, figure.Options{}, d, err), " ")
	if !strings.Contains(folded, "⋯ 18 sentences") {
		t.Errorf("a head of 102 tokens is not folded: %q", folded)
	}
	// Chosen, and not the one that stands out.
	d, err = head(heads(e, 3, 2, 1).OpenHead(&[2]int{2, 1}))
	if all := textsOf(t, figure.Options{}, d, err); all[0] != "layer 2, head 1" {
		t.Errorf("the head is %q", all[0])
	}
}

// The grid frames the layer that wrote the token, if a method of one layer knows it.
func TestHeadsFrameTheLayer(t *testing.T) {
	e := explanation("the", " keys", " to", " the")
	const says = "The long frame: layer 1, whose attention wrote most of the logit of what is predicted."
	for _, wrote := range []int{1, 2} { // the last one is also where the model cannot tell
		e.Model.Layers, e.Order = 3, []string{"raw"}
		e.Methods = map[string]*attribution.Result{"raw": {
			Shape: [3]int{2, 4, 1}, Layers: []int{wrote}, Shown: []int{wrote, wrote},
			Rows:  [][]float64{make([]float64, 4), make([]float64, 4)},
			Facts: attribution.Facts{LayerChosen: true},
		}}
		d, err := figure.Heads(heads(e, 3, 2, 0))
		got := strings.Join(textsOf(t, figure.Options{}, d, err), "\n")
		if strings.Contains(got, says) != (wrote == 1) {
			t.Errorf("with layer %d it says\n%s", wrote, got)
		}
		if e.Model.EncoderLayers = 1; wrote == 1 { // layers then have names
			d, err := figure.Heads(heads(e, 3, 2, 0))
			got := strings.Join(textsOf(t, figure.Options{}, d, err), "\n")
			for _, want := range []string{
				"The long frame: decoder 0 self,", "\nencoder 0\n", "\ndecoder 0 cross\n",
			} {
				if !strings.Contains(got, want) {
					t.Errorf("of two stacks it lacks %q:\n%s", want, got)
				}
			}
		}
		e.Model.EncoderLayers = 0
	}
}

// Up to twelve layers have a square each, with the names of all tokens where there is room: those
// of the rows beside each line of squares, those of the columns below each column of squares. One
// layer has its numbers, by hand 75 and 25 in the row of the last target, none of what has no
// colour.
func TestMaps(t *testing.T) {
	e := explanation("the", " keys", " to")
	e.Prompt.Special[0] = false
	d, err := graph(maps(e, 14))
	for size, want := range map[render.Size]int{
		render.Column: 4 + 3, render.Double: 3 + 4, render.Slide: 2 + 6,
	} {
		got := textsOf(t, figure.Options{Look: render.Look{Size: size}}, d, err)
		text := strings.Join(got, "\n")
		if !strings.Contains(text, "12 of 14 layers: rows are targets, columns sources") ||
			strings.Count(text, "\nlayer ") != 12 {
			t.Errorf("%s: want 12 of 14 layers:\n%s", size, text)
		}
		if names := strings.Count(text, "keys"); names != want {
			t.Errorf("%s: a token is named %d times, want %d", size, names, want)
		}
	}
	long := explanation(strings.Fields(strings.Repeat("word ", 80))...)
	d, err = graph(maps(long, 2))
	got := strings.Join(textsOf(t, figure.Options{}, d, err), "\n")
	if strings.Contains(got, "word") || !strings.Contains(got, "no room for the names") ||
		!strings.Contains(got, "\n2 layers: rows") {
		t.Errorf("the names of 82 tokens:\n%s", got)
	}
	// Squares have more cells than a matrix may have: 12 × 152 × 152.
	long = explanation(strings.Fields(strings.Repeat("word ", 150))...)
	d, err = graph(maps(long, 14))
	if got := textsOf(t, figure.Options{}, d, err); !slices.Contains(got, "layer 13") {
		t.Errorf("the maps of 152 tokens have %q", got)
	}
	r := maps(e, 3)
	r.Layer = new(2)
	d, err = graph(one(r))
	all := textsOf(t, figure.Options{}, d, err)
	numbers := strings.Join(all, " ")
	const rows = " 100 100 100 100 25 75 the "
	if all[0] != "raw, layer 2" || !strings.Contains(numbers, rows) {
		t.Errorf("%q lacks the rows%s of layer 2", numbers, rows)
	}
	r.Layer = new(3)
	_, err = graph(r)
	if err == nil || !strings.Contains(err.Error(), "layers 0 to 2") {
		t.Errorf("layer 3 of 3: error %v", err)
	}
}

// A lift is coloured by its logarithm, both ways, and a zero has no colour of a number.
func TestMapsOfLift(t *testing.T) {
	r := maps(explanation("the", " keys"), 1)
	r.Map.Unit, r.Map.Quantity = "lift over uniform attention", attribution.Lift
	r.Map.Row(0, 3)[0] = 4
	d, err := graph(one(r))
	got := strings.Join(textsOf(t, figure.Options{}, d, err), " ")
	// The scale goes from a quarter to 4, and its last colour begins at 3/4 of that: 4^0.75.
	if !strings.Contains(got, " 4.0 ") || !strings.Contains(got, " 1 ×1.1 ") ||
		!strings.Contains(got, " ×2.8") {
		t.Errorf("%q lacks a lift of 4 or its scale", got)
	}
	if _, err := figure.Draw(figure.Options{Format: figure.SVG}, about, d); err != nil {
		t.Error(err)
	}
}

// Where a model has many layers, they go from left to right on a wide page and upwards in a column.
func TestHeadsTurn(t *testing.T) {
	e := explanation("the", " keys", " to")
	d, err := figure.Heads(heads(e, 30, 9))
	turned := regexp.MustCompile(`rotate\(90\)">\n<text[^>]*>(layer|head)<`)
	for size, want := range map[render.Size]string{render.Column: "layer", render.Double: "head"} {
		must(t, err)
		o := figure.Options{Format: figure.SVG, Look: render.Look{Size: size}}
		f, err := figure.Draw(o, about, d)
		must(t, err)
		if found := turned.FindSubmatch(f.Bytes); found == nil || string(found[1]) != want {
			t.Errorf("%s: beside the rows stands %q, want %s", size, found, want)
		}
	}
}

// Several tokens have a panel each, on one scale, with the names of the columns below the last.
func TestLayerMaps(t *testing.T) {
	e := explanation("the", " keys")
	e.Methods["rollout"].OtherMass = nil // no sinks
	d, err := layers(e, "rollout", []int{1, 0}, nil)
	for size, names := range map[render.Size]int{render.Column: 2, render.Slide: 2} {
		got := textsOf(t, figure.Options{Look: render.Look{Size: size}}, d, err)
		text := strings.Join(got, " ")
		if !strings.Contains(text, "“red” 25.0 %") || !strings.Contains(text, "“is” 90.0 %") {
			t.Errorf("%s: a panel is missing in %q", size, got)
		}
		count := 0
		for _, s := range got {
			if s == "keys" {
				count++
			}
		}
		if count != names {
			t.Errorf("%s: the names of columns stand %d times, want %d", size, count, names)
		}
		if !slices.Contains(got, "22 %") { // 3/4 of 0.3, the largest of both
			t.Errorf("%s: the last colour does not begin at 22 %%: %q", size, got)
		}
	}
}

// A filter greys tokens and leaves them out of the scale: without the largest value, 0.3, the scale
// ends at that of the others.
func TestFilter(t *testing.T) {
	e := explanation("the", " keys")
	e.Methods["rollout"].OtherMass = nil
	e.Methods["rollout"].Rows = [][]float64{{0, 0}, {0, 0}, {.9, .1}, {0, 0}, {0, 0}, {.8, .15}}
	d, err := heatmap(e, "rollout", attribution.Filter{"the"})
	got := textsOf(t, figure.Options{}, d, err)
	if !slices.Contains(got, "11 %") || slices.Contains(got, "68 %") { // 3/4 of 15
		t.Errorf("the last colour does not begin at 11 %%: %q", got)
	}
	const note = "Grey, and left out of the colours by the filter: “the”."
	if !slices.Contains(got, note) {
		t.Errorf("%q lacks %q", got, note)
	}
	d, err = heatmap(e, "rollout", nil)
	if got := textsOf(t, figure.Options{}, d, err); !slices.Contains(got, "68 %") {
		t.Errorf("without a filter the last colour does not begin at 68 %%: %q", got)
	}
}

// TestMatrixIsAPage: a matrix has the brackets, the six colours, the true signs and the legend of a
// page, and nothing where a row has no value.
func TestMatrixIsAPage(t *testing.T) {
	e := explanation("the", " key", " to")
	e.Methods["direct"].Rows = [][]float64{{3, -1.2, 0.05}, {0, -3, 2, 0.4}}
	e.Methods["direct"].OtherMass = []float64{0, 0.4}
	e.Model.Title = "Tiny 1M"
	d, err := heatmap(e, "direct", nil)
	got := textsOf(t, figure.Options{}, d, err)
	for _, want := range []string{"whole model · Tiny 1M", "prompt", "−1.2", "−3.0", "0.4", "−2.2", "2.2", "0.12"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if last := slices.Index(got, "0.4"); last != slices.Index(got, "2.0")+1 {
		t.Errorf("the values of the last row are not the last numbers in cells: %q", got)
	}
	f, err := figure.Draw(figure.Options{Format: figure.SVG}, about, d)
	must(t, err)
	for step := -6; step <= 6; step++ { // all of them are in the legend
		color, _ := render.StepColors("", step)
		if step != 0 && !bytes.Contains(f.Bytes, []byte(strings.ToUpper(color.String()))) {
			t.Errorf("there is no %v, the colour of step %d", color, step)
		}
	}
	if bytes.Contains(f.Bytes, []byte(strings.ToUpper(chart.Missing.String()))) {
		t.Error("what has no value is grey")
	}
}

// TestRowSink: a first token that is a sink of one row alone is left out of the scale and noted,
// and keeps its value in the other row.
func TestRowSink(t *testing.T) {
	e := explanation("the", " keys")
	e.Methods["rollout"].OtherMass = make([]float64, 6)
	e.Methods["rollout"].Rows = [][]float64{{0, 0}, {0, 0}, {.9, .1}, {0, 0}, {0, 0}, {.05, .15}}
	d, err := heatmap(e, "rollout", nil)
	got := textsOf(t, figure.Options{}, d, err)
	if !slices.Contains(got, "11 %") || slices.Contains(got, "68 %") { // 3/4 of 15
		t.Errorf("the last colour does not begin at 11 %%: %q", got)
	}
	all := strings.Join(got, " ")
	if n := strings.Count(all, "“the” is a sink in the row of “"); n != 1 {
		t.Errorf("the sink of a row is noted %d times, want once: %q", n, got)
	}
	if strings.Contains(all, "Grey: the sink") {
		t.Errorf("a sink of one row is called one of all: %q", got)
	}
}

// TestHeadsNameThePrompt: figures of heads say which text they are of, cut if it is long.
func TestHeadsNameThePrompt(t *testing.T) {
	e := explanation("the", " key", " to")
	e.Prompt.Text = "the key to the cabinets " + strings.Repeat("of oak ", 20)
	for name, draw := range map[string]func() (figure.Drawing, error){
		"heads": func() (figure.Drawing, error) { return figure.Heads(heads(e, 3, 2, 0)) },
		"head":  func() (figure.Drawing, error) { return head(heads(e, 3, 2, 0).OpenHead(nil)) },
	} {
		d, err := draw()
		all := strings.Join(textsOf(t, figure.Options{}, d, err), " ")
		if !strings.Contains(all, "“the key to the cabinets of oak") ||
			!strings.Contains(all, "…”") {
			t.Errorf("%s does not name the prompt: %q", name, all)
		}
	}
}

// TestDecimals: all numbers of a figure have as many decimals, also where the panels of a
// comparison have different values.
func TestDecimals(t *testing.T) {
	e := explanation("the", " key", " to")
	e.Methods["direct"].Rows = [][]float64{{0.1, -0.012, 0.3456}, {0, -0.5, 0.06}}
	other := explanation("the", " key", " to")
	other.Methods["direct"].Rows = [][]float64{{0, 0, 0}, {0, 0, 0}}
	h, err := render.Compare(
		compare.Side{Explanation: e, Method: "direct"},
		compare.Side{Explanation: other, Method: "direct"},
	)
	must(t, err)
	number := regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	for name, draw := range map[string]func() (figure.Drawing, error){
		"matrix":  func() (figure.Drawing, error) { return heatmap(e, "direct", nil) },
		"compare": func() (figure.Drawing, error) { return matrix(h.Drawn("")) },
	} {
		d, err := draw()
		found := map[int]int{}
		for _, text := range textsOf(t, figure.Options{}, d, err) {
			if number.MatchString(text) && strings.Contains(text, ".") {
				found[len(text)-strings.IndexByte(text, '.')-1]++
			}
		}
		if found[2] < 2*len(e.Prompt.Texts) || len(found) > 2 { // and the scale, -0.5 to 0.5
			t.Errorf("%s: numbers of decimals %v, want 2", name, found)
		}
	}
}

// TestComparedPromptsAreCutAlike: prompts that do not fit are cut at the same places.
func TestComparedPromptsAreCutAlike(t *testing.T) {
	same := strings.Repeat("of oak ", 30)
	a, b := explanation("the", " key"), explanation("the", " key")
	a.Prompt.Text, b.Prompt.Text = same+"one "+same, same+"two "+same
	h, err := render.Compare(
		compare.Side{Explanation: a, Method: "rollout"},
		compare.Side{Explanation: b, Method: "rollout"},
	)
	must(t, err)
	for _, size := range []render.Size{render.Column, render.Double} {
		d, err := matrix(h.Drawn(""))
		var cut []string
		for _, text := range textsOf(t, figure.Options{Look: render.Look{Size: size}}, d, err) {
			if strings.HasPrefix(text, "…") {
				cut = append(cut, text)
			}
		}
		if len(cut) != 2 || strings.ReplaceAll(cut[0], "one", "two") != cut[1] ||
			!strings.Contains(cut[0], "one") {
			t.Errorf("%s: the prompts are cut to %q", size, cut)
		}
	}
}

// layered is an explanation of one generated token by a method with 30 layers, [1,2,30].
func layered(facts attribution.Facts) *attribution.Explanation {
	e := explanation("the", " keys")
	r := &attribution.Result{
		Shape: [3]int{1, 2, 30}, Unit: "logit", Shown: []int{29}, Facts: facts,
	}
	for k := range 30 {
		r.Layers = append(r.Layers, k)
	}
	fill(r, func(i int) float64 { return []float64{1, 0}[i/30] })
	e.Steps, e.Order = e.Steps[:1], []string{"m"}
	e.Methods = map[string]*attribution.Result{"m": r}
	return e
}

// TestLayersAreCombined: matrices tell whether a row is of one layer, what a layer adds to a sum, a
// sum, or layers that were combined otherwise, and layer 0 has its name where only every second
// layer has one. By hand, 30 layers that all have 1 and 0 add 1 in layer 0 alone.
func TestLayersAreCombined(t *testing.T) {
	for _, c := range []struct {
		facts       attribution.Facts
		title, axis string
	}{
		{
			attribution.Facts{Scorer: true, Combined: true},
			"sums of layers 0 to the row's",
			"up to layer",
		},
		{attribution.Facts{Combined: true}, "layers 0 to the row's together", "up to layer"},
		{
			attribution.Facts{Scorer: true, Combined: true, AddsUp: true},
			"what each of layers 0 to 29 adds to the sum",
			"layer",
		},
		{attribution.Facts{}, "layers 0 to 29", "layer"},
	} {
		e := layered(c.facts)
		d, err := layers(e, "m", []int{0}, nil)
		got := textsOf(t, figure.Options{}, d, err)
		starts := func(s string) bool { return strings.HasPrefix(html.UnescapeString(s), c.title) }
		if !slices.ContainsFunc(got, starts) || !slices.Contains(got, c.axis) {
			t.Errorf("%v: %q, want %q and the axis %q", c.facts, got, c.title, c.axis)
		}
		if !slices.Contains(got, "0") || !slices.Contains(got, "28") ||
			slices.Contains(got, "sum") != c.facts.AddsUp {
			t.Errorf("%v does not name layer 0 or the sum: %q", c.facts, got)
		}
		ones := 0
		for _, s := range got {
			if s == "1.0" {
				ones++
			}
		}
		if want := map[bool]int{true: 2, false: 30}[c.facts.AddsUp]; ones != want {
			t.Errorf("%v: %d cells have 1, want %d: %q", c.facts, ones, want, got)
		}
	}
}

// TestTextHasGenerated: the text before a token ends with the generated ones, underlined and in the
// colour of their values: of “red” 3 of 3 from “is”, which the prompt does not have.
func TestTextHasGenerated(t *testing.T) {
	e := explanation(" the", " ke", "ys")
	e.Order = []string{"direct"}
	e.Methods = map[string]*attribution.Result{"direct": {
		Layers: []int{0}, Shape: [3]int{2, 3, 1}, Shown: []int{0, 0}, Unit: "part of the logit",
		Options: map[string]string{"scorer": "direct"}, Facts: attribution.Facts{Scorer: true, Combined: true, AddsUp: true}, Rows: [][]float64{{1, 2, 0}, {0, 0, -1, 3}},
		OtherMass: []float64{0, 3},
	}}
	d, err := strip(e, "direct", figure.AllTokens, nil)
	got := strings.Join(textsOf(t, figure.Options{}, d, err), "|")
	const want = "|the|ke|ys|→ red|25.0 %|the|ke|ys|is|"
	if !strings.Contains(got, want) || !strings.Contains(got, "Underlined: generated tokens.") {
		t.Errorf("%q lacks %q or what is underlined", got, want)
	}
	if strings.Contains(got, "generated tokens +3") {
		t.Errorf("%q says what the text shows", got)
	}
}

// TestTextNamesGenerated: a text names the part of generated tokens in a row if that is a tenth or
// more. By hand: 0.87 of a whole; -2 of 2 + 1 + 1; 0.05 and a lift, which has no whole, are not
// said.
func TestTextNamesGenerated(t *testing.T) {
	share := attribution.Facts{Quantity: attribution.Share}
	for _, c := range []struct {
		unit  string
		facts attribution.Facts
		row   []float64
		other float64
		want  string
	}{
		{"share of attention", share, []float64{0.1, 0.03}, 0.87, "generated tokens 87.0 %"},
		{
			"logit",
			attribution.Facts{Scorer: true, AddsUp: true},
			[]float64{1, -1},
			-2,
			"generated tokens −2",
		},
		{"share of attention", share, []float64{0.9, 0.05}, 0.05, ""},
		{"lift", attribution.Facts{Quantity: attribution.Lift}, []float64{1, 1}, 0.87, ""},
	} {
		e := shares()
		e.Methods["a"].Unit, e.Methods["a"].Facts, e.Methods["a"].Rows = c.unit, c.facts, [][]float64{c.row}
		e.Methods["a"].OtherMass = []float64{c.other}
		d, err := strip(e, "a", figure.AllTokens, nil)
		got := strings.Join(textsOf(t, figure.Options{}, d, err), "|")
		if has := strings.Contains(got, "90.0 %, "); has != (c.want != "") ||
			!strings.Contains(got, c.want) {
			t.Errorf("%s, %v of %v: %q, want %q", c.unit, c.other, c.row, got, c.want)
		}
	}
}
