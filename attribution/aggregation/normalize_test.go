package aggregation_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/aggregation"
)

// Rows of three tokens in a decoder, normalised by hand.
func TestNormalization(t *testing.T) {
	c := []float64{1, 0, 0, .75, .25, 0, .5, .375, .125}
	for _, row := range []struct {
		name string
		rule aggregation.Normalization
		want []float64
	}{
		{"nothing", aggregation.Normalization{}, c},
		{"residual", aggregation.Normalization{Residual: .5}, []float64{1, 0, 0, .375, .625, 0, .25, .1875, .5625}},
		{"drop sink", aggregation.Normalization{DropSink: true}, []float64{1, 0, 0, 0, 1, 0, 0, .75, .25}},
		{"discard", aggregation.Normalization{Discard: .5}, []float64{1, 0, 0, 1, 0, 0, 4. / 7, 3. / 7, 0}},
		{
			// one of the two entries that are left in the last row, none of one
			"discard without the sink",
			aggregation.Normalization{DropSink: true, Discard: .5},
			[]float64{1, 0, 0, 0, 1, 0, 0, 1, 0},
		},
	} {
		in := aggregation.Rows{L: 1, N: 3, Data: slices.Clone(c)}
		got, zeros := row.rule.Apply(in, aggregation.Config{Layers: 1})
		near(t, row.name, got.Data, row.want, 1e-15)
		if diff := cmp.Diff(c, in.Data); diff != "" {
			t.Errorf("%s: the argument changed (-before +after):\n%s", row.name, diff)
		}
		if len(zeros) > 0 {
			t.Errorf("%s: rows that are all zero %v, want none", row.name, zeros)
		}
	}
}

// Rows of a model of two stacks by hand: two tokens of the source, three of the target. Sources
// that a layer does not look at count for nothing, and the sink is the first token of the target.
func TestNormalizationOfTwoStacks(t *testing.T) {
	rows := [][]float64{
		{.75, .25, 0, 0, 0},  // of token 1 in the encoder
		{0, 0, .5, .25, .25}, // of token 4 in the decoder: its target, its source
		{.375, .625, 0, 0, 0},
	}
	of := []int{1, 4, 4}
	for _, row := range []struct {
		name string
		rule aggregation.Normalization
		want [][]float64
	}{
		{"drop sink", aggregation.Normalization{DropSink: true},
			[][]float64{rows[0], {0, 0, 0, .5, .5}, rows[2]}},
		{"discard", aggregation.Normalization{Discard: .5},
			[][]float64{{1, 0, 0, 0, 0}, {0, 0, 2. / 3, 0, 1. / 3}, {.375, .625, 0, 0, 0}}},
	} {
		in := aggregation.Rows{L: 3, N: 5, Data: make([]float64, 3*5*5)}
		for l := range 3 {
			for t := range 5 {
				in.Row(l, t)[t] = 1
			}
			copy(in.Row(l, of[l]), rows[l])
		}
		got, _ := row.rule.Apply(in, aggregation.Config{Layers: 3, Prefix: 2, Encoder: 1})
		for l, want := range row.want {
			near(t, fmt.Sprint(row.name, " in layer ", l), got.Row(l, of[l]), want, 1e-15)
		}
		near(t, row.name+" of a token that the layer leaves", got.Row(0, 3),
			[]float64{0, 0, 0, 1, 0}, 0)
	}
}

// Lift divides by the value of uniform attention, and is 0 where that is 0.
func TestLifted(t *testing.T) {
	cfg := aggregation.Config{Layers: 1}
	in := aggregation.Rows{L: 1, N: 2, Data: []float64{1, 0, .25, .75}}
	uniform := aggregation.Uniform(in, cfg)
	near(t, "uniform attention", uniform.Data, []float64{1, 0, .5, .5}, 0)
	near(t, "lift", aggregation.Lifted(in.Data, uniform.Data), []float64{1, 0, .5, 1.5}, 0)
	cfg.Prefix = 2
	near(t, "uniform attention in both directions", aggregation.Uniform(in, cfg).Data,
		[]float64{.5, .5, .5, .5}, 0)
}
