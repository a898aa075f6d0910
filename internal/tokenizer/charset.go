package tokenizer

import (
	"cmp"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/rangetable"
)

// charSet is a class of characters. A byte that is not part of a valid character counts as U+FFFD.
type charSet struct {
	ascii   [2]uint64
	bits    []uint64 // of characters up to U+FFFF, nil if it has none beyond ASCII
	runs    runeSet
	negated bool
}

// has reports whether the class has a character: two table lookups up to U+FFFF, a binary search
// beyond.
func (s *charSet) has(r rune) bool {
	in := false
	switch {
	case r < utf8.RuneSelf:
		in = s.ascii[r>>6]>>(r&63)&1 != 0
	case r <= 0xffff:
		in = s.bits != nil && s.bits[r>>6]>>(r&63)&1 != 0
	default:
		in = s.runs.has(r)
	}
	return in != s.negated
}

// newCharSet returns the class of the given characters, which are ranges in any order, or of all
// others.
func newCharSet(runs runeSet, negated bool) *charSet {
	s := &charSet{negated: negated}
	slices.SortFunc(runs, func(a, b runeRun) int { return cmp.Compare(a.first, b.first) })
	for _, r := range runs {
		if n := len(s.runs); n > 0 && r.first <= s.runs[n-1].last+1 {
			s.runs[n-1].last = max(s.runs[n-1].last, r.last)
		} else {
			s.runs = append(s.runs, r)
		}
	}
	for _, r := range s.runs {
		for c := r.first; c <= min(r.last, utf8.RuneSelf-1); c++ {
			s.ascii[c>>6] |= 1 << (c & 63)
		}
		first, last := max(r.first, utf8.RuneSelf), min(r.last, 0xffff)
		if s.bits == nil && first <= last {
			s.bits = make([]uint64, 1<<10)
		}
		for c := first; c <= last; c++ {
			s.bits[c>>6] |= 1 << (c & 63)
		}
	}
	return s
}

// complement returns the characters that s does not have.
func (s runeSet) complement() (runs runeSet) {
	next := rune(0)
	for _, r := range s {
		if r.first > next {
			runs = append(runs, runeRun{next, r.first - 1})
		}
		next = r.last + 1
	}
	return append(runs, runeRun{next, utf8.MaxRune})
}

// The classes \s, \S and \w: letters, marks, decimal and letter numbers, connectors, and other
// alphabetic characters.
var (
	whiteSpace    = sync.OnceValue(func() runeSet { return tableRuns(unicode.White_Space) })
	notWhiteSpace = sync.OnceValue(func() runeSet { return whiteSpace().complement() })
	wordRuns      = sync.OnceValue(func() (runs runeSet) {
		for _, name := range []string{"L", "M", "Nd", "Nl", "Pc"} {
			runs = append(runs, categoryRuns(name)...)
		}
		return append(runs, tableRuns(unicode.Other_Alphabetic)...)
	})
)

// categoryRuns returns the characters of a category or script of Unicode, nil if it has no table
// here. Each is computed once.
func categoryRuns(name string) runeSet {
	if runs, ok := knownRuns.Load(name); ok {
		return runs.(runeSet)
	}
	added, ok := unicodeTables[`\p{`+name+`}`]
	if !ok {
		return nil
	}
	gone := rune(-1)
	if name == "Mn" {
		gone = 0x1171e // one code point left the category
	}
	table := cmp.Or(unicode.Categories[name], unicode.Scripts[name])
	runs := append(tableRuns(table, gone), added...)
	// Two goroutines may both compute it; the results are equal.
	knownRuns.Store(name, runs)
	return runs
}

// knownRuns has the results of categoryRuns by name, at most as many as unicodeTables.
var knownRuns sync.Map

// tableRuns returns the ranges of a table without some characters.
func tableRuns(t *unicode.RangeTable, without ...rune) (runs runeSet) {
	rangetable.Visit(t, func(r rune) {
		switch n := len(runs); {
		case slices.Contains(without, r):
		case n > 0 && runs[n-1].last == r-1:
			runs[n-1].last = r
		default:
			runs = append(runs, runeRun{r, r})
		}
	})
	return runs
}
