package attribution

import (
	"context"
	"strconv"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// scoringNumbers are the fields of [Scoring] that are whole numbers. A number is in [1,most], or 0
// for its default. The limits are far above what an estimate needs, and low enough that a slip of
// the finger does not take days.
var scoringNumbers = []struct {
	name          string
	most, instead int
	field         func(*Scoring) *int
}{
	{"steps", 1024, 32, func(s *Scoring) *int { return &s.Steps }},
	{"samples", 1 << 14, 256, func(s *Scoring) *int { return &s.Samples }},
	{"batch", 1024, 16, func(s *Scoring) *int { return &s.Batch }},
}

// scoringNumber returns the value of an option that is a number of [Scoring].
func scoringNumber(name string) value {
	for _, n := range scoringNumbers {
		if n.name == name {
			return whole(func(o *Options) *int { return n.field(&o.Scoring) }, 1, n.most, strconv.Itoa(n.instead))
		}
	}
	panic("attribution: there is no scoring number " + name)
}

// replacementIs says what a replacement must be.
const replacementIs = "it is the name of a kind or one token"

// check returns a usage error for the first field that is out of range.
func (s Scoring) check() error {
	for _, n := range scoringNumbers {
		if wrong := wrongWhole(n.name, *n.field(&s), n.most, strconv.Itoa(n.instead)); wrong != "" {
			return usagef("%s", wrong)
		}
	}
	if len(s.Replacement) > maxTextBytes {
		return usagef("replacement of %d bytes; %s", len(s.Replacement), replacementIs)
	}
	return nil
}

// filled returns s with the default in place of every number that is 0.
func (s Scoring) filled() Scoring {
	for _, n := range scoringNumbers {
		if field := n.field(&s); *field == 0 {
			*field = n.instead
		}
	}
	return s
}

// PrepareScoring is what a scorer does first: it returns the query and the options as the scorer
// works on them, checked, copied and with every default filled in. The error, a [UsageError], names
// what is wrong: a query without tokens, a position or token out of range, embeddings that are no
// [T,D] of numbers, a quantity that info does not have, an option out of range.
func PrepareScoring(scorer string, info ScorerInfo, m Model, q trace.Query, opts Scoring) (trace.Query, Scoring, error) {
	x, err := newQuestion(context.Background(), scorer, info, m, q, opts)
	if err != nil {
		return trace.Query{}, Scoring{}, err
	}
	return x.q, x.opts, nil
}
