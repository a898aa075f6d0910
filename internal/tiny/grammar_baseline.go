package tiny

import "slices"

// Chance returns the probability of picking the right answer at random from it and its
// alternatives.
func Chance(a Answer) float64 { return 1 / float64(1+len(a.Alternatives)) }

// LastWord returns the answer of a baseline that looks only at the last word of the right kind
// before the answer: the verb in the number of the last noun, the pronoun for the last person, or
// the last name, color or object. In a list it is the last word itself.
func (d Document) LastWord(a Answer) string {
	before := d.Words[:a.Word]
	right := d.Words[a.Word]
	switch d.Kind {
	case Agreement:
		i := slices.IndexFunc(verbs,
			func(v forms) bool { return v.singular == right || v.plural == right })
		_, plural := last(before, nouns, func(n forms, w string) (is, plural bool) {
			return w == n.singular || w == n.plural, w == n.plural
		})
		return verbs[i].form(plural)
	case Pronoun:
		name, _ := last(before, names, isWord)
		female := slices.Contains(females, name) == slices.Contains([]string{"she", "her"}, right)
		if female {
			return right
		}
		return a.Alternatives[0]
	case Recall:
		pool := names
		switch a.Form {
		case "what-color", "color":
			pool = colors
		case "what-object":
			pool = lemmas(objects)
		}
		word, _ := last(before, pool, isWord)
		return word
	}
	return before[len(before)-1]
}

// last returns the last of words that is in the pool, and the second result of is for it.
func last[T any](words []string, pool []T, is func(T, string) (bool, bool)) (string, bool) {
	for _, w := range slices.Backward(words) {
		for _, x := range pool {
			if ok, plural := is(x, w); ok {
				return w, plural
			}
		}
	}
	return "", false
}

func isWord(x, w string) (bool, bool) { return x == w, false }
