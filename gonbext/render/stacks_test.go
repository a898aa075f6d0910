package render

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/lens"
)

// translated is an explanation of a model of two stacks: a source of two words and a control token,
// then the token with which the target begins. The rows are known, and so is how much of each comes
// from the source: 0.8, and 0.3.
func translated() *attribution.Explanation {
	scores := func() *trace.TokenScores {
		return &trace.TokenScores{Entropy: 1, Surprisal: 2, Rank: 1}
	}
	r := &attribution.Result{
		Facts: attribution.Facts{
			Quantity: attribution.Share, AddsUp: true, Combined: true, Evidence: trace.Traced,
		},
		Unit: "share of attention", Layers: []int{0, 1, 2, 3}, Shape: [3]int{2, 4, 4},
		Shown: []int{3, 3},
	}
	for t, row := range [][]float64{{.6, .1, .1, .2}, {.2, .1, 0, .3, .4}} {
		for range 4 {
			r.Rows = append(r.Rows, row)
			r.OtherMass = append(r.OtherMass, [2]float64{0, .4}[t])
		}
	}
	return &attribution.Explanation{
		Version: attribution.Version,
		Model: trace.Info{
			Name: "two", Hash: "3f2a9c1d77e04b5a", Family: "marian", Backend: "go",
			Head: trace.NextToken, EncoderLayers: 2, Layers: 4, Heads: 2, Width: 8, Vocab: 9,
		},
		Prompt: attribution.Prompt{
			Text: "red cat", IDs: []int{1, 2, 0, 9}, Texts: []string{"red", " cat", "</s>", "</s>"},
			Offsets: [][2]int{{0, 3}, {3, 7}, {7, 7}, {7, 7}},
			Special: []bool{false, false, true, true},
		},
		Steps: []attribution.GeneratedToken{
			{ID: 3, Text: "Katze", Probability: .9, Scores: scores()},
			{ID: 4, Text: " rot", Probability: .8, Scores: scores()},
		},
		Order: []string{"rollout"}, Methods: map[string]*attribution.Result{"rollout": r},
	}
}

// TestTwoStacks: a picture sets source and target apart, the token with which the target begins is
// a mark, and what is said has the places in both texts and how much comes from the source.
func TestTwoStacks(t *testing.T) {
	e := translated()
	h := Heatmap{Explanation: e, Token: new(1), Top: -1}
	var page, text bytes.Buffer
	must(t, Page(&page, h))
	must(t, Text(&text, h, Terminal{Width: 200}))
	for where, parts := range map[string][]string{
		page.String(): {
			"<small>source</small>", "<small>target</small>", ">▸</", "3 source tokens; 2 target",
			"up to decoder 0 cross",
		},
		text.String(): {
			"\nsource     red cat\ntarget     Katze rot\n", " </s> ", " ▸ ", " ›Katze",
			" source ────────── target ─────\n",
			"rot came from Katze in the target",
			"source 30.0 % ", "target before it 70.0 %",
		},
	} {
		for _, part := range parts {
			if !strings.Contains(plain(where), part) {
				t.Errorf("a picture lacks %q:\n%s", part, where[:min(len(where), 3000)])
			}
		}
	}
	f, err := h.Drawn("rollout")
	must(t, err)
	var speakers, names []string
	for _, c := range f.Columns {
		speakers, names = append(speakers, c.Speaker), append(names, c.Name)
	}
	if !slices.Equal(names, []string{"red", "cat", "</s>", "▸", "Katze"}) ||
		!slices.Equal(speakers, []string{"source", "source", "source", "target", "target"}) ||
		f.Columns[2].Generated || !f.Columns[3].Generated ||
		f.Panels[0].Rows[0].Beside != "source contribution 80.0 %" {
		t.Errorf("columns %q of %q, rows %+v", names, speakers, f.Panels[0].Rows)
	}
}

// TestTwoStackHeads: a head of the encoder looks from the source at all of it, one of the decoder
// from the target at the source or at the target before, and none from the other stack.
func TestTwoStackHeads(t *testing.T) {
	e := translated()
	const L, H, T = 4, 2, 6
	r := Heads{Explanation: e, Token: new(1), Attention: trace.Tensor{
		Shape: []int{L, H, T, T}, Data: make([]float32, L*H*T*T),
	}}
	for i := range r.Attention.Data { // each row rests on the token itself
		if i/T%T == i%T {
			r.Attention.Data[i] = 1
		}
	}
	row := func(l, h, i int) []float32 { return r.Attention.Data[((l*H+h)*T+i)*T:][:T] }
	copy(row(0, 1, 0), []float32{.1, .9, 0, 0, 0, 0})
	copy(row(3, 1, 4), []float32{.7, .3, 0, 0, 0, 0}) // predicts rot
	o, err := r.OpenHead(nil)
	must(t, err)
	if o.Layer != 3 || o.Head != 1 || o.Query != 4 ||
		o.Drawn.Title != "decoder 0 cross, head 1" || !strings.Contains(o.Drawn.Notes[0],
		"Before rot, head 1 of decoder 0 cross looked at red 70 %") {
		t.Errorf("layer %d, head %d from %d: %q %q", o.Layer, o.Head, o.Query, o.Drawn.Title,
			o.Drawn.Notes)
	}
	for _, c := range []struct {
		layer, i, j, step int
		seen              bool
	}{
		{0, 0, 1, 6, true},  // the source sees what stands after it
		{0, 0, 3, 0, false}, // but not the target
		{3, 4, 0, 5, true},
		{0, 4, 4, 0, true}, // the encoder leaves the target as it is
		{3, 0, 0, 0, true}, // and the decoder the source
	} {
		if step, _, seen := o.Step(c.layer, 1, c.i, c.j); step != c.step || seen != c.seen {
			t.Errorf("%+v: step %d, seen %v", c, step, seen)
		}
	}
}

// TestSourceUnknown: a row whose source contribution has no meaning does not say any.
func TestSourceUnknown(t *testing.T) {
	e := translated()
	e.Methods["rollout"].Rows[3] = []float64{-.6, .1, .1, 1.4}
	p := Heatmap{Explanation: e}.picture(true)
	v := &p.views[0]
	if !math.IsNaN(v.contribution[0]) || v.fromSource(0) != "" || v.fromSource(9) != "" ||
		v.fromSource(1) != "source contribution 30.0 %" {
		t.Errorf("%v: %q, %q", v.contribution, v.fromSource(0), v.fromSource(1))
	}
}

// TestAlignment: the links of a method are drawn where they are asked for: as a list in a text, as
// frames in a figure, and in a page as lines that its script draws.
func TestAlignment(t *testing.T) {
	for _, asked := range []bool{false, true} {
		h := Heatmap{Explanation: translated(), Alignment: asked}
		var text bytes.Buffer
		must(t, Text(&text, h, Terminal{Width: 200}))
		const list = "\nalignment by rollout  Katze – red, rot – red\n"
		if got := strings.Contains(plain(text.String()), list); got != asked {
			t.Errorf("asked %v, the text lists the links: %v\n%s", asked, got, text.String())
		}
		f, err := h.Drawn("rollout")
		must(t, err)
		framed := []int{}
		for _, row := range f.Panels[0].Rows {
			framed = append(framed, slices.IndexFunc(row.Cells, func(c DrawnCell) bool {
				return c.Marked
			}))
		}
		want := map[bool][]int{false: {-1, -1}, true: {0, 0}}[asked]
		if !slices.Equal(framed, want) {
			t.Errorf("asked %v, framed columns %v, want %v", asked, framed, want)
		}
		b := heatmapPage{board: newBoard(newDrawing(h.picture(true), nil), "", 1e6)}
		if data := b.data(); data.Aligned != asked || !slices.Equal(data.Methods[0].Links,
			[]int{0, 0}) {
			t.Errorf("the script gets %v, %v", data.Aligned, data.Methods[0].Links)
		}
	}
	m := machine(t, commonSource, scaleSource, matrixSource, scoresSource, heatmapSource)
	_, err := m.RunString(`const view = (aligned, choice) => ({data: {aligned}, choice,
		promptCount: 4, method: () => ({links: [1, -1, 0]})})`)
	must(t, err)
	for expression, want := range map[string]string{
		"linksOf(view(true, {})).join(' ')":               "1,4 0,6",
		"linksOf(view(false, {})).join(' ')":              "",
		"linksOf(view(true, {aligned: false})).join(' ')": "",
		"linksOf(view(false, {aligned: true})).join(' ')": "1,4 0,6",
	} {
		if got := run[string](t, m, expression); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
}

// TestTwoStacksDamaged: in a damaged file there may be more ids than tokens, and the target may
// begin among them.
func TestTwoStacksDamaged(t *testing.T) {
	for _, ids := range [][]int{{1, 2, 3, 4, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {9, 1, 2, 3}, nil} {
		e := translated()
		e.Prompt.IDs = ids
		var page, text bytes.Buffer
		h := Heatmap{Explanation: e, Alignment: true}
		must(t, Page(&page, h))
		must(t, Text(&text, h, Terminal{Width: 200}))
	}
}

// TestLayersOfDamagedFiles: a picture has no name for each of 2⁴⁰ layers.
func TestLayersOfDamagedFiles(t *testing.T) {
	e := translated()
	e.Model.Layers = 1 << 40
	var page bytes.Buffer
	must(t, Page(&page, Heatmap{Explanation: e}))
}

// TestLinksStandOut: a word of the target has no line to a source that has no colour, on the scale
// of the method or beside the strongest source of its row.
func TestLinksStandOut(t *testing.T) {
	for _, c := range []struct {
		row  []float64
		want int
	}{
		{[]float64{.6, .1, 0, 0}, 0},
		{[]float64{.01, .02, 0, 0, 0}, -1},      // of a scale up to 6
		{[]float64{.3, -2.4, 0, 0, 0}, 0},       // an eighth of the strongest
		{[]float64{.3, -4.8, 0, 0, 0}, -1},      // a sixteenth
		{[]float64{-.5, -2.4, 0, 0, 0}, -1},     // all against it
		{[]float64{.3, .2, 0, 0, 4.8}, -1},      // the target alone
		{[]float64{math.NaN(), .5, 0, 0, 0}, 1}, // of a damaged file
	} {
		e := translated()
		r := e.Methods["rollout"]
		r.Quantity, r.Unit = attribution.Amount, "part of the logit"
		for k := range 4 {
			r.Rows[k] = []float64{0, 6, 0, 0}
			r.Rows[4+k] = append(slices.Clone(c.row), make([]float64, 5-len(c.row))...)
		}
		v := Heatmap{Explanation: e}.picture(true).views[0]
		if v.links[0] != 1 || v.links[1] != c.want {
			t.Errorf("%v: links %v, want 1 and %d", c.row, v.links, c.want)
		}
	}
}

// TestPartsOfStacks: a sink at the start of the target is no part of the source, and a layer that
// reads one text alone does not say how much comes from it.
func TestPartsOfStacks(t *testing.T) {
	e := translated()
	r := e.Methods["rollout"]
	for k := range 4 {
		r.Rows[k], r.Rows[4+k] = []float64{.1, 0, 0, .9}, []float64{.05, .05, 0, .9, 0}
		r.OtherMass[k], r.OtherMass[4+k] = 0, 0
	}
	p := Heatmap{Explanation: e}.picture(true)
	v := &p.views[0]
	if !v.sink(0, 3) || v.contribution == nil {
		t.Fatalf("sinks %v, contribution %v", v.sinks, v.contribution)
	}
	whole, parts := p.describeParts(v, 0, 0)
	if got := strings.Join(parts, " · "); !whole || !strings.Contains(got,
		"sink ▸ 90.0 % · source 10.0 %") {
		t.Errorf("the parts are %q", got)
	}
	r.Combined = false
	p = Heatmap{Explanation: e}.picture(true)
	v = &p.views[0]
	whole, parts = p.describeParts(v, 0, 0)
	if got := strings.Join(parts, " · "); whole || strings.Contains(got, "source") ||
		v.contribution != nil || v.fromSource(0) != "" {
		t.Errorf("a layer alone: the parts are %q, contribution %v", got, v.contribution)
	}
}

// TestTwoStackLens: the encoder leaves the target as it is, so that the lens begins with the
// decoder.
func TestTwoStackLens(t *testing.T) {
	e := translated()
	e.Steps[0].ID, e.Steps[1].ID = 10, 10
	e.Steps[0].Studies.Set(lens.Name,
		new(lensSays("</s> </s> </s> Hund Katze", " Katze", 40, 40, 40, 2, 1)))
	e.Steps[1].Studies.Set(lens.Name, new(lensSays("rot rot rot rot rot", " rot", 1, 1, 1, 1, 1)))
	for l := range 3 { // the same token at the input and after the encoder
		lens.OfToken(e.Steps[0])[l].Likely[0].ID = 77
	}
	d := Lens{Explanation: e}.open()
	var rows []string
	for _, l := range d.rows() {
		rows = append(rows, d.rowName(l))
	}
	want := []string{"decoder 0 cross (last)", "decoder 0 self", "input"}
	if !slices.Equal(rows, want) {
		t.Errorf("the rows are %q, want %q", rows, want)
	}
	if data := (Lens{Explanation: e}).board().data(1); !slices.Equal(data.Table.Rows, rows) {
		t.Errorf("the page has rows %q", data.Table.Rows)
	}
	for i, want := range []string{
		"Katze was first after the last layer (decoder 0 cross), with 50 %; before that Hund after " +
			"decoder 0 self",
		"rot was first at the input and after decoder 0 self to decoder 0 cross (the last), with " +
			"50 % at the input",
	} {
		if say, _ := d.explain(i); say.String() != want {
			t.Errorf("it says %q, want %q", say, want)
		}
	}
	if _, list := d.line(0); !strings.HasPrefix(list, "input: </s> 50 % · decoder 0 self: Hund") {
		t.Errorf("the list is %q", list)
	}
}

// TestFromSource: a list tells how much of each row comes from the source, where that is known.
func TestFromSource(t *testing.T) {
	e := translated()
	for _, known := range []bool{true, false} {
		if !known {
			e.Model.EncoderLayers = 0
		}
		b := heatmapPage{board: newBoard(drawingOf(e), "", 0)}
		want := map[bool]string{true: "90.0 % · from source 80.0 %</td>", false: "90.0 %</td>"}
		if list := b.list(&b.views[0]); !strings.Contains(list, want[known]) {
			t.Errorf("the list lacks %q:\n%s", want[known], list)
		}
	}
}
