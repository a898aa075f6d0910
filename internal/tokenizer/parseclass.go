package tokenizer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// classParser reads one class, escape or character into ranges.
type classParser struct {
	*regexParser
	before string // the rest of the pattern where it begins
	runs   runeSet
	last   rune // the last single character read, for a range; -1 if the last item was a class
}

// node returns a node for one character of the class, or for one of all others. Equal classes share
// a set, because one with characters beyond ASCII takes 8 KiB.
func (c *classParser) node(negated bool) (*regexNode, error) {
	if c.ranges += len(c.runs); c.ranges > maxRanges {
		return nil, c.malformed(fmt.Sprintf("too many classes: written out, the pattern has more "+
			"than %d ranges of characters", maxRanges))
	}
	key := fmt.Sprint(c.fold, c.dotAll, c.before[:len(c.before)-len(c.rest)])
	if c.sets[key] == nil {
		c.sets[key] = newCharSet(c.runs, negated)
	}
	return &regexNode{op: opSet, set: c.sets[key]}, nil
}

// class reads a class after its opening bracket.
func (c *classParser) class() (*regexNode, error) {
	negated := c.accept("^")
	for first := true; ; first = false {
		switch {
		case c.rest == "":
			return nil, c.malformed("a class is not closed")
		// A bracket at the beginning of a class stands for itself.
		case !first && c.accept("]"):
			return c.node(negated)
		case c.rest[0] == '[':
			return nil, c.refuse("a class in a class")
		case strings.HasPrefix(c.rest, "&&"):
			return nil, c.refuse("an intersection of classes")
		}
		if err := c.item(); err != nil {
			return nil, err
		}
	}
}

// item reads a character, a range or a class.
func (c *classParser) item() error {
	first, err := c.member()
	if err != nil || first < 0 {
		return err
	}
	// A hyphen at the end stands for itself.
	if !strings.HasPrefix(c.rest, "-") || strings.HasPrefix(c.rest, "-]") {
		return c.add(first, first)
	}
	c.accept("-")
	if c.rest == "" || c.rest[0] == '[' {
		return c.refuse("a range without an end")
	}
	last, err := c.member()
	if err != nil {
		return err
	}
	if last < first {
		return c.malformed("a range ends before it begins")
	}
	return c.add(first, last)
}

// member reads a character and returns it; if it is a class, it adds the class and returns -1.
func (c *classParser) member() (rune, error) {
	if !c.accept(`\`) {
		return c.next(), nil
	}
	if c.rest == "" {
		return 0, c.malformed("the pattern ends in a backslash")
	}
	c.last = -1
	_, err := c.escape(false)
	return c.last, err
}

// add adds a range of characters and, with fold, those that differ only in case.
func (c *classParser) add(first, last rune) error {
	c.runs = append(c.runs, runeRun{first, last})
	if !c.fold {
		return nil
	}
	// The other cases are added one by one.
	if last-first > 0x200 {
		return c.refuse("a long range without regard to case")
	}
	for r := first; r <= last; r++ {
		if r >= utf8.RuneSelf && unicode.IsLetter(r) {
			return c.refuse(fmt.Sprintf("%q without regard to case", r))
		}
		// SimpleFold goes around the characters that differ only in case: k, K, and the Kelvin
		// sign.
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			c.runs = append(c.runs, runeRun{f, f})
		}
	}
	return nil
}

// outside reads an escape outside of a class, after the backslash.
func (c *classParser) outside() (*regexNode, error) {
	switch {
	case c.rest == "":
		return nil, c.malformed("the pattern ends in a backslash")
	case c.accept("A"):
		return beginNode, nil
	case c.accept("z"):
		return endNode, nil
	// the end, or before a line break at the end
	case c.accept("Z"):
		optional := &regexNode{op: opRepeat, list: []*regexNode{lineBreakNode}, max: 1}
		return nodes(opLook, nodes(opJump, optional, endNode)), nil
	case strings.ContainsRune("bB", rune(c.rest[0])):
		return nil, c.refuse("a word boundary")
	}
	negated, err := c.escape(true)
	if err != nil {
		return nil, err
	}
	return c.node(negated)
}

// escape reads an escape after the backslash. Alone, which means outside of a class, it may be a
// class that is negated as a whole.
func (c *classParser) escape(alone bool) (negated bool, err error) {
	r := c.next()
	switch r {
	case 's':
		c.runs = append(c.runs, whiteSpace()...)
	case 'S':
		c.runs = append(c.runs, notWhiteSpace()...)
	case 'd':
		return false, c.category("Nd")
	case 'w':
		if c.fold {
			return false, c.refuse(`\w without regard to case`)
		}
		c.runs = append(c.runs, wordRuns()...)
		if alone { // Oniguruma uses another table for Latin-1 outside of classes
			c.runs = append(c.runs, runeSet{{0xb2, 0xb3}, {0xb9, 0xb9}, {0xbc, 0xbe}}...)
		}
	case 'h':
		c.runs = append(c.runs, runeSet{{'0', '9'}, {'a', 'f'}, {'A', 'F'}}...)
	// The complement of the class in small letters.
	case 'D', 'W', 'H':
		if !alone {
			return false, c.refuse("a negated class in a class")
		}
		c.rest = string(unicode.ToLower(r)) + c.rest
		_, err := c.escape(true)
		return true, err
	case 'p', 'P':
		return c.property(r == 'P', alone)
	default:
		if c.last, err = c.escaped(r); err != nil || !alone {
			return false, err
		}
		return false, c.add(c.last, c.last)
	}
	return false, nil
}

// property reads {L} after \p.
func (c *classParser) property(negated, alone bool) (bool, error) {
	name, rest, ok := strings.Cut(c.rest, "}")
	if !ok || !strings.HasPrefix(name, "{") {
		return false, c.malformed(`\p needs {..}`)
	}
	c.rest, name = rest, name[1:]
	if n, ok := strings.CutPrefix(name, "^"); ok {
		name, negated = n, !negated
	}
	if negated && !alone {
		return false, c.refuse("a negated class in a class")
	}
	return negated, c.category(name)
}

// category adds a category or script of Unicode.
func (c *classParser) category(name string) error {
	runs := categoryRuns(name)
	if runs == nil {
		return c.refuse(fmt.Sprintf(`\p{%.40s}`, name))
	}
	// These have no letters with two cases that would have to be added.
	if c.fold && !slices.Contains([]string{"N", "Nd", "Nl", "No", "P", "S", "Z", "Zs"}, name) {
		return c.refuse(fmt.Sprintf(`\p{%s} without regard to case`, name))
	}
	c.runs = append(c.runs, runs...)
	return nil
}

// controlEscapes are the letters that stand for a control character after a backslash.
var controlEscapes = map[rune]rune{
	'n': '\n', 'r': '\r', 't': '\t', 'f': '\f', 'v': '\v', 'a': '\a', 'e': 0x1b,
}

// escaped returns the character that r after a backslash stands for.
func (t *regexParser) escaped(r rune) (rune, error) {
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
func (t *regexParser) hexEscape() (rune, error) {
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
func (t *regexParser) hexDigits(n int) (rune, error) {
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
