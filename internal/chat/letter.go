package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// The case of text, as Python's str has it: by the rules of Unicode that need no language, in which
// a character may be several as a capital ("ß"). Package cases knows these; its last sigma of a
// word is another one than Python's after letters such as "ʰ", so small letters are made here.

// upper is Python's str.upper.
func upper(s string) string { return cases.Upper(language.Und).String(s) }

// titleRune returns a character as it begins a word.
func titleRune(c rune) string { return cases.Title(language.Und, cases.NoLower).String(string(c)) }

// lower is Python's str.lower.
func lower(s string) string {
	var b strings.Builder
	for i, c := range s {
		b.WriteString(lowerRune(s, i, c))
	}
	return b.String()
}

// lowerRune returns the small form of c, which is the character at byte i of s.
func lowerRune(s string, i int, c rune) string {
	switch {
	case c == '\u0130':
		return "i\u0307"
	case c == 'Σ' && endsWord(s[:i], s[i+len("Σ"):]):
		return "ς"
	}
	return string(unicode.ToLower(c))
}

// endsWord reports whether a letter between two texts is the last of a word and not the first.
func endsWord(before, after string) bool {
	at := strings.LastIndexFunc(before, notCaseIgnorable)
	if at < 0 {
		return false
	}
	if c, _ := utf8.DecodeRuneInString(before[at:]); !isCased(c) {
		return false
	}
	at = strings.IndexFunc(after, notCaseIgnorable)
	if at < 0 {
		return true
	}
	c, _ := utf8.DecodeRuneInString(after[at:])
	return !isCased(c)
}

// notCaseIgnorable reports whether a character counts when the ends of words are found, as accents
// and apostrophes do not.
func notCaseIgnorable(c rune) bool {
	return !unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) &&
		!strings.ContainsRune("'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024"+
			"\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a", c)
}

// isCased reports whether a character is a small letter, a capital, or one that begins words.
func isCased(c rune) bool { return isSmall(c) || isCapital(c) || unicode.IsTitle(c) }

func isSmall(c rune) bool { return unicode.In(c, unicode.Ll, unicode.Other_Lowercase) }

func isCapital(c rune) bool { return unicode.In(c, unicode.Lu, unicode.Other_Uppercase) }

// capitalize is Python's str.capitalize.
func capitalize(s string) string {
	c, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(titleRune(c))
	for i, c := range s[size:] {
		b.WriteString(lowerRune(s, size+i, c))
	}
	return b.String()
}

// pythonTitle is Python's str.title: every run of letters with case begins with a capital.
func pythonTitle(s string) string {
	inside := false
	var b strings.Builder
	for i, c := range s {
		if inside {
			b.WriteString(lowerRune(s, i, c))
		} else {
			b.WriteString(titleRune(c))
		}
		inside = isCased(c)
	}
	return b.String()
}

// titleWords is Jinja2's filter title. Unlike for Python's method, an apostrophe does not begin a
// word, and the rest of a word becomes small as a text of its own.
func titleWords(s string) string {
	var b strings.Builder
	for s != "" {
		end := strings.IndexFunc(s, beginsWords)
		if end == 0 {
			c, size := utf8.DecodeRuneInString(s)
			b.WriteRune(c)
			s = s[size:]
			continue
		}
		if end < 0 {
			end = len(s)
		}
		c, size := utf8.DecodeRuneInString(s)
		b.WriteString(upper(string(c)) + lower(s[size:end]))
		s = s[end:]
	}
	return b.String()
}

// beginsWords reports whether a word begins after a character, for [titleWords].
func beginsWords(c rune) bool { return isSpace(c) || strings.ContainsRune("-({[<", c) }

// isUpper is Python's str.isupper: some letter is a capital, and none is small.
func isUpper(s string) bool {
	return strings.ContainsFunc(s, isCapital) && !strings.ContainsFunc(s, func(c rune) bool {
		return isSmall(c) || unicode.IsTitle(c)
	})
}

// isLower is Python's str.islower: some letter is small, and none is a capital.
func isLower(s string) bool {
	return strings.ContainsFunc(s, isSmall) && !strings.ContainsFunc(s, func(c rune) bool {
		return isCapital(c) || unicode.IsTitle(c)
	})
}

// digits are the characters besides decimal digits that Python's str.isdigit knows.
var digits = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0xb2, Hi: 0xb3, Stride: 1},
		{Lo: 0xb9, Hi: 0xb9, Stride: 1},
		{Lo: 0x1369, Hi: 0x1371, Stride: 1},
		{Lo: 0x19da, Hi: 0x19da, Stride: 1},
		{Lo: 0x2070, Hi: 0x2070, Stride: 1},
		{Lo: 0x2074, Hi: 0x2079, Stride: 1},
		{Lo: 0x2080, Hi: 0x2089, Stride: 1},
		{Lo: 0x2460, Hi: 0x2468, Stride: 1},
		{Lo: 0x2474, Hi: 0x247c, Stride: 1},
		{Lo: 0x2488, Hi: 0x2490, Stride: 1},
		{Lo: 0x24ea, Hi: 0x24ea, Stride: 1},
		{Lo: 0x24f5, Hi: 0x24fd, Stride: 1},
		{Lo: 0x24ff, Hi: 0x24ff, Stride: 1},
		{Lo: 0x2776, Hi: 0x277e, Stride: 1},
		{Lo: 0x2780, Hi: 0x2788, Stride: 1},
		{Lo: 0x278a, Hi: 0x2792, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x10a40, Hi: 0x10a43, Stride: 1},
		{Lo: 0x10e60, Hi: 0x10e68, Stride: 1},
		{Lo: 0x11052, Hi: 0x1105a, Stride: 1},
		{Lo: 0x1f100, Hi: 0x1f10a, Stride: 1},
	},
	LatinOffset: 2,
}

func isDigit(c rune) bool { return unicode.In(c, unicode.Nd, digits) }
