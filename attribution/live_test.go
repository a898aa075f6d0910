package attribution_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// passes is a model that does not know the terms of its predictions, so that scorers have to ask
// it for a pass.
type passes struct{ *attributiontest.Model }

func (p passes) Steps(
	ctx context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	ask.Terms = nil
	return p.Model.Steps(ctx, ids, ask)
}

// A live scorer gives the same values from the steps of a model as from passes over the text so
// far: against foils, a contrast and nothing.
func TestLiveScorers(t *testing.T) {
	none, two := 0, 2
	for name, opts := range map[string]attribution.Options{
		"default":  {},
		"nothing":  {Foils: &none},
		"foils":    {Foils: &two},
		"contrast": {Contrast: "w3"},
		"other":    {Continuation: "w3 w1 w1 w2"},
	} {
		t.Run(name, func(t *testing.T) {
			opts.Methods = []string{"direct", "alti-logit"}
			if opts.Continuation == "" {
				opts.MaxTokens = 4
			}
			model := attributiontest.NewModel(5)
			got := explained(t, model, opts)
			want := explained(t, passes{model}, opts)
			for _, method := range []string{"direct", "alti-logit"} {
				g, w := got.Methods[method], want.Methods[method]
				if g.Shape != w.Shape || fmt.Sprint(g.Options) != fmt.Sprint(w.Options) {
					t.Errorf("%s: %v %v, want %v %v", method, g.Shape, g.Options, w.Shape,
						w.Options)
				}
				for _, c := range [][2][]float64{
					{g.Data, w.Data},
					{g.Residue, w.Residue},
					{g.Explained, w.Explained},
					{got.OtherMass[method], want.OtherMass[method]},
				} {
					if !slices.EqualFunc(c[0], c[1], func(a, b float64) bool {
						return math.Abs(a-b) < 1e-6
					}) {
						t.Errorf("%s: %v, want %v", method, c[0], c[1])
					}
				}
			}
		})
	}
}

func explained(
	t *testing.T, m trace.Model, opts attribution.Options,
) *attribution.Explanation {
	t.Helper()
	e, err := attribution.Explain(context.Background(), m, "w1 w2 w3 w2", opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// told is a model whose terms are those of a table: layer by source.
type told struct {
	trace.Model
	layers int
	terms  []float64 // [L,S] of the prompt
}

func (m told) Steps(ctx context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		asked := ask.Terms
		ask.Terms = nil
		for step, err := range m.Model.Steps(ctx, ids, ask) {
			if asked != nil && err == nil {
				step.Terms = &trace.AttentionTerms{
					L: m.layers, S: len(m.terms) / m.layers, Attention: m.terms,
				}
			}
			if !yield(step, err) {
				return
			}
		}
	}
}

// A method of one layer shows the layer that wrote most of the prediction; the first token, control
// tokens and what speaks against it do not count. Others show the last layer.
func TestShownLayer(t *testing.T) {
	three := 2
	for name, c := range map[string]struct {
		terms []float64 // [3,4] of <bos> w1 w2 w3
		opts  attribution.Options
		want  int // of raw
	}{
		"largest":       {[]float64{0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1}, attribution.Options{}, 1},
		"first token":   {[]float64{9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, attribution.Options{}, 2},
		"against":       {[]float64{0, 2, 1, -9, 0, 0, 1, 0, 0, 0, 1, 1}, attribution.Options{}, 0},
		"nothing":       {[]float64{5, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, attribution.Options{}, 2},
		"equal":         {[]float64{0, 0, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0}, attribution.Options{}, 1},
		"layers":        {make([]float64, 12), attribution.Options{LastLayer: &three}, 2},
		"own row":       {[]float64{0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, attribution.Options{OwnRow: true}, 2},
		"one head":      {[]float64{0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, attribution.Options{PerHead: new(int)}, 0},
		"without terms": {nil, attribution.Options{}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var m trace.Model = fakemodel.New(3, fakemodel.Evenly)
			if c.terms != nil {
				m = told{Model: m, layers: 3, terms: c.terms}
			}
			c.opts.MaxTokens, c.opts.Methods = 1, []string{"raw", "rollout"}
			c.opts.Specials = trace.SpecialsOn
			e, err := attribution.Explain(context.Background(), m, "w1 w2 w3", c.opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Methods["raw"].Shown; !slices.Equal(got, []int{c.want}) {
				t.Errorf("raw shows layer %v, want %d", got, c.want)
			}
			if got := e.Methods["rollout"].Shown; !slices.Equal(got, []int{2}) {
				t.Errorf("rollout shows layer %v, want the last", got)
			}
		})
	}
}

// Terms that do not fit the text, or are no numbers, are errors.
func TestTermsOfAnotherModel(t *testing.T) {
	for name, terms := range map[string][]float64{
		"too few":  make([]float64, 9),
		"layers":   make([]float64, 16), // four, of a model of three
		"NaN":      {0, 0, 0, 0, math.NaN(), 0, 0, 0, 0, 0, 0, 0},
		"infinite": {0, 0, 0, 0, 0, 0, 0, 0, 0, math.Inf(-1), 0, 0},
	} {
		layers := max(3, len(terms)/4)
		m := told{Model: fakemodel.New(3, fakemodel.Evenly), layers: layers, terms: terms}
		_, err := attribution.Explain(context.Background(), m, "w1 w2 w3 w4",
			attribution.Options{MaxTokens: 1, Methods: []string{"raw"}})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A long prompt is explained by the cheap default method alone, and says so; who names methods gets
// them.
func TestLongDefault(t *testing.T) {
	m := fakemodel.New(2, fakemodel.Evenly)
	m.About.Head = trace.NextToken
	for _, c := range []struct {
		words int
		opts  attribution.Options
		want  []string
	}{
		{256, attribution.Options{}, []string{"direct", "value-zeroing"}},
		{257, attribution.Options{}, []string{"direct"}},
		{257, attribution.Options{Methods: []string{"value-zeroing"}}, []string{"value-zeroing"}},
	} {
		c.opts.MaxTokens = 1
		prompt := strings.TrimSpace(strings.Repeat("w1 ", c.words))
		e, err := attribution.Explain(t.Context(), told{
			Model: m, layers: 2, terms: make([]float64, 2*c.words),
		}, prompt, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(e.Order, c.want) {
			t.Errorf("%d words: %v, want %v", c.words, e.Order, c.want)
		}
		if said := strings.Contains(strings.Join(e.Warnings, " "), "left out"); said !=
			(c.words > 256 && c.opts.Methods == nil) {
			t.Errorf("%d words: warnings %q", c.words, e.Warnings)
		}
	}
}
