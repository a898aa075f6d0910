package scorer

import (
	"context"
	"slices"
	"strconv"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Number is a field of [Options] that is a whole number.
type Number struct {
	// Name is the name of the option.
	Name string
	// Most is the largest value, and Default the value that 0 stands for.
	Most, Default int
	// Field returns the field.
	Field func(*Options) *int
}

// Numbers returns the fields of [Options] that are whole numbers.
func Numbers() []Number { return slices.Clone(scoringNumbers) }

// scoringNumbers are the fields of [Options] that are whole numbers. A number is in [1,most], or 0
// for its default. The limits are far above what an estimate needs, and low enough that a slip of
// the finger does not take days.
var scoringNumbers = []Number{
	{"steps", 1024, 32, func(s *Options) *int { return &s.Steps }},
	{"samples", 1 << 14, 256, func(s *Options) *int { return &s.Samples }},
	{"batch", 1024, 16, func(s *Options) *int { return &s.Batch }},
}

// maxReplacement is the largest number of bytes of a replacement. No token is longer.
const maxReplacement = 1 << 20

// ReplacementRule says what a replacement must be, for messages.
const ReplacementRule = "it is the name of a kind or one token"

// Check returns a [trace.UsageError] for the first field that is out of range.
func (s Options) Check() error {
	for _, n := range scoringNumbers {
		wrong := message.OutOfRange(n.Name, *n.Field(&s), n.Most, strconv.Itoa(n.Default))
		if wrong != "" {
			return trace.Usagef("%s", wrong)
		}
	}
	if len(s.Replacement) > maxReplacement {
		return trace.Usagef("replacement of %d bytes; %s", len(s.Replacement), ReplacementRule)
	}
	return nil
}

// WithDefaults returns s with the default in place of every number that is 0.
func (s Options) WithDefaults() Options {
	for _, n := range scoringNumbers {
		if field := n.Field(&s); *field == 0 {
			*field = n.Default
		}
	}
	return s
}

// Prepare is what a scorer does first: it returns the query and the options as the scorer
// works on them, checked, copied and with every default filled in. The error, a [trace.UsageError],
// names what is wrong: a query without tokens, a position or token out of range, embeddings that
// are no [T,D] of numbers, a quantity that info does not have, an option out of range.
func Prepare(
	scorer string, info Info, m trace.Model, q trace.Query, opts Options,
) (trace.Query, Options, error) {
	x, err := newQuestion(context.Background(), scorer, info, m, q, opts)
	if err != nil {
		return trace.Query{}, Options{}, err
	}
	return x.q, x.opts, nil
}
