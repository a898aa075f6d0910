package scorer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

var builtInScorers = []string{
	"alti-logit", "attn-lrp", "chefer", "decompx", "direct", "gradient", "gradient-rollout",
	"gradient-x-input", "integrated-gradients", "interchange", "occlusion",
	"random", "reagent",
}

// score asks a registered scorer, which must answer.
func score(
	t *testing.T, name string, m trace.Model, q trace.Query, opts scorer.Options,
) *scorer.Scores {
	t.Helper()
	s, err := scorer.Lookup(name)
	must(t, err)
	got, err := s.Score(context.Background(), m, q, opts)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return got
}

// ids are the tokens of a query that asks about the last of them.
func ids(ids ...int) trace.Query {
	return trace.Query{IDs: ids, Objective: trace.Objective{Position: len(ids) - 1, Token: 1}}
}

func TestScorers(t *testing.T) {
	if got := scorer.Names(); fmt.Sprint(got) != fmt.Sprint(builtInScorers) {
		t.Errorf("scorer.Names() = %v, want %v", got, builtInScorers)
	}
	for _, name := range builtInScorers {
		t.Run(name, func(t *testing.T) {
			s, err := scorer.Lookup(name)
			must(t, err)
			attributiontest.Scorer(t, s, attributiontest.NewModel(4))
		})
	}
}

// Scorers send their texts in batches, and the size of a batch does not change the scores.
func TestScorerBatches(t *testing.T) {
	for _, name := range []string{"occlusion", "integrated-gradients", "reagent"} {
		m := attributiontest.NewModel(5)
		q := ids(3, 1, 4, 1, 5)
		want := score(t, name, m, q, scorer.Options{Samples: 20})
		got := score(t, name, m, q, scorer.Options{Samples: 20, Batch: 3})
		near(t, name, got.Values, want.Values, 0)
	}
	a := fakemodel.NewScored(1)
	score(t, "occlusion", a, ids(1, 2, 3, 4, 5),
		scorer.Options{Batch: 4, Replacement: "delete"})
	if got := len(*a.Queries); got != 2 || len((*a.Queries)[0]) != 4 || len((*a.Queries)[1]) != 2 {
		t.Errorf("six texts came in %d batches, want one of 4 and one of 2", got)
	}
}

// stopping is a model that is cancelled by the first call and counts further ones.
type stopping struct {
	*attributiontest.Model
	cancel func()
	calls  *int
}

func (s stopping) Predict(ctx context.Context, q []trace.Query) ([]float64, error) {
	*s.calls++
	s.cancel()
	return s.Model.Predict(context.WithoutCancel(ctx), q)
}

func (s stopping) Gradients(
	ctx context.Context, q []trace.Query, rule trace.Backward,
) ([]trace.Gradient, error) {
	*s.calls++
	s.cancel()
	return s.Model.Gradients(context.WithoutCancel(ctx), q, rule)
}

// A scorer that is cancelled while the model runs makes no second call, even if the model ignores
// ctx.
func TestScorerCancelled(t *testing.T) {
	for _, name := range []string{"occlusion", "integrated-gradients", "reagent"} {
		ctx, cancel := context.WithCancel(context.Background())
		calls := 0
		s, _ := scorer.Lookup(name)
		m := stopping{attributiontest.NewModel(1), cancel, &calls}
		_, err := s.Score(ctx, m, ids(1, 2, 3, 4), scorer.Options{Batch: 2})
		if !errors.Is(err, context.Canceled) || calls != 1 {
			t.Errorf("%s: error %v after %d calls, want 1 and %v", name, err, calls,
				context.Canceled)
		}
	}
}

// A model that changes a query changes a copy.
func TestScorerCopies(t *testing.T) {
	m := fakemodel.NewScored(1)
	m.Predicted = func(q trace.Query) float64 {
		q.IDs[0], q.Embeddings[0], *q.Contrast = 9, 9, 9
		return 0
	}
	q, other := ids(1, 2), 3
	q.Embeddings, q.Contrast = []float32{1, 2, 3, 4}, &other
	score(t, "random", m, q, scorer.Options{})
	if s := fmt.Sprint(q.IDs, q.Embeddings, other); s != "[1 2] [1 2 3 4] 3" {
		t.Errorf("the caller's query is %s now", s)
	}
}

func TestScorerRefusals(t *testing.T) {
	exact := attributiontest.NewModel(1)
	class := fakemodel.NewScored(1)
	class.About.Head = trace.Classes
	encoder := fakemodel.NewScored(1)
	encoder.About.Bidirectional = true
	wide := fakemodel.NewScored(1)
	wide.About.Heads, wide.About.Layers = 96, 96
	far := ids(1, 2)
	far.Token = 31
	embedded := ids(1, 2)
	embedded.Embeddings = make([]float32, 8)
	nan := ids(1, 2)
	nan.Embeddings = []float32{0, 0, 0, float32(math.NaN())}
	plain := ids(1, 2)
	for name, c := range map[string]struct {
		scorer string
		model  trace.Model
		query  trace.Query
		opts   scorer.Options
		want   string
	}{
		"unknown scorer": {scorer: "gradients", want: "unknown scorer \"gradients\"; did " +
			"you mean gradient? known are alti-logit, attn-lrp"},
		"unknown quantity": {
			scorer: "gradient", opts: scorer.Options{Quantity: "loss"},
			want: "gradient does not explain quantity \"loss\"; it explains logit, probability, " +
				"log-probability",
		},
		"quantity of another": {scorer: "attn-lrp", opts: scorer.Options{Quantity: trace.Probability}, want: "it explains logit"},
		"steps":               {scorer: "gradient", opts: scorer.Options{Steps: 1025}, want: "steps 1025; it must be in [1,1024], or 0 for 32"},
		"samples":             {scorer: "reagent", opts: scorer.Options{Samples: -1}, want: "samples -1"},
		"batch":               {scorer: "occlusion", opts: scorer.Options{Batch: 2000}, want: "batch 2000; it must be in [1,1024]"},
		"position": {scorer: "gradient", query: trace.Query{
			IDs:       []int{1},
			Objective: trace.Objective{Position: 1},
		}, want: "position 1 of 1 tokens"},
		"id": {
			scorer: "interchange", model: fakemodel.NewScored(1),
			query: trace.Query{IDs: []int{1, 900}, Objective: trace.Objective{Position: 1}},
			want:  "interchange: token 1 has id 900; \"fake\" has 31 tokens, from 0",
		},
		"negative id": {
			scorer: "reagent", model: fakemodel.NewScored(1),
			query: trace.Query{IDs: []int{-1}}, want: "reagent: token 0 has id -1",
		},
		"token":      {scorer: "gradient", model: fakemodel.NewScored(1), query: far, want: "token or class 31 of \"fake\""},
		"embeddings": {scorer: "gradient", query: nan, want: "embeddings: NaN at token 1 (id 2)"},
		"no gradients": {
			scorer: "gradient", model: fakemodel.New(1, fakemodel.Evenly),
			want: "gradient needs a model that can be differentiated " +
				"(trace.Differentiable), and \"fake\" does not",
		},
		"no predictions": {scorer: "reagent", model: fakemodel.New(1, fakemodel.Evenly), want: "(trace.Predictor)"},
		"no parts":       {scorer: "alti-logit", model: fakemodel.New(1, fakemodel.Evenly), want: "(trace.LogitDecomposer)"},
		"no vectors":     {scorer: "decompx", model: fakemodel.New(1, fakemodel.Evenly), want: "(trace.VectorDecomposer)"},
		"no embeddings": {
			scorer: "occlusion", model: predictor{fakemodel.New(1, fakemodel.Evenly)},
			opts: scorer.Options{Replacement: "zero"}, want: "(trace.Differentiable)",
		},
		"no such kind": {
			scorer: "occlusion", model: exact,
			opts: scorer.Options{Replacement: "pad"}, want: "replacement \"pad\": \"exact\" " +
				"has no such token; it has mask, unknown, delete, zero",
		},
		"no such word": {
			scorer: "occlusion", model: exact,
			opts: scorer.Options{Replacement: "blank"}, want: "replacement \"blank\" is " +
				"not one of mask, unknown, pad, end, delete, zero, nor is it one token",
		},
		"two words": {scorer: "occlusion", model: exact, opts: scorer.Options{Replacement: "w1 w2"}, want: "nor is it one token"},
		"nothing to leave": {
			scorer: "integrated-gradients", model: exact,
			opts: scorer.Options{Replacement: "delete"}, want: "none can be deleted",
		},
		"classes":              {scorer: "reagent", model: class, want: "the head of \"fake\" is classes"},
		"no mask":              {scorer: "reagent", model: encoder, want: "\"fake\" has no mask"},
		"other tokens' rows":   {scorer: "alti-logit", model: exact, query: embedded, want: "leave the query's out"},
		"others than embedded": {scorer: "reagent", model: exact, query: embedded, want: "leave the query's embeddings out"},
		"too large":            {scorer: "chefer", model: wide, query: ids(make([]int, 4096)...), want: "needs about 1237.0 GB, the limit is 4.0 GB"},
		"too many rows":        {scorer: "alti-logit", model: wide, query: ids(make([]int, 4096)...), want: "the limit is 4.0 GB"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.model == nil {
				c.model = exact
			}
			if c.query.IDs == nil {
				c.query = plain
			}
			err := refused(c.scorer, c.model, c.query, c.opts)
			var memory *trace.MemoryError
			if !errors.Is(err, trace.ErrUsage) && !errors.As(err, &memory) ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want wrong usage, or too much memory, and %q", err, c.want)
			}
		})
	}
}

// refused returns the error of a scorer that is asked, or looked up.
func refused(name string, m trace.Model, q trace.Query, opts scorer.Options) error {
	s, err := scorer.Lookup(name)
	if err != nil {
		return err
	}
	_, err = s.Score(context.Background(), m, q, opts)
	return err
}

// predictor is a model that predicts other texts and implements nothing else.
type predictor struct{ trace.Model }

func (predictor) Predict(context.Context, []trace.Query) ([]float64, error) { return nil, nil }

// Results of a model that are NaN, infinite or of a wrong size are errors that name the token.
func TestScorerBadModels(t *testing.T) {
	nan, inf := math.NaN(), float32(math.Inf(1))
	gradient := func(g trace.Gradient) fakemodel.Scored {
		a := fakemodel.NewScored(2)
		a.Gradient = func(trace.Query, trace.Backward) trace.Gradient { return g }
		return a
	}
	with := func(change func(a *fakemodel.Scored)) fakemodel.Scored {
		a := fakemodel.NewScored(2)
		a.Terms = &trace.LogitTerms{L: 2, S: 3, Attention: make([]float64, 6)}
		a.Parts = make([]float64, 3)
		a.Kinds = map[string]int{"mask": 9}
		change(&a)
		return a
	}
	attention := func(bad int) trace.Gradient {
		g := trace.Gradient{
			Data: make([]float32, 6), Attention: make([]float32, 36),
			AttentionData: make([]float32, 36),
		}
		g.AttentionData[bad] = inf
		return g
	}
	for name, c := range map[string]struct {
		scorer string
		model  trace.Model
		want   string
	}{
		"NaN in a gradient": {
			"gradient",
			gradient(trace.Gradient{Data: []float32{0, 1, 2, float32(nan), 4, 5}}),
			"gradient: the model returned a gradient of NaN at token 1 (id 6)",
		},
		"a short gradient": {"attn-lrp", gradient(trace.Gradient{Data: make([]float32, 4)}), "4 numbers for 3 tokens"},
		"no gradient":      {"integrated-gradients", gradient(trace.Gradient{}), "0 numbers for 3 tokens"},
		"wider than embeddings": {
			"gradient-x-input",
			gradient(trace.Gradient{Data: make([]float32, 9)}), "embeddings of 6 numbers and " +
				"gradients of 9",
		},
		"wider on the way": {
			"integrated-gradients",
			gradient(trace.Gradient{Data: make([]float32, 9)}), "embeddings of 6 numbers and " +
				"gradients of 9",
		},
		"a value of NaN": {"gradient", gradient(trace.Gradient{Data: make([]float32, 6), Value: nan}), "the model returned value NaN"},
		"an embedding of NaN": {"integrated-gradients", with(func(a *fakemodel.Scored) {
			a.Embedding = func(int) []float32 { return []float32{inf} }
		}), "an embedding of id 5 with +Inf"},
		"attention": {"chefer", gradient(attention(1*18 + 9 + 2*3 + 1)), "attention +Inf from token 2 to token 1 (id 6) in layer 1"},
		"no attention": {
			"gradient-rollout",
			gradient(trace.Gradient{Data: make([]float32, 6)}), "0 numbers of attention; want 36 " +
				"for 2 layers, 2 heads and 3 tokens",
		},
		"NaN without a token": {"occlusion", with(func(a *fakemodel.Scored) {
			a.Predicted = func(q trace.Query) float64 {
				return math.Log(1 - fakemodel.On(q.IDs[1] == 9)*2)
			}
		}), "without token 1 (id 6) the value NaN"},
		"NaN for a random text": {"random", with(func(a *fakemodel.Scored) {
			a.Predicted = func(trace.Query) float64 { return nan }
		}), "value NaN"},
		"NaN for the text": {"occlusion", with(func(a *fakemodel.Scored) {
			a.Predicted = func(trace.Query) float64 { return nan }
		}), "value NaN"},
		"NaN for other tokens": {"reagent", with(func(a *fakemodel.Scored) {
			a.Predicted = func(q trace.Query) float64 {
				return math.Log(fakemodel.On(q.IDs[0] == 5))
			}
		}), "the value -Inf"},
		"terms of another size": {"alti-logit", with(func(a *fakemodel.Scored) {
			a.Terms.L = 3
		}), "parts of 3 layers and 3 sources, 6 in all; want 2 layers and 3 sources"},
		"a term of NaN": {"alti-logit", with(func(a *fakemodel.Scored) {
			a.Terms.Attention[5] = nan
		}), "a part from token 2 (id 7) in layer 1 of NaN"},
		"rows that are negative": {"alti-logit", with(func(a *fakemodel.Scored) {
			a.Row = func(trace.MixingAsk, int, int, int) float64 { return -1 }
		}), "layer 0 target 0 source 0 is -1"},
		"too few parts": {"decompx", with(func(a *fakemodel.Scored) {
			a.Parts = a.Parts[:2]
		}), "2 parts for 3 tokens"},
		"a part of NaN": {"decompx", with(func(a *fakemodel.Scored) {
			a.Parts[2] = nan
		}), "as the part of token 2 (id 7) NaN"},
		"a rest of NaN": {"decompx", with(func(a *fakemodel.Scored) {
			a.Rest = nan
		}), "rest NaN"},
		"a number too few": {"random", predictor{fakemodel.New(1, fakemodel.Evenly)}, "0 numbers for 1 texts"},
		"a model that fails": {"alti-logit", with(func(a *fakemodel.Scored) {
			a.FailAt = 1
		}), "alti-logit: fake: out of order"},
	} {
		t.Run(name, func(t *testing.T) {
			err := refused(c.scorer, c.model, ids(5, 6, 7), scorer.Options{})
			if err == nil || errors.Is(err, trace.ErrUsage) ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want the model's and %q", err, c.want)
			}
		})
	}
}
