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
	"github.com/headwater-ml/headwater/internal/testhelp/hostile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares what r writes with testdata/<name of the test>.golden, byte for byte.
func golden(t *testing.T, r any) {
	t.Helper()
	goldenOf(t, r, heatmapScript(), "heatmap.js")
}

// goldenOf is golden for a picture with this script, which has this name.
func goldenOf(t *testing.T, r any, script, name string) {
	t.Helper()
	whole := written(t, r)
	// The script and the style sheet are the same in all pictures; their files are the goldens.
	// What the script needs stands in the goldens as a reader can read it.
	got := strings.NewReplacer(script, name, boardSheet(), "board.css",
		oneLine(heatmapRules), "heatmap.css").Replace(whole)
	got = forScript.ReplaceAllStringFunc(got, func(place string) string {
		code := forScript.FindStringSubmatch(place)[1]
		return strings.Replace(place, code, string(unpacked(t, code)), 1)
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

// drawnOf returns the matrix or the graph of a picture.
func drawnOf(v Picture, method ...string) (Drawn, error) {
	f, err := FigureOf(v, strings.Join(method, ""))
	if err != nil {
		return Drawn{}, err
	}
	return *f.Matrix, nil
}

// written returns what a form writes, of a view its HTML.
func written(t *testing.T, r any) string {
	t.Helper()
	if v, ok := r.(Picture); ok {
		r = form(func(w io.Writer) error { return HTML(w, v) })
	}
	var b bytes.Buffer
	must(t, r.(form)(&b))
	return b.String()
}

// said returns the sentence and the facts of row t of a method.
func said(p *picture, v *view, t int) string {
	d := newDrawing(p, nil)
	say, facts := d.explainRow(v, t)
	return strings.TrimSuffix(say.String()+" | "+facts.String(), " | ")
}

// form writes a view in one form.
type form func(w io.Writer) error

func asPage(v Picture) form { return func(w io.Writer) error { return Page(w, v) } }

// asText is a text, by default with the defaults of [Terminal].
// asText writes a picture as text, a heatmap with all its columns.
func asText(v Picture, look ...Terminal) form {
	if h, ok := v.(Heatmap); ok && h.Top == 0 {
		h.Top = -1
		v = h
	}
	return func(w io.Writer) error { return Text(w, v, append(look, Terminal{})[0]) }
}

// TestTextShort: a text lists what stands out of each row, up to twelve sources, and no mark of a
// template; all of them in order if that is asked for.
func TestTextShort(t *testing.T) {
	e := farApart(40)
	for j := range 30 {
		e.Methods["raw"].Rows[0][j] = float64(30-j) / 465
	}
	short := written(t, form(func(w io.Writer) error {
		return Text(w, Heatmap{Explanation: e}, Terminal{})
	}))
	if strings.Count(short, "w11") != 2 || strings.Count(short, "w12") != 1 {
		t.Errorf("beside the text it does not list twelve:\n%s", short)
	}
	if full := written(t, asText(Heatmap{Explanation: e})); strings.Count(full, "w29") != 2 {
		t.Errorf("not all are there:\n%s", full)
	}
	chat := written(t, form(func(w io.Writer) error {
		return Text(w, Heatmap{Explanation: chatted()}, Terminal{})
	}))
	if strings.Contains(chat, "|start|") ||
		!strings.Contains(chat, "\nsystem     You are terse.\n") {
		t.Errorf("a chat is\n%s", chat)
	}
}

func TestText(t *testing.T) {
	layer := 2
	t.Run("plain", func(t *testing.T) { golden(t, asText(Heatmap{Explanation: example()})) })
	t.Run("color", func(t *testing.T) {
		golden(t, asText(Heatmap{Explanation: example()}, Terminal{Width: 120, Color: true}))
	})
	t.Run("narrow", func(t *testing.T) {
		golden(t, asText(Heatmap{
			Explanation: example(), Methods: []string{"rollout", "nonsense"}, Layer: &layer,
			Filter: attribution.Filter{"the"}, Status: "token 3 of 16",
		}, Terminal{Width: 60}))
	})
}

func TestHTML(t *testing.T) {
	t.Run("notebook", func(t *testing.T) {
		golden(t, Heatmap{Explanation: example()})
	})
	t.Run("lift", func(t *testing.T) { golden(t, Heatmap{Explanation: lifted()}) })
	t.Run("page", func(t *testing.T) {
		golden(t, asPage(Heatmap{
			Explanation: example(),
			Filter:      attribution.Filter{"the", "to"}, Methods: []string{"flow"},
		}))
	})
}

// lifted has one method whose values are ratios, and values without a colour.
func lifted() *attribution.Explanation {
	e := example()
	r := e.Methods["rollout"]
	r.Unit, r.Quantity = "lift (1 = uniform attention)", attribution.Lift
	first := []float64{
		math.NaN(), 1, 2, 3, 4, 5, 0, 0, 0, 0, 0, math.Inf(1), 1, 1, 1, 1, 1,
		math.NaN(),
	}
	fill(r, func(i int) float64 {
		if i < len(first) {
			return first[i]
		}
		return math.Exp2(float64(i%9) - 4)
	})
	e.Prompt.Special = nil
	e.Order = []string{"rollout"}
	r.OtherMass = nil
	return e
}

func TestWidth(t *testing.T) {
	for _, width := range []int{60, 72, 80, 100, 120} {
		got := written(t, asText(Heatmap{Explanation: long(30)}, Terminal{Width: width}))
		for _, line := range strings.Split(got, "\n") {
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
		fill(r, func(i int) float64 { return float64(i*37%101) / 101 / float64(m) })
	}
	return e
}

func TestNothing(t *testing.T) {
	noSteps := example()
	noSteps.Steps = nil
	for _, r := range noSteps.Methods {
		r.Shape[0], r.Rows = 0, nil
	}
	noPrompt := example()
	noPrompt.Prompt = attribution.Prompt{}
	wrong := example()
	wrong.Methods["flow"].Rows[2] = make([]float64, 11) // more sources than there are
	behind := example()
	flow := behind.Methods["flow"]
	flow.Shape[0], flow.Rows = 1, flow.Rows[:1]
	constant := example()
	fill(constant.Methods["flow"], func(int) float64 { return 0 })
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
			"no prompt", noPrompt, "flow: its shape [3 7 1] with 3 rows does not fit 0 prompt " +
				"tokens and 1 layers",
			"its shape [3 7 1] with 3 rows does not fit 0 prompt tokens and 1 layers",
		},
		{"wrong data", wrong, "flow: its shape [3 7 1] with 3 rows", "its shape [3 7 1] with 3 rows"},
		{"rows behind tokens", behind, "rollout  Σ", "has not reached"},
		{"constant zero", constant, "0.00", "No single word stands out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := written(t, asText(Heatmap{Explanation: c.e}))
			if !strings.Contains(got, c.texts) {
				t.Errorf("text lacks %q:\n%s", c.texts, got)
			}
			got = written(t, Heatmap{Explanation: c.e})
			if !strings.Contains(got, c.markup) {
				t.Errorf("HTML lacks %q:\n%s", c.markup, got)
			}
			survives(t, got)
		})
	}
}

func TestUnchanged(t *testing.T) {
	e := example()
	written(t, Heatmap{Explanation: e})
	written(t, asText(Heatmap{Explanation: e}))
	if diff := cmp.Diff(example(), e); diff != "" {
		t.Errorf("rendering changed its explanation:\n%s", diff)
	}
}

var forScript = regexp.MustCompile(`<script type="text/plain">([^"<>]*)</script>`)

// untrusted returns what a notebook that is not trusted keeps of a picture: neither its script with
// its numbers nor its style sheet.
func untrusted(t *testing.T, markup string) string {
	t.Helper()
	if n := strings.Count(markup, "<style>"); n != 1 {
		t.Fatalf("%d style sheets", n)
	}
	for _, own := range []string{
		"<style>" + boardSheet() + "</style>", "<style>" + boardSheet() + sourcesRules + "</style>",
		"<style>" + boardSheet() + oneLine(heatmapRules) + "</style>",
		"<script>" + heatmapScript() + "</script>",
	} {
		markup = strings.Replace(markup, own, "", 1)
	}
	return forScript.ReplaceAllString(markup, "")
}

// survives checks that markup holds nothing that a sanitiser of notebooks removes besides script
// and style sheet, and is balanced.
func survives(t *testing.T, markup string) {
	t.Helper()
	hostile.Markup(t, untrusted(t, markup))
}

func TestSurvivesSanitiser(t *testing.T) {
	survives(t, written(t, Heatmap{Explanation: example()}))
	survives(t, written(t, Heatmap{
		Explanation: lifted(),
		Filter:      attribution.Filter{"the"}, Status: "<i>",
	}))
	survives(t, written(t, Heatmap{Explanation: long(500)}))
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
	markup := written(t, Heatmap{Explanation: e, Status: script})
	survives(t, markup)
	for what, s := range map[string]string{
		"HTML": markup, "text": written(t, asText(Heatmap{Explanation: e, Status: script})),
		"page": written(t, asPage(Heatmap{Explanation: e})),
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
		fill(r, func(x int) float64 { return float64(x*(37+i)%101) / 1010 })
		rows := make([][]float64, n)
		for t := range n {
			r.Shown = append(r.Shown, l-1)
			for q := range t {
				rows[t] = append(rows[t], float64((t*n+q)*(41+i)%103)/1030)
			}
		}
		setGenerated(r, rows...)
	}
	return e
}

// setGenerated gives each token the same values of generated tokens at every level.
func setGenerated(r *attribution.Result, rows ...[]float64) {
	for i, row := range r.Rows {
		r.Rows[i] = slices.Concat(row[:r.Shape[1]], rows[i/r.Shape[2]])
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
	golden(t, h)
	p := h.picture(true)
	const most = "“.” came from “here” in the answer | here 30.0 %, "
	if got := said(p, &p.views[0], 2); !strings.HasPrefix(got, most) {
		t.Errorf("the sentence is %q", got)
	}
	for name, change := range map[string]func(*attribution.Explanation, *attribution.Result){
		"no values": func(_ *attribution.Explanation, r *attribution.Result) {
			setGenerated(r, nil, nil, nil)
		},
		"a row too few": func(_ *attribution.Explanation, r *attribution.Result) {
			setGenerated(r, nil, []float64{0.2}, nil)
		},
		"a short row": func(_ *attribution.Explanation, r *attribution.Result) {
			setGenerated(r, nil, []float64{0.2}, []float64{0.3})
		},
		"fewer tokens": func(e *attribution.Explanation, _ *attribution.Result) {
			e.Steps = e.Steps[:2]
		},
	} {
		h.Explanation = generatedExample()
		change(h.Explanation, h.Explanation.Methods["rollout"])
		got := written(t, h)
		survives(t, got)
		if strings.Contains(got, "<b>here</b> 30.0 %") {
			t.Errorf("%s: the matrix has columns for generated tokens", name)
		}
	}

	h.Explanation = generatedExample()
	for _, r := range h.Explanation.Methods {
		setGenerated(r, []float64{0.1}, []float64{0.2, 0.3}, []float64{0.05, 0.3, 0.4})
	}
	p = h.picture(true)
	const itself = "“.” came from “here” in the answer | “.” 40.0 %, "
	if got := said(p, &p.views[0], 2); !strings.HasPrefix(got, itself) {
		t.Errorf("with own rows the sentence is %q", got)
	}
	h.Filter = attribution.Filter{"here"}
	if p = h.picture(true); !p.grey(&p.views[0], 2, len(p.e.Prompt.Texts)+1) {
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
			got := written(t, Heatmap{Explanation: sized(c.n, c.m, c.l)})
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
func withRows(d heatmapData) (n int) {
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
	got := written(t, Heatmap{Explanation: e})
	survives(t, got)
	if len(got) > 500_000 || strings.Contains(got, "left out here") {
		t.Errorf("%d bytes, limit 500,000, or something is left out", len(got))
	}
	var d heatmapData
	if !scriptOf(t, got, &d) || withRows(d) != 3 {
		t.Errorf("%d methods have numbers for the script, want 3", withRows(d))
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
		for i, row := range r.Rows {
			for j := r.Shape[1]; j < len(row); j++ {
				row[j] = row[j] * float64(i%r.Shape[2]+1) / float64(r.Shape[2])
			}
		}
	}
	return e
}

// TestSizeOfLevels draws the same with six levels, each of which has generated tokens: it stays in
// the room of a notebook with every token's picture.
func TestSizeOfLevels(t *testing.T) {
	e := deepened(sizedBy(64, 512, 6, "rollout", "flow", "value-zeroing"))
	got := written(t, Heatmap{Explanation: e})
	survives(t, got)
	if len(got) > 500_000 || strings.Contains(got, "left out here") {
		t.Errorf("%d bytes, limit 500,000, or something is left out", len(got))
	}
	t.Logf("%s bytes", thousands(len(got)))
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
		got := written(t, Heatmap{Explanation: e, MaxBytes: 120_000})
		var d heatmapData
		if !scriptOf(t, got, &d) || withRows(d) != 3 || len(got) > 121_000 {
			t.Errorf("%d tokens: %d bytes, values of %d methods, want 3; script: %t", n, len(got),
				withRows(d), strings.Contains(got, "<script>"))
		}
	}
}

// TestGeneratedText draws generated tokens as sources in a text: as columns, and in a list.
func TestGeneratedText(t *testing.T) {
	h := Heatmap{Explanation: generatedExample(), Methods: []string{"rollout"}}
	t.Run("columns", func(t *testing.T) { golden(t, asText(h)) })
	t.Run("top", func(t *testing.T) {
		strongest := h
		strongest.Top = 2
		golden(t, asText(strongest))
	})
}

// TestOutlier checks that one row with large values does not pale the others.
func TestOutlier(t *testing.T) {
	e := farApart(6, 1)
	for range 3 {
		e.Steps = append(e.Steps, e.Steps[0])
	}
	r := e.Methods["raw"]
	r.Shape, r.Shown = [3]int{4, 6, 1}, []int{0, 0, 0, 0}
	r.Rows = [][]float64{
		{0, 0.9, 0, 0, 0, 0}, {0, 0, 0.1, 0, 0, 0}, {0, 0, 0, 0.05, 0, 0}, {0, 0, 0, 0, 0.2, 0},
	}
	v := Heatmap{Explanation: e}.picture(true).views[0]
	if v.colors.limit != 0.4 || !v.above {
		t.Errorf("colours end at %v, above %v; want 0.4, twice the second row", v.colors.limit,
			v.above)
	}
	got := written(t, asText(Heatmap{Explanation: e}))
	if !strings.Contains(got, "and more") {
		t.Error("the picture does not say that there are larger values")
	}
	// Where there are values below 0 too, both ends say so.
	r.Rows[1][1] = -0.01
	got = written(t, asText(Heatmap{Explanation: e}))
	if !strings.Contains(got, "0 % and less ") || !strings.Contains(got, "0 % and more") {
		t.Errorf("the ends of the picture differ: %s", got)
	}
	r.Rows[1][1] = 0
	r.Rows[0][1] = 0.8 // not more than four times 0.2
	v = Heatmap{Explanation: e}.picture(true).views[0]
	if v.colors.limit != 0.8 || v.above {
		t.Errorf("colours end at %v, want 0.8", v.colors.limit)
	}
}

// TestSilentStripped checks that a line without colours says so, where nothing but text is left.
func TestSilentStripped(t *testing.T) {
	e := example()
	r := e.Methods["rollout"]
	for _, row := range r.Rows {
		clear(row)
		row[0] = 0.9999
	}
	for i := range r.OtherMass {
		r.OtherMass[i] = 0.0001
	}
	h := Heatmap{Explanation: e, Methods: []string{"rollout"}}
	if silent := h.picture(true).views[0].silent[0]; silent == "" {
		t.Fatal("the row is not silent")
	}
	text := regexp.MustCompile(`<[^<>]*>`).ReplaceAllString(written(t, h), " ")
	if n := strings.Count(text, "rollout says nothing about "); n != 4 {
		t.Errorf("%d lines say that they are silent, want 3 and the sentence:\n%s", n, text)
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
		{"long prompt, folded", 12, 512, true, false},
		{"as many tokens as are shown", 24, 56, true, false},
		{"long answer", 64, 512, true, true},
	} {
		h := Heatmap{Explanation: sized(c.n, c.m, 2)}
		got := written(t, asText(h, Terminal{MaxBytes: 20_000}))
		if len(got) > 20_000 {
			t.Errorf("%s: %d bytes, limit 20,000", c.name, len(got))
		}
		listed := strings.Contains(got, "the strongest tokens (sources) of a method, at most 5,")
		if leftOut := strings.Contains(got, "are left out here"); listed != c.listed ||
			leftOut != c.leftOut {
			t.Errorf("%s: listed %v, left out %v:\n%.2000s", c.name, listed, leftOut, got)
		}
		if whole := written(t, asText(h)); !c.listed && got != whole {
			t.Errorf("%s: the limit changed a text of %d bytes", c.name, len(whole))
		}
	}
}

// TestLiveSize draws what grows under the limit of a notebook's updates: the numbers for the script
// come after everything that is drawn.
func TestLiveSize(t *testing.T) {
	got := written(t, Heatmap{Explanation: sized(64, 512, 6), MaxBytes: 120_000})
	survives(t, got)
	if len(got) > 125_000 {
		t.Errorf("%d bytes, limit 120,000", len(got))
	}
}

func TestBytesPerCell(t *testing.T) {
	size := func(m int) int {
		return len(untrusted(t, written(t, Heatmap{Explanation: sized(1, m, 10)})))
	}
	// From 10 to 20 prompt tokens: 2 methods × 10 tokens × (1 row + 10 layers), and 10 tokens in
	// the text and above the columns.
	const cells, tokens = 220, 10
	if got, limit := size(20)-size(10), cells*40+tokens*130; got > limit {
		t.Errorf("%d bytes for %d cells and %d tokens, limit %d", got, cells, tokens, limit)
	}
}
