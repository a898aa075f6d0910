package tokenizer

import (
	"errors"
	"fmt"
)

// A tokenizer.json can make any amount of text out of a few bytes: nine steps that each replace
// "a" by ten of them make a gigabyte. So every text has a budget. It is counted, not timed: the
// same text and the same file always give the same result.
const (
	// A text may grow by 32 times its size: the largest growth of one step that is no invention of
	// the file is 11 times (the compatibility form of U+FDFA), and twice that as bytes spelled.
	// A large text is mixed and grows less: beyond largeGrowth it may grow by 4 times its size.
	maxGrowth   = 32
	largeGrowth = 32 << 20
	manyGrowth  = 4
	// smallGrowth is what any text may grow by, in bytes. A prefix may be longer than a short text.
	smallGrowth = 16 << 10
	// A step is about a byte that is read or written, or an instruction of a regular expression.
	// Trained files take less than 100 steps for a byte, the most of them in regular expressions.
	maxSteps   = 1024
	smallSteps = 512 << 10
	// maxText is the size of the longest text, in bytes: an origin has 29 bits for an offset.
	maxText = 1<<29 - 1
	// maxParts is how many parts a section may have. Files with more than 20 are rare.
	maxParts = 256
)

// ErrLimit is in the error for a text that a tokenizer.json makes too much work of: more bytes,
// more tokens or more steps than any text needs.
var ErrLimit = errors.New("tokenizer: limit exceeded")

// LimitError says which limit a text exceeds. It wraps [ErrLimit].
type LimitError struct {
	// Part is where the part that exceeds it stands in tokenizer.json, and its type:
	// "normalizer.normalizers[3] (Replace)".
	Part string
	// What is counted: "bytes put into the text", "steps".
	What string
	// Value is the count that exceeds Limit, or a part of it if the work ended before.
	Value, Limit int
	// Input is the size of the text in bytes.
	Input int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: %d %s for a text of %d bytes, the limit is %d; "+
		"shorten the text, or change this part of tokenizer.json", e.Part, e.Value, e.What, e.Input, e.Limit)
}

func (e *LimitError) Unwrap() error { return ErrLimit }

// meter counts what the parts of a file do with one text, for all of them together. Bytes that are
// taken away are not given back.
type meter struct {
	input        int
	grown, steps int
	maxGrown     int
	maxSteps     int
}

// newMeter is the budget of a text of n bytes. n is at most 1 GiB, so no sum here overflows.
func newMeter(n int) *meter {
	return &meter{
		input:    n,
		maxGrown: smallGrowth + max(manyGrowth*n, min(maxGrowth*n, largeGrowth)),
		maxSteps: smallSteps + maxSteps*n,
	}
}

// with is the budget for n bytes more, with what is used of it.
func (m *meter) with(n int) (*meter, error) {
	if n > maxText {
		return nil, errTextSize(n)
	}
	both := newMeter(m.input + n)
	both.grown, both.steps = m.grown, m.steps
	return both, nil
}

// errTextSize is the error for a text of n bytes, too many for the offsets of a token.
func errTextSize(n int) error {
	return fmt.Errorf("the text has %d bytes, the limit is %d; split it", n, maxText)
}

// tokenMeter is the budget to spell a token of n bytes. It is small: there may be one for each
// token
// of a text.
func tokenMeter(n int) *meter {
	return &meter{input: n, maxGrown: 1<<10 + maxGrowth*n, maxSteps: 1<<13 + maxSteps*n}
}

// grow counts n bytes that a part puts into the text, besides those it takes away.
func (m *meter) grow(n int) error {
	if n <= 0 {
		return nil
	}
	m.grown += n
	if m.grown > m.maxGrown {
		return &LimitError{
			What: "bytes put into it", Value: m.grown, Limit: m.maxGrown,
			Input: m.input,
		}
	}
	return nil
}

// room is how many bytes more may be put into the text.
func (m *meter) room() int { return m.maxGrown - m.grown }

// step counts n steps.
func (m *meter) step(n int) error {
	m.steps += n
	if m.steps > m.maxSteps {
		return &LimitError{What: "steps", Value: m.steps, Limit: m.maxSteps, Input: m.input}
	}
	return nil
}

// place is where a part stands in the file, for errors.
type place struct{ key, kind string }

// blame says in err, an error while a text is encoded or decoded, which part it comes from.
func (p place) blame(err error) error {
	var limit *LimitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &limit):
		if limit.Part == "" {
			limit.Part = fmt.Sprintf("%s (%s)", p.key, p.kind)
		}
		return err
	}
	return fmt.Errorf("%s (%s): %w", p.key, p.kind, err)
}

// errParts is the error for a section with too many parts.
func errParts(key string, n int) error {
	return fmt.Errorf("%s: %d parts, the limit is %d; leave some out", key, n, maxParts)
}
