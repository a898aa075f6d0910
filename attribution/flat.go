package attribution

import (
	"cmp"
	"fmt"
	"math"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

const (
	// wholeLimit is how far a value may be from the probability explained, as a part of it, and
	// count as all of it.
	wholeLimit = 0.05
	// flatColumns is the least number of tokens of a row that may be flat.
	flatColumns = 5
)

// isFlat reports whether nearly all values of a row are the whole probability explained: whichever
// token is taken away, the prediction is gone. One value in ten, or part of ten, may differ, as
// that of the first token often does.
func isFlat(values []float64, explained float64) bool {
	whole := 0
	for _, v := range values {
		if math.Abs(v-explained) <= wholeLimit*explained {
			whole++
		}
	}
	return explained != 0 && len(values) >= flatColumns && whole >= len(values)-(len(values)+9)/10
}

// flatRows counts the predictions whose row is flat, and remembers the first.
type flatRows struct{ count, first int }

// add adds prediction at.
func (f *flatRows) add(at int) {
	if f.count == 0 {
		f.first = at
	}
	f.count++
}

// removes reports whether a method's values are what the probability loses without each token.
func (r *run) removes(p planned) bool {
	info := p.scorer.Info()
	return info.Replaces && !info.Complete && p.quantity == trace.Probability
}

// replacement returns what scorer i replaces tokens by, "" if it replaces none.
func (r *run) replacement(i int) string {
	if !r.plan.methods[i].info().Replaces {
		return ""
	}
	return cmp.Or(r.scores[i].Replacement, r.opts.Scoring.Replacement)
}

// flatWarnings returns a sentence for every scorer with flat rows.
func (r *run) flatWarnings() []string {
	var all []string
	for i, f := range r.flat {
		if f.count == 0 {
			continue
		}
		m := r.plan.methods[i]
		all = append(all, fmt.Sprintf("%s: for %d of %s, first for %s, nearly every value is the "+
			"whole probability: whichever token is taken away, the prediction is gone, so the row "+
			"does not say which tokens count. Take another replacement than %s, or another method.",
			m.Name, f.count, r.e.Made(), message.Quote(r.e.Steps[f.first].Text),
			message.Quote(r.replacement(i))))
	}
	return all
}
