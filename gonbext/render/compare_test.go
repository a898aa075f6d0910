package render

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/compare"
)

// compared returns the comparison of two sides.
func compared(t *testing.T, a, b compare.Side) Heatmap {
	t.Helper()
	h, err := Compare(a, b)
	must(t, err)
	return h
}

// side is a method of an explanation.
func side(e *attribution.Explanation, method string) compare.Side {
	return compare.Side{Explanation: e, Method: method}
}

// otherPrompt is the example with another word in its prompt and in its answer.
func otherPrompt() *attribution.Explanation {
	e := example()
	e.Prompt.Text, e.Prompt.Texts[2] = "the key to the cabinet", " key"
	e.Steps[0].Text, e.Steps[0].Probability = " is", 0.71
	r := e.Methods["rollout"]
	for i := range 3 * 7 * 6 {
		r.Row(i/42, i%6)[i/6%7] *= 1 + 0.5*float64(i%3)
	}
	return e
}

func TestCompare(t *testing.T) {
	e := example()
	methods := compared(t, side(e, "rollout"), side(e, "value-zeroing"))
	t.Run("methods", func(t *testing.T) { golden(t, methods) })
	t.Run("text", func(t *testing.T) { golden(t, asText(methods)) })
	prompts := compared(t, compare.Side{Explanation: e}, compare.Side{Explanation: otherPrompt()})
	t.Run("prompts", func(t *testing.T) { golden(t, prompts) })
}

// TestCompareValues compares rows that are known: the difference, its agreement, both scales.
func TestCompareValues(t *testing.T) {
	e := example()
	n, m := len(e.Steps), len(e.Prompt.Texts)
	for name, row := range map[string][]float64{
		"rollout":       {0, 0.5, 0.3, 0.1, 0.06, 0.04, 0},
		"value-zeroing": {0, 0.1, 0.2, 0.3, 0.2, 0.2, 0},
	} {
		r := &attribution.Result{
			Unit: "share of attention", Facts: attribution.Facts{Evidence: trace.Traced, Quantity: attribution.Share}, Layers: []int{5}, Shape: [3]int{n, m, 1},
			Options: map[string]string{}, Rows: slices.Repeat([][]float64{row}, n),
		}
		e.Methods[name], r.OtherMass = r, make([]float64, n)
	}
	h := compared(t, side(e, "rollout"), side(e, "value-zeroing"))
	p := h.picture(true)
	d := p.views[compare.Difference]
	for j, want := range []float64{0, 0.4, 0.1, -0.2, -0.14, -0.16, 0} {
		if got := d.at(1, j); got < want-1e-12 || got > want+1e-12 {
			t.Errorf("difference of token 1, source %d: %v, want %v", j, got, want)
		}
	}
	// Without <bos>, on which attention rests, ranks from 0 are 5 4 3 2 1 0 and 1 3 5 3 3 0:
	// ρ = 3.5/√(17.5·15.5).
	const want = "Agreement of A and B: rank correlation 0.21 on average (0.21 to 0.21); the same " +
		"strongest source for 0 of 3 generated tokens"
	if p.comparison.all != want {
		t.Errorf("agreement %q, want %q", p.comparison.all, want)
	}
	for i, want := range []float64{0.5, 0.5, 0.4} {
		if v := p.views[i]; v.colors.limit != want {
			t.Errorf("%s has colours to %v, want %v", v.name, v.colors.limit, want)
		}
	}
	if got := said(p, &p.views[compare.Difference], 0); !strings.HasPrefix(got,
		"“are” has more from “the” (1) with rollout than with value-zeroing | the (1) +40.0 %, keys +10.0 % · more in B to −20.0 %") {
		t.Errorf("the difference says %q", got)
	}
	// The strongest source is named, on whichever side it is.
	p = compared(t, side(e, "value-zeroing"), side(e, "rollout")).picture(true)
	if got := said(p, &p.views[compare.Difference], 0); !strings.HasPrefix(got,
		"“are” has more from “the” (1) with rollout than with value-zeroing | ") {
		t.Errorf("the swapped difference says %q", got)
	}
}

// TestCompareGiven: the top names what a side says alone that was given the answer of the other
// one, with the probabilities that it gives to both tokens.
func TestCompareGiven(t *testing.T) {
	given := func() *attribution.Explanation {
		e := example()
		for i := range e.Steps {
			e.Steps[i].Forced, e.Steps[i].Alternatives = true, []attribution.Alternative{
				{ID: e.Steps[i].ID, Text: e.Steps[i].Text},
			}
		}
		e.Steps[1].Probability = 0.125
		e.Steps[1].Alternatives[0] = attribution.Alternative{
			ID: 99, Text: " gone", Probability: 0.5,
		}
		return e
	}
	agrees, other := given(), given()
	agrees.Steps[1].Alternatives = nil
	other.Steps[2].Text = "!"
	const says = " answer; alone it says “gone” (50.0 %) in place of “here” (12.5 %) in " +
		"generated token 2."
	for name, c := range map[string]struct {
		a, b *attribution.Explanation
		want string
	}{
		"B":              {example(), given(), "B was given A's" + says},
		"A":              {given(), example(), "A was given B's" + says},
		"both":           {given(), given(), ""},
		"neither":        {example(), example(), ""},
		"says the same":  {example(), agrees, ""},
		"another answer": {example(), other, ""},
	} {
		p := compared(t, side(c.a, "rollout"), side(c.b, "rollout")).picture(true)
		if got := p.comparison.given(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.want != "" && !slices.Contains(p.comparison.headings(), c.want) {
			t.Errorf("%s: the top %q lacks it", name, p.comparison.headings())
		}
	}
}

// Which half of a pair is whose is said once, where there may be pairs.
func TestComparePairs(t *testing.T) {
	other := example()
	other.Prompt.Text, other.Prompt.Texts[2] = "the key to the cabinet", " key"
	for want, b := range []compare.Side{side(example(), "flow"), side(other, "rollout")} {
		text := written(t, asText(compared(t, side(example(), "rollout"), b), Terminal{Width: 200}))
		if got := strings.Count(text, pairsAre); got != want {
			t.Errorf("it is said %d times, want %d:\n%s", got, want, text)
		}
	}
}

// TestCompareEdits: a comparison says under which edits each side is.
func TestCompareEdits(t *testing.T) {
	const edit = "under 1 edit: head 3.1 set to zero"
	for name, c := range map[string]struct {
		a, b, prompt string
		want         []string
	}{
		"both": {edit, edit, "", []string{" · " + edit + "\n"}},
		"one": {edit, "", "", []string{
			"Edits compared", "A: rollout · " + edit, "B: rollout · no edits",
		}},
		"prompts": {edit, "", "other", []string{
			"Two prompts compared", "A: rollout · " + edit + " · the keys", "· no edits · other",
		}},
	} {
		a, b := example(), example()
		a.Edited, b.Edited = c.a, c.b
		b.Prompt.Text = cmp.Or(c.prompt, b.Prompt.Text)
		text := compared(t, side(a, "rollout"), side(b, "rollout")).plain(Terminal{Width: 200})
		got := text.String()
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", name, want, got)
			}
		}
	}
}

// TestCompareScale: a difference has the six steps of its own largest value, which is at least a
// quarter of those of its sides, and in sentences and running text nothing below a twelfth of it.
func TestCompareScale(t *testing.T) {
	rows := map[string][]float64{
		"a": {0, 0.5, 0.3, 0.05, 0.09, 0.06, 0}, "b": {0, 0.3, 0.5, 0.06, 0.06, 0.08, 0},
		"c": {0, 0.52, 0.28, 0.05, 0.09, 0.06, 0},
	}
	e := example()
	for name, row := range rows {
		e.Methods[name] = &attribution.Result{
			Unit: "share of attention", Shape: [3]int{3, 7, 1}, Layers: []int{5},
			Facts:   attribution.Facts{Evidence: trace.Traced, Quantity: attribution.Share},
			Options: map[string]string{}, Rows: slices.Repeat([][]float64{row}, 3),
			OtherMass: make([]float64, 3),
		}
	}
	for _, c := range []struct {
		a, b  string
		limit float64
		calm  []int // of the sources after <bos>
	}{
		{"a", "b", 0.2, []int{6, -6, 0, 2, -2, 0}}, // 0.2 -0.2 -0.01 0.03 -0.02
		{"a", "c", 0.13, []int{-2, 2, 0, 0, 0, 0}}, // -0.02 0.02, of which a quarter of 0.52
	} {
		d := newDrawing(compared(t, side(e, c.a), side(e, c.b)).picture(true), nil)
		v := &d.views[compare.Difference]
		if got := d.calm(v, 0)[1:7]; !slices.Equal(got, c.calm) || v.colors.limit != c.limit {
			t.Errorf("%s − %s: steps %v to %v, want %v to %v", c.a, c.b, got, v.colors.limit,
				c.calm, c.limit)
		}
	}
}

// TestCompareLayers compares two layers of one method: the values of both are those of the
// explanation, and generated tokens are sources where they were kept.
func TestCompareLayers(t *testing.T) {
	e := generatedExample()
	e.Warnings = nil
	one, three := 1, 3
	a := compare.Side{Explanation: e, Method: "rollout", Layer: &one}
	b := compare.Side{Explanation: e, Method: "rollout", Layer: &three}
	r := e.Methods["rollout"]
	check := func(sources int) {
		t.Helper()
		p := compared(t, a, b).picture(true)
		if p.title() != "Two layers compared · toy grammar model" ||
			p.comparison.names != [3]string{"A: rollout@1", "B: rollout@3", "A − B"} {
			t.Errorf("title %q, sides %q", p.title(), p.comparison.names)
		}
		v := p.views
		if got := v[0].sources(2); got != sources {
			t.Errorf("%d sources, want %d", got, sources)
		}
		for j := range 7 {
			x, y := r.At(2, j, 1), r.At(2, j, 3)
			if v[0].at(2, j) != x || v[1].at(2, j) != y || v[compare.Difference].at(2, j) != x-y {
				t.Errorf("source %d has %v, %v and %v, want %v, %v and their difference", j,
					v[0].at(2, j), v[1].at(2, j), v[compare.Difference].at(2, j), x, y)
			}
		}
		if v[0].layer(2) != "layer 1" || v[1].layer(2) != "layer 3" {
			t.Errorf("the sides are of %s and %s", v[0].layer(2), v[1].layer(2))
		}
	}
	setGenerated(r, nil, nil, nil)
	check(7)
	setGenerated(r, nil, []float64{0}, []float64{0, 0})
	r.Row(2, 1)[8], r.Row(2, 3)[8] = 0.25, 0.5
	check(9)
	v := compared(t, a, b).picture(true).views
	if x, y := v[0].at(2, 8), v[1].at(2, 8); x != 0.25 || y != 0.5 {
		t.Errorf("generated token 1 has %v and %v, want 0.25 and 0.5", x, y)
	}
	t.Run("page", func(t *testing.T) { golden(t, compared(t, a, b)) })
	t.Run("text", func(t *testing.T) { golden(t, asText(compared(t, a, b))) })
}

// TestCompareUnlikeLayers: sides of one method that show different layers of a token are named, in
// a warning and beside the difference; sides of one layer, and layers that were asked for, are not.
func TestCompareUnlikeLayers(t *testing.T) {
	at := func(layers ...int) *attribution.Explanation {
		e := example()
		r := e.Methods["rollout"]
		r.Options = map[string]string{"aggregation": "layer"}
		r.Shown = layers
		return e
	}
	warned := func(a, b compare.Side) string {
		return strings.Join(compared(t, a, b).Explanation.Warnings, " ")
	}
	a, b := at(1, 2, 3), at(1, 5, 0)
	got := warned(side(a, "rollout"), side(b, "rollout"))
	const want = "A and B show different layers, so A − B compares unlike values: A layer 2 " +
		"and B layer 5 for “here”, A layer 3 and B layer 0 for “.”. Compare one layer with rollout@2."
	if !strings.Contains(got, want) {
		t.Errorf("the warnings %q do not say %q", got, want)
	}
	p := compared(t, side(a, "rollout"), side(b, "rollout")).picture(true)
	d := &p.views[compare.Difference]
	if x, y, z := d.layer(0), d.layer(1), d.layers(); x != "row by row" ||
		y != "A layer 2 − B layer 5" || z != "row by row" {
		t.Errorf("the difference is of %q, %q, in all %q", x, y, z)
	}
	two, five := 2, 5
	for name, sides := range map[string][2]compare.Side{
		"equal layers": {side(a, "rollout"), side(at(1, 2, 3), "rollout")},
		"asked for": {
			{Explanation: a, Method: "rollout", Layer: &two},
			{Explanation: b, Method: "rollout", Layer: &five},
		},
		"two methods": {side(a, "rollout"), side(b, "value-zeroing")},
	} {
		if got := warned(sides[0], sides[1]); strings.Contains(got, "different layers") {
			t.Errorf("%s: the warnings say %q", name, got)
		}
	}
	b.Model.Layers++
	if got := warned(side(a, "rollout"), side(b, "rollout")); strings.Contains(got, "Compare one") {
		t.Errorf("models of different depths: the warnings say %q", got)
	}
}

// TestCompareSizes: of a method with signs and one without, sizes are compared: where A has -0.4
// and B 0.1 of a row, A has 0.3 more, and the sentence never calls that more in B.
func TestCompareSizes(t *testing.T) {
	signed, shares := example(), example()
	set := func(e *attribution.Explanation, unit string, row ...float64) {
		r := &attribution.Result{
			Unit: unit, Layers: []int{5}, Shape: [3]int{3, 7, 1}, Facts: ofUnit(unit),
			Rows: slices.Repeat([][]float64{row}, 3),
		}
		e.Methods["rollout"], r.OtherMass = r, make([]float64, 3)
	}
	set(signed, "part of the logit", 0, -4, 2, 1, -3, 0, 0) // sizes 0 .4 .2 .1 .3 0 0
	set(shares, "share of attention", 0, 0.1, 0.4, 0.2, 0.3, 0, 0)
	h := compared(t, side(signed, "rollout"), side(shares, "rollout"))
	p := h.picture(true)
	d := &p.views[compare.Difference]
	for j, want := range []float64{0, 0.3, -0.2, -0.1, 0, 0, 0} {
		if got := d.at(0, j); got < want-1e-12 || got > want+1e-12 {
			t.Errorf("source %d differs by %v, want %v", j, got, want)
		}
	}
	if got := p.views[0].at(0, 1); got != -0.4 {
		t.Errorf("side A has %v, want -0.4, with its sign", got)
	}
	if got := said(p, d, 0); !strings.HasPrefix(got,
		"“are” has more from “the” (1) in A than in B | the (1) +30.0 % · more in B keys −20.0 %") {
		t.Errorf("the difference says %q", got)
	}
	// Without <bos>, ranks of sizes less their mean are 2.5 0.5 -0.5 1.5 -2 -2 and -0.5 2.5 0.5 1.5
	// -2 -2: ρ = 10/17.
	const all = "Agreement of A and B: rank correlation of the sizes 0.59 on average (0.59 to " +
		"0.59); the same strongest source for 0 of 3"
	if got := p.comparison.all; !strings.HasPrefix(got, all) {
		t.Errorf("agreement %q, want %q", got, all)
	}
	const warning = "The values of A have signs and those of B have not; A − B and the agreement " +
		"are of sizes."
	if !slices.Contains(h.Explanation.Warnings, warning) {
		t.Errorf("warnings %q, want %q", h.Explanation.Warnings, warning)
	}
}

// TestCompareNearTie: the strongest sources differ, but on one side both are nearly as strong.
func TestCompareNearTie(t *testing.T) {
	e := example()
	for name, row := range map[string][]float64{
		"rollout":       {0, 0.300, 0.295, 0.2, 0.1, 0.1, 0},
		"value-zeroing": {0, 0.1, 0.5, 0.1, 0.2, 0.1, 0},
	} {
		r := e.Methods[name]
		r.Unit, r.Layers, r.Shown = "share of attention", []int{5}, nil
		r.Quantity = attribution.Share
		r.Shape, r.Rows = [3]int{3, 7, 1}, slices.Repeat([][]float64{row}, 3)
		r.OtherMass = make([]float64, 3)
	}
	p := compared(t, side(e, "rollout"), side(e, "value-zeroing")).picture(true)
	if got := p.comparison.all; !strings.HasSuffix(got,
		"the same strongest source for 0 of 3 generated tokens, a near tie for 3 more") {
		t.Errorf("agreement %q", got)
	}
	if got := p.comparison.rows[0]; !strings.HasSuffix(got, "a near tie of the strongest sources") {
		t.Errorf("row %q", got)
	}
}

// Values of different kinds are divided by the sizes of their rows; lifts have ratios.
func TestCompareKinds(t *testing.T) {
	scores := scoredExample()
	name := scores.Order[0]
	other := example()
	scores.Prompt, scores.Steps = other.Prompt, other.Steps
	r := scores.Methods[name]
	r.Shape = [3]int{3, 7, 1}
	r.Layers, r.Shown = r.Layers[:1], nil
	fill(r, func(i int) float64 { return float64(i%5) - 2 })
	h := compared(t, side(scores, name), side(other, "value-zeroing"))
	v := h.picture(true).views[0]
	if sum := 0.0; true {
		for j := range 7 {
			sum += max(v.at(0, j), -v.at(0, j))
		}
		if sum < 1-1e-12 || sum > 1+1e-12 {
			t.Errorf("the sizes of a divided row add up to %v, want 1", sum)
		}
	}
	up := lifted()
	fill(up.Methods["rollout"], func(int) float64 { return 8 })
	down := lifted()
	fill(down.Methods["rollout"], func(int) float64 { return 2 })
	h = compared(t, compare.Side{Explanation: up}, compare.Side{Explanation: down})
	if d := h.picture(true).views[compare.Difference]; d.at(0, 1) != 4 || !d.top.lift {
		t.Errorf("×8 and ×2 differ by %v, want ×4", d.top.value(d.at(0, 1)))
	}
}

func TestCompareErrors(t *testing.T) {
	short, none, broken := example(), example(), example()
	short.Prompt.Texts = short.Prompt.Texts[1:]
	for _, r := range short.Methods {
		r.Shape[1]--
		fill(r, func(int) float64 { return 0.1 })
	}
	none.Steps = nil
	broken.Methods["rollout"].Rows = nil
	byToken := example()
	r := byToken.Methods["rollout"]
	r.Layers, r.Shape[2], r.Rows = []int{attribution.LayerByToken}, 1, r.Rows[:3]
	for _, c := range []struct {
		name string
		a, b compare.Side
		want string
	}{
		{"no explanation", compare.Side{Explanation: example()}, compare.Side{}, "side B of the comparison has no explanation"},
		{
			"unknown method",
			compare.Side{Explanation: example(), Method: "rolout"},
			compare.Side{Explanation: example()},
			`explanation A has no method "rolout"; did you mean rollout?`,
		},
		{"lengths", compare.Side{Explanation: example()}, compare.Side{Explanation: short}, "7 and 6 tokens"},
		{"no tokens", compare.Side{Explanation: example()}, compare.Side{Explanation: none}, "no generated token"},
		{"shape", compare.Side{Explanation: broken}, compare.Side{Explanation: example()}, "does not fit"},
		{
			"encoder",
			compare.Side{Explanation: example()},
			compare.Side{Explanation: encoded(trace.MaskedToken)},
			"a decoder and an encoder",
		},
		{
			"negative layer",
			compare.Side{Explanation: example(), Layer: new(-1)},
			compare.Side{Explanation: example()},
			"layer -1 of explanation A; layers count from 0",
		},
		{
			"layer of no model",
			compare.Side{Explanation: example()},
			compare.Side{Explanation: example(), Layer: new(6)},
			`layer 6 of explanation B; "tiny" has layers 0 to 5`,
		},
		{
			"layer not kept",
			compare.Side{Explanation: example(), Method: "flow", Layer: new(2)},
			compare.Side{Explanation: example()},
			`layer 2 of method "flow" was not kept in explanation A, which has layer 5 alone; ` +
				"explain with AllLayers, or for flow AllLevels",
		},
		{
			"layer by token",
			compare.Side{Explanation: byToken, Layer: new(2)},
			compare.Side{Explanation: byToken},
			"which has for each token the layer that wrote it",
		},
		{"lift", compare.Side{Explanation: lifted()}, compare.Side{Explanation: example()}, "lifts are ratios"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Compare(c.a, c.b)
			if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want a usage error with %q", err, c.want)
			}
		})
	}
}

// TestCutAlike: both prompts are cut at the same places, and where they first differ is in both.
func TestCutAlike(t *testing.T) {
	long := strings.Repeat("x", 40)
	for _, c := range []struct {
		a, b string
		most int
		want [2]string
	}{
		{"the key", " the keys ", 8, [2]string{"the key", "the keys"}},
		{"the key to the door", "the lid", 10, [2]string{"the key t…", "the lid"}},
		{long + " key", long + " keys here", 12, [2]string{"… key", "… keys here"}},
		{long + "1" + long, long + "2" + long, 12, [2]string{"…xxx1xxxxxx…", "…xxx2xxxxxx…"}},
		{"a", "b", 1, [2]string{"a", "b"}},
		{"a\x00", "b", 8, [2]string{"a␀", "b"}},
	} {
		got := cutAlike([]string{c.a, c.b}, c.most)
		if got != c.want {
			t.Errorf("%q, %q in %d: %q, want %q", c.a, c.b, c.most, got, c.want)
		}
		for _, text := range got {
			if n := len([]rune(text)); n > max(c.most, 8) {
				t.Errorf("%q has %d characters, want at most %d", text, n, c.most)
			}
		}
	}
	if got := cutAlike(nil, 8); got != [2]string{} {
		t.Errorf("without texts: %q", got)
	}
}

// TestCompareTokens names the tokens of both sides, apart from the tokens beside them: the text of
// the picture can be copied and read. A row of one side has the token and the probability of that
// side alone.
func TestCompareTokens(t *testing.T) {
	a := pieces("a", "by Lindq", []string{"by", " Lind", "q"}, []string{" Laura"},
		[]float64{0.2, 0.3, 0.5})
	b := pieces("a", "by Brandt", []string{"by", " Brand", "t"}, []string{" Simon"},
		[]float64{0.1, 0.3, 0.6})
	a.Steps[0].Probability, b.Steps[0].Probability = 0.293, 0.493
	h := compared(t, compare.Side{Explanation: a}, compare.Side{Explanation: b})
	// No row is after the first.
	const differ = "The answers differ in generated token 1: A says “Laura” and B “Simon”. Nothing is " +
		"compared: each side shows its own first token. To compare one answer, force it on both " +
		"sides: --continuation ' Laura', or in a cell Continuation: \" Laura\"."
	if got := h.comparison.headings(); !slices.Contains(got, differ) {
		t.Errorf("the headings are %q, want %q", got, differ)
	}
	page := written(t, h)
	text := written(t, asText(h))
	if !strings.Contains(strings.Join(strings.Fields(text), " "), differ) ||
		!strings.Contains(text, "A − B  not compared, A says “Laura” and B “Simon”") {
		t.Errorf("the text is %s", text)
	}
	text = regexp.MustCompile("<[^>]*>").ReplaceAllString(page, "")
	for _, want := range []string{
		"by ⟨Lind│Brand⟩⟨q│t⟩ ⟨Laura│Simon⟩",
		"⟨Laura│Simon⟩: not compared, A says “Laura” and B “Simon”",
		"Laura came from ", "Simon came from ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	rows := regexp.MustCompile(`<tr [^>]*><td style="text-align:right">(.*?)</td>.*?<td style="color:#59616e">`+
		`([^<]*)</td></tr>`).FindAllStringSubmatch(page, -1)
	want := [][2]string{{"Laura", "29.3 %"}, {"Simon", "49.3 %"}, {"⟨Laura│Simon⟩", "29.3 %│49.3 %"}}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, row := range rows {
		name := regexp.MustCompile("<[^>]*>").ReplaceAllString(row[1], "")
		if name = strings.TrimPrefix(name, "▸ "); name != want[i][0] || row[2] != want[i][1] {
			t.Errorf("row %d is %s with %s, want %s", i, name, row[2], want[i])
		}
	}
}
