package attribution_test

import (
	"context"
	"math"
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
	if err != nil {
		t.Fatal(err)
	}
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

// fixedScorer is a scorer whose values have no sign, with a fixed answer.
type fixedScorer struct{ scores *scorer.Scores }

func (fixedScorer) Info() scorer.Info { return scorer.Info{} }

func (a fixedScorer) Score(
	context.Context, trace.Model, trace.Query, scorer.Options,
) (*scorer.Scores, error) {
	return a.scores, nil
}

// A wrong result of a scorer is an error that names it.
func TestExplainNamesBrokenScorer(t *testing.T) {
	for _, c := range []struct {
		name, want string
		scores     *scorer.Scores
	}{
		{"sound", "", &scorer.Scores{Values: []float64{1, 0}}},
		{"nothing", "test-broken: neither scores nor an error", nil},
		{"too few", "test-broken: 1 values for 2 tokens", &scorer.Scores{Values: []float64{1}}},
		{"a sign", "test-broken: token 1 has value -1, and the scorer says that its values have no sign", &scorer.Scores{Values: []float64{1, -1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer attribution.RegisterScorerForTest("test-broken", fixedScorer{c.scores})()
			_, err := attribution.Explain(t.Context(), fakemodel.New(2, fakemodel.Causal), "w1 w2",
				attribution.Options{Methods: []string{"test-broken"}, MaxTokens: 1})
			if c.want == "" && err != nil || c.want != "" && (err == nil ||
				!strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
