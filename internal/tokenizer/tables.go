package tokenizer

import (
	_ "embed"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// The parts of the reference use different versions of Unicode: 8 for marks and punctuation, 9 for
// normal forms, 16 for the classes of regular expressions, 17 for case and digits; Go 1.26 uses
// version 15. The tables in unicode.txt are the differences, or the whole set where that is
// shorter: a name, then ranges of code points in hexadecimal. They were read from the reference
// code point by code point (testdata/record.py).
//
//go:embed unicode.txt
var unicodeText string

// unicodeTables has the tables of unicode.txt by name. \p{L} and its like are the members of a
// class of regular expressions that Go does not know yet.
var unicodeTables = func() map[string]runeSet {
	tables, name := map[string]runeSet{}, ""
	for _, f := range strings.Fields(unicodeText) {
		if table, ok := strings.CutSuffix(f, ":"); ok {
			name, tables[table] = table, nil
			continue
		}
		first, last, several := strings.Cut(f, "-")
		if !several {
			last = first
		}
		tables[name] = append(tables[name], runeRun{hex(first), hex(last)})
	}
	return tables
}()

var (
	// numbers17 are the numbers that Unicode 17 added to version 16.
	numbers17 = unicodeTables["numbers17"]
	// newDecomposed are the characters with a decomposition that were added after Unicode 9.
	newDecomposed = unicodeTables["newDecomposed"]
	// marks are the combining marks of Unicode 9: category M.
	marks = unicodeTables["marks"]
	// accents are the characters that BertNormalizer strips as accents: category Mn of Unicode 8.
	accents = unicodeTables["accents"]
	// controls are the characters that BertNormalizer drops: categories Cc, Cf, Co and U+FFFD,
	// without tab and line breaks.
	controls = unicodeTables["controls"]
	// punctuation is what BertPreTokenizer and Punctuation treat as punctuation: category P of
	// Unicode 8 and all of ASCII.
	punctuation = unicodeTables["punctuation"]
	// newLetters, newNumbers and newMarks are those that Unicode 16 added to version 15.
	newLetters = unicodeTables[`\p{L}`]
	newNumbers = unicodeTables[`\p{N}`]
	newMarks   = unicodeTables[`\p{M}`]
)

// runeSet is a set of code points: ranges in ascending order that do not touch.
type runeSet []runeRun

type runeRun struct{ first, last rune }

func hex(s string) rune {
	n, err := strconv.ParseInt(s, 16, 32)
	if err != nil {
		panic(err) // the tables are constants
	}
	return rune(n)
}

func (s runeSet) has(r rune) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].last >= r })
	return i < len(s) && s[i].first <= r
}

// lower returns r in lower case.
func lower(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r < 0xc0 || r >= badByte:
		return r
	}
	if l, ok := newLower[r]; ok {
		return l
	}
	return unicode.ToLower(r)
}

// newLower maps capital letters that Go does not know yet, and U+0130, whose dot the function
// lowercase adds.
var newLower = func() map[rune]rune {
	m := map[rune]rune{
		'İ': 'i', 0xa7cb: 0x264, 0xa7cc: 0xa7cd, 0xa7ce: 0xa7cf, 0xa7d2: 0xa7d3, 0xa7d4: 0xa7d5,
		0xa7da: 0xa7db, 0xa7dc: 0x19b, 0x1c89: 0x1c8a,
	}
	for r := rune(0x10d50); r <= 0x10d65; r++ {
		m[r] = r + 0x20
	}
	for r := rune(0x16ea0); r <= 0x16eb8; r++ {
		m[r] = r + 0x1b
	}
	return m
}()

// isNumeric reports whether r is a number.
func isNumeric(r rune) bool {
	if r < 0x80 {
		return '0' <= r && r <= '9'
	}
	return r < badByte && (unicode.IsNumber(r) || newNumbers.has(r) || numbers17.has(r))
}
