package tokenizer

import (
	"errors"
	"fmt"
)

// A tokenizer.json can make any amount of text out of a few bytes: nine parts that each replace "a"
// by ten of them make a gigabyte. So each text has a budget, which counts work instead of time: the
// same text and the same file give the same result on every machine.
const (
	// maxGrowth: a text may grow to 32 times its size. The largest growth that one step needs is 11
	// times (the compatibility form of U+FDFA), and twice that in a byte-level vocabulary. A large
	// text is mixed and grows less: beyond largeGrowth it may grow to 4 times its size
	// (manyGrowth).
	maxGrowth   = 32
	largeGrowth = 32 << 20
	manyGrowth  = 4
	// smallGrowth is how many bytes any text may grow by. A prefix may be longer than a short text.
	smallGrowth = 16 << 10
	// maxSteps is how many steps a text may take for each byte. A step is about one byte that is
	// read or written, or one instruction of a regular expression. Trained files take less than 100
	// steps, most of them in regular expressions.
	maxSteps   = 1024
	smallSteps = 512 << 10
	// maxText is the size of the longest text, in bytes: an origin has 29 bits for an offset.
	maxText = 1<<29 - 1
	// maxParts is how many parts a section may have. Files with more than 20 are rare.
	maxParts = 256
)

// errLimit is wrapped by the error for a text for which a tokenizer.json causes too much work: more
// bytes, tokens or steps than any real text needs.
var errLimit = pkg.Errorf("limit exceeded")

// limitError names the limit that a text exceeds. It wraps [errLimit].
type limitError struct {
	// Part is the place and the type of the part that exceeds the limit, such as
	// "normalizer.normalizers[3] (Replace)".
	Part string
	// What is what is counted: "bytes put into the text", "steps".
	What string
	// Value is the count when the work was stopped.
	Value, Limit int
	// Input is the size of the text in bytes.
	Input int
}

func (e *limitError) Error() string {
	return fmt.Sprintf("%s: %d %s for a text of %d bytes, the limit is %d; "+
		"shorten the text, or change this part of tokenizer.json", e.Part, e.Value, e.What, e.Input,
		e.Limit)
}

func (e *limitError) Unwrap() error { return errLimit }

// meter counts what the parts of a file do with one text, all parts together. Bytes that are
// removed from the text do not give budget back.
type meter struct {
	input        int
	grown, steps int
	maxGrown     int
	maxSteps     int
}

// newMeter returns the budget for a text of n bytes. n is at most 512 MiB, so no sum here
// overflows.
func newMeter(n int) *meter {
	return &meter{
		input:    n,
		maxGrown: smallGrowth + max(manyGrowth*n, min(maxGrowth*n, largeGrowth)),
		maxSteps: smallSteps + maxSteps*n,
	}
}

// errTextSize is the error for a text of n bytes, which are too many for the offsets of a token.
func errTextSize(n int) error {
	return fmt.Errorf("the text has %d bytes, the limit is %d; split it", n, maxText)
}

// tokenMeter returns the budget to spell a token of n bytes. It is small, because a caller may ask
// for every token of a text.
func tokenMeter(n int) *meter {
	return &meter{input: n, maxGrown: 1<<10 + maxGrowth*n, maxSteps: 1<<13 + maxSteps*n}
}

// grow counts n bytes by which a part makes the text longer.
func (m *meter) grow(n int) error {
	if n <= 0 {
		return nil
	}
	m.grown += n
	if m.grown > m.maxGrown {
		return &limitError{
			What: "bytes put into it", Value: m.grown, Limit: m.maxGrown,
			Input: m.input,
		}
	}
	return nil
}

// room returns how many bytes the text may still grow by.
func (m *meter) room() int { return m.maxGrown - m.grown }

// step counts n steps.
func (m *meter) step(n int) error {
	m.steps += n
	if m.steps > m.maxSteps {
		return &limitError{What: "steps", Value: m.steps, Limit: m.maxSteps, Input: m.input}
	}
	return nil
}

// place is the place of a part in the file, for errors.
type place struct{ key, kind string }

// wrap adds the place and the type of a part to an error from encoding or decoding with it.
func (p place) wrap(err error) error {
	var limit *limitError
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
