package focus_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// tol is float32 rounding of the inputs; results are float64.
const tol = 1e-6

// tensor returns a tensor in float32.
func tensor(name string, shape []int, data ...float64) trace.Tensor {
	t := trace.Tensor{Name: name, Shape: shape}
	for _, x := range data {
		t.Data = append(t.Data, float32(x))
	}
	return t
}

// filled returns a tensor whose numbers are a function of the index.
func filled(name string, shape []int, at func(index []int) float64) trace.Tensor {
	n := 1
	for _, size := range shape {
		n *= size
	}
	t := trace.Tensor{Name: name, Shape: shape}
	index := make([]int, len(shape))
	for range n {
		t.Data = append(t.Data, float32(at(index)))
		for axis := len(shape) - 1; axis >= 0; axis-- {
			if index[axis]++; index[axis] < shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
	return t
}

func text(t *testing.T, tensors ...trace.Tensor) *focus.Text {
	t.Helper()
	x, err := focus.New(tensors, focus.Options{})
	must(t, err)
	return x
}

func head(t *testing.T, x *focus.Text, l, h int) *focus.Head {
	t.Helper()
	rows, err := x.Head(l, h)
	must(t, err)
	return rows
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > tol {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func nearRow(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > tol {
			t.Errorf("%s = %v, want %v", what, got, want)
			return
		}
	}
}

// Scores of ALiBi alone, m·j, give A_ij = e^{-m(i-j)} (1-e^{-m}) / (1-e^{-m(i+1)}): a geometric
// series.
func TestALiBiAlone(t *testing.T) {
	const m, n = 0.5, 6
	x := text(t, filled("terms", []int{3, n, n}, func(at []int) float64 {
		if at[0] == int(focus.ALiBi) {
			return m * float64(at[2])
		}
		return 0
	}))
	h := head(t, x, 0, 0)
	for i := range n {
		for j := range n {
			want := 0.0
			if j <= i {
				want = math.Exp(-m*float64(i-j)) * (1 - math.Exp(-m)) /
					(1 - math.Exp(-m*float64(i+1)))
			}
			near(t, "A", h.Row(i)[j], want)
		}
	}
}

// The triples that the document published for layer 14, head 17 give the probabilities that it
// published. It wrote them as attention, bias, alibi.
func TestPublishedTriples(t *testing.T) {
	content := [][]float64{
		{-2.499432, 0, 0}, {-2.499432, 2.879041, 0}, {-2.549861, .337021, .658404},
	}
	bias, alibi := []float64{5.635853, -.028408, -1.973696}, []float64{0, .0441895, .0883789}
	terms := filled("terms", []int{3, 3, 3}, func(at []int) float64 {
		return [][]float64{content[at[1]], bias, alibi}[at[0]][at[2]]
	})
	want := [][]float64{{1, 0, 0}, {.560108, .439892, 0}, {.927294, .060285, .012421}}
	h := head(t, text(t, terms), 0, 0)
	for i := range want {
		nearRow(t, "published row", h.Row(i), want[i])
	}
	// With ALiBi divided by √E = 8, as Falcon does, they do not match.
	for k := range 9 {
		terms.Data[2*9+k] /= 8
	}
	if got := head(t, text(t, terms), 0, 0).Row(2)[0]; math.Abs(got-.93028) > 5e-6 {
		t.Errorf("ALiBi/8 gives %v, want .93028", got)
	}

	if got, want := h.Ranked(2), []int{0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("ranks of row 2 are %v, want %v", got, want)
	}
	// Row 0 sees itself alone, which is also the first token. Rows 1 and 2 have more than ½ there.
	var got []string
	for _, m := range h.Markers() {
		got = append(got, m.Kind())
		if m.Rank != 0 || m.Source != 0 {
			t.Errorf("marker %+v; want source 0 of rank 0", m)
		}
	}
	if want := []string{"Zero", "Zero", "Zero"}; !slices.Equal(got, want) {
		t.Errorf("markers %v, want %v", got, want)
	}
	m := h.Markers()[2]
	nearRow(t, "terms of row 2", m.Terms[:], []float64{-2.549861, 5.635853, 0})
	near(t, "score of row 2", m.Score, -2.549861+5.635853)
}

// A constant that is added to a whole row of a term, or m·j in the place of -m·(i-j), changes no
// probability.
func TestRowConstants(t *testing.T) {
	const n, m = 5, 0.3
	base := func(at []int) float64 { return math.Sin(float64(1 + at[1]*7 + at[2]*3 + at[0])) }
	plain := filled("terms", []int{3, n, n}, func(at []int) float64 {
		if at[0] == int(focus.ALiBi) {
			return m * float64(at[2])
		}
		return base(at)
	})
	shifted := filled("terms", []int{3, n, n}, func(at []int) float64 {
		switch focus.Term(at[0]) {
		case focus.ALiBi:
			return -m * float64(at[1]-at[2])
		case focus.Content: // q·b_k, one number a row
			return base(at) + float64(at[1]*at[1]) - 2
		}
		return base(at)
	})
	a, b := text(t, plain), text(t, shifted)
	x, y := head(t, a, 0, 0), head(t, b, 0, 0)
	nearRow(t, "probabilities", y.Probability, x.Probability)
	for _, q := range focus.Quantities() {
		p, err := a.Measure(q, 0, 0)
		r, err2 := b.Measure(q, 0, 0)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		near(t, string(q), r, p)
	}
	p, r := x.Markers(), y.Markers()
	for k := range p {
		if p[k].Source != r[k].Source || p[k].Rank != r[k].Rank || p[k].Kind() != r[k].Kind() {
			t.Errorf("marker %d is %+v, want %+v", k, r[k], p[k])
		}
	}
}

// A head that looks at the first token alone, and one that looks at all tokens so far alike.
func TestSinkAndUniform(t *testing.T) {
	const n = 5
	x := text(t, filled("attention", []int{1, 2, n, n}, func(at []int) float64 {
		switch h, i, j := at[1], at[2], at[3]; {
		case h == 0 && j == 0:
			return 1
		case h == 1 && j <= i:
			return 1 / float64(i+1)
		}
		return 0
	}))
	harmonic := 1 + 1./2 + 1./3 + 1./4 + 1./5
	for _, c := range []struct {
		q             focus.Quantity
		sink, uniform float64
	}{
		{focus.SelfFraction, 1. / n, 1. / n}, // row 0; among equals the first source wins
		{focus.SelfContinuous, 1. / n, harmonic / n},
		{focus.FirstFraction, 1, 1},
		{focus.Concentration, 1, 1. / n}, // row 0 sees one source: 1 - 0
	} {
		for h, want := range []float64{c.sink, c.uniform} {
			got, err := x.Measure(c.q, 0, h)
			must(t, err)
			near(t, string(c.q), got, want)
		}
	}
	// The mean of both heads: row i has ½ + ½/(i+1) at source 0 and ½/(i+1) at the others.
	got, err := x.Measure(focus.SelfContinuous, 0, focus.Together)
	must(t, err)
	near(t, "mean self-probability", got, (harmonic/2+1./2)/n)
}

// Row 3 is .1 .3 .3 .2 .1: its ranks are 1 2 3 0 4, since among equals the earlier source comes
// first; .3 + .3 reach ½.
func TestMarkers(t *testing.T) {
	x := text(t, tensor("attention", []int{5, 5},
		1, 0, 0, 0, 0,
		.4, .6, 0, 0, 0,
		.5, .25, .25, 0, 0,
		.3, .3, .1, .3, 0,
		.1, .3, .3, .2, .1))
	h := head(t, x, 0, 0)
	if got, want := h.Ranked(4), []int{1, 2, 3, 0, 4}; !slices.Equal(got, want) {
		t.Errorf("ranks of row 4 are %v, want %v", got, want)
	}
	type mark struct {
		target, source, rank int
		kind                 string
	}
	want := []mark{
		{0, 0, 0, "Zero"},
		{1, 1, 0, "Self"},
		{2, 0, 0, "Zero"},
		{3, 0, 0, "Zero"},
		{3, 1, 1, "Other"},
		{4, 1, 0, "Other"},
		{4, 2, 1, "Other"},
	}
	var got []mark
	for _, m := range h.Markers() {
		got = append(got, mark{m.Target, m.Source, m.Rank, m.Kind()})
	}
	if !slices.Equal(got, want) {
		t.Errorf("markers\n%v, want\n%v", got, want)
	}
	if p := h.Markers()[0]; !math.IsNaN(p.Score) || !math.IsNaN(p.Terms[0]) {
		t.Errorf("without terms the marker has %v, %v; want NaN", p.Score, p.Terms)
	}
	if _, err := h.Breakdown(1); err == nil || !strings.Contains(err.Error(), "needs terms") {
		t.Errorf("breakdown without terms: %v", err)
	}
}

// At most 11 sources of a row are marked: 30 equal ones reach ½ only with 15.
func TestMostMarkers(t *testing.T) {
	const n = 30
	x := text(t, filled("attention", []int{1, n}, func([]int) float64 { return 1. / n }))
	if got := len(head(t, x, 0, 0).Markers()); got != 11 {
		t.Errorf("%d sources marked, want 11", got)
	}
}

// Two targets see scores 1+2+0 and 3+1+1 (row 1) with content 1 3, bias 2 1, alibi 0 1; row 0 has
// content 4. Row 1's best is source 1 (score 5), then source 0 (3).
func TestBreakdown(t *testing.T) {
	h := head(t, text(t, tensor("terms", []int{3, 2, 2},
		4, 9, 1, 3, // content; 9 is not seen
		2, 9, 2, 1, // query-bias
		0, 9, 0, 1, // alibi
	)), 0, 0)
	b, err := h.Breakdown(2)
	must(t, err)
	type place struct{ target, source, rank int }
	var got []place
	var coordinates [][3]float64
	for _, p := range b.Points {
		got = append(got, place{p.Target, p.Source, p.Rank})
		coordinates = append(coordinates, b.Coordinates(p))
	}
	if want := []place{{0, 0, 0}, {1, 1, 0}, {1, 0, 1}}; !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
	if want := [3]float64{1, 1, 0}; b.Minimum != want {
		t.Errorf("minima %v, want %v", b.Minimum, want)
	}
	if want := [][3]float64{{3, 1, 0}, {2, 0, 1}, {0, 1, 0}}; !slices.Equal(coordinates, want) {
		t.Errorf("coordinates %v, want %v", coordinates, want)
	}
	// Of rank 0 alone the smallest content is 3.
	if b, _ = h.Breakdown(1); b.Minimum[focus.Content] != 3 || len(b.Points) != 2 {
		t.Errorf("rank 0 has minima %v of %d points", b.Minimum, len(b.Points))
	}
	want := []focus.Bias{{Source: 0, QueryBias: 2}, {Source: 1, QueryBias: 1, ALiBi: 1}}
	b, _ = h.Breakdown(2)
	if got := focus.Biases(b.Points); !slices.Equal(got, want) {
		t.Errorf("biases %v, want %v", got, want)
	}
}

// Lines do not cross: the heads of each layer by value. Texts count alike, whatever their length.
func TestLines(t *testing.T) {
	// self is the probability of the target itself in its only other row: head h of layer l.
	of := func(self [2][3]float64) *focus.Text {
		return text(t, filled("attention", []int{2, 3, 2, 2}, func(at []int) float64 {
			p := self[at[0]][at[1]]
			return [2][2]float64{{1, 0}, {1 - p, p}}[at[2]][at[3]]
		}))
	}
	f := focus.Lines{Quantity: focus.SelfContinuous}
	for _, x := range []*focus.Text{
		of([2][3]float64{{.75, .25, .5}, {0, 1, 0}}),
		of([2][3]float64{{.25, .25, .5}, {0, .5, .5}}),
	} {
		must(t, f.Add(x))
	}
	// Row 0 has 1, so a text's mean is (1+p)/2. Layer 0: means of p are ½, ¼, ½.
	want := [][]focus.Place{
		{{Head: 1, Value: .625}, {Head: 0, Value: .75}, {Head: 2, Value: .75}},
		{{Head: 0, Value: .5}, {Head: 2, Value: .625}, {Head: 1, Value: .875}},
	}
	for l := range want {
		if got := f.Sorted(l); !slices.Equal(got, want[l]) {
			t.Errorf("layer %d: %v, want %v", l, got, want[l])
		}
	}
	near(t, "together", f.At(0, focus.Together), (.625+.75+.75)/3)
	other := text(t, filled("attention", []int{1, 1}, func([]int) float64 { return 1 }))
	if err := f.Add(other); err == nil || !strings.Contains(err.Error(), "1 layers of 1 heads") {
		t.Errorf("another model's text: %v", err)
	}
}

// Decomposition: without W_O nothing is added.
func TestNoOutputWeight(t *testing.T) {
	x := text(t, tensor("attention", []int{2, 2}, 1, 0, .5, .5),
		tensor("value", []int{2, 1}, 3, 4), tensor("output-weight", []int{1, 2}, 0, 0),
		tensor("hidden", []int{2, 2}, 1, 2, 3, 4))
	all, err := x.Updates(0, 0, focus.UpdateOptions{})
	must(t, err)
	for _, u := range all {
		if u.Magnitude != 0 || !math.IsNaN(u.Alignment) {
			t.Errorf("update %+v; want magnitude 0 without a direction", u)
		}
	}
	effects, err := x.Effects(0, 0)
	if err != nil || effects[1].Magnitude != 0 {
		t.Errorf("effects %v, %v; want 0", effects, err)
	}
}

// A head that looks at itself alone, whose values times W_O are c x, adds c x: the magnitude is |c|
// and the cosine the sign of c. Fig. 10 then equals Fig. 7.
func TestOwnValue(t *testing.T) {
	for _, c := range []float64{-2, .5} {
		identity := []float64{1, 0, 0, 1, 0, 0, 0, 1, 0}
		x := text(t, tensor("attention", []int{3, 3}, append(identity[:3:3], 0, 1, 0, 0, 0, 1)...),
			tensor("value", []int{3, 2}, 1, 2, -3, 4, .5, 0),
			tensor("output-weight", []int{2, 2}, c, 0, 0, c),
			tensor("hidden", []int{2, 3, 2}, 1, 2, -3, 4, .5, 0, 9, 9, 9, 9, 9, 9))
		for _, index := range []focus.Index{focus.IndexCurrent, focus.IndexTarget} {
			all, err := x.Updates(0, 0, focus.UpdateOptions{Index: index})
			must(t, err)
			effects, err := x.Effects(0, 0)
			must(t, err)
			for i, u := range all {
				near(t, "magnitude", u.Magnitude, math.Abs(c))
				near(t, "alignment", u.Alignment, math.Copysign(1, c))
				near(t, "effect", effects[i].Magnitude, u.Magnitude)
				if u.Source != i || effects[i].Source != i {
					t.Errorf("target %d looks at %d and %d", i, u.Source, effects[i].Source)
				}
			}
		}
	}
}

// One head of E = 1, D = 2 over three tokens, by hand. Values 1, 2, 4; W_O = (3, 4), of length 5.
// Row 1 is (.75, .25): context 1.25, c = (3.75, 5), length 6.25; x_1 = (0, 2): magnitude 3.125,
// cosine 5·2/(6.25·2) = .8. Row 2 is (0, .25, .75): context 3.5, c = (10.5, 14), length 17.5,
// x_2 = (-1, 0): magnitude 17.5, cosine -.6. Row 0: c = (3, 4) = x_0: magnitude 1, cosine 1.
func TestUpdates(t *testing.T) {
	x := text(t, tensor("attention", []int{3, 3}, 1, 0, 0, .75, .25, 0, 0, .25, .75),
		tensor("value", []int{3, 1}, 1, 2, 4), tensor("output-weight", []int{1, 2}, 3, 4),
		tensor("hidden", []int{3, 2}, 3, 4, 0, 2, -1, 0))
	for _, c := range []struct {
		name string
		opts focus.UpdateOptions
		want []focus.Update
	}{
		{"current", focus.UpdateOptions{}, []focus.Update{
			{Target: 0, Source: 0, Magnitude: 1, Alignment: 1},
			{Target: 1, Source: 0, Magnitude: 3.125, Alignment: .8},
			{Target: 2, Source: 2, Magnitude: 17.5, Alignment: -.6},
		}},
		{"target", focus.UpdateOptions{Index: focus.IndexTarget}, []focus.Update{
			{Target: 0, Source: 0, Magnitude: 1, Alignment: 1},
			{Target: 1, Source: 0, Magnitude: 1, Alignment: 1}, // of token 0
			{Target: 2, Source: 2, Magnitude: 17.5, Alignment: -.6},
		}},
		{"without the first", focus.UpdateOptions{ExcludeFirst: true}, []focus.Update{
			{Target: 2, Source: 2, Magnitude: 17.5, Alignment: -.6},
		}},
	} {
		got, err := x.Updates(0, 0, c.opts)
		must(t, err)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %v, want %v", c.name, got, c.want)
		}
		for k, w := range c.want {
			g := got[k]
			if g.Target != w.Target || g.Source != w.Source {
				t.Errorf("%s: %+v, want %+v", c.name, g, w)
			}
			near(t, c.name+" magnitude", g.Magnitude, w.Magnitude)
			near(t, c.name+" alignment", g.Alignment, w.Alignment)
		}
	}
	// Effects: 1·5/5 of token 0, twice, and 4·5/1 of token 2.
	effects, err := x.Effects(0, 0)
	must(t, err)
	for i, want := range []float64{1, 1, 20} {
		near(t, "effect", effects[i].Magnitude, want)
	}
	e, ok := focus.ZeroEllipse(effects)
	if !ok || e.HalfHeight != 10 {
		t.Errorf("ellipse %+v, %v", e, ok)
	}
	near(t, "ellipse", e.HalfWidth, 2.4)
	if _, ok := focus.ZeroEllipse(effects[2:]); ok {
		t.Error("an ellipse without an effect of the first token")
	}
}

// Two heads whose outputs cancel in part: the sum of both is what is compared, and the source is
// that of the mean attention.
func TestTogether(t *testing.T) {
	x := text(t, tensor("attention", []int{1, 2, 2, 2}, 1, 0, .9, .1, 1, 0, .2, .8),
		tensor("head-output", []int{1, 2, 2, 1}, 1, 5, 1, -2),
		tensor("value-output", []int{1, 2, 2, 1}, 1, 4, 1, -1),
		tensor("hidden", []int{1, 2, 1}, -2, 6))
	all, err := x.Updates(0, focus.Together, focus.UpdateOptions{})
	must(t, err)
	near(t, "magnitude 0", all[0].Magnitude, 1)
	near(t, "alignment 0", all[0].Alignment, -1)
	near(t, "magnitude 1", all[1].Magnitude, .5)
	near(t, "alignment 1", all[1].Alignment, 1)
	effects, err := x.Effects(0, focus.Together)
	must(t, err)
	if all[1].Source != 0 || effects[1].Source != 0 { // .55 against .45
		t.Errorf("sources %d and %d, want 0", all[1].Source, effects[1].Source)
	}
	near(t, "effect 1", effects[1].Magnitude, 1) // (1 + 1) / 2
}

// A score of -Inf says that a target does not see a source: its probability is 0, and it is neither
// a marker nor in the breakdown.
func TestHiddenByScore(t *testing.T) {
	hidden := math.Inf(-1)
	scores := tensor("scores", []int{3, 3}, 0, 7, 7, hidden, 2, 7, hidden, 1, 1)
	terms := tensor("terms", []int{3, 3, 3}, 0, 7, 7, -9, 2, 7, -9, 1, 1,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	h := head(t, text(t, scores), 0, 0)
	for i, want := range [][]float64{{1, 0, 0}, {0, 1, 0}, {0, .5, .5}} {
		nearRow(t, "row", h.Row(i), want)
	}
	if order := h.Ranked(2); !slices.Equal(order, []int{1, 2, 0}) {
		t.Errorf("ranks %v, want the hidden source last", order)
	}
	for _, m := range h.Markers() {
		if m.Probability == 0 {
			t.Errorf("marker %+v", m)
		}
	}
	all := text(t, scores, terms)
	b, err := head(t, all, 0, 0).Breakdown(3)
	if err != nil || len(b.Points) != 4 || b.Minimum[focus.Content] != 0 {
		t.Errorf("breakdown %+v, %v; want the 4 sources that are seen", b, err)
	}
	together := head(t, all, 0, focus.Together)
	nearRow(t, "row together", together.Row(2), []float64{0, .5, .5})
}

// bfloat16 rounds x to the 8 significant bits of a bfloat16, ties to even, as PyTorch does.
func bfloat16(x float64) float64 {
	bits := math.Float32bits(float32(x))
	bits += 0x7fff + bits>>16&1
	return float64(math.Float32frombits(bits &^ 0xffff))
}

// Attention that a program rounded to bfloat16 after the softmax is accepted. Sums are off by up to
// 2^-8, and the probabilities of a row are divided by them.
func TestBfloat16(t *testing.T) {
	const n = 260
	rng := rand.New(rand.NewPCG(16, 8))
	x := filled("attention", []int{2, n, n}, func([]int) float64 { return 0 })
	worst := 0.0
	for i := range n {
		p := make([][]float64, 2) // equal numbers, random numbers
		for k := range p {
			p[k] = make([]float64, i+1)
			sum, rounded := 0.0, 0.0
			for j := range p[k] {
				p[k][j] = 1
				if k == 1 {
					p[k][j] = math.Exp(2 * rng.NormFloat64())
				}
				sum += p[k][j]
			}
			for j := range p[k] {
				p[k][j] = bfloat16(p[k][j] / sum)
				rounded += p[k][j]
				x.Data[(k*n+i)*n+j] = float32(p[k][j])
			}
			worst = max(worst, math.Abs(rounded-1))
		}
	}
	if worst < .0037 || worst > 1./256 {
		t.Errorf("rows sum to 1 ± %v, want at most 2^-8 and nearly that", worst)
	}
	all := text(t, x)
	for l := range all.Layers {
		h := head(t, all, l, 0)
		for i := range n {
			sum := 0.0
			for _, p := range h.Row(i) {
				sum += p
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Fatalf("layer %d row %d sums to %v, want 1", l, i, sum)
			}
		}
	}
}

// What a head adds after the norm of its block counts, where it is known.
func TestHeadAddedFirst(t *testing.T) {
	x := text(t, tensor("attention", []int{1, 1}, 1), tensor("hidden", []int{1, 1}, 2),
		tensor("head-output", []int{1, 1}, 1), tensor("head-added", []int{1, 1}, 6))
	all, err := x.Updates(0, 0, focus.UpdateOptions{})
	must(t, err)
	near(t, "magnitude", all[0].Magnitude, 3)
}

// The last rows of a text alone: target 0 is the last but one of four tokens.
func TestLastRows(t *testing.T) {
	x := text(t, filled("terms", []int{3, 2, 4}, func([]int) float64 { return 0 }))
	h := head(t, x, 0, 0)
	nearRow(t, "row 0", h.Row(0), []float64{1. / 3, 1. / 3, 1. / 3, 0})
	nearRow(t, "row 1", h.Row(1), []float64{.25, .25, .25, .25})
	if h.Self(0) != 2 || h.Visible(0) != 3 {
		t.Errorf("target 0 is position %d of %d", h.Self(0), h.Visible(0))
	}
}

// A bidirectional text: given as such for terms, found out from attention.
func TestBidirectional(t *testing.T) {
	zero := filled("terms", []int{3, 2, 2}, func([]int) float64 { return 0 })
	x, err := focus.New([]trace.Tensor{zero}, focus.Options{Bidirectional: true})
	must(t, err)
	nearRow(t, "row 0", head(t, x, 0, 0).Row(0), []float64{.5, .5})
	if x = text(t, zero); x.Bidirectional {
		t.Error("terms alone make no encoder")
	}
	if x = text(t, tensor("attention", []int{2, 2}, .5, .5, 1, 0)); !x.Bidirectional {
		t.Error("attention to a later token makes an encoder")
	}
}
