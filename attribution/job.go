package attribution

import (
	"context"
	"fmt"
	"strings"
)

// job is one aggregation over the rows of one mixing. Methods that differ only in what is done with its result share it.
type job struct {
	mixing, aggregation string
	residual            float64
	cfg                 Config
	// ask and head are indices of the plan's asks: the rows, and those of one head over them, -1 if none.
	ask, head int
	// uniform is the same aggregation over uniform attention, nil without lift.
	state, uniform State
	// result is [K,wanted,sources] of the latest rows; base is the same for uniform attention.
	result, base    []float64
	wanted, sources int
	// zeros are the first rows that were all zero, zeroCount all of them.
	zeros     []place
	zeroCount int
}

// extend adds rows; see [plan.extend].
func (j *job) extend(ctx context.Context, rows []Mixed, from int) (err error) {
	c := rows[j.ask]
	c.Skip = min(max(from-c.First, 0), c.N)
	if j.head >= 0 {
		c.Top = rows[j.head].Data
	}
	mixed, zeros := normalized(c, j.residual)
	j.countZeros(zeros)
	j.wanted, j.sources = c.N-c.Skip, c.T()
	if j.result, err = j.state.Extend(ctx, j.result[:0], mixed); err != nil || j.uniform == nil {
		return err
	}
	j.base, err = j.uniform.Extend(ctx, j.base[:0], uniform(c, j.residual, j.cfg))
	return err
}

// countZeros remembers rows that were all zero, the first few by place.
func (j *job) countZeros(zeros []place) {
	const few = 3
	j.zeroCount += len(zeros)
	j.zeros = append(j.zeros, zeros[:min(len(zeros), few-len(j.zeros))]...)
}

// zeroWarning returns a sentence on the rows that were all zero, empty if there were none.
func (j *job) zeroWarning(firstLayer int) string {
	if j.zeroCount == 0 {
		return ""
	}
	var where []string
	for _, p := range j.zeros {
		where = append(where, fmt.Sprintf("layer %d position %d", firstLayer+p.layer, p.target))
	}
	if j.zeroCount > len(where) {
		where = append(where, "…")
	}
	return fmt.Sprintf("%s: %d rows are all zero and stay so, nothing comes through them: %s.",
		j.mixing, j.zeroCount, strings.Join(where, ", "))
}

// values returns wanted row n of the latest result as a method shows it, [K,sources], and before lift, which is what
// sums are made of. Both may be the same slice.
func (m planned) values(n int) (shown, mass []float64) {
	mass = m.job.pick(m.job.result, n, m.Normalize)
	if !m.lift {
		return mass, mass
	}
	return lifted(mass, m.job.pick(m.job.base, n, m.Normalize)), mass
}

// pick returns wanted row n of every level, [K,sources], a copy, each divided by its sum if asked.
func (j *job) pick(result []float64, n int, normalize bool) []float64 {
	T := j.sources
	out := make([]float64, 0, j.cfg.levels()*T)
	for k := range j.cfg.levels() {
		out = append(out, row(result, k*j.wanted+n, T)...)
		if normalize {
			divideBySum(out[k*T:])
		}
	}
	return out
}
