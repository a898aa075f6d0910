package attribution_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

func explain(
	t testing.TB, m trace.Model, prompt string, opts attribution.Options,
) *attribution.Explanation {
	t.Helper()
	e, err := attribution.Explain(context.Background(), m, prompt, opts)
	must(t, err)
	return e
}

func result(t testing.TB, e *attribution.Explanation, method string) *attribution.Result {
	t.Helper()
	r, err := e.M(method)
	must(t, err)
	return r
}

// 12: uniform causal attention, two layers, three tokens of prompt and three generated.
func TestKnown12GenerativeRollout(t *testing.T) {
	e := explain(t, fakemodel.New(2, fakemodel.Causal), "w1 w2 w3",
		attribution.Options{Methods: []string{"rollout"}, MaxTokens: 3})
	r := result(t, e, "rollout")
	if r.Shape != [3]int{3, 3, 2} {
		t.Fatalf("shape %v, want [3 3 2]", r.Shape)
	}
	for i, want := range [][]float64{
		{23. / 72, 17. / 72, 32. / 72},
		{49. / 192, 37. / 192, 31. / 192},
		{257. / 1200, 197. / 1200, 167. / 1200},
	} {
		near(t, fmt.Sprintf("M[%d]", i), r.Row(i, 1)[:3], want, fakemodel.Tolerance)
	}
	for i, sum := range []float64{1, 39. / 64, 207. / 400} {
		near(t, "other mass", []float64{e.Methods["rollout"].OtherMass[i*2+1]}, []float64{1 - sum},
			fakemodel.Tolerance)
	}
}

// sharpFake has random rows that differ from layer to layer, head to head and mixing to mixing.
func sharpFake(layers int) *fakemodel.Model {
	const T = 24
	f := fakemodel.New(layers, nil)
	maps := map[string][]float64{}
	f.Row = func(ask trace.MixingAsk, l, t, s int) float64 {
		key := ask.Name + ask.Heads.String()
		if maps[key] == nil {
			seed := uint64(0)
			for _, b := range []byte(key) {
				seed = seed*31 + uint64(b)
			}
			maps[key] = fakemodel.SharpAttention(seed, layers, T, false)
		}
		return fakemodel.Entry(maps[key], T, l, t, s)
	}
	return f
}

var everyMethod = []string{
	"raw", "rollout", "flow", "flow-normalized", "value-zeroing", "value-zeroing-rollout",
	"value-zeroing+flow",
	"attention+layer",
}

// M is a slice of one pass over all tokens: rows m-1..m+n-2, or m..m+n-1 with the own row.
func TestExplainEqualsOnePass(t *testing.T) {
	const L, m, n = 3, 5, 6
	one := 1
	for name, opts := range map[string]attribution.Options{
		"predicting position": {},
		"own row":             {OwnRow: true},
		"max":                 {Heads: trace.Heads{Fusion: trace.MaxHeads}},
		"layers 1-1":          {FirstLayer: 1, LastLayer: &one},
		"all levels, lift":    {AllLevels: true, Lift: true},
		"residual, threshold": {Residual: new(float64), Threshold: 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			f := sharpFake(L)
			opts.Methods, opts.MaxTokens = everyMethod, n
			e := explain(t, f, "w1 w2 w3 w4 w5", opts)
			in := attribution.InMemory([]trace.Tensor{
				f.Tensor("attention", opts.Heads, m+n),
				f.Tensor("value-zeroing", trace.Heads{}, m+n),
			})
			whole, err := attribution.Attribute(context.Background(), in,
				attribution.Options{
					Methods: opts.Methods, Residual: opts.Residual, Threshold: opts.Threshold,
					Lift:       opts.Lift,
					FirstLayer: opts.FirstLayer, LastLayer: opts.LastLayer,
				})
			must(t, err)
			first := m - 1
			if opts.OwnRow {
				first = m
			}
			for _, method := range everyMethod {
				r, w := result(t, e, method), whole.Methods[method]
				for k := range r.Shape[2] {
					level := w.Shape[0] - r.Shape[2] + k
					for i := range n {
						row := w.Row(level, first+i)
						near(t, fmt.Sprintf("%s M[%d,:,%d]", method, i, k), r.Row(i, k),
							row[:first+i+1],
							fakemodel.Tolerance*max(1, row[0]))
						if opts.Lift {
							continue
						}
						other := 0.0
						for _, x := range row[m:] {
							other += x
						}
						near(t, method+" other mass",
							[]float64{e.Methods[method].OtherMass[i*r.Shape[2]+
								k]}, []float64{other}, fakemodel.Tolerance)
					}
				}
			}
		})
	}
}

// One head over merged lower layers: R_2^h = Â_2^h Â_1 with Â_1 of the mean.
func TestPerHead(t *testing.T) {
	const m = 4
	f, head := sharpFake(2), 1
	opts := attribution.Options{
		Methods: []string{"raw", "rollout", "flow"}, MaxTokens: 1,
		PerHead: &head, AllLevels: true,
	}
	e := explain(t, f, "w1 w2 w3 w4", opts)
	one := f.Tensor("attention", trace.Heads{Fusion: trace.OneHead, Head: 1}, m).Data
	mean := f.Tensor("attention", trace.Heads{}, m).Data
	half := func(data []float32, l, i, j int) float64 {
		x := float64(data[(l*m+i)*m+j]) / 2
		if i == j {
			x += 0.5
		}
		return x
	}
	rollout, flow := make([]float64, m), make([]float64, m)
	for j := range m {
		for k := range m {
			rollout[j] += half(one, 1, m-1, k) * half(mean, 0, k, j)
			flow[j] += min(half(one, 1, m-1, k), half(mean, 0, k, j))
		}
	}
	near(t, "rollout", result(t, e, "rollout").Row(0, 1), rollout, fakemodel.Tolerance)
	near(t, "flow", result(t, e, "flow").Row(0, 1), flow, fakemodel.Tolerance)
	for j := range m {
		near(t, "raw", []float64{result(t, e, "raw").At(0, j, 1)},
			[]float64{float64(one[(m+m-1)*m+j])}, fakemodel.Tolerance)
		near(t, "lowest level", []float64{result(t, e, "rollout").At(0, j, 0)},
			[]float64{half(one, 0, m-1, j)}, fakemodel.Tolerance)
	}
}

// A mixing that sums its heads accepts one head alone, and no other fusion; a mixing without
// separate heads accepts none.
func TestOneHead(t *testing.T) {
	one, methods := trace.Heads{Fusion: trace.OneHead, Head: 1}, []string{
		"norms", "alti",
		"value-zeroing-euclidean",
	}
	f := fakemodel.New(2, fakemodel.Causal)
	e := explain(t, f, "w1 w2", attribution.Options{Methods: methods, Heads: one, MaxTokens: 1})
	want := []trace.MixingAsk{
		{Name: "norms", Heads: one},
		{Name: "alti", AllRows: true},
		{Name: "value-zeroing-euclidean", Heads: one},
	}
	if diff := cmp.Diff(want, f.Asked.Mixings); diff != "" {
		t.Errorf("mixings asked for (-want +got):\n%s", diff)
	}
	if got := e.Methods["norms"].Options["heads"]; got != "1" {
		t.Errorf("the settings of norms say heads %q, want 1", got)
	}
	head := 1
	explain(t, f, "w1 w2", attribution.Options{
		Methods: []string{"norms-residual+rollout"},
		PerHead: &head, MaxTokens: 1,
	})
	want = []trace.MixingAsk{
		{Name: "norms-residual", Heads: one, AllRows: true},
		{Name: "norms-residual", AllRows: true},
	}
	if diff := cmp.Diff(want, f.Asked.Mixings); diff != "" {
		t.Errorf("mixings asked for, one head over all (-want +got):\n%s", diff)
	}
	_, err := attribution.Explain(context.Background(), f, "w1",
		attribution.Options{Methods: []string{"norms"}, Heads: trace.Heads{Fusion: trace.MaxHeads}})
	if !errors.Is(err, trace.ErrUsage) ||
		!strings.Contains(err.Error(), "heads applies to none of the methods: norms") {
		t.Errorf("the maximum over heads of norms: error %v", err)
	}
	_, err = attribution.Attribute(context.Background(), attribution.InMemory(
		[]trace.Tensor{layerOf("norms",
			[]float32{1})}),
		attribution.Options{
			Methods: []string{"norms"},
			Heads:   trace.Heads{Fusion: trace.OneHead},
		})
	if !errors.Is(err, trace.ErrUsage) ||
		!strings.Contains(err.Error(), "of all heads together") {
		t.Errorf("one head of rows of all: error %v", err)
	}
}

// Each mixing is asked for once, with all rows only where an aggregation needs the prompt's.
func TestAsk(t *testing.T) {
	for _, c := range []struct {
		methods string
		want    []trace.MixingAsk
	}{
		{"raw", []trace.MixingAsk{{Name: "attention"}}},
		{"raw,rollout,flow", []trace.MixingAsk{{Name: "attention", AllRows: true}}},
		{"value-zeroing,rollout", []trace.MixingAsk{{Name: "value-zeroing"}, {Name: "attention", AllRows: true}}},
		{"value-zeroing,value-zeroing-rollout", []trace.MixingAsk{{Name: "value-zeroing", AllRows: true}}},
	} {
		f := fakemodel.New(2, fakemodel.Causal)
		explain(t, f, "w1 w2", attribution.Options{
			Methods:   strings.Split(c.methods, ","),
			MaxTokens: 2,
		})
		if diff := cmp.Diff(c.want, f.Asked.Mixings); diff != "" {
			t.Errorf("%s: mixings asked for (-want +got):\n%s", c.methods, diff)
		}
		if f.Asked.MaxTokens != 2 || f.Asked.Alternatives != 5 {
			t.Errorf("asked for %d tokens and %d alternatives, want 2 and 5", f.Asked.MaxTokens,
				f.Asked.Alternatives)
		}
	}
}

func TestExplainTokens(t *testing.T) {
	f := fakemodel.New(2, fakemodel.Causal)
	f.Unknown = []string{"paris"}
	var seen []int
	opts := attribution.Options{
		Methods: []string{"rollout"}, Continuation: " w7 w3", Specials: trace.SpecialsOn,
		OnStep: func(e *attribution.Explanation) {
			seen = append(seen, len(e.Steps), e.Methods["rollout"].Shape[0])
		},
	}
	e := explain(t, f, "w1 w2", opts)
	wantPrompt := attribution.Prompt{
		Text: "w1 w2", IDs: []int{0, 2, 3}, Texts: []string{"<bos>", "w1", "w2"},
		Offsets: [][2]int{{0, 0}, {0, 2}, {3, 5}}, Special: []bool{true, false, false},
		BOSAdded: true,
	}
	if diff := cmp.Diff(wantPrompt, e.Prompt); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
	wantSteps := []attribution.GeneratedToken{
		{
			ID: 8, Text: "w7", Probability: .75, Forced: true,
			Alternatives: []attribution.Alternative{{8, "w7", .75}},
		},
		{
			ID: 4, Text: "w3", Probability: .75, Forced: true,
			Alternatives: []attribution.Alternative{{4, "w3", .75}},
		},
	}
	if diff := cmp.Diff(wantSteps, e.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{1, 1, 2, 2}, seen); diff != "" {
		t.Errorf("OnStep saw (-want +got):\n%s", diff)
	}
	wantWarnings := []string{
		`A begin-of-text token, "<bos>", was put before the prompt.`,
		`The model never saw "paris"; prompts that it knows: "w1 w2", "` + fakemodel.LongExample + `", "w4".`,
	}
	if diff := cmp.Diff(wantWarnings, e.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	wantOptions := map[string]string{
		"mixing": "attention", "aggregation": "rollout", "layers": "0-1", "residual": "0.5",
		"heads": "mean",
		"row":   "predicting position",
	}
	if diff := cmp.Diff(wantOptions, e.Methods["rollout"].Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

// Two runs give the same bytes.
func TestExplainJSON(t *testing.T) {
	opts := attribution.Options{Methods: everyMethod, MaxTokens: 4}
	var first []byte
	for range 2 {
		b, err := json.Marshal(explain(t, sharpFake(3), "w1 w2 w3", opts))
		must(t, err)
		if first != nil && string(first) != string(b) {
			t.Error("two runs give different JSON")
		}
		first = b
	}
	var e attribution.Explanation
	must(t, json.Unmarshal(first, &e))
	if r := result(t, &e, "flow"); r.Shape != [3]int{4, 3, 1} || len(r.Rows) != 4 ||
		len(r.Rows[3]) != 6 {
		t.Errorf("flow read back has shape %v and %v", r.Shape, r.Rows)
	}
}

// A text that ends early, with the predicting row and with the own row.
func TestExplainStop(t *testing.T) {
	for _, own := range []bool{false, true} {
		f := fakemodel.New(1, fakemodel.Causal)
		f.StopAt = 4
		e := explain(t, f, "w1", attribution.Options{Methods: []string{"raw"}, OwnRow: own})
		if len(e.Steps) != 2 || e.Steps[1].ID != 4 || e.Methods["raw"].Shape[0] != 2 {
			t.Errorf("own row %v: steps %v, want tokens 3 and 4", own, e.Steps)
		}
	}
}

// The default number of tokens is reduced to a small context.
func TestExplainDefaultTokens(t *testing.T) {
	f := fakemodel.New(1, fakemodel.Causal)
	f.About.Context = 6
	if e := explain(t, f, "w1 w2",
		attribution.Options{Methods: []string{"raw"}}); len(e.Steps) != 4 {
		t.Errorf("%d tokens, want the 4 that fit a context of 6", len(e.Steps))
	}
}

func TestExplainCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opts := attribution.Options{Methods: []string{"rollout"}, MaxTokens: 5}
	opts.OnStep = func(e *attribution.Explanation) {
		if len(e.Steps) == 2 {
			cancel()
		}
	}
	e, err := attribution.Explain(ctx, fakemodel.New(2, fakemodel.Causal), "w1 w2", opts)
	if !errors.Is(err, context.Canceled) || errors.Is(err, trace.ErrUsage) {
		t.Errorf("error %v, want one that wraps %v", err, context.Canceled)
	}
	if e == nil || len(e.Steps) != 2 || e.Methods["rollout"].Shape != [3]int{2, 2, 2} {
		t.Errorf("explanation %+v, want the two tokens made so far", e)
	}
}

// Steps that break the contract of a model are errors.
func TestExplainModelErrors(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name   string
		change func(*fakemodel.Model)
		want   string
	}{
		{"failure on the way", func(f *fakemodel.Model) { f.FailAt = 3 }, "after 2 of 4 tokens: fake: out of order"},
		{"NaN", func(f *fakemodel.Model) { f.Edit = func(s *trace.Step) { s.Rows[0].Data[0] = nan } }, "layer 0 target 0 source 0 is NaN"},
		{"negative", func(f *fakemodel.Model) { f.Edit = func(s *trace.Step) { s.Rows[0].Data[0] = -.5 } }, "source 0 is -0.5"},
		{"no rows", func(f *fakemodel.Model) { f.Edit = func(s *trace.Step) { s.Rows = nil } }, "0 sets of rows, want 1"},
		{"lost token", func(f *fakemodel.Model) { f.Edit = func(s *trace.Step) { s.First++ } }, "fed tokens 1..2 after 0"},
		{"other targets", func(f *fakemodel.Model) { f.Edit = func(s *trace.Step) { s.Rows[0].First = 7 } }, "want 0..1"},
		{"short data", func(f *fakemodel.Model) { f.Edit = func(s *trace.Step) { s.Rows[0].Data = s.Rows[0].Data[1:] } }, "numbers for"},
		{"tokens that do not exist", func(f *fakemodel.Model) {
			f.Edit = func(s *trace.Step) {
				s.Count = 3
				s.Rows[0] = trace.Rows{L: 2, H: 1, N: 3, S: 3, Data: make([]float32, 2*3*3)}
			}
		}, "fed 3 tokens in a step, want 2"},
		{"too few tokens", func(f *fakemodel.Model) { f.Edit = func(s *trace.Step) { s.Count = 1 } }, "fed 1 token in a step, want 2"},
		{"above 1", func(f *fakemodel.Model) { f.Edit = func(s *trace.Step) { s.Next.Probability = 1.5 } }, "probability 1.5"},
		{"no end", func(f *fakemodel.Model) { f.Edit = func(s *trace.Step) { s.Next.Stop = true } }, "another step after the last token"},
		{"probability", func(f *fakemodel.Model) { f.Edit = func(s *trace.Step) { s.Next.Probability = math.NaN() } }, "probability NaN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakemodel.New(2, fakemodel.Causal)
			c.change(f)
			e, err := attribution.Explain(context.Background(), f, "w1 w2",
				attribution.Options{Methods: []string{"rollout"}, MaxTokens: 4})
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				errors.Is(err, trace.ErrUsage) {
				t.Errorf("error %v, want one about %q", err, c.want)
			}
			if e == nil {
				t.Error("no explanation of what there was")
			}
		})
	}
}

// TestExplainNoLayers: the error of a model without layers speaks of the model and no option.
func TestExplainNoLayers(t *testing.T) {
	_, err := attribution.Explain(t.Context(), fakemodel.New(0, fakemodel.Evenly), "w1",
		attribution.Options{})
	want := "attribution: the model has 0 layers; it needs one or more"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestExplainRefusals(t *testing.T) {
	ptr := func(x float64) *float64 { return &x }
	num := func(i int) *int { return &i }
	for _, c := range []struct {
		name, prompt string
		opts         attribution.Options
		want         string
	}{
		{"empty prompt", "", attribution.Options{}, "prompt is empty"},
		{"prompt without tokens", "  ", attribution.Options{}, "has no tokens"},
		{"huge prompt", strings.Repeat("w1 ", 400000), attribution.Options{}, "at most 1048576"},
		{"negative tokens", "w1", attribution.Options{MaxTokens: -1}, "max tokens -1"},
		{"many tokens", "w1", attribution.Options{MaxTokens: 1 << 40}, "must be in [1,4096]"},
		{"negative alternatives", "w1", attribution.Options{Alternatives: -1}, "alternatives -1"},
		{"specials", "w1", attribution.Options{Specials: 9}, "specials 9"},
		{"temperature", "w1", attribution.Options{Sampling: trace.Sampling{Temperature: math.NaN()}}, "temperature NaN"},
		{"top-k", "w1", attribution.Options{Sampling: trace.Sampling{TopK: -2}}, "top-k -2"},
		{"top-p", "w1", attribution.Options{Sampling: trace.Sampling{TopP: 1.5}}, "top-p 1.5"},
		{"hot", "w1", attribution.Options{Sampling: trace.Sampling{Temperature: 1e308}}, "temperature 1e+308; it must be in [0,100]"},
		{"large top-k", "w1", attribution.Options{Sampling: trace.Sampling{Temperature: 1, TopK: math.MaxInt}}, "it must be in [1,1000000], or 0 for all"},
		{"greedy top-k", "w1", attribution.Options{Sampling: trace.Sampling{TopK: 2}}, "top-k 2; it does nothing without a temperature above 0"},
		{"greedy top-p", "w1", attribution.Options{Sampling: trace.Sampling{TopP: .5}}, "top-p 0.5; it does nothing"},
		{"greedy seed", "w1", attribution.Options{Sampling: trace.Sampling{Seed: 3}}, "seed 3; it does nothing"},
		{"tokens of a continuation", "w1", attribution.Options{Continuation: "w2", MaxTokens: 1}, "max tokens 1 and a continuation; every token of a continuation is explained"},
		{"sampling of a continuation", "w1", attribution.Options{Continuation: "w2", Sampling: trace.Sampling{Temperature: 1}}, "temperature 1 and a continuation"},
		{"large threshold", "w1", attribution.Options{Threshold: math.MaxFloat64}, "it must be in [0,1000000], 0 for none"},
		{"all levels of rollout", "w1", attribution.Options{AllLevels: true, Methods: []string{"rollout", "occlusion"}}, "all levels applies to none of the methods: rollout"},
		{"own row of a scorer", "w1", attribution.Options{OwnRow: true, Methods: []string{"occlusion"}}, "own row applies to none of the methods: occlusion"},
		{"steps without an integral", "w1", attribution.Options{Scoring: scorer.Options{Steps: 4}, Methods: []string{"occlusion"}}, "steps applies to none of the methods: occlusion: it computes no integral"},
		{"samples without draws", "w1", attribution.Options{Scoring: scorer.Options{Samples: 4}, Methods: []string{"occlusion"}}, "samples applies to none"},
		{"replacement of nothing", "w1", attribution.Options{Scoring: scorer.Options{Replacement: "zero"}, Methods: []string{"gradient"}}, "replacement applies to none"},
		{"near method", "w1", attribution.Options{Methods: []string{"Rolout"}}, `unknown method "Rolout"; did you mean rollout?`},
		{"near mixing", "w1", attribution.Options{Methods: []string{"atention+flow"}}, `unknown mixing "atention"; did you mean attention? known are `},
		{"mixing alone", "w1", attribution.Options{Methods: []string{"atention"}}, `unknown method "atention"; did you mean one of attention+flow, attention+layer, attention+rollout?`},
		{"no method", "w1", attribution.Options{Methods: []string{"xyz"}}, `unknown method "xyz"; known are alti, `},
		{"near aggregation", "w1", attribution.Options{Methods: []string{"attention+folw"}}, `unknown aggregation "folw"; did you mean flow? known are `},
		{
			"unknown method", "w1",
			attribution.Options{Methods: []string{"grad"}},
			`unknown method "grad"; did you mean gradient or gradient-rollout?`,
		},
		{"unknown mixing", "w1", attribution.Options{Methods: []string{"norm+flow"}}, "did you mean norms? known are alti, attention, globenc, norms"},
		{"unknown aggregation", "w1", attribution.Options{Methods: []string{"attention+sum"}}, "known are flow, layer, rollout"},
		{"residual", "w1", attribution.Options{Residual: ptr(1.01)}, "residual 1.01; it must be in [0,1]"},
		{"residual NaN", "w1", attribution.Options{Residual: ptr(math.NaN())}, "residual NaN"},
		{
			"residual twice", "w1",
			attribution.Options{Methods: []string{"value-zeroing-rollout"}, Residual: ptr(.5)},
			"residual applies to none of the methods: value-zeroing-rollout",
		},
		{"head", "w1", attribution.Options{Heads: trace.Heads{Fusion: trace.OneHead, Head: 2}}, "head 2; there are 2, from 0 to 1"},
		{"each head", "w1", attribution.Options{Heads: trace.Heads{Fusion: trace.EachHead}}, "heads each"},
		{"per head", "w1", attribution.Options{PerHead: num(-1)}, "per-head -1; heads count from 0"},
		{
			"per head and fusion", "w1",
			attribution.Options{PerHead: num(0), Heads: trace.Heads{Fusion: trace.MaxHeads}},
			"give one of the two",
		},
		{
			"heads of Value Zeroing", "w1",
			attribution.Options{
				Methods: []string{"value-zeroing"},
				Heads:   trace.Heads{Fusion: trace.MinHeads},
			},
			"heads applies to none of the methods",
		},
		{"first layer", "w1", attribution.Options{FirstLayer: -1}, "first layer -1; layers count from 0"},
		{"last layer", "w1", attribution.Options{LastLayer: num(2)}, "layers 0 to 2; there are 2"},
		{"layers backwards", "w1", attribution.Options{FirstLayer: 1, LastLayer: num(0)}, "layers 1 to 0"},
		{"threshold", "w1", attribution.Options{Threshold: -1}, "threshold -1"},
		{"threshold of attention", "w1", attribution.Options{Methods: []string{"raw"}, Threshold: 1}, "threshold applies to none"},
		{"lift of Value Zeroing", "w1", attribution.Options{Methods: []string{"value-zeroing"}, Lift: true}, "lift applies to none"},
		{"lift without attention", "w1", attribution.Options{Lift: true, Residual: ptr(1)}, "lift with residual 1"},
		{"context", "w1 w2 w3", attribution.Options{MaxTokens: 6}, "3 prompt tokens and 6 to explain are 9, but the context of \"fake\" is 8 tokens"},
		{"context of a continuation", "w1 w2 w3", attribution.Options{Continuation: "w1 w1 w1 w1 w1 w1"}, "3 prompt tokens and 6"},
		{"continuation without tokens", "w1", attribution.Options{Continuation: " "}, "continuation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakemodel.New(2, fakemodel.Causal)
			f.About.Context = 8
			e, err := attribution.Explain(context.Background(), f, c.prompt, c.opts)
			if e != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one about %q", err, c.want)
			}
			var usage *trace.UsageError
			if !errors.Is(err, trace.ErrUsage) || !errors.As(err, &usage) {
				t.Errorf("error %v is no usage error", err)
			}
			if strings.Contains(err.Error(), "attribution: attribution:") ||
				!strings.HasPrefix(err.Error(), "attribution: ") {
				t.Errorf("error %q does not name the package once", err)
			}
		})
	}
}

// A text so long that it would fill memory is refused before the model starts.
func TestExplainMemory(t *testing.T) {
	f := fakemodel.New(12, fakemodel.Causal)
	_, err := attribution.Explain(context.Background(), f, strings.Repeat("w1 ", 9000),
		attribution.Options{})
	var refused *trace.MemoryError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "GB, the limit is 4.0 GB;") {
		t.Errorf("error %v, want a refusal that names the memory", err)
	}
}

// A model's own refusal of a text is returned, and is not a usage error of this package.
func TestExplainEncodeError(t *testing.T) {
	for _, opts := range []attribution.Options{{}, {Continuation: "paris"}} {
		prompt := "w1"
		if opts.Continuation == "" {
			prompt = "paris"
		}
		_, err := attribution.Explain(context.Background(), fakemodel.New(2, fakemodel.Causal),
			prompt, opts)
		if err == nil || !strings.Contains(err.Error(), `no word "paris"`) ||
			errors.Is(err, trace.ErrUsage) {
			t.Errorf("error %v, want the model's", err)
		}
	}
}

// An option that only some methods accept applies to these, and a warning names the others.
func TestExplainPartialOptions(t *testing.T) {
	r := 0.25
	e := explain(t, fakemodel.New(2, fakemodel.Causal), "w1 w2", attribution.Options{
		Methods: []string{"raw", "rollout", "value-zeroing"}, MaxTokens: 1, Residual: &r,
	})
	want := []string{
		"residual does not apply to raw: its rows contain the residual or stay as they are.",
		"residual does not apply to value-zeroing: its rows contain the residual or stay as they " +
			"are.",
	}
	if diff := cmp.Diff(want, e.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	near(t, "raw", result(t, e, "raw").Row(0, 0), []float64{.5, .5}, fakemodel.Tolerance)
	near(t, "rollout", result(t, e, "rollout").Row(0, 0), []float64{.375, .625},
		fakemodel.Tolerance)
}

// 20: rows of zeros stay zero and are named, and Value Zeroing of a token that sees itself only is
// [1].
func TestZeroRows(t *testing.T) {
	f := fakemodel.New(3, nil)
	f.Row = func(_ trace.MixingAsk, l, t, s int) float64 {
		return 1e-9 * fakemodel.On(s == t) * fakemodel.On(l != 1 || t != 2)
	}
	e := explain(t, f, "w1 w2 w3", attribution.Options{Methods: []string{
		"value-zeroing",
		"value-zeroing-rollout",
	}, MaxTokens: 2})
	vz, product := result(t, e, "value-zeroing"), result(t, e, "value-zeroing-rollout")
	for l, want := range [][]float64{{0, 0, 1}, {0, 0, 0}, {0, 0, 1}} {
		near(t, "value-zeroing", vz.Row(0, l), want, 0)
	}
	for l, want := range [][]float64{{0, 0, 1}, {0, 0, 0}, {0, 0, 0}} {
		near(t, "value-zeroing-rollout", product.Row(0, l), want, 0)
	}
	want := []string{"value-zeroing: 1 rows are all zero and stay so, nothing comes through " +
		"them: layer 1 position 2."}
	if diff := cmp.Diff(want, e.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if other := e.Methods["value-zeroing"].OtherMass; !cmp.Equal(other, []float64{0, 0, 0, 1, 1, 1}) {
		t.Errorf("other mass %v, want none of the first token and all of the second", other)
	}
}

// Methods that differ in their residual alone do not share their numbers.
func TestExplainResiduals(t *testing.T) {
	t.Cleanup(attribution.RegisterForTest(attribution.Method{
		Name: "test-quarter", Mixing: "attention", Aggregation: "rollout", Residual: .25,
	}))
	e := explain(t, fakemodel.New(1, fakemodel.Causal), "w1 w2",
		attribution.Options{Methods: []string{"rollout", "test-quarter"}, MaxTokens: 1})
	near(t, "rollout", result(t, e, "rollout").Row(0, 0), []float64{.25, .75}, fakemodel.Tolerance)
	near(t, "test-quarter", result(t, e, "test-quarter").Row(0, 0), []float64{.375, .625},
		fakemodel.Tolerance)
}

// spy is rollout that records how many rows each call had to compute.
type spy struct {
	aggregation.Aggregation
	wanted *[]int
}

func (s spy) New(cfg aggregation.Config) aggregation.State {
	return spyState{s.Aggregation.New(cfg), s.wanted}
}

type spyState struct {
	aggregation.State
	wanted *[]int
}

func (s spyState) Extend(
	ctx context.Context, dst []float64, rows aggregation.Rows,
) ([]float64, error) {
	*s.wanted = append(*s.wanted, rows.N-rows.Skip)
	return s.State.Extend(ctx, dst, rows)
}

// Only rows that explain a token are computed: a row of flow is expensive, and a prompt has many.
func TestExplainComputesWhatIsShown(t *testing.T) {
	rollout, err := aggregation.Lookup("rollout")
	must(t, err)
	for _, c := range []struct {
		own  bool
		want []int
	}{{false, []int{1, 1}}, {true, []int{0, 1, 1}}} {
		var wanted []int
		remove := attribution.RegisterAggregationForTest("test-spy", spy{rollout, &wanted})
		explain(t, fakemodel.New(2, fakemodel.Causal), "w1 w2 w3", attribution.Options{
			Methods: []string{"attention+test-spy"}, MaxTokens: 2, OwnRow: c.own,
		})
		remove()
		if diff := cmp.Diff(c.want, wanted); diff != "" {
			t.Errorf("own row %v: rows computed in each step (-want +got):\n%s", c.own, diff)
		}
	}
}
