package tokenizer

import (
	"errors"
	"fmt"
	"strings"
)

// pattern finds the matches at which a text is split, or which are replaced.
type pattern interface {
	// find yields the matches from left to right. An empty match directly after another match is
	// skipped, as in the reference.
	find(text string, m *meter, yield func(begin, end int)) error
}

// parsePattern makes the pattern of a file. A regular expression that most tokenizers use has a
// scanner written by hand.
func parsePattern(f patternFile) (pattern, error) {
	switch {
	case f.String != nil && f.Regex == nil:
		if *f.String == "" {
			return everyGap{}, nil
		}
		return literal(*f.String), nil
	case f.Regex != nil && f.String == nil:
		if scanner, ok := scanners[*f.Regex]; ok {
			return scanner, nil
		}
		return newRegex(*f.Regex)
	}
	return nil, errors.New("a pattern must be either a String or a Regex")
}

// literal is a text that matches itself.
type literal string

func (l literal) find(text string, _ *meter, yield func(begin, end int)) error {
	for at := 0; ; {
		i := strings.Index(text[at:], string(l))
		if i < 0 {
			return nil
		}
		yield(at+i, at+i+len(l))
		at += i + len(l)
	}
}

// everyGap matches the empty text before each character and at the end.
type everyGap struct{}

func (everyGap) find(text string, _ *meter, yield func(begin, end int)) error {
	for i := 0; i < len(text); i += runeLen(text[i:]) {
		yield(i, i)
	}
	yield(len(text), len(text))
	return nil
}

// runeClass matches each character of a class.
type runeClass func(rune) bool

func (c runeClass) find(text string, _ *meter, yield func(begin, end int)) error {
	for i := 0; i < len(text); {
		r, size := decodeRune(text[i:])
		if c(r) {
			yield(i, i+size)
		}
		i += size
	}
	return nil
}

// scanner is a regular expression written by hand. It returns the length of the match at the start
// of a text, which is not empty; there always is one, of at least one byte.
type scanner func(s string) int

func (s scanner) find(text string, _ *meter, yield func(begin, end int)) error {
	for i := 0; i < len(text); {
		n := s(text[i:])
		yield(i, i+n)
		i += n
	}
	return nil
}

// spaceRuns matches two spaces or more.
type spaceRuns struct{}

func (spaceRuns) find(text string, _ *meter, yield func(begin, end int)) error {
	for at := 0; ; {
		i := strings.Index(text[at:], "  ")
		if i < 0 {
			return nil
		}
		begin := at + i
		for at = begin + 2; at < len(text) && text[at] == ' '; at++ {
		}
		yield(begin, at)
	}
}

// regex is a compiled regular expression of the reference.
type regex struct {
	*program
	source string
}

// maxPattern is the length of the longest pattern, in bytes.
const maxPattern = 1 << 14

// newRegex parses and compiles a pattern.
func newRegex(source string) (regex, error) {
	if len(source) > maxPattern {
		return regex{}, fmt.Errorf("the regular expression has %d bytes, the limit is %d",
			len(source), maxPattern)
	}
	tree, err := parseRegex(source)
	if err != nil {
		return regex{}, err
	}
	p, err := compile(tree)
	if err != nil {
		return regex{}, fmt.Errorf("regular expression %.200q: %w", source, err)
	}
	return regex{p, source}, nil
}

// find returns an error if the search takes too many steps, as some patterns take exponential time.
func (r regex) find(text string, m *meter, yield func(begin, end int)) error {
	w := matchWork{text: text, meter: m, marks: make([]int, r.marks)}
	for from, last := 0, -1; from <= len(text); {
		begin, end, err := w.search(r.program, from)
		switch {
		case err != nil:
			return fmt.Errorf("regular expression %.200q on a text of %d bytes: %w", r.source,
				len(text), err)
		case begin < 0:
			return nil
		// an empty match after the last one, at the end
		case begin == end && end == last && end == len(text):
			return nil
		// an empty match directly after another one: the search goes on one character later
		case begin == end && end == last:
			from += runeLen(text[from:])
			continue
		}
		yield(begin, end)
		from, last = end, end
	}
	return nil
}
