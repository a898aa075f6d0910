package render

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// attended returns attention of L layers and H heads over the text of an explanation. Head 1 of
// layer 1 looks from every token but the first at the token before it; in the other heads every
// token looks at the first one for a half, and for the rest at all that it sees.
func attended(e *attribution.Explanation, layers, heads int) Heads {
	h := Heads{Explanation: e}
	T := textLength(h.Explanation)
	h.Attention = trace.Tensor{
		Name: "attention", Axes: "LHTS", Shape: []int{layers, heads, T, T},
		Data: make([]float32, layers*heads*T*T),
	}
	for at := range layers * heads {
		for i := range T {
			row := h.Attention.Data[(at*T+i)*T:][:T]
			seen := i + 1
			if e.Model.Bidirectional {
				seen = T
			}
			switch {
			case at == heads+1 && i > 0:
				row[i-1] = 1
			default:
				for j := range seen {
					row[j] = 0.5 / float32(seen)
				}
				row[0] += 0.5
			}
		}
	}
	return h
}

func TestHeads(t *testing.T) {
	h := attended(example(), 3, 2)
	t.Run("notebook", func(t *testing.T) { goldenOf(t, h, headsTouch(), "heads.js") })
	t.Run("text", func(t *testing.T) { golden(t, asText(h)) })
	t.Run("encoder", func(t *testing.T) {
		golden(t, asText(attended(encoded(trace.MaskedToken), 2, 2)))
	})
}

// The head that looks at the token before is named first, whatever the others share at that token.
func TestHeadsBest(t *testing.T) {
	h := attended(example(), 3, 2).open()
	if h.layer != 1 || h.head != 1 || h.query != 6 {
		t.Errorf("layer %d, head %d is open at token %d; want 1, 1, 6", h.layer, h.head, h.query)
	}
	if !h.sinks[0] {
		t.Error("the first token, which has half of the attention, is no sink")
	}
	const want = "<b>“here” (generated 2)</b>, where “.” is predicted · layer 1, head 1 looks at " +
		"“are” (generated 1) 100 %"
	if got := h.sentence(8, 1, 1); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// The last generated token may be missing from the attention: the picture ends before it, and its
// script finds a token for every prediction that it names.
func TestHeadsWithoutLast(t *testing.T) {
	e := example()
	h := attended(e, 3, 2)
	T := h.Attention.Shape[2]
	short := trace.Tensor{Shape: []int{3, 2, T - 1, T - 1}}
	for row := range 6 * T {
		if row%T < T-1 {
			short.Data = append(short.Data, h.Attention.Data[row*T:][:T-1]...)
		}
	}
	h.Attention = short
	must(t, h.Check())
	p := h.open()
	var d headsData
	must(t, json.Unmarshal(unpacked(t, p.data(1e6)), &d))
	last := len(e.Steps) - 1
	if d.Predicted[T-2] != -1 || d.Predicted[T-3] != last-1 {
		t.Errorf("predicted %v, want none at token %d and %d at token %d", d.Predicted, T-2,
			last-1, T-3)
	}
	if got := p.predicted(T - 2); got != "" {
		t.Errorf("token %d predicts %q, want nothing", T-2, got)
	}
	if text := written(t, asText(h)); !strings.Contains(text, e.Steps[last].Text) {
		t.Errorf("%q; want the heads where the last token is predicted", text)
	}
	e.Steps = nil // now a token of the prompt is missing
	h.Attention.Shape[2], h.Attention.Shape[3] = len(e.Prompt.Texts)-1, len(e.Prompt.Texts)-1
	if err := h.Check(); !errors.Is(err, trace.ErrUsage) {
		t.Errorf("error %v of a text without a token of the prompt, want a usage error", err)
	}
}

// The rows of the script, unpacked, are the attention to a hundredth, with the same colours.
func TestHeadsRows(t *testing.T) {
	r := attended(example(), 2, 2)
	random := rand.New(rand.NewPCG(3, 3))
	for i := range r.Attention.Data {
		r.Attention.Data[i] = 0
		if random.IntN(30) == 0 {
			r.Attention.Data[i] = random.Float32()
		}
	}
	h := r.open()
	var d headsData
	must(t, json.Unmarshal(unpacked(t, h.data(1e6)), &d))
	for at, rows := range d.Rows {
		for row, packed := range rows {
			i := d.First + row
			if len(packed.counts) != i+1 {
				t.Fatalf("head %d has %d values from %d", at, len(packed.counts), i)
			}
			for j := range packed.counts {
				got, want := packed.value(j), h.at(at/h.H, at%h.H, i, j)
				if math.Abs(got-want) > 0.01 || h.colors.step(got) != h.colors.step(want) {
					t.Fatalf("head %d from %d to %d: %v, want %v", at, i, j, got, want)
				}
			}
		}
	}
}

// TestHeadsSizes draws long texts and many heads within the limit of a notebook, whatever they look
// at.
func TestHeadsSizes(t *testing.T) {
	for _, c := range []struct{ prompt, tokens, layers, heads int }{
		{20, 10, 30, 9}, {100, 16, 30, 9}, {512, 64, 4, 4}, {60, 8, 48, 25},
	} {
		r := attended(sized(c.prompt, c.tokens, 1), c.layers, c.heads)
		random := rand.New(rand.NewPCG(5, 5))
		for i := range r.Attention.Data {
			r.Attention.Data[i] = random.Float32() * random.Float32() * random.Float32()
		}
		got := written(t, r)
		if len(got) > 500_000 {
			t.Errorf("%v: %d bytes", c, len(got))
		}
		if !strings.Contains(got, "<script>") {
			t.Errorf("%v: there is no room for the script", c)
		}
		// What a cell has no room for is said there, and a page has room for it.
		cut := strings.Contains(got, "Clicks show what heads look at from ")
		if cut != (c.prompt != 20) || cut && !strings.Contains(got, "Save the picture as a page") {
			t.Errorf("%v: it says that some tokens show nothing: %t", c, cut)
		}
		document := written(t, asPage(r))
		if strings.Contains(document, "Clicks show") || len(document) > 5_100_000 {
			t.Errorf("%v: a page of %d bytes has not all rows", c, len(document))
		}
		t.Logf("%v: %d bytes, as a page %d", c, len(got), len(document))
	}
}

func TestHeadsErrors(t *testing.T) {
	short := attended(example(), 2, 2)
	short.Attention.Data = short.Attention.Data[1:]
	other := attended(example(), 2, 2)
	other.Attention.Shape = []int{2, 2, 3}
	for _, r := range []Heads{{}, short, other, {Explanation: &attribution.Explanation{}}} {
		err := r.Check()
		if !errors.Is(err, trace.ErrUsage) {
			t.Fatalf("error %v, want a usage error", err)
		}
		for _, got := range []string{written(t, r), written(t, asText(r))} {
			if !strings.Contains(got, "attention") && !strings.Contains(got, "explanation") {
				t.Errorf("the picture says %q", got)
			}
		}
	}
	err := CheckHeads(30, 9, 1024)
	if err == nil || !strings.Contains(err.Error(), "30 × 9 heads over 1024 tokens has 1.1 GB") {
		t.Errorf("error %v", err)
	}
	if err := CheckHeads(30, 9, 512); err != nil {
		t.Error(err)
	}
}

// TestHeadsHostile draws heads over hostile texts.
func TestHeadsHostile(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 13))
	for drawn, round := 0, 0; drawn < 5_000; round++ {
		e := example()
		if round%2 == 1 {
			e = encoded(trace.MaskedToken)
		}
		e, n := attacked(e, r)
		drawn += n
		h := attended(e, 2, 2)
		survives(t, strings.Replace(written(t, h), "<script>"+headsTouch()+"</script>", "", 1))
		checkPrintable(t, "text", written(t, asText(h)))
		if t.Failed() {
			t.FailNow()
		}
	}
}

// TestHeadsWrote marks the layer that wrote the chosen token, where a method of one layer says
// which one that is.
func TestHeadsWrote(t *testing.T) {
	own := func(change func(*attribution.Result)) Heads {
		e := example()
		e.Order, e.Model.Layers = []string{"raw"}, 3
		r := &attribution.Result{
			Shown: []int{1, 0, 2}, Facts: attribution.Facts{LayerChosen: true},
		}
		change(r)
		e.Methods = map[string]*attribution.Result{"raw": r}
		return attended(e, 3, 2)
	}
	h := own(func(*attribution.Result) {})
	page := written(t, h)
	label := regexp.MustCompile(`(?s)<tr class="hw-g"[^>]*><td[^>]*>(.*?)</td>`)
	var labels []string
	for _, found := range label.FindAllStringSubmatch(page, -1) {
		labels = append(labels, found[1])
	}
	if got := strings.Join(labels, " "); got != "2 <b>▸&nbsp;wrote 1</b> 0" {
		t.Errorf("the lines of layers are %q, want a mark at layer 1, which wrote “are”", got)
	}
	var d headsData
	if err := json.Unmarshal(unpacked(t, h.open().data(1e6)), &d); err != nil ||
		!slices.Equal(d.Wrote, []int{1, 0, 2}) {
		t.Errorf("the script has the layers %v, %v; want 1 0 2", d.Wrote, err)
	}
	// “here” is predicted at token 7, and layer 0 wrote it. No head of layer 0 is the first there.
	p := h.open()
	wrote, others := p.listOf(7, 1)
	if len(wrote) != 1 || len(others) != 1 || wrote[0].Layer != 0 || others[0].Layer != 1 {
		t.Fatalf("listed are %+v and %+v, want a head of layer 0, and one of layer 1", wrote, others)
	}
	for _, b := range p.attention.Looks(7) {
		if b.Layer == 0 && b.Rank > wrote[0].Rank {
			t.Errorf("%+v of layer 0 is stronger than %+v", b, wrote[0])
		}
	}
	// The head that is opened there is that of layer 0, by the picture, the script and a figure.
	if first, ok := p.first(7); !ok || first != wrote[0] {
		t.Errorf("%+v is opened, want %+v", first, wrote[0])
	}
	if open, err := h.OpenHead(1, nil); err != nil || open.Layer != 0 || open.Query != 7 ||
		open.Wrote != 0 || open.Head != wrote[0].Head {
		t.Errorf("%+v, %v; want head %d of layer 0", open, err, wrote[0].Head)
	}
	if len(d.Opens) != 3 || d.Opens[0] != 1 || d.Opens[1] != wrote[0].Head {
		t.Errorf("the script opens the heads %v, want 1, %d, …", d.Opens, wrote[0].Head)
	}
	lists := p.lists(7, 1)
	if len(lists) != 2 || !strings.HasPrefix(lists[0], "heads of layer 0, which wrote “here”: "+
		"layer 0 head ") || !strings.HasPrefix(lists[1], "other heads that look at one token "+
		"more from here than from other tokens: layer 1 head 1 “inet” (6) 100 %") {
		t.Errorf("the lists are %q", lists)
	}
	if wrote, others := p.listOf(7, 6); len(wrote)+len(others) != len(p.attention.Looks(7)) {
		t.Errorf("of %d heads %d are listed", len(p.attention.Looks(7)), len(wrote)+len(others))
	}
	text := written(t, asText(h))
	for _, want := range []string{
		`1  are  93.1 %  layer 1 wrote most of it`, `2  here  40.0 %  layer 0 wrote most of it`,
		"     heads of layer 0\n       layer  0 head ",
		"     other heads\n       layer  1 head  1  “inet” (6) 100 %",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
	for name, change := range map[string]func(*attribution.Result){
		"all show the last layer": func(r *attribution.Result) { r.Shown = []int{2, 2, 2} },
		"a layer that was given":  func(r *attribution.Result) { r.LayerChosen = false },
		"a token without layer":   func(r *attribution.Result) { r.Shown = []int{1, 0} },
	} {
		if got := written(t, own(change)); strings.Contains(got, "wrote 1") {
			t.Errorf("%s: layer 1 is said to have written the token", name)
		}
	}
}

// TestHeadsOrder: heads are chosen by what they give a token more than elsewhere, and shown in the
// order of the numbers that stand beside them.
func TestHeadsOrder(t *testing.T) {
	const T, from = 8, 6
	e := &attribution.Explanation{Prompt: attribution.Prompt{
		Texts: strings.Split("a b c d e f g h", " "), Special: make([]bool, T),
	}}
	in := trace.Tensor{Axes: "LHTS", Shape: []int{1, 3, T, T}, Data: make([]float32, 3*T*T)}
	for i := range T {
		for head, near := range []float32{0.9, 0.1, 0.2} { // what each gives the token before
			in.Data[(head*T+i)*T+max(i-1, 0)] = near
		}
		if i == from { // and here alone one far back
			in.Data[(T+i)*T+2], in.Data[(2*T+i)*T+2] = 0.6, 0.8
		}
	}
	h := Heads{Explanation: e, Attention: in}.open()
	if _, others := h.listOf(from, 2); len(others) != 2 || others[0].Head != 2 ||
		others[1].Head != 1 {
		t.Errorf("two of three are %+v, want heads 2 and 1, which look far back", others)
	}
	_, others := h.listOf(from, 3)
	var got []int
	for _, b := range others {
		got = append(got, b.Head)
	}
	if !slices.Equal(got, []int{0, 2, 1}) {
		t.Errorf("heads %v are listed, want 0 with 90 %%, 2 with 80 %% and 1 with 60 %%", got)
	}
	if first, _ := h.first(from); first.Head != 2 {
		t.Errorf("head %d is opened, want 2, which looks far back from here alone", first.Head)
	}
}

// TestHeadNumbers reads the numbers above the thumbnails: one for each head, or every fifth where
// they are narrow.
func TestHeadNumbers(t *testing.T) {
	number := regexp.MustCompile(`text-align:center">(\d*)</span>`)
	for heads, want := range map[int]string{4: "0 1 2 3", 40: "0 5 10 15 20 25 30 35"} {
		page := written(t, attended(example(), 2, heads))
		from := strings.Index(page, "<thead>")
		cells := number.FindAllStringSubmatch(page[from:strings.Index(page, "</thead>")], -1)
		var got []string
		for _, c := range cells {
			if c[1] != "" {
				got = append(got, c[1])
			}
		}
		if strings.Join(got, " ") != want || len(cells) != heads {
			t.Errorf("%d heads have %d columns with the numbers %v, want %s", heads, len(cells),
				got, want)
		}
	}
}
