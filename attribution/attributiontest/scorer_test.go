package attributiontest_test

import (
	"context"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// brokenScorer is gradient × input with one fault.
type brokenScorer struct {
	part string // of the contract that must notice
	info func(*scorer.Info)
	// before may spoil what is asked, and after what is answered.
	before func(ctx *context.Context, m *trace.Model, q *trace.Query,
		opts *scorer.Options)
	after func(q trace.Query, opts scorer.Options, s *scorer.Scores,
		err error) (*scorer.Scores, error)
}

func (b brokenScorer) Info() scorer.Info {
	s, _ := scorer.Lookup("gradient-x-input")
	i := s.Info()
	if b.info != nil {
		b.info(&i)
	}
	return i
}

func (b brokenScorer) Score(
	ctx context.Context, m trace.Model, q trace.Query, opts scorer.Options,
) (*scorer.Scores, error) {
	whole, _ := scorer.Lookup("gradient-x-input")
	if b.before != nil {
		b.before(&ctx, &m, &q, &opts)
	}
	s, err := whole.Score(ctx, m, q, opts)
	if b.after != nil {
		return b.after(q, opts, s, err)
	}
	return s, err
}

// spoil changes an answer that there is.
func spoil(
	change func(q trace.Query, s *scorer.Scores),
) func(trace.Query, scorer.Options, *scorer.Scores, error) (*scorer.Scores, error) {
	return func(q trace.Query, _ scorer.Options, s *scorer.Scores,
		err error,
	) (*scorer.Scores, error) {
		if err == nil {
			change(q, s)
		}
		return s, err
	}
}

var scored atomic.Int64

var scorerFaults = map[string]brokenScorer{
	"no needs": {part: "info", info: func(i *scorer.Info) { i.Needs = "" }},
	"a quantity twice": {part: "info", info: func(i *scorer.Info) {
		i.Quantities = append(i.Quantities, i.Quantities[0])
	}},
	"a value too many": {part: "values", after: spoil(func(_ trace.Query, s *scorer.Scores) {
		s.Values = append(s.Values, 0)
	})},
	"NaN for one token": {part: "values", after: spoil(func(q trace.Query, s *scorer.Scores) {
		if len(q.IDs) == 1 {
			s.Values[0] = math.NaN()
		}
	})},
	"signs not announced": {part: "values", info: func(i *scorer.Info) {
		i.Signed = false
	}},
	"another default": {part: "quantities", info: func(i *scorer.Info) {
		i.Quantities = []trace.Quantity{trace.Probability, trace.Logit, trace.LogProbability}
	}},
	"any quantity": {part: "quantities", before: func(_ *context.Context, _ *trace.Model,
		_ *trace.Query, o *scorer.Options,
	) {
		if o.Quantity == "surprise" {
			o.Quantity = ""
		}
	}},
	"a query that it writes to": {
		part: "query_untouched,_equal_runs",
		after: spoil(func(q trace.Query, _ *scorer.Scores) {
			if len(q.IDs) > 1 {
				q.IDs[1] = 0
			}
		}),
	},
	"another answer each time": {
		part: "query_untouched,_equal_runs",
		after: spoil(func(_ trace.Query, s *scorer.Scores) {
			s.Values[0] += float64(scored.Add(1)) * 1e-12
		}),
	},
	"a contrast that is one-sided": {
		part: "contrast",
		before: func(_ *context.Context, _ *trace.Model, q *trace.Query,
			_ *scorer.Options,
		) {
			q.Contrast = nil
		},
	},
	"an answer to nothing": {
		part: "queries_that_ask_nothing",
		before: func(_ *context.Context, _ *trace.Model, q *trace.Query,
			_ *scorer.Options,
		) {
			q.Position = min(q.Position, len(q.IDs)-1)
		},
	},
	"an answer without a model": {
		part: "a_model_that_offers_nothing",
		after: func(_ trace.Query, _ scorer.Options, s *scorer.Scores,
			err error,
		) (*scorer.Scores, error) {
			if err != nil && strings.Contains(err.Error(), "Differentiable") {
				return nil, context.DeadlineExceeded
			}
			return s, err
		},
	},
	"no end": {part: "cancel", before: func(ctx *context.Context, _ *trace.Model,
		_ *trace.Query, _ *scorer.Options,
	) {
		*ctx = context.WithoutCancel(*ctx)
	}},
}

// TestScorerContract runs the contract on each fault in a child process, which must fail in the
// part named.
func TestScorerContract(t *testing.T) {
	if fault := os.Getenv(brokenEnv); fault != "" {
		attributiontest.Scorer(t, scorerFaults[fault], attributiontest.NewModel(1))
		return
	}
	attributiontest.Scorer(t, brokenScorer{}, attributiontest.NewModel(1)) // without a fault
	for fault, b := range scorerFaults {
		t.Run(fault, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestScorerContract$")
			cmd.Env = append(os.Environ(), brokenEnv+"="+fault)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestScorerContract/"+
				b.part) {
				t.Errorf("the contract did not notice in %q: %v\n%s", b.part, err, out)
			}
		})
	}
}
