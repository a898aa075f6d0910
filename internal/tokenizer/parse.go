package tokenizer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// regexParser reads a regular expression of Oniguruma, which the reference uses, from left to right
// by recursive descent: alternatives, elements, quantifiers. Oniguruma differs from other engines
// in classes (another version of Unicode, another \w), case folding, line anchors and possessive
// quantifiers. A construct that might not mean the same here is refused.
type regexParser struct {
	source, rest string
	fold         bool // letters match in either case
	dotAll       bool
	behind       int                 // number of open look-behinds
	sets         map[string]*charSet // by how the pattern writes them
	ranges       int                 // of all classes
}

// Limits of a pattern: how deep groups may be nested, the largest count of a quantifier, and how
// many ranges of characters its classes may have. A class of all letters has 700.
const (
	maxGroups = 50
	maxRepeat = 100_000
	maxRanges = 1 << 22
)

// parseRegex returns the syntax tree of a pattern.
func parseRegex(source string) (*regexNode, error) {
	if !utf8.ValidString(source) {
		return nil, fmt.Errorf("regular expression %.200q is not valid UTF-8", source)
	}
	t := regexParser{source: source, rest: source, sets: map[string]*charSet{}}
	n, err := t.alternatives(0)
	if err == nil && t.rest != "" {
		err = fmt.Errorf("regular expression %.200q: %.20q closes no group", source, t.rest)
	}
	return n, err
}

// refuse is the error for a construct that may be valid but has no equivalent here.
func (t *regexParser) refuse(what string) error {
	return &unsupportedError{
		Key: "pattern.Regex", Value: fmt.Sprintf("%s in %.200q", what, t.source),
		Supported: []string{
			"groups", "look-around", "classes", `\p{..} of general categories`,
			"quantifiers",
		},
	}
}

// malformed is the error for a pattern that is not valid, or too large.
func (t *regexParser) malformed(what string) error {
	return fmt.Errorf("regular expression %.200q: %s", t.source, what)
}

// accept removes prefix from the rest of the pattern, if it begins with it.
func (t *regexParser) accept(prefix string) bool {
	rest, ok := strings.CutPrefix(t.rest, prefix)
	t.rest = rest
	return ok
}

// next removes and returns the next character; the rest is not empty.
func (t *regexParser) next() rune {
	r, size := utf8.DecodeRuneInString(t.rest)
	t.rest = t.rest[size:]
	return r
}

// alternatives reads up to the end of the group.
func (t *regexParser) alternatives(depth int) (*regexNode, error) {
	if depth > maxGroups {
		return nil, t.malformed(fmt.Sprintf("groups are nested more than %d deep", maxGroups))
	}
	all, one := nodes(opSplit), nodes(opJump)
	for t.rest != "" && t.rest[0] != ')' {
		if t.accept("|") {
			all.list, one = append(all.list, one), nodes(opJump)
			continue
		}
		n, err := t.element(depth)
		if err == nil {
			n, err = t.quantifier(n)
		}
		if err != nil {
			return nil, err
		}
		one.list = append(one.list, n)
	}
	all.list = append(all.list, one)
	return all, nil
}

// nodes returns a node of other nodes.
func nodes(op opcode, list ...*regexNode) *regexNode { return &regexNode{op: op, list: list} }

// The nodes of anchors and of a line break.
var (
	beginNode     = nodes(opBegin)
	endNode       = nodes(opEnd)
	lineBreakNode = &regexNode{op: opSet, set: newCharSet(runeSet{{'\n', '\n'}}, false)}
)

// element reads one group, anchor, class or character, without its quantifier.
func (t *regexParser) element(depth int) (*regexNode, error) {
	c := classParser{regexParser: t, before: t.rest}
	switch {
	case t.accept("("):
		return t.group(depth)
	case t.accept("["):
		return c.class()
	case t.accept("^"):
		// In Oniguruma ^ is the beginning of a line, but not after a line break that ends the text.
		return nodes(opSplit, beginNode, nodes(opJump,
			&regexNode{op: opLook, behind: true, list: []*regexNode{lineBreakNode}},
			&regexNode{op: opLook, negated: true, list: []*regexNode{endNode}})), nil
	case t.accept("$"):
		// $ is the end of a line.
		return nodes(opLook, nodes(opSplit, lineBreakNode, endNode)), nil
	case t.accept("."):
		if !t.dotAll {
			c.runs = runeSet{{'\n', '\n'}}
		}
		return c.node(true)
	case t.accept(`\`):
		return c.outside()
	case strings.ContainsRune("*+?", rune(t.rest[0])):
		return nil, t.malformed("a quantifier has nothing to repeat")
	}
	r := t.next()
	if err := c.add(r, r); err != nil {
		return nil, err
	}
	if t.fold && strings.ContainsRune("sf", unicode.ToLower(r)) && t.foldsWithNext(r) {
		return nil, t.refuse("a ligature without regard to case")
	}
	return c.node(false)
}

// foldsWithNext reports whether r and the next character could be one character in another case, as
// ss and ß.
func (t *regexParser) foldsWithNext(r rune) bool {
	if t.rest == "" {
		return false
	}
	pair := strings.ToLower(string(r) + t.rest[:1])
	return slices.Contains([]string{"ss", "st", "ff", "fi", "fl"}, pair)
}

// group reads a group after its opening parenthesis.
func (t *regexParser) group(depth int) (*regexNode, error) {
	// Options hold to the end of their group.
	fold, dotAll := t.fold, t.dotAll
	defer func() { t.fold, t.dotAll = fold, dotAll }()
	var n *regexNode
	switch {
	case t.accept("?:"):
		n = nodes(opJump)
	case t.accept("?="):
		n = nodes(opLook)
	case t.accept("?!"):
		n = &regexNode{op: opLook, negated: true}
	case t.accept("?>"):
		n = nodes(opAtomic)
		if t.behind > 0 { // what it matches depends on the direction of the search
			return nil, t.refuse("an atomic group in a look-behind")
		}
	case t.accept("?<="):
		n = &regexNode{op: opLook, behind: true}
	case t.accept("?<!"):
		n = &regexNode{op: opLook, behind: true, negated: true}
	case t.accept("?"):
		return t.options(depth)
	default:
		n = nodes(opJump) // what a group matched is never used
	}
	if n.behind {
		t.behind++
		defer func() { t.behind-- }()
	}
	return t.closeGroup(n, depth)
}

// closeGroup reads the inside of a group and its end.
func (t *regexParser) closeGroup(n *regexNode, depth int) (*regexNode, error) {
	inner, err := t.alternatives(depth + 1)
	if err == nil && !t.accept(")") {
		err = t.malformed("a group is not closed")
	}
	n.list = []*regexNode{inner}
	return n, err
}

// options reads groups such as (?i:...) after the question mark. An option alone, such as (?i),
// holds to the end of the group, alternatives included, so it is accepted only at the start.
func (t *regexParser) options(depth int) (*regexNode, error) {
	first := len(t.rest)+len("(?") == len(t.source)
	for on := true; t.rest != ""; {
		switch t.next() {
		case '-':
			on = false
		case 'i':
			t.fold = on
		// Oniguruma's m lets a dot match a line break, as s does elsewhere.
		case 'm':
			t.dotAll = on
		case ':':
			return t.closeGroup(nodes(opJump), depth)
		case ')':
			if !first {
				return nil, t.refuse("an option in the middle")
			}
			return t.alternatives(depth + 1)
		default:
			return nil, t.refuse("a group of this kind")
		}
	}
	return nil, t.malformed("a group is not closed")
}

// quantifier reads the quantifier after n, if there is one.
func (t *regexParser) quantifier(n *regexNode) (*regexNode, error) {
	loop := &regexNode{op: opRepeat, list: []*regexNode{n}, max: -1}
	counted, ranged := false, false
	switch {
	case t.accept("*"):
	case t.accept("+"):
		loop.min = 1
	case t.accept("?"):
		loop.max = 1
	case strings.HasPrefix(t.rest, "{"):
		var err error
		if counted, ranged, err = t.counts(loop); err != nil || !counted {
			return n, err
		}
	default:
		return n, nil
	}
	// In Oniguruma a + after a count repeats it and is not possessive, and after {n} a ? makes the
	// element optional and not lazy; both are refused below.
	switch {
	case !counted && t.accept("+"):
		if t.behind > 0 {
			return nil, t.refuse("a possessive quantifier in a look-behind")
		}
		loop = nodes(opAtomic, loop) // a*+ is (?>a*)
	case !counted || ranged:
		loop.lazy = t.accept("?")
	}
	if t.rest != "" && strings.ContainsRune("*+?", rune(t.rest[0])) {
		return nil, t.refuse("a quantifier of a quantifier")
	}
	return loop, nil
}

// counts reads {n}, {n,}, {n,m} or {,m}. It returns false if there is none; then the brace is a
// character. ranged reports whether there is a comma.
func (t *regexParser) counts(loop *regexNode) (ok, ranged bool, err error) {
	body, _, ok := strings.Cut(t.rest[1:], "}")
	low, high, ranged := strings.Cut(body, ",")
	if !ok || low == "" && high == "" || strings.Trim(low+high, "0123456789") != "" {
		return false, false, nil
	}
	t.rest = t.rest[len(body)+2:]
	bounds := [2]int{}
	for i, s := range []string{low, high} {
		// A missing bound is 0 here; the cases below tell it from the number 0.
		n, err := strconv.Atoi("0" + s)
		if err != nil || n > maxRepeat {
			return true, ranged, t.malformed(
				fmt.Sprintf("the count %.20s is more than %d", s, maxRepeat))
		}
		bounds[i] = n
	}
	loop.min = bounds[0]
	switch {
	case !ranged:
		loop.max = loop.min
	case high == "":
	case bounds[1] < bounds[0]:
		return true, ranged, t.refuse("counts in the wrong order")
	default:
		loop.max = bounds[1]
	}
	return true, ranged, nil
}
