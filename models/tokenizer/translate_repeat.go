package tokenizer

import (
	"fmt"
	"strconv"
	"strings"
)

// maxRepeat is the largest count of a quantifier.
const maxRepeat = 100_000

// quantifier translates the quantifier after the element that begins at byte start of the output.
func (t *translator) quantifier(start int) error {
	var q string
	switch {
	case t.rest != "" && strings.ContainsRune("*+?", rune(t.rest[0])):
		q = string(t.next())
	case strings.HasPrefix(t.rest, "{"):
		var err error
		if q, err = t.counts(); err != nil || q == "" {
			return err
		}
	default:
		return nil
	}
	// In Oniguruma a + after a count repeats it and is not possessive; that is refused below.
	counted := q[0] == '{'
	switch {
	case strings.HasPrefix(t.rest, "+") && !counted:
		t.accept("+")
		if t.behind > 0 {
			return t.refuse("a possessive quantifier in a look-behind")
		}
		// a*+ is (?>a*)
		element := string(t.out.Bytes()[start:])
		t.out.Truncate(start)
		fmt.Fprintf(&t.out, "(?>%s%s)", element, q)
	// After {n} a ? makes the element optional and not lazy; that is refused below.
	case strings.HasPrefix(t.rest, "?") && (!counted || strings.Contains(q, ",")):
		t.accept("?")
		t.out.WriteString(q + "?")
	default:
		t.out.WriteString(q)
	}
	if t.rest != "" && strings.ContainsRune("*+?", rune(t.rest[0])) {
		return t.refuse("a quantifier of a quantifier")
	}
	return nil
}

// counts reads {n}, {n,}, {n,m} or {,m}. It returns "" if there is none; then the brace is a
// character.
func (t *translator) counts() (string, error) {
	body, _, ok := strings.Cut(t.rest[1:], "}")
	low, high, ranged := strings.Cut(body, ",")
	if !ok || low == "" && high == "" || !digits(low) || !digits(high) {
		return "", nil
	}
	t.rest = t.rest[len(body)+2:]
	bounds := [2]int{}
	for i, s := range []string{low, high} {
		// A missing bound is 0 here; the cases below tell it from the number 0.
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
