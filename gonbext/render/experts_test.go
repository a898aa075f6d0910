package render

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// routed are experts of layers over the text of an explanation: token j has first expert j modulo 3
// + layer (modulo 8), with a weight of 9 tenths in layer 1 and of 5 to 7 tenths in others, and then
// the experts after it, each with a fourth of the weight before. Layer 2 has no experts.
func routed(e *attribution.Explanation, layers, each int) Experts {
	e.Model.Experts = 8
	T := textLength(e)
	r := Experts{Explanation: e, Routes: trace.Tensor{
		Name: "experts", Axes: "LTK2", Shape: []int{layers, T, each, 2},
	}}
	for l := range layers {
		for j := range T {
			weight := .5 + float64(j%3)/10
			if l == 1 {
				weight = .9
			}
			for k := range each {
				expert, w := float32((j%3+l+k)%8), float32(weight)
				if l == 2 {
					expert, w = -1, 0
				}
				r.Routes.Data = append(r.Routes.Data, expert, w)
				weight /= 4
			}
		}
	}
	return r
}

func TestExperts(t *testing.T) {
	r := routed(example(), 4, 2)
	t.Run("notebook", func(t *testing.T) { goldenOf(t, r, boardScript(), "board.js") })
	t.Run("text", func(t *testing.T) { golden(t, asText(r)) })
	t.Run("encoder", func(t *testing.T) {
		golden(t, asText(routed(encoded(trace.MaskedToken), 2, 1)))
	})
}

// Known answers of what a picture says. The text has ten tokens: <bos> the keys to the cab inet are
// here . of which each has the first experts of the third one before it.
func TestExpertsSentence(t *testing.T) {
	x := routed(example(), 4, 2).open()
	if x.token != 7 && x.token != 8 || x.layer != 1 || x.mixed != 3 {
		t.Errorf("token %d, layer %d, %d layers with experts; want a generated word, 1 and 3", x.token, x.layer, x.mixed)
	}
	for _, c := range []struct {
		layer, token int
		want         string
	}{
		{1, 7, "At are, layer 1 used expert 2 (90 %); 3 of 3 layers used the same first expert as at the"},
		{0, 2, "At keys, layer 0 used expert 2 (70 %); 3 of 3 layers used the same first expert as at cab"},
		{2, 2, "At keys, layer 2 has no experts; 3 of 3 layers used the same first expert as at cab"},
	} {
		if got := x.sentence(c.layer, c.token).String(); got != c.want {
			t.Errorf("it says %q, want %q", got, c.want)
		}
	}
	// Tokens 0, 3, 6 and 9 have expert 1 first in layer 1 and 2 second, tokens 1, 4 and 7 experts 2
	// and 3, the others 3 and 4.
	if got, want := x.load(1), [][2]int{{2, 7}, {3, 6}, {1, 4}, {4, 3}}; !slices.Equal(got, want) {
		t.Errorf("load %v, want %v", got, want)
	}
	if got, want := x.even(1), 2.5; got != want { // 10 tokens × 2 of 8
		t.Errorf("an even share of %v, want %v", got, want)
	}
	same, mean := x.alike(7)
	if want := []int{0, 3, 0, 0, 3, 0, 0, 3, 0, 0}; !slices.Equal(same, want) || mean != 6./9 {
		t.Errorf("%v, %v on average; want %v and %v", same, mean, want, 6./9)
	}
	same[4], same[1] = 0, 0
	if got := x.nearest(7, same); got != -1 {
		t.Errorf("token %d has the same experts; want none", got)
	}
}

// Two experts of nearly the same weight are both named, a third of a fifth of it is not.
func TestExpertsNamed(t *testing.T) {
	r := routed(example(), 1, 3)
	for i := range r.Routes.Data {
		if i%2 == 1 {
			r.Routes.Data[i] = []float32{.5, .4, .1}[i/2%3]
		}
	}
	const want = "At the, layer 0 used experts 1 (50 %) and 2 (40 %); "
	if got := r.open().sentence(0, 1).String(); !strings.HasPrefix(got, want) {
		t.Errorf("it says %q", got)
	}
}

// A cell of the figure has the first expert and the colour of its weight on the scale that ends at
// the largest, and none in a layer without experts.
func TestExpertsDrawn(t *testing.T) {
	f, err := FigureOf(routed(example(), 4, 2), "")
	must(t, err)
	d := f.Matrix
	if len(d.Panels) != 1 || len(d.Panels[0].Rows) != 10 || len(d.Columns) != 4 {
		t.Fatalf("%d rows of %d columns, want 10 and 4", len(d.Panels[0].Rows), len(d.Columns))
	}
	for j, row := range d.Panels[0].Rows {
		want := []DrawnCell{
			{stepOf((.5 + float64(j%3)/10) / .9), fmt.Sprint(j % 3), true, false, nil},
			{6, fmt.Sprint(j%3 + 1), true, false, nil}, {},
			{stepOf((.5 + float64(j%3)/10) / .9), fmt.Sprint(j%3 + 3), true, false, nil},
		}
		if !slices.Equal(row.Cells, want) {
			t.Errorf("row %d is %v, want %v", j, row.Cells, want)
		}
	}
}

// What does not fit is an error and a sentence in the place of the picture.
func TestExpertsCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *Experts)
		want   string
	}{
		"none":    {func(r *Experts) { r.Explanation = nil }, "needs an explanation"},
		"dense":   {func(r *Experts) { r.Explanation.Model.Experts = 0 }, "render: tiny has no experts to show: each token passes all of every layer; its pictures are heatmap, layers, flow, heads and maps"},
		"tokens":  {func(r *Experts) { r.Explanation.Steps = r.Explanation.Steps[1:] }, "a text of 9 tokens; it needs [layers 9 chosen 2]"},
		"data":    {func(r *Experts) { r.Routes.Data = r.Routes.Data[1:] }, "with 79 values"},
		"number":  {func(r *Experts) { r.Routes.Data[2] = 8 }, "expert 8 with weight"},
		"half":    {func(r *Experts) { r.Routes.Data[2] = .5 }, "expert 0.5 with weight"},
		"below":   {func(r *Experts) { r.Routes.Data[2] = -2 }, "expert -2 with weight"},
		"no one":  {func(r *Experts) { r.Routes.Data[2] = float32(math.NaN()) }, "expert NaN with weight"},
		"weight":  {func(r *Experts) { r.Routes.Data[3] = float32(math.Inf(1)) }, "with weight +Inf"},
		"before":  {func(r *Experts) { minus := -1; r.Layer = &minus }, "layer -1; the model has layers 0 to 1"},
		"layer":   {func(r *Experts) { four := 4; r.Layer = &four }, "layer 4; the model has layers 0 to 1"},
		"no text": {func(r *Experts) { r.Explanation.Steps, r.Explanation.Prompt.Texts = nil, nil }, "a text of 0 tokens"},
	} {
		r := routed(example(), 2, 2)
		c.change(&r)
		err := r.Check()
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want a usage error with %q", name, err, c.want)
		}
		text := strings.ReplaceAll(written(t, asText(r)), "\n", " ")
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: the text is %q, want %q", name, text, c.want)
		}
	}
}

// A long text is folded, and without room for all experts the first ones can still be chosen.
func TestExpertsLimit(t *testing.T) {
	e := example()
	for range 500 {
		e.Prompt.Texts = append(e.Prompt.Texts, " word")
		e.Prompt.IDs, e.Prompt.Special = append(e.Prompt.IDs, 5), append(e.Prompt.Special, false)
	}
	e.Order, e.Methods = nil, map[string]*attribution.Result{}
	r := routed(e, 8, 6)
	random := rand.New(rand.NewPCG(2, 2))
	for i := 1; i < len(r.Routes.Data); i += 2 {
		r.Routes.Data[i] = random.Float32() // which does not compress
	}
	if n := len(r.open().columns); n > 2*mostShown {
		t.Errorf("%d rows of a text of 510 tokens", n)
	}
	for limit, want := range map[int]string{
		480_000: "", 100_000: "Clicks show the first of each cell alone", 45_000: noClicks,
	} {
		r.MaxBytes = limit
		text := written(t, r)
		if len(text) > limit || want != "" && !strings.Contains(text, want) {
			t.Errorf("limit %d: %d bytes, want %q in %.300q", limit, len(text), want, text)
		}
	}
}

// TestExpertsOfTwoStacks: a layer of one stack has the tokens of its text alone, and is named by
// its stack.
func TestExpertsOfTwoStacks(t *testing.T) {
	r := routed(example(), 4, 2)
	r.Explanation.Model.EncoderLayers = 2
	for j := range 6 { // of 10 tokens, layer 1 works on the others
		for k := range 2 {
			at := r.Routes.Data[2*((10+j)*2+k):][:2]
			at[0], at[1] = -1, 0
		}
	}
	x := r.open()
	if x.mixed != 3 || x.routed(1) != 4 || x.even(1) != 1 || x.even(0) != 2.5 {
		t.Errorf("%d layers with experts, %d tokens, even shares %v and %v, want 3, 4, 1 and 2.5",
			x.mixed, x.routed(1), x.even(1), x.even(0))
	}
	if got := x.sentence(1, 0).String(); !strings.Contains(got, ", encoder 1 has no experts") {
		t.Errorf("sentence %q", got)
	}
	if got := x.loadOf(1); !strings.Contains(got, "an even share of 4 tokens is 1.0") {
		t.Errorf("load %q", got)
	}
}
