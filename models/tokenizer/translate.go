package tokenizer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// translate rewrites a regular expression of Oniguruma, which the reference uses, for regexp2. Both search by
// backtracking; what differs are classes (another version of Unicode, another \w), case folding, line anchors and
// possessive quantifiers. What is not known to mean the same is refused.
func translate(source string) (string, error) {
	if !utf8.ValidString(source) {
		return "", fmt.Errorf("regular expression %.200q is not valid UTF-8", source)
	}
	t := translator{source: source, rest: source}
	if err := t.alternatives(0); err != nil {
		return "", err
	}
	if t.rest != "" {
		return "", fmt.Errorf("regular expression %.200q: there is no group to close before %.20q", source, t.rest)
	}
	return t.out.String(), nil
}

// maxGroups is how deep groups may be nested.
const maxGroups = 50

type translator struct {
	source, rest string
	out          strings.Builder
	fold         bool // letters match in either case
	dotAll       bool
}

// refuse is the error for what is valid, perhaps, and not translated.
func (t *translator) refuse(what string) error {
	return &UnsupportedError{
		Key: "pattern.Regex", Value: fmt.Sprintf("%s in %.200q", what, t.source),
		Supported: []string{"groups", "look-around", "classes", `\p{..} of general categories`, "quantifiers"},
	}
}

func (t *translator) malformed(what string) error {
	return fmt.Errorf("regular expression %.200q: %s", t.source, what)
}

// take cuts prefix off what is left, if it is there.
func (t *translator) take(prefix string) bool {
	rest, ok := strings.CutPrefix(t.rest, prefix)
	t.rest = rest
	return ok
}

// next cuts the next character off; what is left is not empty.
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
		if t.take("|") {
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
	case t.take("("):
		return t.group(depth)
	case t.take("["):
		return t.class()
	case t.take("^"):
		t.out.WriteString(`(?:\A|(?<=\n)(?!\z))`)
	case t.take("$"):
		t.out.WriteString(`(?=\n|\z)`)
	case t.take("."):
		if t.dotAll {
			t.out.WriteString(`[\s\S]`)
		} else {
			t.out.WriteString(`[^\n]`)
		}
	case t.take(`\`):
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

// foldsWithNext is whether r and what follows could be one character in another case: ß is ss.
func (t *translator) foldsWithNext(r rune) bool {
	if t.rest == "" {
		return false
	}
	pair := strings.ToLower(string(r) + t.rest[:1])
	return slices.Contains([]string{"ss", "st", "ff", "fi", "fl"}, pair)
}

// group translates a group after its opening parenthesis.
func (t *translator) group(depth int) error {
	fold, dotAll := t.fold, t.dotAll
	defer func() { t.fold, t.dotAll = fold, dotAll }()
	switch {
	case t.take("?:"):
		t.out.WriteString("(?:")
	case t.take("?="):
		t.out.WriteString("(?=")
	case t.take("?!"):
		t.out.WriteString("(?!")
	case t.take("?<="):
		t.out.WriteString("(?<=")
	case t.take("?<!"):
		t.out.WriteString("(?<!")
	case t.take("?>"):
		t.out.WriteString("(?>")
	case strings.HasPrefix(t.rest, "?"):
		return t.options(depth)
	default:
		t.out.WriteString("(?:") // no one asks what it matched
	}
	return t.closeGroup(depth)
}

func (t *translator) closeGroup(depth int) error {
	if err := t.alternatives(depth + 1); err != nil {
		return err
	}
	if !t.take(")") {
		return t.malformed("a group is not closed")
	}
	t.out.WriteByte(')')
	return nil
}

// options translates (?i:...) and its like. (?i) alone holds to the end of the group, alternatives included, so it is
// taken only where the group begins.
func (t *translator) options(depth int) error {
	on := true
	for t.rest = t.rest[1:]; t.rest != ""; {
		switch t.next() {
		case '-':
			on = false
		case 'i':
			t.fold = on
		case 'm':
			t.dotAll = on
		case ':':
			t.out.WriteString("(?:")
			return t.closeGroup(depth)
		case ')':
			if t.out.Len() > 0 {
				return t.refuse("an option in the middle")
			}
			t.out.WriteString("(?:")
			if err := t.alternatives(depth + 1); err != nil {
				return err
			}
			t.out.WriteByte(')')
			return nil
		default:
			return t.refuse("a group of this kind")
		}
	}
	return t.malformed("a group is not closed")
}

// maxRepeat is the largest count of a quantifier.
const maxRepeat = 100_000

// quantifier translates what follows the element that the output has from byte start on.
func (t *translator) quantifier(start int) error {
	var q string
	switch {
	case t.take("*"):
		q = "*"
	case t.take("+"):
		q = "+"
	case t.take("?"):
		q = "?"
	case strings.HasPrefix(t.rest, "{"):
		var err error
		if q, err = t.counts(); err != nil || q == "" {
			return err
		}
	default:
		return nil
	}
	counted := q[0] == '{'
	switch {
	case strings.HasPrefix(t.rest, "+") && !counted:
		t.take("+")
		element := t.out.String()
		t.out.Reset()
		fmt.Fprintf(&t.out, "%s(?>%s%s)", element[:start], element[start:], q)
	case strings.HasPrefix(t.rest, "?") && (!counted || strings.Contains(q, ",")):
		t.take("?")
		t.out.WriteString(q + "?")
	default:
		t.out.WriteString(q)
	}
	if t.rest != "" && strings.ContainsRune("*+?", rune(t.rest[0])) {
		return t.refuse("a quantifier of a quantifier")
	}
	return nil
}

// counts reads {n}, {n,}, {n,m} or {,m}; empty if there is no such thing: then the brace is a character.
func (t *translator) counts() (string, error) {
	body, _, ok := strings.Cut(t.rest[1:], "}")
	low, high, ranged := strings.Cut(body, ",")
	if !ok || low == "" && high == "" || !digits(low) || !digits(high) {
		return "", nil
	}
	t.rest = t.rest[len(body)+2:]
	bounds := [2]int{}
	for i, s := range []string{low, high} {
		n, err := strconv.Atoi("0" + s)
		if err != nil || n > maxRepeat {
			return "", t.malformed(fmt.Sprintf("the count %.20s is more than %d", s, maxRepeat))
		}
		bounds[i] = n
	}
	switch {
	case !ranged:
		return fmt.Sprintf("{%d}", bounds[0]), nil
	case high == "":
		return fmt.Sprintf("{%d,}", bounds[0]), nil
	case bounds[1] < bounds[0]:
		return "", t.refuse("counts in the wrong order")
	}
	return fmt.Sprintf("{%d,%d}", bounds[0], bounds[1]), nil
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// escape translates what follows a backslash outside of a class.
func (t *translator) escape() error {
	switch {
	case t.rest == "":
		return t.malformed("it ends in a backslash")
	case t.take("A"):
		t.out.WriteString(`\A`)
		return nil
	case t.take("z"):
		t.out.WriteString(`\z`)
		return nil
	case t.take("Z"):
		t.out.WriteString(`(?=\n?\z)`)
		return nil
	case strings.ContainsRune("bB", rune(t.rest[0])):
		return t.refuse("a word boundary")
	}
	s := classItems{fold: t.fold}
	negated, err := s.escape(t, true)
	if err != nil {
		return err
	}
	s.write(&t.out, negated)
	return nil
}

// class translates a class after its opening bracket.
func (t *translator) class() error {
	s := classItems{fold: t.fold}
	negated := t.take("^")
	for first := true; ; first = false {
		switch {
		case t.rest == "":
			return t.malformed("a class is not closed")
		case t.rest[0] == ']' && !first:
			t.take("]")
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

// classItems are the members of a class, written for regexp2.
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
	if !strings.HasPrefix(t.rest, "-") || strings.HasPrefix(t.rest, "-]") {
		return s.add(t, first, first)
	}
	t.take("-")
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

// member reads a character and returns it; -1 if it was a class, which then is added.
func (s *classItems) member(t *translator) (rune, error) {
	if !t.take(`\`) {
		return t.next(), nil
	}
	if t.rest == "" {
		return 0, t.malformed("it ends in a backslash")
	}
	s.last = -1
	_, err := s.escape(t, false)
	return s.last, err
}

// escape reads what follows a backslash. Alone, outside of a class, it may be a class that is negated as a whole.
func (s *classItems) escape(t *translator, alone bool) (negated bool, err error) {
	r := t.next()
	switch r {
	case 's':
		s.text.WriteString(`\s`)
		s.count += 2
		return false, nil
	case 'S':
		s.text.WriteString(`\S`)
		s.count += 2
		return false, nil
	case 'd':
		return false, s.category(t, "Nd")
	case 'w':
		if s.fold {
			return false, t.refuse(`\w without regard to case`)
		}
		s.text.WriteString(wordClass())
		if alone { // Oniguruma has another table for Latin-1, and does not use it in classes
			s.text.WriteString("\u00b2\u00b3\u00b9\u00bc-\u00be")
		}
		s.count += 2
		return false, nil
	case 'h':
		s.text.WriteString("0-9a-fA-F")
		s.count += 2
		return false, nil
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
	extra, ok := newInClass[name]
	if !ok {
		return t.refuse(fmt.Sprintf(`\p{%.40s}`, name))
	}
	if s.fold && !slices.Contains([]string{"N", "Nd", "Nl", "No", "P", "S", "Z", "Zs"}, name) {
		return t.refuse(fmt.Sprintf(`\p{%s} without regard to case`, name))
	}
	s.count += 2
	if name == "Mn" { // one code point left the category
		for _, r := range tableRuns(unicode.Mn) {
			if r.first != 0x1171e {
				s.text.WriteString(runText(r))
				continue
			}
			if r.last > r.first {
				s.text.WriteString(runText(runeRun{r.first + 1, r.last}))
			}
		}
	} else {
		s.text.WriteString(`\p{` + name + `}`)
	}
	for _, r := range newRuneSet(extra) {
		s.text.WriteString(runText(r))
	}
	return nil
}

// tableRuns are the runs of a table.
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

// with appends a code point that comes after all others.
func (s runeSet) with(r rune) runeSet {
	if n := len(s); n > 0 && s[n-1].last == r-1 {
		s[n-1].last = r
		return s
	}
	return append(s, runeRun{r, r})
}

// runText writes a run as a class does. Every character is escaped, so none has a meaning of its own.
func runText(r runeRun) string {
	if r.first == r.last {
		return fmt.Sprintf(`\x{%x}`, r.first)
	}
	return fmt.Sprintf(`\x{%x}-\x{%x}`, r.first, r.last)
}

// add adds a run of characters, and those that are the same without regard to case.
func (s *classItems) add(t *translator, first, last rune) error {
	s.single = first
	s.count += int(last-first) + 1
	s.text.WriteString(runText(runeRun{first, last}))
	if !s.fold {
		return nil
	}
	if last-first > 0x200 {
		return t.refuse("a long range without regard to case")
	}
	for r := first; r <= last; r++ {
		if r >= utf8.RuneSelf && unicode.IsLetter(r) {
			return t.refuse(fmt.Sprintf("%q without regard to case", r))
		}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			s.text.WriteString(runText(runeRun{f, f}))
			s.count++
		}
	}
	return nil
}

// write writes the class, or the character if it is one.
func (s *classItems) write(out *strings.Builder, negated bool) {
	switch {
	case negated:
		out.WriteString("[^" + s.text.String() + "]")
	case s.count == 1 && (s.single == ' ' || s.single < utf8.RuneSelf && (unicode.IsLetter(s.single) || unicode.IsDigit(s.single))):
		out.WriteRune(s.single)
	default:
		out.WriteString("[" + s.text.String() + "]")
	}
}

// escaped is the character that r after a backslash stands for.
func (t *translator) escaped(r rune) (rune, error) {
	switch r {
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'f':
		return '\f', nil
	case 'v':
		return '\v', nil
	case 'a':
		return '\a', nil
	case 'e':
		return 0x1b, nil
	case 'x':
		return t.hexEscape()
	case 'u':
		return t.hexDigits(4)
	}
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return 0, t.refuse(fmt.Sprintf(`\%c`, r))
	}
	return r, nil
}

// hexEscape reads HH or {H..} after \x.
func (t *translator) hexEscape() (rune, error) {
	if t.take("{") {
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

func (t *translator) hexDigits(n int) (rune, error) {
	if len(t.rest) < n {
		return 0, t.malformed(fmt.Sprintf("an escape needs %d hexadecimal digits", n))
	}
	v, err := strconv.ParseUint(t.rest[:n], 16, 32)
	if err != nil || !utf8.ValidRune(rune(v)) {
		return 0, t.malformed(fmt.Sprintf("an escape needs %d hexadecimal digits of a character", n))
	}
	t.rest = t.rest[n:]
	return rune(v), nil
}

// wordClass is \w, for a class: letters, marks, decimal and letter numbers, connectors, and what else is alphabetic.
var wordClass = sync.OnceValue(func() string {
	var s strings.Builder
	for _, name := range []string{"L", "M", "Nd", "Nl", "Pc"} {
		s.WriteString(`\p{` + name + `}`)
		for _, r := range newRuneSet(newInClass[name]) {
			s.WriteString(runText(r))
		}
	}
	for _, r := range tableRuns(unicode.Other_Alphabetic) {
		s.WriteString(runText(r))
	}
	return s.String()
})
