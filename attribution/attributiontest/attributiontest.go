// Package attributiontest tests that an aggregation or a scorer keeps its contract. The first test
// of a new one is one line:
//
//	func TestMine(t *testing.T) { attributiontest.Aggregation(t, mine{}) }
//
//	func TestOther(t *testing.T) {
//		attributiontest.Scorer(t, other{}, attributiontest.NewModel(1))
//	}
package attributiontest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("attributiontest")

// tol is the rounding allowed where sums may run in another order: sums of a few dozen numbers near
// 1.
const tol = 1e-12

// Aggregation checks that a keeps the contract of [aggregation.State]: shapes, equal bits on every
// run, untouched arguments, causal zeros, empty and one-token texts, the same numbers for rows one
// by one and all at once, one head over merged layers, sums, permuted tokens, NaN and cancelling.
func Aggregation(t *testing.T, a aggregation.Aggregation) {
	t.Helper()
	c := contract{a, a.Info()}
	t.Run("info", c.info)
	t.Run("empty text", c.empty)
	t.Run("one token", c.oneToken)
	t.Run("arguments untouched, equal runs", c.pure)
	t.Run("causal zeros and sums", c.causal)
	t.Run("rows one by one", c.incremental)
	t.Run("skipped rows and top level", c.selections)
	t.Run("top rows", c.topRows)
	t.Run("a prefix", c.prefix)
	t.Run("permuted tokens", c.permuted)
	t.Run("NaN", c.nan)
	t.Run("cancel", c.cancel)
}

// contract is an aggregation under test.
type contract struct {
	a    aggregation.Aggregation
	meta aggregation.Info
}

// info checks that the description is complete, because the list of methods prints it.
func (c contract) info(t *testing.T) {
	if c.meta.Summary == "" || c.meta.Formula == "" || c.meta.Paper == "" || c.meta.Cost == "" {
		t.Errorf("Info() = %+v, want summary, formula, paper and cost", c.meta)
	}
	if !(c.meta.Residual >= 0 && c.meta.Residual <= 1) {
		t.Errorf("residual %v, want a weight in [0,1]", c.meta.Residual)
	}
}

// extend calls Extend and checks the size of its result. dst has one number before the call, so
// that a result written to its beginning is noticed.
func extend(
	t *testing.T, s aggregation.State, cfg aggregation.Config, rows aggregation.Rows,
) []float64 {
	t.Helper()
	out, err := s.Extend(context.Background(), []float64{42}, rows)
	if err != nil {
		t.Fatalf("Extend: %v", err)
	}
	want := 1 + levels(cfg)*(rows.N-rows.Skip)*rows.T()
	if len(out) != want || out[0] != 42 {
		t.Fatalf(
			"Extend of %d rows over %d sources appended %d numbers, want %d after what dst had",
			rows.N-rows.Skip, rows.T(), len(out)-1, want-1,
		)
	}
	return out[1:]
}

// levels is K. It does not call [aggregation.Config.Levels], which the code under test may call.
func levels(cfg aggregation.Config) int {
	if cfg.TopOnly {
		return 1
	}
	return cfg.Layers
}

// batch returns the result of all rows at once.
func (c contract) batch(t *testing.T, cfg aggregation.Config, rows aggregation.Rows) []float64 {
	t.Helper()
	return extend(t, c.a.New(cfg), cfg, rows)
}

// empty checks that a text may begin with no tokens.
func (c contract) empty(t *testing.T) {
	cfg := aggregation.Config{Layers: 2}
	extend(t, c.a.New(cfg), cfg, aggregation.Rows{L: 2})
}

// oneToken checks the closed form of one token: every Â_l is the number 1, so a product, a flow and
// a single layer are all 1.
func (c contract) oneToken(t *testing.T) {
	for _, cfg := range []aggregation.Config{
		{Layers: 3},
		{Layers: 1, TopOnly: true},
		{Layers: 2, Prefix: 1},
	} {
		rows := aggregation.Rows{L: cfg.Layers, N: 1, Data: []float64{1, 1, 1}[:cfg.Layers]}
		for l, x := range c.batch(t, cfg, rows) {
			if x != 1 {
				t.Errorf("%+v: one token that mixes with itself only: level %d = %v, want 1",
					cfg, l, x)
			}
		}
	}
}

// pure checks that the rows stay as they are, and that two runs give equal bits: sums must run in a
// fixed order.
func (c contract) pure(t *testing.T) {
	cfg := aggregation.Config{Layers: 3}
	rows := random(1, cfg, 9)
	before := slices.Clone(rows.Data)
	first, second := c.batch(t, cfg, rows), c.batch(t, cfg, rows)
	if !slices.Equal(before, rows.Data) {
		t.Error("Extend changed its argument")
	}
	if !slices.Equal(first, second) {
		t.Error("two runs differ")
	}
	cfg.Prefix = 9
	rows = random(2, cfg, 9)
	if !slices.Equal(c.batch(t, cfg, rows), c.batch(t, cfg, rows)) {
		t.Error("two bidirectional runs differ")
	}
}

// causal checks that nothing comes from later tokens, that no value is negative, NaN or infinite,
// and that shares sum to 1 where the aggregation says so. Every Â_l is a lower triangle with row
// sums of 1, and both properties are kept by products.
func (c contract) causal(t *testing.T) {
	cfg := aggregation.Config{Layers: 4}
	rows := random(3, cfg, 12)
	out := c.batch(t, cfg, rows)
	T := rows.T()
	for i := range cfg.Layers * T {
		sum := 0.0
		for j, x := range out[i*T : (i+1)*T] {
			sum += x
			if j > i%T && x != 0 {
				t.Fatalf("level %d target %d takes %v from source %d, which comes later", i/T,
					i%T, x, j)
			}
			if !(x >= 0) || math.IsInf(x, 0) {
				t.Fatalf("level %d target %d source %d = %v", i/T, i%T, j, x)
			}
		}
		if c.meta.Shares && math.Abs(sum-1) > tol {
			t.Errorf("level %d target %d: sum %v, want 1", i/T, i%T, sum)
		}
	}
}

// incremental checks that rows in calls of one, two and three targets give the bits of one call. A
// call over the sources so far returns [L,n,first+n]; one call over all returns [L,T,T], where the
// sources after a target are 0.
func (c contract) incremental(t *testing.T) {
	cfg := aggregation.Config{Layers: 3}
	rows := random(4, cfg, 70) // more than one machine word of tokens
	T := rows.T()
	whole := c.batch(t, cfg, rows)
	s := c.a.New(cfg)
	for first := 0; first < T; {
		n := min(1+first%3, T-first)
		part := slice(rows, first, n)
		got := extend(t, s, cfg, part)
		for l := range cfg.Layers {
			for k := range n {
				a := got[(l*n+k)*part.T():][:part.T()]
				b := whole[(l*T+first+k)*T:][:part.T()]
				if !slices.Equal(a, b) {
					t.Fatalf("level %d target %d: %v row by row, %v at once", l, first+k, a, b)
				}
			}
		}
		first += n
	}
}

// selections checks that what is not asked for changes nothing: the top level alone equals the top
// level of all, rows that are skipped still extend the state, and an aggregation that does not need
// all rows gives the same with the last row alone.
func (c contract) selections(t *testing.T) {
	cfg := aggregation.Config{Layers: 3}
	rows := random(5, cfg, 8)
	T := rows.T()
	whole := c.batch(t, cfg, rows)
	cfg.TopOnly, rows.Skip = true, 5
	if got, want := c.batch(t, cfg, rows), whole[(2*T+5)*T:]; !slices.Equal(got, want) {
		t.Errorf("top level without the first 5 rows = %v, want %v", got, want)
	}
	// All rows may be skipped; the result is empty.
	rows.Skip = rows.N
	c.batch(t, cfg, rows)
	if c.meta.AllRows {
		return
	}
	got := c.batch(t, cfg, slice(random(5, aggregation.Config{Layers: 3}, 8), 7, 1))
	if want := whole[(2*T+7)*T:]; !slices.Equal(got, want) {
		t.Errorf("last row without the earlier ones = %v, want %v", got, want)
	}
}

// topRows checks that the rows of a head replace those of the explained layer and of no lower one.
// The last target's row of the top layer is the only one of that layer which its result uses, so
// the head's row can also be put there by hand.
func (c contract) topRows(t *testing.T) {
	cfg := aggregation.Config{Layers: 3, TopOnly: true}
	rows, head := random(6, cfg, 8), random(7, cfg, 8)
	T := rows.T()
	rows.Top = rows.Data
	if same := c.batch(t, cfg, rows); !slices.Equal(same, c.batch(t, cfg, slice(rows, 0, 8))) {
		t.Error("top rows that equal the others change the result")
	}
	rows.Top = head.Data
	got := c.batch(t, cfg, rows)
	mixed := slice(rows, 0, 8)
	copy(mixed.Data[(2*T+7)*T:], head.Data[(2*T+7)*T:]) // last target of the top layer
	want := c.batch(t, cfg, mixed)
	if !slices.Equal(got[7*T:], want[7*T:]) {
		t.Errorf("one head over merged layers = %v, want %v", got[7*T:], want[7*T:])
	}
}

// permuted checks that permuting the tokens of a bidirectional text permutes the result. With the
// permutation P, rows P Â P^T must give P R P^T. Sums run in another order, so equal bits are not
// asked for.
func (c contract) permuted(t *testing.T) {
	cfg := aggregation.Config{Layers: 3, Prefix: 7}
	rows := random(8, cfg, cfg.Prefix)
	T := rows.T()
	perm := rand.New(rand.NewPCG(9, 9)).Perm(T)
	other := slice(rows, 0, T)
	permute := func(dst, src []float64) {
		for l := range cfg.Layers {
			for i := range T {
				for j := range T {
					dst[(l*T+perm[i])*T+perm[j]] = src[(l*T+i)*T+j]
				}
			}
		}
	}
	permute(other.Data, rows.Data)
	got := c.batch(t, cfg, other)
	want := make([]float64, len(got))
	permute(want, c.batch(t, cfg, rows))
	for i := range want {
		if math.Abs(got[i]-want[i]) > tol {
			t.Fatalf("entry %d is %v after permuting the tokens, want %v", i, got[i], want[i])
		}
	}
}

// prefix checks a text whose first tokens see each other, target by target, against the same rows
// as a bidirectional text, in which all other sources are 0.
func (c contract) prefix(t *testing.T) {
	const T, tol = 9, 1e-14
	for _, prefix := range []int{2, 4, T} {
		cfg := aggregation.Config{Layers: 3, Prefix: prefix}
		rows := random(12, cfg, T)
		whole := c.batch(t, aggregation.Config{Layers: 3, Prefix: T}, rows)
		s := c.a.New(cfg)
		for first := 0; first < T; {
			n := max(1, prefix-first)
			part := slice(rows, first, n)
			got := extend(t, s, cfg, part)
			for l := range cfg.Layers {
				for k := range n {
					for j, x := range got[(l*n+k)*part.T():][:part.T()] {
						if want := whole[(l*T+first+k)*T+j]; !(math.Abs(x-want) <= tol) {
							t.Fatalf("with a prefix of %d, level %d of target %d has %v from %d, "+
								"want %v", prefix, l, first+k, x, j, want)
						}
					}
				}
			}
			first += n
		}
	}
}

// nan checks that Extend returns on a row with NaN and infinity, and that the results of earlier
// targets do not change. Target 5 has them; targets 0 to 4 do not see it.
func (c contract) nan(t *testing.T) {
	cfg := aggregation.Config{Layers: 3}
	rows := random(10, cfg, 8)
	T := rows.T()
	want := c.batch(t, cfg, rows)
	for l := range cfg.Layers {
		rows.Row(l, 5)[2], rows.Row(l, 5)[3] = math.NaN(), math.Inf(1)
	}
	got := c.batch(t, cfg, rows)
	for l := range cfg.Layers {
		if !slices.Equal(got[l*T*T:][:5*T], want[l*T*T:][:5*T]) {
			t.Errorf("NaN in target 5 changed earlier targets at level %d", l)
		}
	}
}

// cancel checks that Extend returns an error that wraps ctx.Err() if its context has ended.
func (c contract) cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	cfg := aggregation.Config{Layers: 2}
	_, err := c.a.New(cfg).Extend(ctx, nil, random(11, cfg, 4))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Extend after cancel returned %v, want an error that wraps %v", err,
			context.Canceled)
	}
}

// random returns rows of T targets that sum to 1, half of each on the target itself. Some entries
// are zero, and a few are much larger than the rest. The fourth power of a number in [0,1) is
// mostly near 0. With s the sum of a row, the diagonal gets s + 10⁻³, and 2s + 10⁻³ divides all, so
// the row sums to 1 even if s is 0.
func random(seed uint64, cfg aggregation.Config, T int) aggregation.Rows {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := aggregation.Rows{L: cfg.Layers, N: T, Data: make([]float64, cfg.Layers*T*T)}
	for l := range m.L {
		for i := range T {
			row := m.Row(l, i)
			sum := 0.0
			for j := range row {
				if j < max(i+1, cfg.Prefix) && rng.IntN(4) > 0 {
					row[j] = math.Pow(rng.Float64(), 4)
					sum += row[j]
				}
			}
			row[i] += sum + 1e-3
			for j := range row {
				row[j] /= 2*sum + 1e-3
			}
		}
	}
	return m
}

// slice returns a copy of rows first..first+n-1 over the sources up to them, without the top rows.
func slice(m aggregation.Rows, first, n int) aggregation.Rows {
	part := aggregation.Rows{First: first, L: m.L, N: n}
	for l := range m.L {
		for k := range n {
			part.Data = append(part.Data, m.Row(l, first+k)[:first+n]...)
		}
	}
	return part
}
