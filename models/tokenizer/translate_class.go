package tokenizer

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// class translates a class after its opening bracket.
func (t *translator) class() error {
	s := classItems{fold: t.fold}
	negated := t.accept("^")
	for first := true; ; first = false {
		switch {
		case t.rest == "":
			return t.malformed("a class is not closed")
		// A bracket at the beginning of a class stands for itself.
		case t.rest[0] == ']' && !first:
			t.accept("]")
			s.write(&t.out, negated)
			return nil
		case t.rest[0] == '[':
			return t.refuse("a class in a class")
		case strings.HasPrefix(t.rest, "&&"):
			return t.refuse("an intersection of classes")
		}
		if err := s.item(t); err != nil {
			return err
		}
	}
}

// classItems are the members of a class, written for [compile].
type classItems struct {
	text   strings.Builder
	single rune // the member, if there is just one
	count  int
	fold   bool
	last   rune // the last single character read, for a range; -1 if the last item was a class
}

// item reads a character, a range or a class.
func (s *classItems) item(t *translator) error {
	first, err := s.member(t)
	if err != nil || first < 0 {
		return err
	}
	// A hyphen at the end stands for itself.
	if !strings.HasPrefix(t.rest, "-") || strings.HasPrefix(t.rest, "-]") {
		return s.add(t, first, first)
	}
	t.accept("-")
	if t.rest == "" || t.rest[0] == '[' {
		return t.refuse("a range without an end")
	}
	last, err := s.member(t)
	if err != nil {
		return err
	}
	if last < first {
		return t.malformed("a range ends before it begins")
	}
	return s.add(t, first, last)
}

// member reads a character and returns it; if it is a class, it adds the class and returns -1.
func (s *classItems) member(t *translator) (rune, error) {
	if !t.accept(`\`) {
		return t.next(), nil
	}
	if t.rest == "" {
		return 0, t.malformed("the pattern ends in a backslash")
	}
	s.last = -1
	_, err := s.escape(t, false)
	return s.last, err
}

// add adds a range of characters and, with fold, those that differ only in case.
func (s *classItems) add(t *translator, first, last rune) error {
	s.single = first
	s.count += int(last-first) + 1
	s.text.WriteString(runText(runeRun{first, last}))
	if !s.fold {
		return nil
	}
	// The other cases are added one by one.
	if last-first > 0x200 {
		return t.refuse("a long range without regard to case")
	}
	for r := first; r <= last; r++ {
		if r >= utf8.RuneSelf && unicode.IsLetter(r) {
			return t.refuse(fmt.Sprintf("%q without regard to case", r))
		}
		// SimpleFold goes around the characters that differ only in case: k, K, and the Kelvin
		// sign.
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			s.text.WriteString(runText(runeRun{f, f}))
			s.count++
		}
	}
	return nil
}

// write writes the class, or the character if it has only one. Other characters are always written
// in a class and escaped, so that none has a special meaning.
func (s *classItems) write(out *bytes.Buffer, negated bool) {
	switch {
	case negated:
		out.WriteString("[^" + s.text.String() + "]")
	case s.count == 1 && (s.single == ' ' || s.single < utf8.RuneSelf &&
		(unicode.IsLetter(s.single) || unicode.IsDigit(s.single))):
		out.WriteRune(s.single)
	default:
		out.WriteString("[" + s.text.String() + "]")
	}
}
