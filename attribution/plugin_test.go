package attribution_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// spoiled is an aggregation whose results are edited.
type spoiled struct {
	aggregation.Aggregation
	edit func([]float64) []float64
}

func (s spoiled) New(cfg aggregation.Config) aggregation.State {
	return spoiledState{s.Aggregation.New(cfg), s.edit}
}

type spoiledState struct {
	aggregation.State
	edit func([]float64) []float64
}

func (s spoiledState) Extend(
	ctx context.Context, dst []float64, rows aggregation.Rows,
) ([]float64, error) {
	out, err := s.State.Extend(ctx, dst, rows)
	return s.edit(out), err
}

// A wrong result of an aggregation is an error that names it, for a decoder and for an encoder.
func TestExplainNamesBrokenAggregation(t *testing.T) {
	layer, err := aggregation.Lookup("layer")
	must(t, err)
	last := func(x float64) func([]float64) []float64 {
		return func(out []float64) []float64 {
			out[len(out)-1] = x
			return out
		}
	}
	for _, c := range []struct {
		name, want string
		edit       func([]float64) []float64
	}{
		{"sound", "", func(out []float64) []float64 { return out }},
		{"nothing", "returned 0 numbers, want ", func([]float64) []float64 { return nil }},
		{"one too many", ": 2 levels, ", func(out []float64) []float64 { return append(out, 1) }},
		{"below zero", "returned -0.5 at level 1 of 2 for source 2; want a number of 0 or more", last(-0.5)},
		{"no number", "returned NaN at level 1 of 2 for source 2", last(math.NaN())},
		{"endless", "returned +Inf at level 1 of 2 for source 2", last(math.Inf(1))},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer attribution.RegisterAggregationForTest("test-broken", spoiled{layer, c.edit})()
			methods := []string{"attention+test-broken"}
			_, decoder := attribution.Explain(t.Context(), fakemodel.New(2, fakemodel.Causal),
				"w1 w2 w3", attribution.Options{Methods: methods, MaxTokens: 1})
			encoder := fakemodel.NewEncoder(2, fakemodel.Evenly)
			_, reading := attribution.Explain(t.Context(), encoder, "w1",
				attribution.Options{Methods: methods, Positions: []int{1}})
			for model, err := range map[string]error{"decoder": decoder, "encoder": reading} {
				switch {
				case c.want == "" && err != nil:
					t.Errorf("%s: %v", model, err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(),
					"aggregation test-broken returned ") || !strings.Contains(err.Error(), c.want)):
					t.Errorf("%s: error %v, want %q", model, err, c.want)
				}
			}
		})
	}
}

// broken is an aggregation without states, or one whose states panic.
type broken struct {
	aggregation.Aggregation
	state aggregation.State
}

func (b broken) New(aggregation.Config) aggregation.State { return b.state }

type panicking struct{}

func (panicking) Extend(context.Context, []float64, aggregation.Rows) ([]float64, error) {
	panic("out of rows")
}

// TestAggregationPanics: an aggregation that panics or has no state is an error that names it, also
// where several texts run at once.
func TestAggregationPanics(t *testing.T) {
	layer, err := aggregation.Lookup("layer")
	must(t, err)
	opts := attribution.Options{Methods: []string{"attention+test-broken"}, MaxTokens: 1}
	texts := []attribution.Text{{Prompt: "w1"}, {Prompt: "w2"}, {Prompt: "w3"}}
	for want, state := range map[string]aggregation.State{
		"aggregation test-broken returned no state":     nil,
		"aggregation test-broken panicked: out of rows": panicking{},
	} {
		remove := attribution.RegisterAggregationForTest("test-broken", broken{layer, state})
		for x := range attribution.ExplainAll(t.Context(), fakemodel.New(2, fakemodel.Causal),
			slices.Values(texts), opts, attribution.Batching{}) {
			if x.Err == nil || !strings.Contains(x.Err.Error(), want) {
				t.Errorf("error %v, want %q", x.Err, want)
			}
		}
		remove()
	}
}

// fixedScorer is a scorer with a fixed answer, whose values have no sign unless info says so.
type fixedScorer struct {
	scores *scorer.Scores
	info   scorer.Info
}

func (a fixedScorer) Info() scorer.Info { return a.info }

func (a fixedScorer) Score(
	context.Context, trace.Model, trace.Query, scorer.Options,
) (*scorer.Scores, error) {
	return a.scores, nil
}

// changingScorer changes what it is given.
type changingScorer struct{ fixedScorer }

func (a changingScorer) Score(
	ctx context.Context, m trace.Model, q trace.Query, o scorer.Options,
) (*scorer.Scores, error) {
	clear(q.IDs)
	*q.Contrast = 0
	return a.fixedScorer.Score(ctx, m, q, o)
}

// TestExplainGivesCopies: a scorer that changes its query does not change that of the next one.
func TestExplainGivesCopies(t *testing.T) {
	queries := useScorer(t, countingScorer{})
	changing := changingScorer{
		fixedScorer{scores: &scorer.Scores{Values: []float64{1, 0}}},
	}
	t.Cleanup(attribution.RegisterScorerForTest("test-changes", changing))
	_, err := attribution.Explain(t.Context(), fakemodel.New(2, fakemodel.Causal), "w1 w2",
		attribution.Options{
			Methods:   []string{"test-changes", "test-count"},
			MaxTokens: 1, Contrast: "w7",
		})
	must(t, err)
	if q := (*queries)[0]; q.IDs[0] != 2 || *q.Contrast != 8 {
		t.Errorf("the second scorer is asked about %v and %d", q.IDs, *q.Contrast)
	}
}

// A wrong result of a scorer is an error that names it.
func TestExplainNamesBrokenScorer(t *testing.T) {
	nan, signed := math.NaN(), scorer.Info{Signed: true}
	one := []float64{1, 0}
	byLayer := func(values ...float64) *scorer.Scores {
		return &scorer.Scores{Values: one, ByLayer: values}
	}
	for _, c := range []struct {
		name, want string
		scores     *scorer.Scores
		info       scorer.Info
	}{
		{"sound", "", &scorer.Scores{Values: one}, scorer.Info{}},
		{"nothing", "neither scores nor an error", nil, scorer.Info{}},
		{"too few", "1 values for 2 tokens", &scorer.Scores{Values: one[:1]}, scorer.Info{}},
		{"a sign", "token 1 has value -1, and the scorer says that its values have no sign", &scorer.Scores{Values: []float64{1, -1}}, scorer.Info{}},
		{"number", "the number explained is NaN", &scorer.Scores{Values: one, Value: nan}, signed},
		{"residue", "the residue is NaN", &scorer.Scores{Values: one, Residue: &nan}, signed},
		{"overflow", "the values up to token 1, -1.7e+308, are too large to be added up", &scorer.Scores{Values: []float64{1.7e308, -1.7e308}}, signed},
		{"layers", "", byLayer(.25, 0, .75, 0), scorer.Info{ByLayer: true}},
		{"float32", "", byLayer(.1, 0, .90000003, 0), scorer.Info{ByLayer: true}},
		{"missing layer", "2 values by layer for 2 layers of 2 tokens", byLayer(1, 0), scorer.Info{ByLayer: true}},
		{"sign of a layer", "by layer: layer 1 token 0 has value -1, and", byLayer(2, 0, -1, 0), scorer.Info{ByLayer: true}},
		{"layer is NaN", "by layer: layer 0 token 1 has value NaN", byLayer(1, nan, 0, 0), scorer.Info{ByLayer: true}},
		{"sum of layers", "token 0 has value 1, and the values of its layers add up to 2", byLayer(1, 0, 1, 0), scorer.Info{ByLayer: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fixed := fixedScorer{c.scores, c.info}
			defer attribution.RegisterScorerForTest("test-broken", fixed)()
			_, err := attribution.Explain(t.Context(), fakemodel.New(2, fakemodel.Causal), "w1 w2",
				attribution.Options{Methods: []string{"test-broken"}, MaxTokens: 1})
			if c.want == "" && err != nil || c.want != "" && (err == nil ||
				!strings.Contains(err.Error(), "test-broken: "+c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// someResidue gives a residue in a text of an even number of tokens.
type someResidue struct{ fixedScorer }

func (someResidue) Score(
	_ context.Context, _ trace.Model, q trace.Query, _ scorer.Options,
) (*scorer.Scores, error) {
	s := &scorer.Scores{Values: make([]float64, len(q.IDs))}
	if len(q.IDs)%2 == 0 {
		s.Residue = new(float64)
	}
	return s, nil
}

// TestExplainSomeResidue: a scorer gives a residue for all predictions or for none.
func TestExplainSomeResidue(t *testing.T) {
	defer attribution.RegisterScorerForTest("test-some", someResidue{})()
	for _, prompt := range []string{"w1", "w1 w2"} {
		_, err := attribution.Explain(t.Context(), fakemodel.New(2, fakemodel.Causal), prompt,
			attribution.Options{Methods: []string{"test-some"}, MaxTokens: 2})
		want := "after 1 of 2 tokens: test-some: a residue for some predictions and not for others"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", prompt, err, want)
		}
	}
}
