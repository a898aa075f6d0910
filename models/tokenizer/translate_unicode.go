package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// property reads {L} after \p.
func (s *classItems) property(t *translator, negated, alone bool) (bool, error) {
	name, rest, ok := strings.Cut(t.rest, "}")
	if !ok || !strings.HasPrefix(name, "{") {
		return false, t.malformed(`\p needs {..}`)
	}
	t.rest, name = rest, name[1:]
	if n, ok := strings.CutPrefix(name, "^"); ok {
		name, negated = n, !negated
	}
	if negated && !alone {
		return false, t.refuse("a negated class in a class")
	}
	return negated, s.category(t, name)
}

// category adds a category or script of Unicode.
func (s *classItems) category(t *translator, name string) error {
	extra, ok := unicodeTables[`\p{`+name+`}`]
	if !ok {
		return t.refuse(fmt.Sprintf(`\p{%.40s}`, name))
	}
	// These have no letters with two cases that would have to be added.
	if s.fold && !slices.Contains([]string{"N", "Nd", "Nl", "No", "P", "S", "Z", "Zs"}, name) {
		return t.refuse(fmt.Sprintf(`\p{%s} without regard to case`, name))
	}
	s.count += 2
	if name == "Mn" { // one code point left the category
		const gone = 0x1171e
		for _, r := range tableRuns(unicode.Mn) {
			parts := []runeRun{r}
			if r.first <= gone && gone <= r.last {
				parts = []runeRun{{r.first, gone - 1}, {gone + 1, r.last}}
			}
			for _, part := range parts {
				if part.first <= part.last {
					s.text.WriteString(runText(part))
				}
			}
		}
	} else {
		s.text.WriteString(`\p{` + name + `}`)
	}
	for _, r := range extra {
		s.text.WriteString(runText(r))
	}
	return nil
}

// wordClass is \w as a class: letters, marks, decimal and letter numbers, connectors, and other
// alphabetic characters. It is made once, because it has thousands of bytes.
var wordClass = sync.OnceValue(func() string {
	var s strings.Builder
	for _, name := range []string{"L", "M", "Nd", "Nl", "Pc"} {
		s.WriteString(`\p{` + name + `}`)
		for _, r := range unicodeTables[`\p{`+name+`}`] {
			s.WriteString(runText(r))
		}
	}
	for _, r := range tableRuns(unicode.Other_Alphabetic) {
		s.WriteString(runText(r))
	}
	return s.String()
})

// propertyRuns returns the characters of a category or script that Go knows.
func propertyRuns(name string) (runeSet, bool) {
	if runs, ok := knownRuns.Load(name); ok {
		return runs.(runeSet), true
	}
	table, ok := unicode.Categories[name]
	if !ok {
		if table, ok = unicode.Scripts[name]; !ok {
			return nil, false
		}
	}
	runs := tableRuns(table)
	// Two goroutines may both compute it; the results are equal.
	knownRuns.Store(name, runs)
	return runs, true
}

// knownRuns caches the results of propertyRuns by name. It has at most as many entries as
// unicodeTables.
var knownRuns sync.Map

// tableRuns returns the ranges of a table.
func tableRuns(t *unicode.RangeTable) (runs runeSet) {
	for _, r := range t.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			runs = runs.with(c)
		}
	}
	for _, r := range t.R32 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			runs = runs.with(c)
		}
	}
	return runs
}

// with appends a code point that is larger than all others.
func (s runeSet) with(r rune) runeSet {
	if n := len(s); n > 0 && s[n-1].last == r-1 {
		s[n-1].last = r
		return s
	}
	return append(s, runeRun{r, r})
}

// runText writes a range for a class. Every character is escaped, so none has a special meaning.
func runText(r runeRun) string {
	if r.first == r.last {
		return fmt.Sprintf(`\x{%x}`, r.first)
	}
	return fmt.Sprintf(`\x{%x}-\x{%x}`, r.first, r.last)
}
