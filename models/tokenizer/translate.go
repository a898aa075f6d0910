package tokenizer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// translate rewrites a regular expression of Oniguruma, which the reference uses, for [compile].
// Both search by backtracking. Classes (another version of Unicode, another \w), case folding, line
// anchors and possessive quantifiers differ. A construct that might not mean the same is refused.
func translate(source string) (string, error) {
	if !utf8.ValidString(source) {
		return "", fmt.Errorf("regular expression %.200q is not valid UTF-8", source)
	}
	t := translator{source: source, rest: source}
	if err := t.alternatives(0); err != nil {
		return "", err
	}
	if t.rest != "" {
		return "", fmt.Errorf("regular expression %.200q: %.20q closes no group", source, t.rest)
	}
	return t.out.String(), nil
}

// maxTranslated is about how many bytes a translated pattern may have. A class of all letters has
// 5000.
const maxTranslated = 1 << 20

// maxGroups is how deep groups may be nested.
const maxGroups = 50

// translator reads a pattern from left to right and writes it for [compile].
type translator struct {
	source, rest string
	out          bytes.Buffer
	fold         bool // letters match in either case
	dotAll       bool
	behind       int // number of open look-behinds
}

// refuse is the error for a construct that may be valid but is not translated.
func (t *translator) refuse(what string) error {
	return &unsupportedError{
		Key: "pattern.Regex", Value: fmt.Sprintf("%s in %.200q", what, t.source),
		Supported: []string{
			"groups", "look-around", "classes", `\p{..} of general categories`,
			"quantifiers",
		},
	}
}

// malformed is the error for a pattern that is not valid, or too large.
func (t *translator) malformed(what string) error {
	return fmt.Errorf("regular expression %.200q: %s", t.source, what)
}

// accept removes prefix from the rest of the pattern, if it begins with it.
func (t *translator) accept(prefix string) bool {
	rest, ok := strings.CutPrefix(t.rest, prefix)
	t.rest = rest
	return ok
}

// next removes and returns the next character; the rest is not empty.
func (t *translator) next() rune {
	r, size := utf8.DecodeRuneInString(t.rest)
	t.rest = t.rest[size:]
	return r
}

// alternatives translates up to the end of the group.
func (t *translator) alternatives(depth int) error {
	if depth > maxGroups {
		return t.malformed(fmt.Sprintf("groups are nested more than %d deep", maxGroups))
	}
	for t.rest != "" && t.rest[0] != ')' {
		if t.accept("|") {
			t.out.WriteByte('|')
			continue
		}
		if err := t.term(depth); err != nil {
			return err
		}
	}
	return nil
}

// term translates one element and its quantifier.
func (t *translator) term(depth int) error {
	before := t.out.Len()
	if before > maxTranslated {
		return t.malformed(fmt.Sprintf("too many classes: written out, the pattern has more than "+
			"%d bytes", maxTranslated))
	}
	if err := t.element(depth); err != nil {
		return err
	}
	if t.out.Len() == before { // an option
		return nil
	}
	return t.quantifier(before)
}

func (t *translator) element(depth int) error {
	switch {
	case t.accept("("):
		return t.group(depth)
	case t.accept("["):
		return t.class()
	case t.accept("^"):
		// In Oniguruma ^ is the beginning of a line, but not after a line break that ends the text.
		t.out.WriteString(`(?:\A|(?<=\n)(?!\z))`)
	case t.accept("$"):
		// $ is the end of a line.
		t.out.WriteString(`(?=\n|\z)`)
	case t.accept("."):
		if t.dotAll {
			t.out.WriteString(`[\s\S]`)
		} else {
			t.out.WriteString(`[^\n]`)
		}
	case t.accept(`\`):
		return t.escape()
	case strings.ContainsRune("*+?", rune(t.rest[0])):
		return t.malformed("a quantifier has nothing to repeat")
	default:
		return t.char(t.next())
	}
	return nil
}

// char translates a literal character.
func (t *translator) char(r rune) error {
	s := classItems{fold: t.fold}
	if err := s.add(t, r, r); err != nil {
		return err
	}
	if t.fold && strings.ContainsRune("sf", unicode.ToLower(r)) && t.foldsWithNext(r) {
		return t.refuse("a ligature without regard to case")
	}
	s.write(&t.out, false)
	return nil
}

// foldsWithNext reports whether r and the next character could be one character in another case, as
// ss and ß.
func (t *translator) foldsWithNext(r rune) bool {
	if t.rest == "" {
		return false
	}
	pair := strings.ToLower(string(r) + t.rest[:1])
	return slices.Contains([]string{"ss", "st", "ff", "fi", "fl"}, pair)
}
