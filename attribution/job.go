package attribution

import (
	"context"
	"fmt"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// job is one aggregation over the rows of one mixing. Methods that differ only in what they do with
// its result share a job.
type job struct {
	mixing, aggregation string
	rule                aggregation.Normalization
	cfg                 aggregation.Config
	// firstLayer is the layer of the first rows.
	firstLayer int
	// ask and head are indices into the plan's asks: of the rows, and of the rows of one head, -1
	// if there are none.
	ask, head int
	// vectors reports whether rows are not stored: the model multiplies vectors by them.
	vectors bool
	// bounds are those of the latest token, nil where the result is exact.
	bounds *aggregation.Bounded
	// uniform is the state of the same aggregation over uniform attention, nil without lift.
	state, uniform aggregation.State
	// result, [K,wanted,sources], belongs to the latest rows; base is the same for uniform
	// attention.
	result, base    []float64
	wanted, sources int
	// zeros are the first few rows that were all zero; zeroCount is the number of all of them.
	zeros     []aggregation.Place
	zeroCount int
}

// start begins with an empty text, and with one of uniform attention for lift.
func (j *job) start(a aggregation.Aggregation, lift bool) {
	j.state = a.New(j.cfg)
	if lift {
		j.uniform = a.New(j.cfg)
	}
}

// extend adds rows; see [plan.extend].
func (j *job) extend(ctx context.Context, rows []aggregation.Rows, from int) (err error) {
	c := j.pickRows(rows)
	c.Skip = min(max(from-c.First, 0), c.N)
	mixed, zeros := j.rule.Apply(c, j.cfg)
	j.countZeros(zeros)
	j.wanted, j.sources = c.N-c.Skip, c.T()
	if j.result, err = j.extended(ctx, j.state, j.result[:0], mixed); err != nil {
		return err
	}
	if err := j.checkResult(); err != nil || j.uniform == nil {
		return err
	}
	j.base, err = j.extendBase(ctx, c, c.T()-1)
	return err
}

// extended extends a state by rows, into the memory of dst. A panic of the aggregation is an error
// that names it: it may come from another module, and several texts run at once, in goroutines
// whose panics nobody can recover.
func (j *job) extended(
	ctx context.Context, state aggregation.State, dst []float64, rows aggregation.Rows,
) (result []float64, err error) {
	if state == nil {
		return nil, fmt.Errorf("aggregation %s returned no state", j.aggregation)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("aggregation %s panicked: %v", j.aggregation, r)
		}
	}()
	return state.Extend(ctx, dst, rows)
}

// pickRows returns the rows of the job, with those of one head in Top if there is one.
func (j *job) pickRows(rows []aggregation.Rows) aggregation.Rows {
	c := rows[j.ask]
	if j.head >= 0 {
		c.Top = rows[j.head].Data
	}
	return c
}

// only computes the result of one target of a bidirectional text. A state can skip the results of
// all targets but the last ones. So the target is swapped with the last token, rows and columns,
// which changes nothing else: a bidirectional text has no order.
func (j *job) only(ctx context.Context, rows []aggregation.Rows, target int) (err error) {
	a, err := aggregation.Lookup(j.aggregation)
	if err != nil {
		return err
	}
	c := j.pickRows(rows)
	c.Skip = c.N - 1
	mixed, zeros := j.rule.Apply(c, j.cfg)
	if j.zeroCount == 0 { // every target finds the same rows, so count them once
		j.countZeros(zeros)
	}
	j.wanted, j.sources = 1, c.T()
	j.result, err = j.extended(ctx, a.New(j.cfg), j.result[:0], swapped(mixed, target))
	if err != nil {
		return err
	}
	if err := j.checkResult(); err != nil {
		return err
	}
	swapColumns(j.result, c.T(), target)
	if j.uniform == nil {
		return nil
	}
	j.uniform = a.New(j.cfg)
	if j.base, err = j.extendBase(ctx, c, target); err == nil {
		swapColumns(j.base, c.T(), target)
	}
	return err
}

// checkResult returns an error unless the latest result is [K,wanted,sources] and every number is
// finite and 0 or more.
func (j *job) checkResult() error {
	K := j.cfg.Levels()
	if want := K * j.wanted * j.sources; len(j.result) != want {
		return fmt.Errorf("aggregation %s returned %d numbers, want %d: %d levels, %d targets, "+
			"%d sources",
			j.aggregation, len(j.result), want, K, j.wanted, j.sources)
	}
	if i := rowmath.IndexInvalid(j.result); i >= 0 {
		s := i % j.sources
		return fmt.Errorf("aggregation %s returned %v at level %d of %d for source %d; want a "+
			"number of 0 or more",
			j.aggregation, j.result[i], i/j.sources/j.wanted, K, s)
	}
	return nil
}

// swapped returns a copy of the rows of a whole text, [L,T,T], in which token t and the last one
// have changed places.
func swapped(m aggregation.Rows, t int) aggregation.Rows {
	exchange := func(data []float64) []float64 {
		out := make([]float64, len(data))
		for i := range m.L * m.N {
			from := i
			switch i % m.N {
			case t:
				from = i - t + m.N - 1
			case m.N - 1:
				from = i - m.N + 1 + t
			}
			copy(rowmath.At(out, i, m.N), rowmath.At(data, from, m.N))
		}
		swapColumns(out, m.N, t)
		return out
	}
	m.Data = exchange(m.Data)
	if m.Top != nil {
		m.Top = exchange(m.Top)
	}
	return m
}

// swapColumns swaps column t and the last column of each row of width w, in place.
func swapColumns(data []float64, w, t int) {
	for i := 0; i < len(data); i += w {
		data[i+t], data[i+w-1] = data[i+w-1], data[i+t]
	}
}

// countZeros counts rows that are all zero, and keeps the first few for the warning.
func (j *job) countZeros(zeros []aggregation.Place) {
	const few = 3
	j.zeroCount += len(zeros)
	for _, p := range zeros[:min(len(zeros), few-len(j.zeros))] {
		p.Layer += j.firstLayer
		j.zeros = append(j.zeros, p)
	}
}

// zeroWarning returns a sentence on the rows that were all zero, or "" if there were none.
func (j *job) zeroWarning() string {
	if j.zeroCount == 0 {
		return ""
	}
	var where []string
	for _, p := range j.zeros {
		where = append(where, fmt.Sprintf("layer %d position %d", p.Layer, p.Target))
	}
	if j.zeroCount > len(where) {
		where = append(where, "…")
	}
	return fmt.Sprintf("%s: %d rows are all zero and stay so, nothing comes through them: %s.",
		j.mixing, j.zeroCount, strings.Join(where, ", "))
}

// allRows stands for the mean of all wanted rows in the place of the number of one.
const allRows = -1

// values returns wanted row n of the latest result, [K,sources]: shown as the method shows it, and
// mass before lift, which can be added up. Both may be the same slice.
func (m planned) values(n int) (shown, mass []float64) {
	mass = m.job.pick(m.job.result, n, m.Normalize)
	if !m.lift {
		return mass, mass
	}
	return aggregation.Lifted(mass, m.job.pick(m.job.base, n, m.Normalize)), mass
}

// pick returns a copy of wanted row n of every level, [K,sources], each divided by its sum if
// normalize is true; with [allRows] it returns the mean of all of them.
func (j *job) pick(result []float64, n int, normalize bool) []float64 {
	T := j.sources
	if n == allRows {
		mean := make([]float64, j.cfg.Levels()*T)
		for i := range j.wanted {
			floats.AddScaled(mean, 1/float64(j.wanted), j.pick(result, i, normalize))
		}
		return mean
	}
	out := make([]float64, 0, j.cfg.Levels()*T)
	for k := range j.cfg.Levels() {
		out = append(out, rowmath.At(result, k*j.wanted+n, T)...)
		if normalize {
			rowmath.DivideBySum(out[k*T:])
		}
	}
	return out
}
