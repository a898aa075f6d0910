package attribution

import (
	"fmt"
	"math"

	"github.com/headwater-ml/headwater/internal/message"
)

// completeLimit is the residue above which an explanation warns, as a part of the change that the
// values should add up to. Sundararajan et al. 2017, §5, use enough steps to bring the integral
// within 5 %.
const completeLimit = 0.05

// rounding is the residue that the rounding of float32 may cause, as a part of the larger of the
// two values whose difference is explained.
const rounding = 1e-5

// missing returns the size of a residue as a part of the change that the values should add up to,
// sum + residue. It is 0 if the residue may be rounding, and +Inf if the change is 0.
func missing(sum, residue, value float64) float64 {
	change := sum + residue
	if math.Abs(residue) <= rounding*max(math.Abs(value), math.Abs(value-change)) {
		return 0
	}
	return math.Abs(residue) / math.Abs(change)
}

// incomplete counts the predictions whose residue is above completeLimit, and remembers the worst.
type incomplete struct {
	count int
	worst float64
	at    int // the first prediction with the worst
}

// add adds the missing part of prediction at.
func (c *incomplete) add(at int, missing float64) {
	if missing <= completeLimit {
		return
	}
	c.count++
	if missing > c.worst {
		c.worst, c.at = missing, at
	}
}

// residueWarnings returns a sentence for every scorer whose values should add up and do not.
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
		advice := fmt.Sprintf("Take more steps than %d", r.opts.Scoring.WithDefaults().Steps)
		if replacement := r.replacement(i); replacement != "" {
			advice += ", or another replacement than " + message.Quote(replacement)
		}
		all = append(all, fmt.Sprintf("%s: for %d of %s the values miss more than %.0f %% of the "+
			"change that they should add up to, at worst %s for %s. %s.", m.Name, c.count,
			r.e.Made(), 100*completeLimit, worst, message.Quote(r.e.Steps[c.at].Text), advice))
	}
	return all
}
