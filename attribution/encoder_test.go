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
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// sharpEncoder has random rows of T tokens that differ from layer to layer, head to head and mixing
// to mixing.
func sharpEncoder(layers, T int) *fakemodel.Encoder {
	f := fakemodel.NewEncoder(layers, nil)
	maps := map[string][]float64{}
	f.Row = func(ask trace.MixingAsk, l, t, s int) float64 {
		key := ask.Name + ask.Heads.String()
		if maps[key] == nil {
			maps[key] = fakemodel.SharpAttention(uint64(len(key)*256+int(key[len(key)-1])),
				layers, T, true)
		}
		return fakemodel.Entry(maps[key], T, l, t, s)
	}
	return f
}

// words are n words that the fakes know.
func someWords(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("w%d", i%30))
	}
	return strings.Join(all, " ")
}

// 2 and 7: uniform attention in an encoder in closed form: rollout is (1-2^{-L})/n off the diagonal
// and 2^{-L} more on it; flow is 1/(2n), ½, 1-1/(2n), 1 for 1, 2, 3, 4 layers and more off it, and
// ½+1/(2n), then 1 on it.
func TestKnown02And07UniformEncoder(t *testing.T) {
	const n = 6 // with <bos> and <end>
	for L, off := range []float64{1. / (2 * n), .5, 1 - 1./(2*n), 1, 1} {
		L++
		f := fakemodel.NewEncoder(L, func(int, int) float64 { return 1. / n })
		e := explain(t, f, "w1 ? w2 ?",
			attribution.Options{Methods: []string{"rollout", "flow", "raw"}})
		if len(e.Steps) != 2 || *e.Steps[0].Position != 2 || *e.Steps[1].Position != 4 {
			t.Fatalf("%d layers: predictions %+v, want positions 2 and 4", L, e.Steps)
		}
		half := math.Pow(2, float64(-L))
		on := 1.
		if L == 1 {
			on = .5 + 1./(2*n)
		}
		rollout, flow, raw := make([]float64, n), make([]float64, n), make([]float64, n)
		for at := range n {
			for j := range n {
				rollout[j], flow[j], raw[j] = (1-half)/n, off, 1./n
			}
			rollout[at] += half
			flow[at] = on
			for name, want := range map[string][]float64{
				"rollout": rollout, "flow": flow,
				"raw": raw,
			} {
				m := e.Maps[name]
				near(t, fmt.Sprintf("map of %s, %d layers, target %d", name, L, at),
					m.Row(m.Shape[0]-1, at), want, fakemodel.Tolerance)
				for k, g := range e.Steps {
					if r := result(t, e, name); *g.Position == at {
						near(t, fmt.Sprintf("%s, %d layers, position %d", name, L, at),
							r.Row(k, r.Top()), want, fakemodel.Tolerance)
					}
				}
			}
		}
	}
}

// An explanation for an encoder has the rows that Attribute computes from the same tensors, by
// every method, and its maps are those.
func TestExplainEncoderEqualsAttribute(t *testing.T) {
	const L, T = 3, 9
	one, head := 1, 1
	positions := []int{4, 0, 8}
	for name, opts := range map[string]attribution.Options{
		"default":             {},
		"max":                 {Heads: trace.Heads{Fusion: trace.MaxHeads}},
		"layers 1-1":          {FirstLayer: 1, LastLayer: &one},
		"all levels, lift":    {AllLevels: true, Lift: true},
		"residual, threshold": {Residual: new(float64), Threshold: 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			f := sharpEncoder(L, T)
			opts.Methods, opts.Positions = everyMethod, positions
			e := explain(t, f, someWords(T-2), opts)
			opts.Positions = nil
			checkRows(t, e, attribute(t, withoutHeads(opts), f.Tensor("attention", opts.Heads, T),
				f.Tensor("value-zeroing", trace.Heads{}, T)))
			for _, name := range everyMethod {
				if m := e.Maps[name]; m == nil || m.Shape[0] != len(m.Layers) {
					t.Fatalf("%s: map %+v", name, m)
				}
			}
		})
	}
	// One head over merged lower layers: the tensor has both heads, the mean of which the fake
	// gives as its own.
	f := sharpEncoder(1, T)
	opts := attribution.Options{
		Methods: []string{"raw", "rollout", "flow"}, PerHead: &head,
		Positions: positions,
	}
	e := explain(t, f, someWords(T-2), opts)
	checkRows(t, e, attribute(t, attribution.Options{Methods: opts.Methods},
		f.Tensor("attention", trace.Heads{Fusion: trace.OneHead, Head: head}, T)))
}

// withoutHeads takes the fusion out, for tensors that are fused.
func withoutHeads(o attribution.Options) attribution.Options {
	o.Heads = trace.Heads{}
	return o
}

// checkRows compares every row and every map with those of an attribution of the same text, which
// has all levels.
func checkRows(t *testing.T, e *attribution.Explanation, whole *attribution.Attribution) {
	t.Helper()
	for _, method := range e.Order {
		want, got := whole.Methods[method], result(t, e, method)
		for k, layer := range got.Layers {
			level := layer - want.Layers[0]
			for i, g := range e.Steps {
				near(t, fmt.Sprintf("%s, position %d, layer %d", method, *g.Position, layer),
					got.Row(i, k), want.Row(level, *g.Position), fakemodel.Tolerance)
			}
			m := e.Maps[method]
			if m == nil {
				continue
			}
			for target := range m.Shape[1] {
				near(t, fmt.Sprintf("map of %s, target %d, layer %d", method, target, layer),
					m.Row(k, target), want.Row(level, target), fakemodel.Tolerance)
			}
		}
		for _, x := range e.Methods[method].OtherMass {
			if x != 0 {
				t.Errorf("%s: other mass %v of a text to which nothing was added", method,
					e.Methods[method].OtherMass)
				break
			}
		}
	}
}

// A long text has no map of an expensive method; its rows are computed one by one and are the same.
func TestExplainEncoderDear(t *testing.T) {
	const L, T = 2, 66
	for _, lift := range []bool{false, true} {
		f := sharpEncoder(L, T)
		opts := attribution.Options{
			Methods:   []string{"flow", "flow-normalized", "rollout"},
			Positions: []int{65, 3, 0}, Lift: lift,
		}
		e := explain(t, f, someWords(T-2), opts)
		if e.Maps["flow"] != nil || e.Maps["flow-normalized"] != nil || e.Maps["rollout"] == nil {
			t.Errorf("maps %v, want that of rollout", len(e.Maps))
		}
		want := []string{
			"flow: there is no map of all 66 targets, whose 4356 values would take too long; the " +
				"rows of the predictions are there.",
			"flow-normalized: there is no map of all 66 targets, whose 4356 values would take " +
				"too long; the rows of the predictions are there.",
		}
		if diff := cmp.Diff(want, e.Warnings); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
		opts.Positions = nil
		checkRows(t, e, attribute(t, opts, f.Tensor("attention", trace.Heads{}, T)))
	}
	head := 1
	f := sharpEncoder(1, T)
	e := explain(t, f, someWords(T-2), attribution.Options{
		Methods: []string{"flow"},
		PerHead: &head, Positions: []int{7},
	})
	checkRows(t, e, attribute(t, attribution.Options{Methods: []string{"flow"}},
		f.Tensor("attention", trace.Heads{Fusion: trace.OneHead, Head: head}, T)))
}

// A map that would be very large has only its top level.
func TestExplainEncoderLargeMap(t *testing.T) {
	const L, T = 3, 900
	f := fakemodel.NewEncoder(L, func(int, int) float64 { return 1. / T })
	e := explain(t, f, someWords(T-2), attribution.Options{
		Methods:   []string{"raw"},
		Positions: []int{1},
	})
	if m := e.Maps["raw"]; m.Shape != [3]int{1, T, T} || len(m.Layers) != 1 || m.Layers[0] != L-1 ||
		len(m.Data) != T*T {
		t.Errorf("map %v of layers %v, want the last one", m.Shape, m.Layers)
	}
	if len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "raw: the map of all 900 targets "+
		"has layer 2 alone; all 3 would be 2430000 numbers.") {
		t.Errorf("warnings %q", e.Warnings)
	}
}

func TestExplainEncoderTokens(t *testing.T) {
	f := fakemodel.NewEncoder(2, func(int, int) float64 { return .25 })
	var seen []int
	e := explain(t, f, "w7 ?", attribution.Options{
		Methods: []string{"raw"},
		OnStep: func(e *attribution.Explanation) {
			seen = append(seen, len(e.Steps), e.Methods["raw"].Shape[0])
		},
	})
	wantPrompt := attribution.Prompt{
		Text: "w7 ?", IDs: []int{0, 8, 32, 31}, Texts: []string{"<bos>", "w7", "?", "<end>"},
		Offsets: [][2]int{{0, 0}, {0, 2}, {3, 4}, {0, 0}},
		Special: []bool{true, false, false, true},
	}
	if diff := cmp.Diff(wantPrompt, e.Prompt); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
	two := 2
	want := []attribution.GeneratedToken{{
		ID: 3, Text: "w2", Position: &two, Probability: .5,
		Alternatives: []attribution.Alternative{{3, "w2", .5}},
	}}
	if diff := cmp.Diff(want, e.Steps); diff != "" {
		t.Errorf("predictions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{1, 1}, seen); diff != "" {
		t.Errorf("OnStep saw (-want +got):\n%s", diff)
	}
	if len(e.Warnings) != 0 {
		t.Errorf("warnings %q; nothing is odd about the tokens around an encoder's text",
			e.Warnings)
	}
	if got := e.Methods["raw"].Options["row"]; got != "position explained" {
		t.Errorf("the row is %q", got)
	}
	if got := f.Asked; got.MaxTokens != 0 || got.Positions != nil || !got.Mixings[0].AllRows ||
		got.Alternatives != 5 {
		t.Errorf("asked for %+v", got)
	}
}

// The prediction of each kind of head is in the explanation, and position 0 is written to JSON.
func TestExplainEncoderHeads(t *testing.T) {
	for head, want := range map[trace.Head]string{
		trace.Classes:      `{"id":1,"text":"w0","position":0,"class":true,"probability":0.5,`,
		trace.NoHead:       `{"id":1,"text":"w0","position":0,"unscored":true,"probability":0.5,`,
		trace.TokenClasses: `{"id":1,"text":"w0","position":0,"probability":0.5,`,
	} {
		f := fakemodel.NewEncoder(1, func(int, int) float64 { return 1. / 3 })
		f.About.Head = head
		e := explain(t, f, "w1", attribution.Options{Methods: []string{"raw"}})
		b, err := json.Marshal(e)
		must(t, err)
		if !strings.Contains(string(b), want) {
			t.Errorf("%s: %s lacks %s", head, b, want)
		}
		var back attribution.Explanation
		must(t, json.Unmarshal(b, &back))
		if diff := cmp.Diff(*e, back); diff != "" {
			t.Errorf("%s: read back (-want +got):\n%s", head, diff)
		}
	}
}

func TestExplainEncoderRefusals(t *testing.T) {
	for _, c := range []struct {
		name, prompt string
		opts         attribution.Options
		want         string
	}{
		{"continuation", "w1", attribution.Options{Continuation: "w2"}, `a continuation; "reader" is an encoder: it reads a text and generates none`},
		{"max tokens", "w1", attribution.Options{MaxTokens: 3}, `max tokens 3; "reader" is an encoder`},
		{"sampling", "w1", attribution.Options{Sampling: trace.Sampling{Temperature: 1}}, `temperature 1; "reader" is an encoder`},
		{"empty text", "", attribution.Options{}, "give some text to read"},
		{"position after the text", "w1 w2", attribution.Options{Positions: []int{4}}, `position 4; the text has 4 tokens, from 0 to 3: 0 "<bos>", 1 "w1", 2 "w2", 3 "<end>"`},
		{"negative position", "w1", attribution.Options{Positions: []int{-1}}, "position -1; positions count from 0"},
		{"long text", someWords(40), attribution.Options{Positions: []int{99}}, `23 "w22", …`},
		{"a position twice", "w1 w2", attribution.Options{Positions: []int{1, 2, 1}}, "position 1 is given twice"},
		{"context", someWords(50), attribution.Options{}, `52 tokens, but the context of "reader" is 51 tokens; shorten the text`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakemodel.NewEncoder(2, func(int, int) float64 { return 1 })
			f.About.Context = 51
			e, err := attribution.Explain(context.Background(), f, c.prompt, c.opts)
			if e != nil || !errors.Is(err, trace.ErrUsage) ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one of usage about %q", err, c.want)
			}
		})
	}
	_, err := attribution.Explain(context.Background(), fakemodel.New(2, fakemodel.Causal), "w1",
		attribution.Options{Positions: []int{0}})
	if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(),
		`positions [0]; "fake" is a decoder: every token that it generates`) {
		t.Errorf("a decoder: error %v", err)
	}
	_, err = attribution.Explain(context.Background(), fakemodel.NewEncoder(12, nil),
		someWords(5000), attribution.Options{})
	var refused *trace.MemoryError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "GB, the limit is 4.0 GB;") {
		t.Errorf("a huge text: error %v, want a refusal that names the memory", err)
	}
}

// Steps that break the contract of a model are errors, and a model's own refusal is returned
// unchanged.
func TestExplainEncoderModelErrors(t *testing.T) {
	for _, c := range []struct {
		name, prompt string
		positions    []int
		spoil        func(i int, s *trace.Step)
		want         string
		steps        int
	}{
		{"nothing to predict", "w1 w2", nil, nil, "attribution: models: reader fills in missing tokens, and the text has no ?", 0},
		{"no prediction", "?", nil, func(_ int, s *trace.Step) { s.Next = nil }, "a step without a prediction", 0},
		{"another position", "? w1", []int{2}, func(_ int, s *trace.Step) { s.Next.Position = 1 }, "predicts at position 1, want [2]", 0},
		{"a position outside", "?", nil, func(_ int, s *trace.Step) { s.Next.Position = 3 }, "predicts at position 3 of 3", 0},
		{"part of the text", "?", nil, func(_ int, s *trace.Step) { s.Count-- }, "want 0..1", 0},
		{"fed again", "? ?", nil, func(i int, s *trace.Step) { s.Count = max(s.Count, i) }, "after 1 prediction: the model fed 1 more tokens", 1},
		{"no rows", "?", nil, func(_ int, s *trace.Step) { s.Rows = nil }, "0 sets of rows, want 1", 0},
		{"some rows", "?", nil, func(_ int, s *trace.Step) { s.Rows[0].First, s.Rows[0].N = 2, 1 }, "targets 2..2, want 0..2", 0},
		{"NaN", "?", nil, func(_ int, s *trace.Step) { s.Rows[0].Data[2] = float32(math.NaN()) }, "layer 0 target 0 source 2 is NaN", 0},
		{"probability", "?", nil, func(_ int, s *trace.Step) { s.Next.Probability = -1 }, "probability -1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakemodel.NewEncoder(2, func(int, int) float64 { return 1. / 3 })
			f.Spoil = c.spoil
			e, err := attribution.Explain(context.Background(), f, c.prompt,
				attribution.Options{Methods: []string{"raw"}, Positions: c.positions})
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				errors.Is(err, trace.ErrUsage) {
				t.Errorf("error %v, want one about %q", err, c.want)
			}
			if e == nil || len(e.Steps) != c.steps {
				t.Errorf("explanation %+v, want %d predictions", e, c.steps)
			}
		})
	}
}

func TestExplainEncoderCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := fakemodel.NewEncoder(2, func(int, int) float64 { return .2 })
	e, err := attribution.Explain(ctx, f, "? ? ?", attribution.Options{
		Methods: []string{"rollout"}, OnStep: func(*attribution.Explanation) { cancel() },
	})
	if !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "stopped after 1 prediction") || len(e.Steps) != 1 {
		t.Errorf("error %v with %d predictions", err, len(e.Steps))
	}
}

// The end of a text is a sink if most targets look at it, whatever the explained target does. A
// mask is no sink because of its share of its own row, and a word that one target or all look at is
// evidence.
func TestEncoderSinks(t *testing.T) {
	const T = 7
	for _, c := range []struct {
		name string
		row  func(t, s int) float64
		want []int
	}{
		{"the end", func(t, s int) float64 { return .6*fakemodel.On(s == T-1) + .4/T }, []int{T - 1}},
		{"the end for others", func(t, s int) float64 {
			return (.6*fakemodel.On(s == T-1)+.4/T)*fakemodel.On(t != 3) + fakemodel.On(t == 3)/T
		}, []int{T - 1}},
		{"the end for this one alone", func(t, s int) float64 {
			return (.6*fakemodel.On(s == T-1)+.4/T)*fakemodel.On(t == 3) + fakemodel.On(t != 3)/T
		}, []int{T - 1}},
		{"its own", func(t, s int) float64 { return fakemodel.On(s == t) }, nil},
		{"a word for this one alone", func(t, s int) float64 { return fakemodel.On(t == 3)*fakemodel.On(s == 2) + fakemodel.On(t != 3)/T }, nil},
		{"a word for all", func(t, s int) float64 { return .7*fakemodel.On(s == 2) + .3/T }, nil},
		{"the first word", func(t, s int) float64 { return fakemodel.On(t == 3)*fakemodel.On(s == 1) + fakemodel.On(t != 3)/T }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := explain(t, fakemodel.NewEncoder(1, c.row), "w1 w2 ? w3 w4",
				attribution.Options{Methods: []string{"raw"}})
			e.Prompt.Special[3] = true // as the masks of real vocabularies are
			sinks, err := e.Sinks("raw", 0)
			must(t, err)
			var got []int
			for _, s := range sinks {
				got = append(got, s.Position)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("sinks (-want +got):\n%s", diff)
			}
		})
	}
	e := explain(t, fakemodel.NewEncoder(1, func(t, s int) float64 {
		return fakemodel.On(s == 0)
	}), "w1 w2 ? w3", attribution.Options{
		Methods: []string{"raw"}, Specials: trace.SpecialsOff,
	})
	e.Maps["raw"].Data = nil
	if sinks, err := e.Sinks("raw", 0); err != nil || sinks != nil {
		t.Errorf("first word of a text without specials, its map lost: %v, %v", sinks, err)
	}
}

// TestMeanPooled: where a head reads the mean of all tokens, the row of its class is the mean of
// all rows, also of an aggregation that has no map, and stands at no position. Positions that are
// asked for have their own rows.
func TestMeanPooled(t *testing.T) {
	const T, L = 42, 3 // flow has no map of so many
	f := sharpEncoder(L, T)
	f.About.Head, f.About.MeanPooled = trace.Classes, true
	opts := attribution.Options{Methods: []string{"raw", "rollout", "flow"}, AllLevels: true}
	text := someWords(T - 2)
	e := explain(t, f, text, opts)
	if len(e.Steps) != 1 || e.Steps[0].Position != nil || e.Maps["flow"] != nil {
		t.Fatalf("steps %+v, map of flow %v; want one without a position, and no map", e.Steps,
			e.Maps["flow"] != nil)
	}
	for at := range T {
		opts.Positions = append(opts.Positions, at)
	}
	each := explain(t, f, text, opts)
	if at := each.Steps[3].Position; at == nil || *at != 3 {
		t.Fatalf("the prediction asked for at position 3 is at %v", at)
	}
	for _, name := range e.Order {
		r, all := e.Methods[name], each.Methods[name]
		for l := range r.Shape[2] {
			want := make([]float64, T)
			for at := range T {
				for s, v := range all.Row(at, l) {
					want[s] += v / T
				}
			}
			for s, v := range r.Row(0, l) {
				if math.Abs(v-want[s]) > 1e-12 {
					t.Errorf("%s level %d source %d: %v, want %v", name, l, s, v, want[s])
				}
			}
		}
	}
}
