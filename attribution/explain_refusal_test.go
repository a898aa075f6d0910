package attribution_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

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
		{"steps without an integral", "w1", attribution.Options{Scoring: scorer.Options{Steps: 4}, Methods: []string{"occlusion"}}, "steps applies to none of the methods: occlusion: it computes no integral"},
		{"samples without draws", "w1", attribution.Options{Scoring: scorer.Options{Samples: 4}, Methods: []string{"occlusion"}}, "samples applies to none"},
		{"replacement of nothing", "w1", attribution.Options{Scoring: scorer.Options{Replacement: "zero"}, Methods: []string{"gradient"}}, "replacement applies to none"},
		{"near method", "w1", attribution.Options{Methods: []string{"Rolout"}}, `unknown method "Rolout"; did you mean rollout?`},
		{"near mixing", "w1", attribution.Options{Methods: []string{"atention+flow"}}, `unknown mixing "atention"; did you mean attention? known are `},
		{"mixing alone", "w1", attribution.Options{Methods: []string{"atention"}}, `unknown method "atention"; did you mean raw, which is attention as the model computed it?`},
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
