package attribution_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/models"
)

// layerOf returns the tensor of one layer, [1,T,T].
func layerOf(name string, rows ...[]float32) trace.Tensor {
	x := trace.Tensor{Name: name, Shape: []int{1, len(rows), len(rows)}}
	for _, r := range rows {
		x.Data = append(x.Data, r...)
	}
	return x
}

// What is done to rows before the residual is added, by hand.
func TestPreparedRows(t *testing.T) {
	decoder := layerOf("attention", []float32{1, 0, 0}, []float32{.75, .25, 0},
		[]float32{.5, .375, .125})
	encoder := layerOf("attention", []float32{.125, .875}, []float32{.375, .625})
	for _, c := range []struct {
		name, reason string
		in           []trace.Tensor
		opts         attribution.Options
		want         [][]float64
	}{
		{
			"drop sink", "the rest of each row is divided by its sum; the first token has " +
				"nothing else",
			[]trace.Tensor{decoder},
			attribution.Options{DropSink: true},
			[][]float64{{1, 0, 0}, {0, 1, 0}, {0, .375, .625}},
		},
		{
			"discard, decoder", "each row loses ⌊(i+1)/2⌋ entries, then ½ is added and the " +
				"row divided by ¾ or ⅞",
			[]trace.Tensor{decoder},
			attribution.Options{Discard: .5},
			[][]float64{
				{1, 0, 0},
				{3. / 7, 4. / 7, 0},
				{4. / 15, 3. / 15, 8. / 15},
			},
		},
		{
			"discard, encoder", "of the two lowest of four, the first is spared",
			[]trace.Tensor{encoder},
			attribution.Options{Discard: .5},
			[][]float64{{.5625, .4375}, {0, 1}},
		},
		{
			"sink and discard, encoder", "rows become [0 1] and [0 1]",
			[]trace.Tensor{encoder},
			attribution.Options{DropSink: true, Discard: .25},
			[][]float64{{.5, .5}, {0, 1}},
		},
		{
			"a unit of its own", "rows are divided by 4 and 8 before ½ is added",
			[]trace.Tensor{layerOf("norms", []float32{4, 0}, []float32{6, 2})},
			attribution.Options{Methods: []string{"norms+rollout"}},
			[][]float64{{1, 0}, {.375, .625}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.opts.Methods == nil {
				c.opts.Methods = []string{"rollout"}
			}
			m := attribute(t, c.opts, c.in...).Methods[c.opts.Methods[0]]
			for i, want := range c.want {
				near(t, fmt.Sprintf("row %d (%s)", i, c.reason), m.Row(0, i), want, 1e-15)
			}
		})
	}
}

// Rows that come one at a time are prepared as those that come at once.
func TestPreparedIncrementally(t *testing.T) {
	const L, m, n = 3, 6, 4
	data := fakemodel.SharpAttention(5, L, m+n, false)
	f := fakemodel.New(L, nil)
	f.Row = func(_ trace.MixingAsk, l, t, s int) float64 {
		return data[(l*(m+n)+t)*(m+n)+s]
	}
	in := trace.Tensor{
		Name: "attention", Shape: []int{L, m + n, m + n}, Data: fakemodel.Float32(data),
	}
	for name, opts := range map[string]attribution.Options{
		"sink": {DropSink: true}, "discard": {Discard: .6},
		"both": {DropSink: true, Discard: .3}, "lift": {DropSink: true, Lift: true},
	} {
		t.Run(name, func(t *testing.T) {
			opts.Methods = []string{"rollout", "flow"}
			whole := attribute(t, opts, in)
			opts.MaxTokens = n
			e, err := attribution.Explain(context.Background(), f, "w0 w1 w2 w3 w4 w5", opts)
			must(t, err)
			for _, method := range opts.Methods {
				r := e.Methods[method]
				for k := range n {
					near(t, fmt.Sprintf("%s of token %d", method, k), r.Row(k, r.Top()),
						whole.Methods[method].Row(L-1, m-1+k)[:m+k], 1e-6)
				}
			}
		})
	}
}

// The baseline of lifted flow is kept for a process; what is kept is what was computed.
func TestBaselineIsKept(t *testing.T) {
	lifted := func() []float64 {
		e, err := attribution.Explain(context.Background(), fakemodel.New(3, fakemodel.Evenly),
			"w1 w2 w3 w4", attribution.Options{Methods: []string{"flow"}, Lift: true, MaxTokens: 3})
		must(t, err)
		return slices.Concat(e.Methods["flow"].Rows...)
	}
	first := lifted()
	if diff := cmp.Diff(first, lifted()); diff != "" {
		t.Errorf("the second run differs (-first +second):\n%s", diff)
	}
	for _, x := range first {
		near(t, "lift of uniform attention", []float64{x}, []float64{1}, 1e-6)
	}
}

// TestBaselineOfSources: texts of equal length whose sources are not equally long have other
// baselines.
func TestBaselineOfSources(t *testing.T) {
	m, err := models.Open("tiny-translation", models.Options{})
	must(t, err)
	last := func(source, target int, all bool) []float64 {
		e, err := attribution.Explain(t.Context(), m, strings.Repeat("the ", source),
			attribution.Options{
				Methods: []string{"flow"}, Lift: true, AllLevels: all,
				Continuation: strings.Repeat("le ", target),
			})
		must(t, err)
		r := e.Methods["flow"]
		return r.Row(r.Shape[0]-1, r.Top())
	}
	last(4, 6, false)
	near(t, "lift after another text", last(6, 4, false), last(6, 4, true), 1e-9)
}

func TestPreparedRefusals(t *testing.T) {
	for _, c := range []struct {
		opts attribution.Options
		want string
	}{
		{attribution.Options{Discard: 1}, "discard 1; it must be in [0,1)"},
		{attribution.Options{Discard: -.1}, "discard -0.1; it must be in [0,1)"},
		{attribution.Options{Discard: .5, Lift: true}, "lift with discard 0.5"},
		{attribution.Options{Lift: true, Methods: []string{"value-zeroing"}}, "lift applies to none of the methods: value-zeroing: only attention says"},
	} {
		_, err := attribution.Explain(context.Background(), fakemodel.New(1, fakemodel.Evenly),
			"w1", c.opts)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}
