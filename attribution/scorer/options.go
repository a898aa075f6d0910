package scorer

import (
	"slices"
	"strconv"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Options has the options of scorers. The zero value of every field is its default.
type Options struct {
	// Quantity is the quantity explained. Default: the query's, or if it has none the first of
	// [Info.Quantities].
	Quantity trace.Quantity `json:"quantity,omitempty"`
	// Steps is the number of points of an integral over inputs, without its two ends, in [1,1024].
	// Default 32.
	Steps int `json:"steps,omitempty"`
	// Replacement is what replaces a token that is taken away: mask, unknown, pad, end, delete,
	// zero (an embedding of zeros), or a token of the model, such as " the" with the space that it
	// has inside a text. Default: the first of mask, unknown and delete that the model has; a token
	// that ends texts is not taken for unknown, although some checkpoints name it so. Integrated
	// gradients need a token at every place. Their default is the first of mask, unknown, end and
	// pad whose embedding is not nearly zero, or zero if there is none. For models whose first
	// operation is a norm, their values with zero are undefined or unreliable.
	Replacement string `json:"replacement,omitempty"`
	// Samples is the number of random replacements in an estimate, in [1,16384], default 256. Seed
	// starts the random source.
	Samples int    `json:"samples,omitempty"`
	Seed    uint64 `json:"seed,omitempty"`
	// Batch is the number of texts that the model runs at once, in [1,1024]. Default 16.
	Batch int `json:"batch,omitempty"`
	// Groups are, for scorers with [Info.Together], tokens of the query that are taken away as one:
	// positions in rising order, each in one group at most. A token in no group is taken away
	// alone. The value of a group stands at its first token, and its other tokens have 0. An
	// explanation sets them by its own options.
	Groups [][]int `json:"-"`
	// Progress, if not nil, is called before each batch of a scorer that needs several.
	Progress func(trace.Progress) `json:"-"`
}

// Number is a field of [Options] that is a whole number.
type Number struct {
	// Name is the name of the option.
	Name string
	// Most is the largest value, and Default the value that 0 stands for.
	Most, Default int
	// Field returns a pointer to the field.
	Field func(*Options) *int
}

// Numbers returns the fields of [Options] that are whole numbers.
func Numbers() []Number { return slices.Clone(numbers) }

// numbers are the fields of [Options] that are whole numbers. A number is in [1,most], or 0
// for its default. The limits are far above what an estimate needs, and low enough that a typing
// error does not cost days.
var numbers = []Number{
	{"steps", 1024, 32, func(s *Options) *int { return &s.Steps }},
	{"samples", 1 << 14, 256, func(s *Options) *int { return &s.Samples }},
	{"batch", 1024, 16, func(s *Options) *int { return &s.Batch }},
}

// maxReplacement is the largest number of bytes of a replacement. No token is longer.
const maxReplacement = 1 << 20

// ReplacementRule is the requirement on a replacement, for messages.
const ReplacementRule = "it is the name of a kind or one token"

// Check returns a [trace.UsageError] for the first field that is out of range.
func (s Options) Check() error {
	for _, n := range numbers {
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
	for _, n := range numbers {
		if field := n.Field(&s); *field == 0 {
			*field = n.Default
		}
	}
	return s
}
