package attribution_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
// far: against foils, a contrast and nothing, also beside a method whose layer is chosen against
// foils.
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
			opts.Methods = []string{"direct", "alti-logit", "raw"}
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
					{slices.Concat(g.Rows...), slices.Concat(w.Rows...)},
					{g.Residue, w.Residue},
					{g.Explained, w.Explained},
					{got.Methods[method].OtherMass, want.Methods[method].OtherMass},
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
	must(t, err)
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
			must(t, err)
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

// reading is a model that gives rows of single layers: of layer l, l+1 for each source. asked gets
// the layers.
type reading struct {
	told
	asked *[]int
	edit  func(*trace.Rows)
}

func (reading) ReadsLayers() bool { return true }

func (m reading) Steps(
	ctx context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		for step, err := range m.told.Steps(ctx, ids, ask) {
			T := step.First + step.Count
			step.RowsOfLayer = func(_ context.Context, l int, a trace.MixingAsk) (
				trace.Rows, error,
			) {
				*m.asked = append(*m.asked, l)
				rows := trace.Rows{First: T - 1, L: 1, H: 1, N: 1, S: T, Data: make([]float32, T)}
				for s := range T {
					rows.Data[s] = float32(l + s)
				}
				if m.edit != nil {
					m.edit(&rows)
				}
				return rows, nil
			}
			if !yield(step, err) {
				return
			}
		}
	}
}

// Value Zeroing of generated text is computed in the layer that wrote the token alone, unless all
// layers are asked for or the model cannot.
func TestRowsOfLayerThatWrote(t *testing.T) {
	terms := []float64{0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1} // layer 1 of 3
	explain := func(m trace.Model, opts attribution.Options) (*attribution.Result, error) {
		opts.MaxTokens, opts.Methods = 1, []string{"value-zeroing"}
		e, err := attribution.Explain(t.Context(), m, "w1 w2 w3 w4", opts)
		if err != nil {
			return nil, err
		}
		return e.Methods["value-zeroing"], nil
	}
	var asked []int
	m := reading{told{fakemodel.New(3, fakemodel.Evenly), 3, terms}, &asked, nil}
	res, err := explain(m, attribution.Options{})
	must(t, err)
	// The row of layer 1 is 1, 2, 3, 4.
	want := &attribution.Result{
		Options: res.Options, Facts: res.Facts, Layers: []int{attribution.LayerByToken}, Shape: [3]int{1, 4, 1},
		Rows: [][]float64{{0.1, 0.2, 0.3, 0.4}}, OtherMass: []float64{0},
		Shown: []int{1}, Unit: res.Unit,
	}
	if diff := cmp.Diff(want, res, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("one layer (-want +got):\n%s", diff)
	}
	if !slices.Equal(asked, []int{1}) || res.Level(0) != 0 || res.Layer(0, 0) != 1 {
		t.Errorf("asked for layers %v; level %d is of layer %d", asked, res.Level(0),
			res.Layer(0, 0))
	}
	for name, c := range map[string]struct {
		m    trace.Model
		opts attribution.Options
	}{
		"all layers": {m, attribution.Options{AllLayers: true}},
		"layers":     {m, attribution.Options{LastLayer: new(1)}},
		"cannot":     {m.told, attribution.Options{}},
	} {
		asked = nil
		res, err := explain(c.m, c.opts)
		must(t, err)
		if len(asked) > 0 || len(res.Layers) < 2 || slices.Contains(res.Layers, -1) {
			t.Errorf("%s: layers %v, asked for %v", name, res.Layers, asked)
		}
	}
	for name, edit := range map[string]func(*trace.Rows){
		"sources":  func(r *trace.Rows) { r.S, r.Data = 3, r.Data[:3] },
		"heads":    func(r *trace.Rows) { r.H = 2 },
		"target":   func(r *trace.Rows) { r.First-- },
		"NaN":      func(r *trace.Rows) { r.Data[2] = float32(math.NaN()) },
		"negative": func(r *trace.Rows) { r.Data[0] = -1 },
	} {
		m.edit = edit
		if res, err := explain(m, attribution.Options{}); err == nil {
			t.Errorf("%s: %+v, want an error", name, res)
		}
	}
}

// Each token has a value of every generated token before it, at every level; they add up to what
// the explanation says of them together.
func TestGeneratedColumns(t *testing.T) {
	e := explained(t, attributiontest.NewModel(5), attribution.Options{
		MaxTokens: 4, Methods: []string{"raw", "rollout", "direct"},
	})
	for _, method := range e.Order {
		r := e.Methods[method]
		for i, all := range e.Methods[method].OtherMass {
			token, k := i/r.Shape[2], i%r.Shape[2]
			row, sum := r.Row(token, k)[r.Shape[1]:], 0.0
			for _, x := range row {
				sum += x
			}
			if len(row) != token || math.Abs(sum-all) > 1e-9 {
				t.Errorf("%s token %d level %d: %v, want %d values that add up to %v", method,
					token, k, row, token, all)
			}
		}
		if len(r.Rows) != len(e.Steps)*r.Shape[2] {
			t.Errorf("%s has %d rows of %d tokens", method, len(r.Rows), len(e.Steps))
		}
	}
}
