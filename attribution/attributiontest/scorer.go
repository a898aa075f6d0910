package attributiontest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// modelTol is the rounding of a model in float32, relative to the largest value. It is far above
// the rounding of a sum of a few hundred float32 and far below a wrong sign.
const modelTol = 1e-4

// Scorer checks that s keeps the contract of [scorer.Scorer] with a model that implements what
// it needs, such as [NewModel]. It checks that there is a finite value for each token, also for a
// text of one token; that the bits are equal on every run, also of two runs at the same time; that
// the query is not changed; that it explains the quantities in its info and no others; that
// swapping token and contrast changes signs; and that it refuses invalid queries and models without
// what it needs, and stops when ctx is done.
func Scorer(t *testing.T, s scorer.Scorer, m trace.Model) {
	t.Helper()
	c := scorerContract{s, m, s.Info()}
	t.Run("info", c.facts)
	t.Run("values", c.values)
	t.Run("quantities", c.quantities)
	t.Run("query untouched, equal runs", c.pure)
	t.Run("contrast", c.contrast)
	t.Run("queries that ask nothing", c.refusals)
	t.Run("a model that offers nothing", c.bare)
	t.Run("cancel", c.cancel)
}

// scorerContract is a scorer under test, with a model. Each check uses the same methods as a caller
// would, and nothing else.
type scorerContract struct {
	s    scorer.Scorer
	m    trace.Model
	info scorer.Info
}

// query returns a query for token 1 at the last of T random tokens. A classifier of texts reads its
// class at the first token.
func (c scorerContract) query(T int) trace.Query {
	// The text depends on its length only, so that every check of a length sees the same one.
	rng := rand.New(rand.NewPCG(uint64(T), 2))
	info := c.m.Info()
	q := trace.Query{Objective: trace.Objective{Position: T - 1, Token: 1}}
	for range T {
		q.IDs = append(q.IDs, rng.IntN(info.Vocab))
	}
	if info.Head == trace.Classes {
		q.Position = 0
	}
	return q
}

// score calls Score and checks that its result is complete and finite.
func (c scorerContract) score(
	t *testing.T, q trace.Query, opts scorer.Options,
) *scorer.Scores {
	t.Helper()
	got, err := c.s.Score(context.Background(), c.m, q, opts)
	if err != nil {
		t.Fatalf("Score: %v", err)
	}
	if len(got.Values) != len(q.IDs) {
		t.Fatalf("%d values for %d tokens", len(got.Values), len(q.IDs))
	}
	// Everything that a picture or a sum would use.
	numbers := append(slices.Clone(got.Values), got.Value)
	if c.info.Complete && got.Residue == nil {
		t.Fatal("no residue of values that should be complete")
	}
	if got.Residue != nil {
		numbers = append(numbers, *got.Residue)
	}
	for _, x := range numbers {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			t.Fatalf("%d tokens: values, value and residue %v; want numbers", len(q.IDs), numbers)
		}
		// Value and residue may be negative for every scorer.
		if x < 0 && !c.info.Signed && slices.Contains(got.Values, x) {
			t.Fatalf("value %v of a scorer that is not signed", x)
		}
	}
	return got
}

// facts checks that the description is complete, because the list of methods prints it, and that
// the quantities are known and different.
func (c scorerContract) facts(t *testing.T) {
	i := c.info
	if i.Summary == "" || i.Formula == "" || i.Paper == "" || i.Cost == "" || i.Needs == "" ||
		len(i.Quantities) == 0 {
		t.Errorf("Info() = %+v, want summary, formula, paper, cost, needs and quantities", i)
	}
	for n, q := range i.Quantities {
		if _, err := trace.ParseQuantity(string(q)); err != nil ||
			slices.Contains(i.Quantities[:n], q) {
			t.Errorf("quantities %v; want each once, and of %v", i.Quantities, trace.Quantities())
		}
	}
}

// values checks texts of several lengths; score has the checks. 8 samples keep it short.
func (c scorerContract) values(t *testing.T) {
	for _, T := range []int{1, 2, 6} {
		c.score(t, c.query(T), scorer.Options{Samples: 8})
	}
}

// quantities checks that the quantities of Info are explained, the first by default, and that
// others are refused. "surprise" is a quantity that nobody has.
func (c scorerContract) quantities(t *testing.T) {
	q := c.query(4)
	for i, quantity := range c.info.Quantities {
		got := c.score(t, q, scorer.Options{Samples: 8, Quantity: quantity})
		if i == 0 && !slices.Equal(got.Values,
			c.score(t, q, scorer.Options{Samples: 8}).Values) {
			t.Errorf("%s is the first quantity and not the default", quantity)
		}
	}
	for _, quantity := range append(trace.Quantities(), "surprise") {
		if slices.Contains(c.info.Quantities, quantity) {
			continue
		}
		_, err := c.s.Score(context.Background(), c.m, q, scorer.Options{Quantity: quantity})
		if !errors.Is(err, trace.ErrUsage) {
			t.Errorf("quantity %s: error %v; want wrong usage", quantity, err)
		}
	}
}

// pure checks that Score leaves its query as it is, and that runs at the same time give the bits of
// a run alone: random numbers come from the seed and the text, and not from a shared source.
func (c scorerContract) pure(t *testing.T) {
	q := c.query(6)
	other := 2
	q.Contrast = &other
	ids := slices.Clone(q.IDs)
	opts := scorer.Options{Samples: 8}
	first := c.score(t, q, opts)
	if !slices.Equal(ids, q.IDs) || other != 2 {
		t.Error("Score changed its query")
	}
	runs := make([]*scorer.Scores, 2)
	var group sync.WaitGroup
	for i := range runs {
		// An error leaves a nil, which fails below: t must not be used from another goroutine.
		group.Go(func() {
			runs[i], _ = c.s.Score(context.Background(), c.m, q, opts)
		})
	}
	group.Wait()
	for _, run := range runs {
		if run == nil || !slices.Equal(first.Values, run.Values) || first.Value != run.Value {
			t.Fatalf("two runs differ: %+v and %+v", first, run)
		}
	}
}

// contrast checks that scores for A against B are minus those for B against A, and that A against A
// is accepted. With f_a the quantity of token a, a signed scorer explains f_a - f_b, and swapping
// both changes the sign of each value. That holds up to the rounding of the model.
func (c scorerContract) contrast(t *testing.T) {
	q := c.query(6)
	other := 0
	q.Contrast = &other
	opts := scorer.Options{Samples: 8}
	if slices.Contains(c.info.Quantities, trace.Logit) {
		opts.Quantity = trace.Logit
	}
	why := c.score(t, q, opts)
	swapped := q
	swapped.Token, swapped.Contrast = other, &q.Token
	not := c.score(t, swapped, opts)
	same := q
	// The values of a token against itself are 0 or rounding; the call must only succeed.
	same.Contrast = &q.Token
	c.score(t, same, opts)
	if !c.info.Signed || opts.Quantity == "" {
		return
	}
	// modelTol is relative to the largest number, because small values are differences of larger
	// ones.
	largest := 0.0
	for _, x := range append(slices.Clone(why.Values), why.Value) {
		largest = max(largest, math.Abs(x))
	}
	for j, x := range why.Values {
		if math.Abs(x+not.Values[j]) > modelTol*largest {
			t.Fatalf("token %d: %v for %d and not %d, %v the other way; want minus that", j, x,
				q.Token, other, not.Values[j])
		}
	}
	if math.Abs(why.Value+not.Value) > modelTol*largest {
		t.Errorf("value %v for %d and not %d, %v the other way", why.Value, q.Token, other,
			not.Value)
	}
}

// refusals checks that each invalid query is wrong usage and not a panic or an error of the model.
func (c scorerContract) refusals(t *testing.T) {
	for name, change := range map[string]func(q *trace.Query){
		"no tokens":           func(q *trace.Query) { q.IDs = nil },
		"position after":      func(q *trace.Query) { q.Position = len(q.IDs) },
		"position before":     func(q *trace.Query) { q.Position = -1 },
		"token below zero":    func(q *trace.Query) { q.Token = -1 },
		"contrast below zero": func(q *trace.Query) { q.Contrast = new(int); *q.Contrast = -1 },
		"embeddings of nothing": func(q *trace.Query) {
			q.Embeddings = make([]float32, len(q.IDs)+1)
		},
	} {
		q := c.query(3)
		change(&q)
		if _, err := c.s.Score(context.Background(), c.m, q,
			scorer.Options{Samples: 8}); !errors.Is(err, trace.ErrUsage) {
			t.Errorf("%s: error %v; want wrong usage", name, err)
		}
	}
}

// bare is a model that implements [trace.Model] and nothing else.
type bare struct{ trace.Model }

// bare checks that a model without the optional interfaces is wrong usage if the scorer needs one,
// and never a panic.
func (c scorerContract) bare(t *testing.T) {
	if _, err := c.s.Score(context.Background(), bare{c.m}, c.query(3),
		scorer.Options{Samples: 8}); err != nil && !errors.Is(err, trace.ErrUsage) {
		t.Errorf("error %v; want wrong usage, or none if nothing is missing", err)
	}
}

// cancel checks that the error of a context that has ended is context.Canceled, also if the context
// has a cause of its own.
func (c scorerContract) cancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("no more"))
	_, err := c.s.Score(ctx, c.m, c.query(4), scorer.Options{Samples: 8})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Score after cancel returned %v, want an error that wraps %v", err,
			context.Canceled)
	}
}
