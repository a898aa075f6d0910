package render

import (
	"bytes"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares what r writes with testdata/<name of the test>.golden, byte for byte.
func golden(t *testing.T, r io.WriterTo) {
	t.Helper()
	goldenOf(t, r, touch(), "touch.js")
}

// goldenOf is golden for a picture with this script, which has this name.
func goldenOf(t *testing.T, r io.WriterTo, script, name string) {
	t.Helper()
	whole := written(t, r)
	// The script and the style sheet are the same in all pictures; their files are the goldens.
	// What the script needs stands in the goldens as a reader can read it.
	got := strings.NewReplacer(script, name, styleSheet, "style.css").Replace(whole)
	got = forScript.ReplaceAllStringFunc(got, func(attribute string) string {
		code := forScript.FindStringSubmatch(attribute)[1]
		return ` data-hw="` + string(unpacked(t, code)) + `"`
	})
	path := filepath.Join("testdata", strings.ReplaceAll(t.Name(), "/", "-")+".golden")
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("picture differs from %s (-want +got):\n%s", path, diff)
	}
	if again := written(t, r); again != whole {
		t.Error("the same value gave other bytes the second time")
	}
}

func written(t *testing.T, r io.WriterTo) string {
	t.Helper()
	var b bytes.Buffer
	n, err := r.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("WriteTo = %d, %v; %d bytes written", n, err, b.Len())
	}
	return b.String()
}

func TestText(t *testing.T) {
	layer := 2
	t.Run("plain", func(t *testing.T) { golden(t, Text{Heatmap: Heatmap{Explanation: example()}}) })
	t.Run("color", func(t *testing.T) {
		golden(t, Text{Heatmap: Heatmap{Explanation: example()}, Width: 120, Color: true})
	})
	t.Run("narrow", func(t *testing.T) {
		golden(t, Text{Heatmap: Heatmap{
			Explanation: example(), Methods: []string{"rollout", "nonsense"}, Layer: &layer,
			Filter: attribution.Filter{"the"}, Status: "token 3 of 16",
		}, Width: 60})
	})
}

func TestHTML(t *testing.T) {
	t.Run("notebook", func(t *testing.T) {
		golden(t, HTML{Heatmap: Heatmap{Explanation: example()}})
	})
	t.Run("lift", func(t *testing.T) { golden(t, HTML{Heatmap: Heatmap{Explanation: lifted()}}) })
	t.Run("page", func(t *testing.T) {
		golden(t, Page{HTML: HTML{Heatmap: Heatmap{
			Explanation: example(),
			Filter:      attribution.Filter{"the", "to"}, Methods: []string{"flow"},
		}}})
	})
}

// lifted has one method whose values are ratios, and values without a colour.
func lifted() *attribution.Explanation {
	e := example()
	r := e.Methods["rollout"]
	r.Unit, r.Quantity = "lift (1 = uniform attention)", attribution.Lift
	for i := range r.Data {
		r.Data[i] = math.Exp2(float64(i%9) - 4)
	}
	copy(r.Data, []float64{
		math.NaN(), 1, 2, 3, 4, 5, 0, 0, 0, 0, 0, math.Inf(1), 1, 1, 1, 1, 1,
		math.NaN(),
	})
	e.Prompt.Special = nil
	e.Order = []string{"rollout"}
	delete(e.OtherMass, "rollout")
	return e
}

func TestWidth(t *testing.T) {
	for _, width := range []int{60, 72, 80, 100, 120} {
		for _, line := range strings.Split(written(t, Text{
			Heatmap: Heatmap{Explanation: long(30)},
			Width:   width,
		}), "\n") {
			if Width(line) > width {
				t.Errorf("width %d: line of %d columns: %q", width, Width(line), line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("width %d: line ends with a space: %q", width, line)
			}
		}
	}
}

// long is the example with a prompt of m tokens, wide characters among them.
func long(m int) *attribution.Explanation {
	e := example()
	texts := []string{" the", " keys", " 猫", " 東京", "s", ",", " in"}
	e.Prompt = attribution.Prompt{Text: strings.Repeat("the keys 猫 東京s, in ", m/len(texts)+1)}
	for j := range m {
		e.Prompt.Texts = append(e.Prompt.Texts, texts[j%len(texts)])
	}
	for _, name := range e.Order {
		r := e.Methods[name]
		r.Shape[1] = m
		r.Data = make([]float64, r.Shape[0]*m*r.Shape[2])
		for i := range r.Data {
			r.Data[i] = float64(i*37%101) / 101 / float64(m)
		}
	}
	return e
}

func TestNothing(t *testing.T) {
	noSteps := example()
	noSteps.Steps = nil
	for _, r := range noSteps.Methods {
		r.Shape[0], r.Data = 0, nil
	}
	noPrompt := example()
	noPrompt.Prompt = attribution.Prompt{}
	wrong := example()
	wrong.Methods["flow"].Data = wrong.Methods["flow"].Data[1:]
	behind := example()
	flow := behind.Methods["flow"]
	flow.Shape[0], flow.Data = 1, flow.Data[:7]
	constant := example()
	for i := range constant.Methods["flow"].Data {
		constant.Methods["flow"].Data[i] = 0
	}
	for _, c := range []struct {
		name   string
		e      *attribution.Explanation
		texts  string
		markup string
	}{
		{"nil", nil, "There is nothing to show yet.", "There is nothing to show yet."},
		{"empty", &attribution.Explanation{}, "There is nothing to show yet.", "There is nothing to show yet."},
		{"no steps", noSteps, "No token was generated.", "No token was generated."},
		{
			"no prompt", noPrompt, "flow: its shape [3 7 1] with 21 values does not fit 0 prompt " +
				"tokens and 1 layers",
			"its shape [3 7 1] with 21 values does not fit 0 prompt tokens and 1 layers",
		},
		{"wrong data", wrong, "flow: its shape [3 7 1] with 20 values", "its shape [3 7 1] with 20 values"},
		{"rows behind tokens", behind, "rollout  Σ", "not yet"},
		{"constant zero", constant, "0.00", "0.00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := written(t, Text{Heatmap: Heatmap{Explanation: c.e}})
			if !strings.Contains(got, c.texts) {
				t.Errorf("text lacks %q:\n%s", c.texts, got)
			}
			got = written(t, HTML{Heatmap: Heatmap{Explanation: c.e}})
			if !strings.Contains(got, c.markup) {
				t.Errorf("HTML lacks %q:\n%s", c.markup, got)
			}
			survives(t, got)
		})
	}
}

func TestUnchanged(t *testing.T) {
	e := example()
	written(t, HTML{Heatmap: Heatmap{Explanation: e}})
	written(t, Text{Heatmap: Heatmap{Explanation: e}})
	if diff := cmp.Diff(example(), e); diff != "" {
		t.Errorf("rendering changed its explanation:\n%s", diff)
	}
}

var (
	tag        = regexp.MustCompile(`<(/?)([a-zA-Z]+)([^<>]*)>`)
	attributes = regexp.MustCompile(
		`^( (style|title|span|colspan|class|src|alt|width|height)="([^"<>]*)")*$`)
	styles     = regexp.MustCompile(`style="([^"]*)"`)
	imageFrom  = regexp.MustCompile(`src="([^"]*)"`)
	imageStart = "data:image/png;base64,"
	graphStart = "data:image/svg+xml;base64," // of a graph of flow, which has no text but numbers
	forScript  = regexp.MustCompile(` data-hw="([^"<>]*)"`)
	// The sanitisers of notebooks drop these; a text colour would not fit light and dark themes.
	neverInside = regexp.MustCompile(`(?i)hsl|var\(|url\(|expression|javascript:|rgb|[^-]color:`)
)

// untrusted returns what a notebook that is not trusted keeps of a picture: neither its script with
// its numbers nor its style sheet.
func untrusted(t *testing.T, markup string) string {
	t.Helper()
	if n := strings.Count(markup, "<style>"+styleSheet+"</style>"); n != 1 {
		t.Fatalf("%d style sheets", n)
	}
	markup = strings.Replace(markup, "<style>"+styleSheet+"</style>", "", 1)
	markup = strings.Replace(markup, "<script>"+touch()+"</script>", "", 1)
	return forScript.ReplaceAllString(markup, "")
}

// survives checks that markup holds nothing that a sanitiser of notebooks removes besides script
// and style sheet, and is balanced.
func survives(t *testing.T, markup string) {
	t.Helper()
	markup = untrusted(t, markup)
	allowed := map[string]bool{
		"div": true, "span": true, "b": true, "u": true, "br": true, "table": true, "thead": true, "tbody": true,
		"tr": true, "td": true, "th": true, "colgroup": true, "img": true, "details": true, "summary": true,
	}
	var open []string
	for _, m := range tag.FindAllStringSubmatch(markup, -1) {
		name := m[2]
		if !allowed[name] {
			t.Fatalf("element %q", m[0])
		}
		if !attributes.MatchString(m[3]) {
			t.Fatalf("attributes of %q", m[0])
		}
		switch {
		case m[1] == "/":
			if len(open) == 0 || open[len(open)-1] != name {
				t.Fatalf("%q closes %v", m[0], open)
			}
			open = open[:len(open)-1]
		case name != "br" && name != "img":
			open = append(open, name)
		}
	}
	if len(open) != 0 {
		t.Fatalf("not closed: %v", open)
	}
	if rest := tag.ReplaceAllString(markup, ""); strings.ContainsAny(rest, "<>\"") {
		t.Fatal("markup outside of elements")
	}
	for _, m := range styles.FindAllStringSubmatch(markup, -1) {
		if neverInside.MatchString(m[1]) {
			t.Fatalf("style %q", m[1])
		}
	}
	for _, m := range imageFrom.FindAllStringSubmatch(markup, -1) {
		if !strings.HasPrefix(m[1], imageStart) && !strings.HasPrefix(m[1], graphStart) {
			t.Fatalf("image %.100q", m[1])
		}
	}
}

func TestSurvivesSanitiser(t *testing.T) {
	survives(t, written(t, HTML{Heatmap: Heatmap{Explanation: example()}}))
	survives(t, written(t, HTML{Heatmap: Heatmap{
		Explanation: lifted(),
		Filter:      attribution.Filter{"the"}, Status: "<i>",
	}}))
	survives(t, written(t, HTML{Heatmap: Heatmap{Explanation: long(500)}}))
}

func TestHostile(t *testing.T) {
	const script = `<script>alert("1")</script>'&` + "\x00\x1b[31m\u202e\u200b\xe2\x82\n\t"
	huge := strings.Repeat("x", 10_000)
	e := example()
	for j := range e.Prompt.Texts {
		e.Prompt.Texts[j] = script
	}
	e.Prompt.Texts[3] = huge
	e.Prompt.Text = script + huge
	e.Steps[0].Text, e.Steps[1].Text = script, huge
	e.Steps[0].Alternatives[1].Text = script
	e.Model.Name, e.Model.Note, e.Model.Family = script, script, script
	e.Model.Backend, e.Model.Hash = script, script
	e.Warnings = []string{script}
	e.Order = []string{script, "flow"}
	e.Methods[script] = e.Methods["rollout"]
	e.Methods[script].Unit = script
	e.Methods[script].Options = map[string]string{script: script}
	markup := written(t, HTML{Heatmap: Heatmap{Explanation: e, Status: script}})
	survives(t, markup)
	for what, s := range map[string]string{
		"HTML": markup, "text": written(t, Text{Heatmap: Heatmap{Explanation: e, Status: script}}),
		"page": written(t, Page{HTML: HTML{Heatmap: Heatmap{Explanation: e}}, Title: script}),
	} {
		for i, r := range s {
			if r != '\n' && !unicode.IsPrint(r) || r == unicode.ReplacementChar {
				t.Fatalf("%s: rune %U at byte %d acts", what, r, i)
			}
		}
		if strings.Contains(s, strings.Repeat("x", 2100)) {
			t.Errorf("%s holds the whole of a huge token", what)
		}
	}
	if strings.Contains(untrusted(t, markup), "<script") {
		t.Error("a script element reached the HTML")
	}
	if !strings.Contains(markup, "… (10,000 bytes)") {
		t.Error("a cut token carries no remark")
	}
}

// sized is an explanation of n tokens over m prompt tokens by two methods in l layers, as large as
// a real one.
func sized(n, m, l int) *attribution.Explanation {
	return sizedBy(n, m, l, "rollout", "value-zeroing")
}

// sizedBy is such an explanation by some of the methods of example.
func sizedBy(n, m, l int, methods ...string) *attribution.Explanation {
	e := long(m)
	e.Order = methods
	e.Steps = nil
	for range n {
		e.Steps = append(e.Steps, example().Steps[0])
	}
	for i, name := range e.Order {
		r := e.Methods[name]
		r.Layers = make([]int, l)
		for k := range l {
			r.Layers[k] = k
		}
		r.Shape = [3]int{n, m, l}
		r.Data = make([]float64, n*m*l)
		for x := range r.Data {
			r.Data[x] = float64(x*(37+i)%101) / 1010
		}
		for t := range n {
			r.Shown = append(r.Shown, l-1)
			row := make([]float64, t)
			for q := range row {
				row[q] = float64((t*n+q)*(41+i)%103) / 1030
			}
			r.Generated = append(r.Generated, slices.Repeat(row, l))
		}
	}
	return e
}

// setGenerated gives each token the same values of generated tokens at every level.
func setGenerated(r *attribution.Result, rows ...[]float64) {
	r.Generated = nil
	for _, row := range rows {
		r.Generated = append(r.Generated, slices.Repeat(row, r.Shape[2]))
	}
}

// generatedExample is the example with what each token has from the generated tokens before it.
func generatedExample() *attribution.Explanation {
	e := example()
	for _, r := range e.Methods {
		r.Shown = []int{5, 5, 5}
		setGenerated(r, nil, []float64{0.2}, []float64{0.05, 0.3})
	}
	return e
}

// TestGenerated draws generated tokens as sources: in the text, the sentence, the matrix.
func TestGenerated(t *testing.T) {
	h := Heatmap{Explanation: generatedExample(), Methods: []string{"rollout"}}
	golden(t, HTML{Heatmap: h})
	p := h.picture(true)
	const most = "most from “here” (generated 2) 30.0 %, "
	if got := p.says(&p.views[0], 2); !strings.HasPrefix(got, most) {
		t.Errorf("the sentence is %q", got)
	}
	for name, change := range map[string]func(*attribution.Explanation, *attribution.Result){
		"no values": func(_ *attribution.Explanation, r *attribution.Result) { r.Generated = nil },
		"a row too few": func(_ *attribution.Explanation, r *attribution.Result) {
			r.Generated = r.Generated[:2]
		},
		"a short row": func(_ *attribution.Explanation, r *attribution.Result) {
			r.Generated[2] = r.Generated[2][:1]
		},
		"long rows": func(_ *attribution.Explanation, r *attribution.Result) {
			r.Generated = [][]float64{{1, 2}, {1, 2, 3}, {1, 2, 3, 4}}
		},
		"fewer tokens": func(e *attribution.Explanation, _ *attribution.Result) {
			e.Steps = e.Steps[:2]
		},
	} {
		h.Explanation = generatedExample()
		change(h.Explanation, h.Explanation.Methods["rollout"])
		got := written(t, HTML{Heatmap: h})
		survives(t, got)
		if !strings.Contains(got, "<th>generated</th>") || strings.Contains(got, most) {
			t.Errorf("%s: the matrix has columns for generated tokens", name)
		}
	}

	h.Explanation = generatedExample()
	for _, r := range h.Explanation.Methods {
		setGenerated(r, []float64{0.1}, []float64{0.2, 0.3}, []float64{0.05, 0.3, 0.4})
	}
	p = h.picture(true)
	const itself = "most from “.” (generated 3) 40.0 %, "
	if got := p.says(&p.views[0], 2); !strings.HasPrefix(got, itself) {
		t.Errorf("with own rows the sentence is %q", got)
	}
	h.Filter = attribution.Filter{"here"}
	if p = h.picture(true); p.views[0].paint(p, 2, len(p.e.Prompt.Texts)+1) != sinkPaint {
		t.Error("a filtered generated token is not grey")
	}
}

func TestSize(t *testing.T) {
	const ordinary = 500_000
	for _, c := range []struct {
		name    string
		n, m, l int
		left    string
	}{
		{"ordinary", 16, 16, 6, ""},
		{"deep", 16, 24, 24, ""},
		{"long prompt", 64, 512, 6, ""},
		{"very long prompt", 16, 2048, 1, ""},
		{"long answer", 4096, 10, 2, "generated tokens are left out here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := written(t, HTML{Heatmap: Heatmap{Explanation: sized(c.n, c.m, c.l)}})
			survives(t, got)
			if len(got) > ordinary {
				t.Errorf("%d bytes, limit %d", len(got), ordinary)
			}
			if c.left != "" && !strings.Contains(got, c.left) {
				t.Errorf("does not say %q", c.left)
			}
			if c.left == "" && strings.Contains(got, "left out here") {
				t.Error("a picture of " + thousands(len(got)) + " bytes leaves something out")
			}
			t.Logf("%s bytes", thousands(len(got)))
		})
	}
}

// withRows returns how many methods have values for the script.
func withRows(d scriptData) (n int) {
	for _, m := range d.Methods {
		if m.Rows != nil {
			n++
		}
	}
	return n
}

// TestSizeOfGenerated draws 512 prompt tokens, 64 generated tokens and 3 methods: every token has
// its picture, with numbers for the script.
func TestSizeOfGenerated(t *testing.T) {
	e := sizedBy(64, 512, 1, "rollout", "flow", "value-zeroing")
	got := written(t, HTML{Heatmap: Heatmap{Explanation: e}})
	survives(t, got)
	if len(got) > 500_000 || strings.Contains(got, "left out here") {
		t.Errorf("%d bytes, limit 500,000, or something is left out", len(got))
	}
	var d scriptData
	if !scriptOf(t, got, &d) || d.Rounded || withRows(d) != 3 {
		t.Errorf("%d methods have numbers for the script, want 3; rounded: %t", withRows(d),
			d.Rounded)
	}
	t.Logf("%s bytes", thousands(len(got)))
}

// deepened sets what tokens have from generated tokens at every level: at level k that is the value
// of the last one times (k+1)/l.
func deepened(e *attribution.Explanation) *attribution.Explanation {
	for _, r := range e.Methods {
		if r.Shape[2] < 2 {
			continue
		}
		for t := range r.Generated {
			row := r.GeneratedRow(t, r.Top())
			all := []float64{}
			for k := range r.Shape[2] {
				for _, x := range row {
					all = append(all, x*float64(k+1)/float64(r.Shape[2]))
				}
			}
			r.Generated[t] = all
		}
	}
	return e
}

// TestSizeOfLevels draws the same with six levels, each of which has generated tokens: it stays in
// the room of a notebook with every token's picture.
func TestSizeOfLevels(t *testing.T) {
	e := deepened(sizedBy(64, 512, 6, "rollout", "flow", "value-zeroing"))
	got := written(t, HTML{Heatmap: Heatmap{Explanation: e}})
	survives(t, got)
	if len(got) > 500_000 || strings.Contains(got, "left out here") {
		t.Errorf("%d bytes, limit 500,000, or something is left out", len(got))
	}
	t.Logf("%s bytes", thousands(len(got)))
}

// TestManyGenerated has a short prompt and more generated tokens than a table has columns for: the
// matrix is an image that has all of them, and so have its layers.
func TestManyGenerated(t *testing.T) {
	e := deepened(sizedBy(80, 12, 3, "rollout"))
	h := Heatmap{Explanation: e}
	b := newPage(h.picture(true), 0)
	b.choose(new(79))
	if b.tabular() || b.extraColumns() != 79 {
		t.Errorf("a table: %t, %d generated columns, want an image with 79", b.tabular(),
			b.extraColumns())
	}
	v := &b.views[0]
	g := b.layerGrid(v, 12+1+79, 1)
	for k, line := range [][]int{g[2], g[1], g[0]} {
		if line[12] != dividerPaint {
			t.Errorf("level %d has paint %d where the line stands", k, line[12])
		}
		for q := range 79 {
			x := e.Methods["rollout"].GeneratedRow(79, k)[q]
			if want := v.colors.step(x); line[13+q] != want {
				t.Errorf("level %d, generated token %d: paint %d, want %d", k, q, line[13+q], want)
			}
		}
	}
	got := written(t, HTML{Heatmap: h})
	survives(t, got)
	var d scriptData
	if !scriptOf(t, got, &d) || strings.Contains(got, "left out here") ||
		len(d.Methods[0].Levels[79][0].counts) != 12+79 {
		t.Error("the script is not told of the levels, or something is left out")
	}
}

// TestGeneratedLayer shows another layer than that of the result: generated tokens have its values.
func TestGeneratedLayer(t *testing.T) {
	e := generatedExample()
	h := Heatmap{Explanation: e, Methods: []string{"rollout"}, Layer: new(2)}
	deepened(e)
	p := h.picture(true)
	if got := p.views[0].at(2, 7+1); got != 0.3*3/6 {
		t.Errorf("generated token 1 has %v at layer 2, want 0.15", got)
	}
}

// TestSizeOfGrowing draws a picture as it grows, in the room that a notebook gives it then: at
// every length it has its script with the values of every method.
func TestSizeOfGrowing(t *testing.T) {
	for n := 1; n <= 60; n++ {
		e := sizedBy(n, 60, 1, "rollout", "flow", "value-zeroing")
		got := written(t, HTML{Heatmap: Heatmap{Explanation: e}, MaxBytes: 120_000})
		var d scriptData
		if !scriptOf(t, got, &d) || withRows(d) != 3 || len(got) > 121_000 {
			t.Errorf("%d tokens: %d bytes, values of %d methods, want 3; script: %t", n, len(got),
				withRows(d), strings.Contains(got, "<script>"))
		}
	}
}

// TestGeneratedText draws generated tokens as sources in a text: as columns, and in a list.
func TestGeneratedText(t *testing.T) {
	h := Heatmap{Explanation: generatedExample(), Methods: []string{"rollout"}}
	t.Run("columns", func(t *testing.T) { golden(t, Text{Heatmap: h}) })
	t.Run("top", func(t *testing.T) { golden(t, Text{Heatmap: h, Top: 2}) })
}

// TestOutlier checks that one row with large values does not pale the others.
func TestOutlier(t *testing.T) {
	e := farApart(6, 1)
	for range 3 {
		e.Steps = append(e.Steps, e.Steps[0])
	}
	r := e.Methods["raw"]
	r.Shape, r.Shown = [3]int{4, 6, 1}, []int{0, 0, 0, 0}
	r.Data = make([]float64, 24)
	// The largest of the rows are 0.9, 0.1, 0.05 and 0.2.
	r.Data[1], r.Data[6+2], r.Data[12+3], r.Data[18+4] = 0.9, 0.1, 0.05, 0.2
	v := Heatmap{Explanation: e}.picture(true).views[0]
	if v.colors.limit != 0.4 || !v.beyond {
		t.Errorf("colours end at %v, beyond %v; want 0.4, twice the second row", v.colors.limit,
			v.beyond)
	}
	for _, picture := range []io.WriterTo{
		HTML{Heatmap: Heatmap{Explanation: e}}, Text{Heatmap: Heatmap{Explanation: e}},
	} {
		if got := written(t, picture); !strings.Contains(got, "and more") {
			t.Error("the picture does not say that there are larger values")
		}
	}
	// Where there are values below 0 too, both ends say so.
	r.Data[7] = -0.01
	for _, picture := range []io.WriterTo{
		HTML{Heatmap: Heatmap{Explanation: e}}, Text{Heatmap: Heatmap{Explanation: e}},
	} {
		if got := written(t, picture); !strings.Contains(got, "0 % and less ") ||
			!strings.Contains(got, "0 % and more") {
			t.Errorf("the ends of the picture differ: %s", got)
		}
	}
	r.Data[7] = 0
	r.Data[1] = 0.8 // not more than four times 0.2
	v = Heatmap{Explanation: e}.picture(true).views[0]
	if v.colors.limit != 0.8 || v.beyond {
		t.Errorf("colours end at %v, want 0.8", v.colors.limit)
	}
}

// TestSilentStripped checks that a line without colours says so, where nothing but text is left.
func TestSilentStripped(t *testing.T) {
	e := example()
	r := e.Methods["rollout"]
	for i := range r.Data {
		if r.Data[i] = 0; i/r.Shape[2]%r.Shape[1] == 0 {
			r.Data[i] = 0.9999
		}
	}
	for i := range e.OtherMass["rollout"] {
		e.OtherMass["rollout"][i] = 0.0001
	}
	h := Heatmap{Explanation: e, Methods: []string{"rollout"}}
	if silent := h.picture(true).views[0].silent[0]; silent == "" {
		t.Fatal("the row is not silent")
	}
	text := tag.ReplaceAllString(written(t, HTML{Heatmap: h}), " ")
	if n := strings.Count(text, "not coloured   "); n != 3 {
		t.Errorf("%d lines say that they are not coloured, want 3:\n%s", n, text)
	}
}

// TestTextSize holds texts to their limit: rows are listed by their strongest tokens first, then
// the first tokens are left out.
func TestTextSize(t *testing.T) {
	for _, c := range []struct {
		name    string
		n, m    int
		listed  bool
		leftOut bool
	}{
		{"small", 3, 7, false, false},
		{"long prompt", 16, 512, true, false},
		{"long answer", 64, 512, true, true},
	} {
		h := Heatmap{Explanation: sized(c.n, c.m, 2)}
		got := written(t, Text{Heatmap: h, MaxBytes: 20_000})
		if len(got) > 20_000 {
			t.Errorf("%s: %d bytes, limit 20,000", c.name, len(got))
		}
		listed := strings.Contains(got, "the strongest tokens (sources) of a method, 5 at")
		if leftOut := strings.Contains(got, "are left out here"); listed != c.listed ||
			leftOut != c.leftOut {
			t.Errorf("%s: listed %v, left out %v:\n%.2000s", c.name, listed, leftOut, got)
		}
		if whole := written(t, Text{Heatmap: h}); !c.listed && got != whole {
			t.Errorf("%s: the limit changed a text of %d bytes", c.name, len(whole))
		}
	}
}

// TestLiveSize draws what grows under the limit of a notebook's updates: the numbers for the script
// come after everything that is drawn.
func TestLiveSize(t *testing.T) {
	got := written(t, HTML{
		Heatmap: Heatmap{Explanation: sized(64, 512, 6)}, MaxBytes: 120_000,
	})
	survives(t, got)
	if len(got) > 125_000 {
		t.Errorf("%d bytes, limit 120,000", len(got))
	}
}

func TestBytesPerCell(t *testing.T) {
	size := func(m int) int {
		return len(untrusted(t, written(t, HTML{Heatmap: Heatmap{Explanation: sized(1, m, 10)}})))
	}
	// From 10 to 20 prompt tokens: 2 methods × 10 tokens × (1 row + 10 layers), and 10 tokens in
	// the text and above the columns.
	const cells, tokens = 220, 10
	if got, limit := size(20)-size(10), cells*40+tokens*130; got > limit {
		t.Errorf("%d bytes for %d cells and %d tokens, limit %d", got, cells, tokens, limit)
	}
}
