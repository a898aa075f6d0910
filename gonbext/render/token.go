package render

import (
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is the largest number of combining marks in a row that are drawn. More would cover the
// lines above and below.
const maxMarks = 3

// Visible returns a form of s that is safe to print and shows every byte. Newlines become ↵, tabs
// ⇥, other control characters their control pictures. Spaces at either end and double spaces become
// ␣; direction marks, zero-width and unassigned characters ⟨U+202E⟩; bytes that are not UTF-8 ⟨E2⟩.
// Every rune of the result satisfies [unicode.IsPrint].
//
// If the result would be wider than limit columns it is cut, and a remark gives the number of bytes
// of s. A limit of 0 or less means no limit. The result of different texts may be the same: it is
// for reading, and not for decoding.
func Visible(s string, limit int) string {
	var b strings.Builder
	columns, marks := 0, 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		piece := visibleRune(s, i, r, n)
		if unicode.Is(unicode.M, r) {
			if marks++; marks > maxMarks {
				piece = code(r)
			} else if i == 0 {
				piece = "◌" + piece // a mark needs a character to be drawn on
			}
		} else {
			marks = 0
		}
		columns += Width(piece)
		// Cut between characters, so that a piece such as ⟨U+202E⟩ is never divided.
		if limit > 0 && columns > limit {
			fmt.Fprintf(&b, "… (%s bytes)", thousands(len(s)))
			return b.String()
		}
		b.WriteString(piece)
		i += n
	}
	return b.String()
}

// visibleRune returns how the rune r of n bytes at s[i] is shown.
func visibleRune(s string, i int, r rune, n int) string {
	switch {
	case r == utf8.RuneError && n <= 1:
		return fmt.Sprintf("⟨%02X⟩", s[i])
	case r == ' ':
		if i == 0 || i == len(s)-1 || s[i-1] == ' ' || s[i+1] == ' ' {
			return "␣"
		}
		return " "
	case r == '\n':
		return "↵"
	case r == '\t':
		return "⇥"
	// The control pictures begin at U+2400 and have the order of the control characters.
	case r < 0x20:
		return string('␀' + r)
	case r == 0x7f:
		return "␡"
	case !unicode.IsPrint(r) || ignorable(r):
		return code(r)
	}
	return s[i : i+n]
}

// code returns the code of a character that must not take effect: ⟨U+202E⟩.
func code(r rune) string { return fmt.Sprintf("⟨U+%04X⟩", r) }

// ignorable reports whether r is invisible although Unicode calls it printable: fillers and
// variation selectors. A token of such characters alone would look empty.
func ignorable(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0:
		return true
	}
	return r >= 0x180B && r <= 0x180F || r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0000 && r <= 0xE0FFF
}

// escape returns a token as HTML text that is safe between tags and inside quoted attributes.
// Whatever text of a model or a user is in HTML went through [Visible], here or in a shorter name,
// and through html.EscapeString.
func escape(s string, limit int) string { return html.EscapeString(Visible(s, limit)) }

// word reports whether a token begins a word, which a leading space shows, and returns the token
// without that space. A single space is a token of its own, and one of several spaces is not the
// space before a word.
func word(text string) (begins bool, rest string) {
	if len(text) > 1 && text[0] == ' ' && text[1] != ' ' {
		return true, text[1:]
	}
	return false, text
}

// Width returns the number of terminal columns of s. Wide characters (East Asian, emoji) have two
// columns, combining marks and the marks around names from right to left none.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// wide are the ranges of characters that terminals draw two columns wide (East Asian Width W and F,
// emoji), merged where only narrow unassigned code points lie between.
var wide = [][2]rune{
	{0x1100, 0x115F},
	{0x231A, 0x231B},
	{0x23E9, 0x23EC},
	{0x25FD, 0x25FE},
	{0x2614, 0x2615},
	{0x2648, 0x2653},
	{0x26AA, 0x26AB},
	{0x26BD, 0x26BE},
	{0x26C4, 0x26C5},
	{0x2705, 0x2705},
	{0x270A, 0x270B},
	{0x2728, 0x2728},
	{0x274C, 0x274C},
	{0x2753, 0x2757},
	{0x2795, 0x2797},
	{0x2B1B, 0x2B1C},
	{0x2B50, 0x2B50},
	{0x2B55, 0x2B55},
	{0x2E80, 0x303E},
	{0x3041, 0x33FF},
	{0x3400, 0x4DBF},
	{0x4E00, 0xA4CF},
	{0xA960, 0xA97C},
	{0xAC00, 0xD7A3},
	{0xF900, 0xFAFF},
	{0xFE30, 0xFE6F},
	{0xFF01, 0xFF60},
	{0xFFE0, 0xFFE6},
	{0x16FE0, 0x18AFF},
	{0x1B000, 0x1B2FF},
	{0x1F004, 0x1F004},
	{0x1F0CF, 0x1F0CF},
	{0x1F18E, 0x1F18E},
	{0x1F191, 0x1F19A},
	{0x1F200, 0x1F320},
	{0x1F32D, 0x1F335},
	{0x1F337, 0x1F37C},
	{0x1F37E, 0x1F393},
	{0x1F3A0, 0x1F3CA},
	{0x1F3CF, 0x1F3D3},
	{0x1F3E0, 0x1F3F0},
	{0x1F3F4, 0x1F3F4},
	{0x1F3F8, 0x1F43E},
	{0x1F440, 0x1F440},
	{0x1F442, 0x1F4FC},
	{0x1F4FF, 0x1F53D},
	{0x1F54B, 0x1F567},
	{0x1F57A, 0x1F57A},
	{0x1F595, 0x1F596},
	{0x1F5A4, 0x1F5A4},
	{0x1F5FB, 0x1F64F},
	{0x1F680, 0x1F6C5},
	{0x1F6CC, 0x1F6CC},
	{0x1F6D0, 0x1F6DF},
	{0x1F6EB, 0x1F6FC},
	{0x1F7E0, 0x1F7F0},
	{0x1F90C, 0x1F9FF},
	{0x1FA70, 0x1FAFF},
	{0x20000, 0x3FFFD},
}

// runeWidth returns the number of terminal columns of r. The ranges rise, so the search ends at the
// first one above r.
func runeWidth(r rune) int {
	// Latin letters, the usual case; combining marks begin at U+0300.
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) || r >= 0x2066 && r <= 0x2069 {
		return 0
	}
	for _, w := range wide {
		if r < w[0] {
			return 1
		}
		if r <= w[1] {
			return 2
		}
	}
	return 1
}

// thousands formats a count with commas. n must not be negative.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
