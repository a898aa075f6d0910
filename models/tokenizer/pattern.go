package tokenizer

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// pattern finds what a text is split at or what is replaced in it.
type pattern interface {
	// find yields the matches from left to right. An empty match that touches the one before is none.
	find(text string, yield func(begin, end int)) error
}

// parsePattern makes the pattern that a file names.
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
	return nil, errors.New("a pattern is either a String or a Regex")
}

// literal matches itself.
type literal string

func (l literal) find(text string, yield func(begin, end int)) error {
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

func (everyGap) find(text string, yield func(begin, end int)) error {
	for i := 0; i < len(text); i += runeLen(text[i:]) {
		yield(i, i)
	}
	yield(len(text), len(text))
	return nil
}

// runeClass matches each character of a class.
type runeClass func(rune) bool

func (c runeClass) find(text string, yield func(begin, end int)) error {
	for i := 0; i < len(text); {
		r, size := decodeRune(text[i:])
		if c(r) {
			yield(i, i+size)
		}
		i += size
	}
	return nil
}

// scanner is a regular expression written by hand: it returns the length of the match at the start of a text, which is
// not empty; there always is one.
type scanner func(s string) int

func (s scanner) find(text string, yield func(begin, end int)) error {
	for i := 0; i < len(text); {
		n := s(text[i:])
		yield(i, i+n)
		i += n
	}
	return nil
}

// spaceRuns matches two spaces or more.
type spaceRuns struct{}

func (spaceRuns) find(text string, yield func(begin, end int)) error {
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

// regex is a regular expression of the reference, as translated by [translate].
type regex struct {
	*regexp2.Regexp
	source string
}

// Limits that keep a pattern from running for ever.
const (
	maxPattern   = 1 << 14         // bytes of a pattern
	matchTimeout = 2 * time.Second // for one match
	findTimeout  = 20 * time.Second
)

func newRegex(source string) (regex, error) {
	if len(source) > maxPattern {
		return regex{}, fmt.Errorf("the regular expression has %d bytes, the limit is %d", len(source), maxPattern)
	}
	translated, err := translate(source)
	if err != nil {
		return regex{}, err
	}
	re, err := regexp2.Compile(translated, regexp2.None)
	if err != nil {
		return regex{}, fmt.Errorf("regular expression %.200q: %w", source, err)
	}
	re.MatchTimeout = matchTimeout
	return regex{re, source}, nil
}

// find returns an error if the search takes too long: patterns exist that take time without end.
func (r regex) find(text string, yield func(begin, end int)) error {
	runes, at := runesOf(text)
	begun := time.Now()
	for from, last := 0, -1; from <= len(runes); {
		m, err := r.FindRunesMatchStartingAt(runes, from)
		if err != nil || time.Since(begun) > findTimeout {
			return fmt.Errorf("regular expression %.200q takes too long on a text of %d bytes; split the text", r.source, len(text))
		}
		if m == nil {
			return nil
		}
		begin, end := m.Index, m.Index+m.Length
		if begin == end && end == last {
			from++
			continue
		}
		yield(at(begin), at(end))
		from, last = end, end
	}
	return nil
}

// runesOf returns the characters of text, and where in text the one with a given index begins.
func runesOf(text string) ([]rune, func(int) int) {
	if isASCII(text) {
		runes := make([]rune, len(text))
		for i := range len(text) {
			runes[i] = rune(text[i])
		}
		return runes, func(i int) int { return i }
	}
	n := utf8.RuneCountInString(text)
	runes, at := make([]rune, 0, n), make([]int, 0, n+1)
	for i, r := range text {
		runes, at = append(runes, r), append(at, i)
	}
	at = append(at, len(text))
	return runes, func(i int) int { return at[i] }
}
