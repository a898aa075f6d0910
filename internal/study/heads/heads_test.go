package heads_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/study/heads"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// headModel has the attention of L layers with two heads over any text, and what was asked for.
type headModel struct {
	*fakemodel.Model
	attention func(i, t, s int) float64 // of head i = l·H + h
	texts     *[][]int
}

func (m headModel) TokenText(id int) string { return m.Words[id] }

func (m headModel) Trace(_ context.Context, ids []int, _ []trace.Tap) ([]trace.Tensor, error) {
	*m.texts = append(*m.texts, ids)
	L, T := m.About.Layers, len(ids)
	x := trace.Tensor{Name: "attention", Axes: "LHTS", Shape: []int{L, 2, T, T}}
	for i := range 2 * L {
		for t := range T {
			for s := range T {
				a := 0.0
				if s <= t || m.About.Bidirectional {
					a = m.attention(i, t, s)
				}
				x.Data = append(x.Data, float32(a))
			}
		}
	}
	return []trace.Tensor{x}, nil
}

// newHeadModel returns a model of two layers with random attention.
func newHeadModel() headModel {
	return headModel{fakemodel.New(2, fakemodel.Evenly), func(i, t, s int) float64 {
		return rand.New(rand.NewPCG(uint64(i), uint64(100*t+s))).Float64()
	}, new([][]int)}
}

// kindsOf explains one token and returns the kinds of heads.
func kindsOf(
	t *testing.T, m trace.Model, prompt, what string,
) (*heads.Kinds, *attribution.Explanation) {
	t.Helper()
	e, err := attribution.Explain(t.Context(), m, prompt, attribution.Options{
		Methods: []string{"raw"}, MaxTokens: 1, Studies: attribution.Studies{"head-kinds": what},
	})
	must(t, err)
	return heads.Of(e), e
}

// Scores on random tokens, by the places of the second half: each token has one earlier occurrence,
// K places back.
func TestHeadKindsRandom(t *testing.T) {
	m := newHeadModel()
	kinds, _ := kindsOf(t, m, "w1 w2", heads.Random)
	const K = 25
	ids := (*m.texts)[0]
	half := slices.Sorted(slices.Values(ids[:K]))
	if len(*m.texts) != 1 || len(ids) != 2*K || !slices.Equal(ids[:K], ids[K:]) ||
		len(slices.Compact(half)) != K || half[0] == 0 || kinds.Repeated != K {
		t.Fatalf("the texts are %v and K %d; want one of %d different words, twice", *m.texts,
			kinds.Repeated, K)
	}
	chance := 0.0
	for at := K + 1; at < 2*K; at++ {
		chance += 1 / float64(at+1) / (K - 1)
	}
	if math.Abs(kinds.Chance-chance) > 1e-12 {
		t.Errorf("chance %v, want %v", kinds.Chance, chance)
	}
	for k, back := range []int{K - 1, 1, K, -1} {
		kind := kinds.Kinds[k]
		for i := range 4 {
			want := 0.0
			for at := K + 1; at < 2*K; at++ {
				source := at - back
				if back < 0 {
					source = 0
				}
				want += float64(float32(m.attention(i, at, source))) / (K - 1)
			}
			if math.Abs(kind.Random[i]-want) > 1e-12 {
				t.Errorf("%s head %d: %v, want %v", kind.Name, i, kind.Random[i], want)
			}
		}
	}
}

// Which head is of which kind: one for each pattern, and one that reads nothing in particular. A
// head that rests on the first token and also finds something is of the kind that it finds.
func TestHeadKindsChosen(t *testing.T) {
	const K = 25
	m := newHeadModel()
	m.About.Layers = 3
	reads := [][]int{{K - 1}, {1}, {K}, {}, {K - 1, -1}, {-1}}
	m.attention = func(i, t, s int) float64 {
		for _, back := range reads[i] {
			if t-s == back || back < 0 && s == 0 {
				return .6
			}
		}
		return .01
	}
	kinds, _ := kindsOf(t, m, "w1 w2", heads.Random)
	got := map[string][]int{}
	for _, kind := range kinds.Kinds {
		got[kind.Name] = kind.Heads
	}
	want := map[string][]int{
		"induction": {0, 4}, "previous token": {1}, "duplicate token": {2}, "first token": {5},
		"name mover": nil,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("heads (-want +got):\n%s", d)
	}
	if !kinds.Fit(6) || kinds.Fit(4) {
		t.Error("the kinds do not fit their model, or fit another one")
	}
	kinds.Kinds[4].Heads = []int{0}
	if kinds.Fit(6) {
		t.Error("a name mover without a score fits")
	}
}

// Scores on a text with repetitions, whose sources are found by hand. A source that two patterns
// name, such as token 1 from the second w1, counts for neither, and token 0 for the first token
// alone.
func TestHeadKindsOnText(t *testing.T) {
	m := newHeadModel()
	// The generated token is w2, because fake models count on.
	kinds, e := kindsOf(t, m, "w1 w2 w1 w3 w2 w1 w1", heads.Text)
	if len(e.Steps) != 1 || !slices.Equal((*m.texts)[1], e.TokenIDs()) {
		t.Fatalf("the texts are %v, want that of %v", *m.texts, e.TokenIDs())
	}
	want := []map[int][]int{
		{4: {2}, 5: {1, 3}, 6: {1, 3}, 7: {2, 5}},
		{3: {2}, 4: {3}, 5: {4}, 7: {6}},
		{4: {1}, 5: {2}, 6: {2}, 7: {1, 4}},
		{1: {0}, 2: {0}, 3: {0}, 4: {0}, 5: {0}, 6: {0}, 7: {0}},
	}
	for k, sources := range want {
		kind := kinds.Kinds[k]
		if kind.Tokens != len(sources) {
			t.Errorf("%s: %d tokens, want %d", kind.Name, kind.Tokens, len(sources))
		}
		for i := range 4 {
			score, chance := 0.0, 0.0
			for at := range 8 {
				for _, s := range sources[at] {
					score += float64(float32(m.attention(i, at, s))) / float64(len(sources))
					chance += 1 / float64(at+1) / float64(len(sources))
				}
			}
			if math.Abs(kind.Text[i]-score) > 1e-12 || math.Abs(kind.Chance-chance) > 1e-12 {
				t.Errorf("%s head %d: %v and chance %v, want %v and %v", kind.Name, i,
					kind.Text[i], kind.Chance, score, chance)
			}
		}
	}
	if kind, _ := kindsOf(t, newHeadModel(), "w1 w2", heads.Text); kind.Kinds[0].Text !=
		nil {
		t.Error("a text without repetition has a score of induction")
	}
}

// A name mover writes the word that it reads: of two generated words one occurs before, at two
// places, and its parts by hand are 3 + 1 of head 1 and -2 + 0 of head 0.
func TestNameMovers(t *testing.T) {
	m := newHeadModel()
	m.About.Layers = 1
	m.Edit = func(step *trace.Step) {
		S := step.First + step.Count
		step.Terms = &trace.AttentionTerms{
			L: 1, S: S, Attention: make([]float64, S), ByHead: make([]float64, 2*S), Value: 40,
		}
		copy(step.Terms.ByHead, []float64{9, -2, 9, 0})
		copy(step.Terms.ByHead[S:], []float64{7, 3, 7, 1})
	}
	kinds, e := kindsOf(t, m, "w9 w2 w8 w2 w1", heads.Random)
	want := heads.Kind{
		Name: "name mover", Threshold: .5, Text: []float64{0, 1}, Tokens: 1, Chance: .5,
		Heads: []int{1},
	}
	if d := cmp.Diff(want, kinds.Kinds[4], cmpopts.EquateApprox(0, 1e-12)); d != "" {
		t.Errorf("name movers (-want +got):\n%s", d)
	}
	// All of head 0 is 9 - 2 + 9 + 0, of head 1 7 + 3 + 7 + 1, whatever is written from where.
	if d := cmp.Diff(&heads.Writes{Heads: []float64{16, 18}, Value: 40, Foils: 5},
		heads.Wrote(e.Steps[0])); d != "" {
		t.Errorf("what heads wrote (-want +got):\n%s", d)
	}
	if m.Asked.Terms == nil || !m.Asked.Terms.ByHead {
		t.Error("the parts of heads were not asked for")
	}
	if kinds, _ = kindsOf(t, m, "w9 w2", heads.Random); kinds.Kinds[4].Text != nil {
		t.Error("a word that does not occur before has name movers")
	}
}

// A contrast applies to what heads wrote, of whatever method, and a model that reads refuses it.
func TestHeadsContrast(t *testing.T) {
	m := newHeadModel()
	opts := attribution.Options{
		Methods: []string{"raw"}, MaxTokens: 1, Contrast: "w7",
	}
	if _, err := attribution.Explain(t.Context(), m, "w1 w2", opts); err == nil {
		t.Error("without kinds of heads, raw takes a contrast")
	}
	opts.Ask("head-kinds", heads.Random)
	e, err := attribution.Explain(t.Context(), m, "w1 w2", opts)
	must(t, err)
	if c := m.Asked.Terms.Contrast; c == nil || *c != 8 || m.Asked.Terms.Foils != 0 {
		t.Errorf("the model was asked for %+v, want the contrast 8, which is w7", m.Asked.Terms)
	}
	if strings.Contains(strings.Join(e.Warnings, " "), "does not apply") {
		t.Errorf("warnings %q", e.Warnings)
	}
	m.About.Bidirectional = true
	opts.MaxTokens = 0
	_, err = attribution.Explain(t.Context(), m, "w1 w2", opts)
	if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), "leave it out") {
		t.Errorf("of a model that reads: %v", err)
	}
}

// What a model cannot do is a warning, and not an error.
func TestHeadKindsRefused(t *testing.T) {
	short := newHeadModel()
	short.About.Context = 15
	for name, c := range map[string]struct {
		m            trace.Model
		what, reason string
	}{
		"no attention": {fakemodel.New(2, fakemodel.Evenly), heads.Random,
			"Heads have no kinds: that needs a model that records attention"},
		"short context": {short, heads.Random,
			"reads 8 different tokens twice; fake reads 7."},
		"no edits": {newHeadModel(), heads.Ablate, "No head is taken away"},
	} {
		_, e := kindsOf(t, c.m, "w1 w2", c.what)
		if !strings.Contains(strings.Join(e.Warnings, " "), c.reason) {
			t.Errorf("%s: warnings %q, want %q", name, e.Warnings, c.reason)
		}
	}
	_, err := attribution.Explain(t.Context(), newHeadModel(), "w1", attribution.Options{
		Studies: attribution.Studies{"head-kinds": heads.Text}, By: "word",
	})
	if err == nil || !strings.Contains(err.Error(), "leave by and target out") {
		t.Errorf("groups of tokens: %v", err)
	}
}

// TestNeededHeads: of 0, 0, 0, 4 the mean is 1 and the standard deviation of a sample 2, so that 3
// and more stand out; rounding does not.
func TestNeededHeads(t *testing.T) {
	for _, c := range []struct {
		without []float64
		want    []int
	}{
		{[]float64{0, 0, 0, 4}, []int{3}}, {[]float64{0, 5, 0, 0, 4, 0, 0, 0}, []int{1, 4}},
		{[]float64{0, 0, 0, 1e-6}, nil}, {[]float64{-1, -1}, nil}, {nil, nil},
	} {
		k := heads.Kinds{Without: c.without}
		if got := k.Needed(); !slices.Equal(got, c.want) {
			t.Errorf("needed of %v are %v, want %v", c.without, got, c.want)
		}
	}
}
