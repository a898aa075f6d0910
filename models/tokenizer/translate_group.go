package tokenizer

import "strings"

// group translates a group after its opening parenthesis.
func (t *translator) group(depth int) error {
	// Options hold to the end of their group.
	fold, dotAll := t.fold, t.dotAll
	defer func() { t.fold, t.dotAll = fold, dotAll }()
	open := ""
	for _, kind := range []string{"?:", "?=", "?!", "?>", "?<=", "?<!"} {
		if t.accept(kind) {
			open = kind
			break
		}
	}
	switch {
	case open == "?>" && t.behind > 0: // what it matches depends on the direction of the search
		return t.refuse("an atomic group in a look-behind")
	case strings.HasPrefix(open, "?<"):
		t.behind++
		defer func() { t.behind-- }()
	case strings.HasPrefix(t.rest, "?") && open == "":
		return t.options(depth)
	case open == "":
		open = "?:" // what a group matched is never used
	}
	t.out.WriteString("(" + open)
	return t.closeGroup(depth)
}

// closeGroup translates the inside of a group and its end.
func (t *translator) closeGroup(depth int) error {
	if err := t.alternatives(depth + 1); err != nil {
		return err
	}
	if !t.accept(")") {
		return t.malformed("a group is not closed")
	}
	t.out.WriteByte(')')
	return nil
}

// options translates groups such as (?i:...). An option alone, such as (?i), holds to the end of
// the group, alternatives included, so it is accepted only at the start.
func (t *translator) options(depth int) error {
	on := true
	for t.rest = t.rest[1:]; t.rest != ""; {
		switch t.next() {
		case '-':
			on = false
		case 'i':
			t.fold = on
		// Oniguruma's m lets a dot match a line break, as s does elsewhere.
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
