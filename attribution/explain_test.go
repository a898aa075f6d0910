package attribution_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/aggregation"
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

// M is a slice of one pass over all tokens: rows m-1..m+n-2.
func TestExplainEqualsOnePass(t *testing.T) {
	const L, m, n = 3, 5, 6
	one := 1
	for name, opts := range map[string]attribution.Options{
		"predicting position": {},
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
			const first = m - 1
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

// A text that ends early.
func TestExplainStop(t *testing.T) {
	f := fakemodel.New(1, fakemodel.Causal)
	f.StopAt = 4
	e := explain(t, f, "w1", attribution.Options{Methods: []string{"raw"}})
	if len(e.Steps) != 2 || e.Steps[1].ID != 4 || e.Methods["raw"].Shape[0] != 2 {
		t.Errorf("steps %v, want tokens 3 and 4", e.Steps)
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
	var wanted []int
	defer attribution.RegisterAggregationForTest("test-spy", spy{rollout, &wanted})()
	explain(t, fakemodel.New(2, fakemodel.Causal), "w1 w2 w3", attribution.Options{
		Methods: []string{"attention+test-spy"}, MaxTokens: 2,
	})
	if diff := cmp.Diff([]int{1, 1}, wanted); diff != "" {
		t.Errorf("rows computed in each step (-want +got):\n%s", diff)
	}
}
