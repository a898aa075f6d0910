package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The case of text, as Python's str has it. Package strings maps each character to one other;
// Python also knows characters whose capital is several ("ß"), and the last sigma of a word.

// capitals are the characters that are several characters as capitals, each with these. It is
// SpecialCasing.txt of Unicode, without the rules that need a language.
var capitals = caseTable("\u00dfSS \u0149\u02bcN \u01f0J\u030c \u0390\u0399\u0308\u0301 " +
	"\u03b0\u03a5\u0308\u0301 \u0587\u0535\u0552 \u1e96H\u0331 \u1e97T\u0308 \u1e98W\u030a " +
	"\u1e99Y\u030a \u1e9aA\u02be \u1f50\u03a5\u0313 \u1f52\u03a5\u0313\u0300 " +
	"\u1f54\u03a5\u0313\u0301 \u1f56\u03a5\u0313\u0342 \u1f80\u1f08\u0399 " +
	"\u1f81\u1f09\u0399 \u1f82\u1f0a\u0399 \u1f83\u1f0b\u0399 \u1f84\u1f0c\u0399 " +
	"\u1f85\u1f0d\u0399 \u1f86\u1f0e\u0399 \u1f87\u1f0f\u0399 \u1f88\u1f08\u0399 " +
	"\u1f89\u1f09\u0399 \u1f8a\u1f0a\u0399 \u1f8b\u1f0b\u0399 \u1f8c\u1f0c\u0399 " +
	"\u1f8d\u1f0d\u0399 \u1f8e\u1f0e\u0399 \u1f8f\u1f0f\u0399 \u1f90\u1f28\u0399 " +
	"\u1f91\u1f29\u0399 \u1f92\u1f2a\u0399 \u1f93\u1f2b\u0399 \u1f94\u1f2c\u0399 " +
	"\u1f95\u1f2d\u0399 \u1f96\u1f2e\u0399 \u1f97\u1f2f\u0399 \u1f98\u1f28\u0399 " +
	"\u1f99\u1f29\u0399 \u1f9a\u1f2a\u0399 \u1f9b\u1f2b\u0399 \u1f9c\u1f2c\u0399 " +
	"\u1f9d\u1f2d\u0399 \u1f9e\u1f2e\u0399 \u1f9f\u1f2f\u0399 \u1fa0\u1f68\u0399 " +
	"\u1fa1\u1f69\u0399 \u1fa2\u1f6a\u0399 \u1fa3\u1f6b\u0399 \u1fa4\u1f6c\u0399 " +
	"\u1fa5\u1f6d\u0399 \u1fa6\u1f6e\u0399 \u1fa7\u1f6f\u0399 \u1fa8\u1f68\u0399 " +
	"\u1fa9\u1f69\u0399 \u1faa\u1f6a\u0399 \u1fab\u1f6b\u0399 \u1fac\u1f6c\u0399 " +
	"\u1fad\u1f6d\u0399 \u1fae\u1f6e\u0399 \u1faf\u1f6f\u0399 \u1fb2\u1fba\u0399 " +
	"\u1fb3\u0391\u0399 \u1fb4\u0386\u0399 \u1fb6\u0391\u0342 \u1fb7\u0391\u0342\u0399 " +
	"\u1fbc\u0391\u0399 \u1fc2\u1fca\u0399 \u1fc3\u0397\u0399 \u1fc4\u0389\u0399 " +
	"\u1fc6\u0397\u0342 \u1fc7\u0397\u0342\u0399 \u1fcc\u0397\u0399 " +
	"\u1fd2\u0399\u0308\u0300 \u1fd3\u0399\u0308\u0301 \u1fd6\u0399\u0342 " +
	"\u1fd7\u0399\u0308\u0342 \u1fe2\u03a5\u0308\u0300 \u1fe3\u03a5\u0308\u0301 " +
	"\u1fe4\u03a1\u0313 \u1fe6\u03a5\u0342 \u1fe7\u03a5\u0308\u0342 \u1ff2\u1ffa\u0399 " +
	"\u1ff3\u03a9\u0399 \u1ff4\u038f\u0399 \u1ff6\u03a9\u0342 \u1ff7\u03a9\u0342\u0399 " +
	"\u1ffc\u03a9\u0399 \ufb00FF \ufb01FI \ufb02FL \ufb03FFI \ufb04FFL \ufb05ST \ufb06ST " +
	"\ufb13\u0544\u0546 \ufb14\u0544\u0535 \ufb15\u0544\u053b \ufb16\u054e\u0546 " +
	"\ufb17\u0544\u053d")

// wordCapitals are the characters that are several characters at the beginning of a word.
var wordCapitals = caseTable("\u00dfSs \u0149\u02bcN \u01f0J\u030c \u0390\u0399\u0308\u0301 " +
	"\u03b0\u03a5\u0308\u0301 \u0587\u0535\u0582 \u1e96H\u0331 \u1e97T\u0308 \u1e98W\u030a " +
	"\u1e99Y\u030a \u1e9aA\u02be \u1f50\u03a5\u0313 \u1f52\u03a5\u0313\u0300 " +
	"\u1f54\u03a5\u0313\u0301 \u1f56\u03a5\u0313\u0342 \u1fb2\u1fba\u0345 " +
	"\u1fb4\u0386\u0345 \u1fb6\u0391\u0342 \u1fb7\u0391\u0342\u0345 \u1fc2\u1fca\u0345 " +
	"\u1fc4\u0389\u0345 \u1fc6\u0397\u0342 \u1fc7\u0397\u0342\u0345 " +
	"\u1fd2\u0399\u0308\u0300 \u1fd3\u0399\u0308\u0301 \u1fd6\u0399\u0342 " +
	"\u1fd7\u0399\u0308\u0342 \u1fe2\u03a5\u0308\u0300 \u1fe3\u03a5\u0308\u0301 " +
	"\u1fe4\u03a1\u0313 \u1fe6\u03a5\u0342 \u1fe7\u03a5\u0308\u0342 \u1ff2\u1ffa\u0345 " +
	"\u1ff4\u038f\u0345 \u1ff6\u03a9\u0342 \u1ff7\u03a9\u0342\u0345 \ufb00Ff \ufb01Fi " +
	"\ufb02Fl \ufb03Ffi \ufb04Ffl \ufb05St \ufb06St \ufb13\u0544\u0576 \ufb14\u0544\u0565 " +
	"\ufb15\u0544\u056b \ufb16\u054e\u0576 \ufb17\u0544\u056d")

// caseTable reads words of a character and what it becomes.
func caseTable(words string) map[rune]string {
	table := map[rune]string{}
	for word := range strings.FieldsSeq(words) {
		c, size := utf8.DecodeRuneInString(word)
		table[c] = word[size:]
	}
	return table
}

// upper is Python's str.upper.
func upper(s string) string {
	var b strings.Builder
	for _, c := range s {
		b.WriteString(upperRune(c))
	}
	return b.String()
}

func upperRune(c rune) string {
	if several, ok := capitals[c]; ok {
		return several
	}
	return string(unicode.ToUpper(c))
}

// titleRune returns a character as it begins a word.
func titleRune(c rune) string {
	if several, ok := wordCapitals[c]; ok {
		return several
	}
	return string(unicode.ToTitle(c))
}

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
		b.WriteString(upperRune(c) + lower(s[size:end]))
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
