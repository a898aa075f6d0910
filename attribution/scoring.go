package attribution

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Limits of scoring: far above what an estimate needs, and low enough that a slip of the finger does not take days.
const (
	defaultSteps   = 32
	maxSteps       = 1024
	defaultSamples = 256
	maxSamples     = 1 << 14
	defaultBatch   = 16
	maxBatch       = 1024
)

// check returns a usage error for the first field that is out of range.
func (s Scoring) check() error {
	for _, f := range []struct {
		name                 string
		value, most, instead int
	}{
		{"steps", s.Steps, maxSteps, defaultSteps},
		{"samples", s.Samples, maxSamples, defaultSamples},
		{"batch", s.Batch, maxBatch, defaultBatch},
	} {
		if f.value < 0 || f.value > f.most {
			return usagef("%s %d; it must be in [1,%d], or 0 for %d", f.name, f.value, f.most, f.instead)
		}
	}
	if len(s.Replacement) > maxTextBytes {
		return usagef("replacement of %d bytes; it is the name of a kind or one token", len(s.Replacement))
	}
	return nil
}

// filled returns s with every number that was left open.
func (s Scoring) filled() Scoring {
	for _, f := range []struct {
		value   *int
		instead int
	}{{&s.Steps, defaultSteps}, {&s.Samples, defaultSamples}, {&s.Batch, defaultBatch}} {
		if *f.value == 0 {
			*f.value = f.instead
		}
	}
	return s
}

// PrepareScoring is what a scorer does first: it returns the query and the options as the scorer works on them, checked, copied and with
// every default filled in. The error, a [UsageError], names what is wrong: a query without tokens, a position or token out of range,
// embeddings that are no [T,D] of numbers, a quantity that info does not have, an option out of range.
func PrepareScoring(scorer string, info ScorerInfo, m Model, q trace.Query, opts Scoring) (trace.Query, Scoring, error) {
	x, err := newQuestion(context.Background(), scorer, info, m, q, opts)
	if err != nil {
		return trace.Query{}, Scoring{}, err
	}
	return x.q, x.opts, nil
}
