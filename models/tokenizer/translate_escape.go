package tokenizer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape translates an escape outside of a class, after the backslash. The pattern is in the syntax
// of Oniguruma, and what is written is in that of [compile].
func (t *translator) escape() error {
	switch {
	case t.rest == "":
		return t.malformed("the pattern ends in a backslash")
	case t.accept("A"):
		t.out.WriteString(`\A`)
		return nil
	case t.accept("z"):
		t.out.WriteString(`\z`)
		return nil
	// the end, or before a line break at the end
	case t.accept("Z"):
		t.out.WriteString(`(?=\n?\z)`)
		return nil
	case strings.ContainsRune("bB", rune(t.rest[0])):
		return t.refuse("a word boundary")
	}
	// Every other escape is written as a class, which may have a single character.
	s := classItems{fold: t.fold}
	negated, err := s.escape(t, true)
	if err != nil {
		return err
	}
	s.write(&t.out, negated)
	return nil
}

// escape reads an escape after the backslash. Alone, which means outside of a class, it may be a
// class that is negated as a whole.
func (s *classItems) escape(t *translator, alone bool) (negated bool, err error) {
	r := t.next()
	switch r {
	// count is 2 for what may be several characters: it must stay in a class.
	case 's', 'S':
		s.text.WriteString(`\` + string(r))
		s.count += 2
		return false, nil
	case 'd':
		return false, s.category(t, "Nd")
	case 'w':
		if s.fold {
			return false, t.refuse(`\w without regard to case`)
		}
		s.text.WriteString(wordClass())
		if alone { // Oniguruma uses another table for Latin-1 outside of classes
			s.text.WriteString("\u00b2\u00b3\u00b9\u00bc-\u00be")
		}
		s.count += 2
		return false, nil
	case 'h':
		s.text.WriteString("0-9a-fA-F")
		s.count += 2
		return false, nil
	// The complement of the class in small letters.
	case 'D', 'W', 'H':
		if !alone {
			return false, t.refuse("a negated class in a class")
		}
		t.rest = string(unicode.ToLower(r)) + t.rest
		_, err := s.escape(t, true)
		return true, err
	case 'p', 'P':
		return s.property(t, r == 'P', alone)
	}
	if s.last, err = t.escaped(r); err != nil || !alone {
		return false, err
	}
	return false, s.add(t, s.last, s.last)
}

// controlEscapes are the letters that stand for a control character after a backslash.
var controlEscapes = map[rune]rune{
	'n': '\n', 'r': '\r', 't': '\t', 'f': '\f', 'v': '\v', 'a': '\a', 'e': 0x1b,
}

// escaped returns the character that r after a backslash stands for.
func (t *translator) escaped(r rune) (rune, error) {
	if c, ok := controlEscapes[r]; ok {
		return c, nil
	}
	switch r {
	case 'x':
		return t.hexEscape()
	case 'u':
		return t.hexDigits(4)
	}
	// Other letters and digits mean something else, such as a reference to a group. Marks stand for
	// themselves.
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return 0, t.refuse(fmt.Sprintf(`\%c`, r))
	}
	return r, nil
}

// hexEscape reads HH or {H..} after \x. From \x80 on, HH is a byte in Oniguruma and not a
// character, which a text in UTF-8 cannot be searched for.
func (t *translator) hexEscape() (rune, error) {
	if t.accept("{") {
		body, rest, ok := strings.Cut(t.rest, "}")
		n, err := strconv.ParseUint(body, 16, 32)
		if !ok || err != nil || !utf8.ValidRune(rune(n)) {
			return 0, t.malformed(`\x{..} is not a character`)
		}
		t.rest = rest
		return rune(n), nil
	}
	r, err := t.hexDigits(2)
	if err == nil && r >= utf8.RuneSelf {
		return 0, t.refuse(fmt.Sprintf(`the byte \x%x`, r))
	}
	return r, err
}

// hexDigits reads exactly n hexadecimal digits.
func (t *translator) hexDigits(n int) (rune, error) {
	if len(t.rest) < n {
		return 0, t.malformed(fmt.Sprintf("an escape needs %d hexadecimal digits", n))
	}
	v, err := strconv.ParseUint(t.rest[:n], 16, 32)
	if err != nil || !utf8.ValidRune(rune(v)) {
		return 0, t.malformed(
			fmt.Sprintf("an escape needs %d hexadecimal digits of a character", n))
	}
	t.rest = t.rest[n:]
	return rune(v), nil
}
