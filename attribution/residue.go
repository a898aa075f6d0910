package attribution

import (
	"fmt"
	"math"
)

// completeLimit is the residue above which an explanation warns, as a part of what the values
// should add up to. Sundararajan et al. 2017, §5, take as many steps as bring the integral within 5
// %.
const completeLimit = 0.05

// rounding is the residue that float32 alone may leave, as a part of the larger of both ends.
const rounding = 1e-5

// missing returns the residue of values that should be complete, without its sign, as a part of
// what they should add up to. It is 0 if the residue is rounding, and +Inf if they should add up to
// 0.
func missing(sum, residue, value float64) float64 {
	change := sum + residue
	if math.Abs(residue) <= rounding*max(math.Abs(value), math.Abs(value-change)) {
		return 0
	}
	return math.Abs(residue) / math.Abs(change)
}

// incomplete are the predictions for which a scorer misses more than completeLimit.
type incomplete struct {
	count int
	worst float64
	at    int // the first prediction with the worst
}

// add takes in prediction at.
func (c *incomplete) add(at int, missing float64) {
	if missing <= completeLimit {
		return
	}
	c.count++
	if missing > c.worst {
		c.worst, c.at = missing, at
	}
}

// residueWarnings returns a sentence for every scorer whose values should be complete and are not.
func (r *run) residueWarnings() []string {
	var all []string
	for i, c := range r.missing {
		if c.count == 0 {
			continue
		}
		m := r.plan.methods[i]
		worst := fmt.Sprintf("%.1f %%", 100*c.worst)
		if c.worst > 10 {
			worst = "more than 1000 %"
		}
		advice := fmt.Sprintf("Take more steps than %d", r.opts.Scoring.filled().Steps)
		if replacement := r.e.Methods[m.Name].Options["replacement"]; replacement != "" {
			advice += ", or another replacement than " + quote(replacement)
		}
		all = append(all, fmt.Sprintf("%s: for %d of %s the values miss more than %.0f %% of the "+
			"change that they should add up to, at worst %s for %s. %s.", m.Name, c.count,
			r.e.Made(), 100*completeLimit, worst, quote(r.e.Steps[c.at].Text), advice))
	}
	return all
}
