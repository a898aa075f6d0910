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
	t.Run("notebook", func(t *testing.T) { goldenOf(t, h, headsScript(), "heads.js") })
	t.Run("text", func(t *testing.T) { golden(t, asText(h)) })
	t.Run("encoder", func(t *testing.T) {
		golden(t, asText(attended(encoded(trace.MaskedToken), 2, 2)))
	})
}

// The head that looks at the token before is opened, whatever the others share at that token, and
// sentences say where heads look.
func TestHeadsBest(t *testing.T) {
	h := attended(example(), 3, 2).open()
	if h.layer != 1 || h.head != 1 || h.query != 6 || h.source != 5 {
		t.Errorf("layer %d, head %d is open at token %d, its map at %d; want 1, 1, 6, 5", h.layer,
			h.head, h.query, h.source)
	}
	if !h.Ignored[0] {
		t.Error("the first token, which has half of the attention, is no sink")
	}
	for _, c := range []struct {
		layer, head, query int
		want               string
	}{
		{1, 1, 7, "Before here, head 1 of layer 1 looked at inet 100 %"},
		{1, 1, 3, "From to, head 1 of layer 1 looked at keys 100 %"},
		{1, 1, 1, "From the, head 1 of layer 1 looked mostly at the sink <bos> 100 %"},
		{0, 0, 9, "From ., head 0 of layer 0 looked at the 5.0 %, keys 5.0 % and to 5.0 %"},
	} {
		if got := h.sentence(c.layer, c.head, c.query).String(); got != c.want {
			t.Errorf("it says %q, want %q", got, c.want)
		}
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
	d := headsDataOf(t, h)
	last := len(e.Steps) - 1
	if d.Predicted[T-2] != -1 || d.Predicted[T-3] != last-1 {
		t.Errorf("predicted %v, want none at token %d and %d at token %d", d.Predicted, T-2,
			last-1, T-3)
	}
	if got := h.open().from(T - 2); strings.Contains(got, "predicted") {
		t.Errorf("of token %d it says %q, want no prediction", T-2, got)
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

// The rows of the script, unpacked, are the attention to a thousandth, with the same colours and
// numbers.
func TestHeadsRows(t *testing.T) {
	r := attended(example(), 2, 2)
	random := rand.New(rand.NewPCG(3, 3))
	for i := range r.Attention.Data {
		r.Attention.Data[i] = 0
		if random.IntN(30) == 0 {
			r.Attention.Data[i] = random.Float32()
		}
	}
	h, d := r.open(), headsDataOf(t, r)
	for at, rows := range d.Rows {
		for row, packed := range rows {
			i := d.First + row
			if len(packed.counts) != i+1 {
				t.Fatalf("head %d has %d values from %d", at, len(packed.counts), i)
			}
			for j := range packed.counts {
				got, want := packed.value(j), h.At(at/h.Heads, at%h.Heads, i, j)
				if math.Abs(got-want) > 0.001 || stepOf(got) != stepOf(want) ||
					rounded(got) != rounded(want) {
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

// headsDataOf returns what the script of a picture needs.
func headsDataOf(t *testing.T, r Heads) (d headsData) {
	t.Helper()
	code, missing := r.open().packed(1e6)
	if missing != "" {
		t.Errorf("without room it says %q", missing)
	}
	must(t, json.Unmarshal(unpacked(t, code), &d))
	return d
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
	label := regexp.MustCompile(`<th scope="row" style="text-align:right">((?:<b>▸ )?(?:wrote )?\d)`)
	var labels []string
	for _, found := range label.FindAllStringSubmatch(page, -1) {
		labels = append(labels, found[1])
	}
	if got := strings.Join(labels, " "); got != "2 <b>▸ wrote 1 0" {
		t.Errorf("the lines of layers are %q, want a mark at layer 1, which wrote “are”", got)
	}
	d := headsDataOf(t, h)
	if !slices.Equal(d.Wrote, []int{1, 0, 2}) {
		t.Errorf("the script has the layers %v; want 1 0 2", d.Wrote)
	}
	// “here” is predicted at token 7, and layer 0 wrote it. No head of layer 0 is the first there;
	// that of layer 0 is opened, by the picture, the script and a figure.
	wrote, others := h.open().Strongest(7, 0, 1)
	if len(wrote) != 1 || len(others) != 1 || wrote[0].Layer != 0 || others[0].Layer != 1 {
		t.Fatalf("listed are %+v and %+v, want a head of layer 0, and one of layer 1", wrote, others)
	}
	token := 1
	h.Token = &token
	if open, err := h.OpenHead(nil); err != nil || open.Layer != 0 || open.Query != 7 ||
		open.Wrote != 0 || open.Head != wrote[0].Head {
		t.Errorf("%+v, %v; want head %d of layer 0", open, err, wrote[0].Head)
	}
	if page := headsDataOf(t, h); page.Query != 7 || page.Head != wrote[0].Head {
		t.Errorf("the page of token 1 looks from %d with head %d", page.Query, page.Head)
	}
	if len(d.Opens) <= 7 || d.Opens[6] != [2]int{1, 1} || d.Opens[7] != [2]int{0, wrote[0].Head} {
		t.Errorf("the script opens the heads %v, want 1.1 at token 6 and 0.%d at 7", d.Opens,
			wrote[0].Head)
	}
	lists := h.open().lists(7, 1)
	if len(lists) != 2 || !strings.HasPrefix(lists[0], "heads of layer 0, which wrote “here”: "+
		"layer 0 head ") || !strings.HasPrefix(lists[1], "other heads that look at one token in "+
		"particular: layer 1 head 1 “inet” (6) 100 %") {
		t.Errorf("the lists are %q", lists)
	}
	text := written(t, asText(h))
	for _, want := range []string{
		`1  are  93.1 % · attention of layer 1 wrote more of it than that of any other`, `2  here  40.0 % · attention of layer 0 wrote more of it than that of any other`,
		"     heads of layer 0\n       layer  0 head ",
		"     other heads\n       layer  1 head  1  “inet” (6) 100 %",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
}
