package tiny

import (
	"slices"
	"strings"
)

// A Change is a word of a prompt and the words that can replace it, to test whether the word
// matters.
type Change struct {
	// Word is an index into [Document.Words].
	Word int
	// With are the words that can replace it, the best first. There may be none.
	With []Substitute
	// Form reports whether the grammar leaves no choice in this place, as for "the" or "?". With
	// are then other words of this sort, and the text may leave the grammar.
	Form bool
}

// A Substitute is a replacement and the answer that is right after it.
type Substitute struct {
	Word string
	// Answer is empty if no answer is right.
	Answer string
}

// Changes returns a change for each word before the answer, for a document of [Generator.Test].
//
// If the word is evidence, the change makes another answer right, where one word can do that: a
// subject gets the other number, a person the other gender, a word to recall or copy becomes a new
// word, and a question asks for another fact. The cue of a fact becomes a new word, and then no
// answer is right. Other words change in a way that might mislead a model but leaves the answer
// right: above all, other nouns get the other number and other persons the other gender. A new word
// is always of the same kind as the old one. Words that combine with the others in the same way as
// the old word come first.
func (d Document) Changes(a Answer) []Change {
	var changes []Change
	for i := range d.Words[:a.Word] {
		changes = append(changes, d.change(a, i))
	}
	return changes
}

// change returns the change of word i.
func (d Document) change(a Answer, i int) Change {
	w := d.Words[i]
	pool := kin(w)
	if pool == nil {
		return Change{Word: i, With: substitutes(without(formWords, w)), Form: true}
	}
	others := d.unused(w, pool)
	switch {
	case d.Kind == Agreement && slices.Contains(nounForms, w):
		others = append([]string{inOtherNumber(w)}, others...)
	case d.Kind == Pronoun && slices.Contains(names, w):
		others = append(d.unused(w, people(slices.Contains(females, w))), others...)
	}
	at := slices.IndexFunc(a.Evidence, func(e Evidence) bool { return e.Word == i })
	if at < 0 {
		return Change{Word: i, With: substitutes(others)}
	}
	switch role := a.Evidence[at].Role; {
	case role == Query:
		return Change{Word: i, With: d.otherQuestions(a, i)}
	case role == Cue:
		return Change{Word: i, With: substitutes(others)}
	case d.Kind == Agreement:
		return Change{Word: i, With: []Substitute{{inOtherNumber(w), a.Alternatives[0]}}}
	case d.Kind == Pronoun:
		var with []Substitute
		for _, x := range d.unused(w, people(slices.Contains(females, w))) {
			with = append(with, Substitute{x, a.Alternatives[0]})
		}
		return Change{Word: i, With: with}
	}
	var with []Substitute
	for _, x := range others {
		with = append(with, Substitute{x, x})
	}
	return Change{Word: i, With: with}
}

// otherQuestions returns the words that make a question ask for another fact: the words of the
// other facts in the place of its cue. If the question names two parts of a fact, they then
// contradict each other and no answer is right.
func (d Document) otherQuestions(a Answer, i int) []Substitute {
	source, cue, cues := a.Evidence[0].Word, 0, 0
	for _, e := range a.Evidence {
		if e.Role == Cue {
			if cues++; d.Words[e.Word] == d.Words[i] {
				cue = e.Word
			}
		}
	}
	const words = 6 // of a fact: "john has the blue lamp ."
	var with []Substitute
	for begin := 0; begin+words < a.Word && d.Words[begin+words-1] == "."; begin += words {
		s := Substitute{Word: d.Words[begin+cue%words]}
		if cues == 1 {
			s.Answer = d.Words[begin+source%words]
		}
		if begin != cue-cue%words {
			with = append(with, s)
		}
	}
	return with
}

// unused returns the words of the pool that are not in the document. Words that combine with others
// in the same way as w come first.
func (d Document) unused(w string, pool []string) []string {
	var alike, rest []string
	// so that not every change takes the first word of the pool
	begin := max(0, slices.Index(pool, w))
	for k := range pool {
		switch x := pool[(begin+k)%len(pool)]; {
		case slices.Contains(d.Words, x):
		case ranks[x]%mostClasses == ranks[w]%mostClasses:
			alike = append(alike, x)
		default:
			rest = append(rest, x)
		}
	}
	return append(alike, rest...)
}

// mostClasses is a multiple of the number of classes of every relation: two words of the same class
// here are of the same class in every relation.
const mostClasses = 8

// nounForms are the nouns in both numbers.
var nounForms = func() (forms []string) {
	for _, n := range nouns {
		forms = append(forms, n.singular, n.plural)
	}
	return forms
}()

// inOtherNumber returns the noun in its other number.
func inOtherNumber(w string) string {
	i := slices.Index(nounForms, w)
	return nounForms[i^1]
}

// choices are the pools from which the grammar chooses freely. Verbs of main clauses are in one
// pool if they take persons and things in the same way.
var choices = func() [][]string {
	var singulars, plurals []string
	for _, n := range nouns {
		singulars, plurals = append(singulars, n.singular), append(plurals, n.plural)
	}
	pools := [][]string{
		singulars, plurals, females, males, colors, adjectives, prepositions, connectives,
		possessiveVerbs,
	}
	for _, f := range frames {
		var verbs []string
		for _, g := range frames {
			if f.person == g.person && f.thingFirst == g.thingFirst && f.that == g.that {
				verbs = append(verbs, g.verb)
			}
		}
		if len(verbs) > 1 {
			pools = append(pools, verbs)
		}
	}
	return pools
}()

// kin returns the words that the grammar might have chosen instead of w. It is nil if there was no
// choice.
func kin(w string) []string {
	i := slices.IndexFunc(choices, func(pool []string) bool { return slices.Contains(pool, w) })
	if i < 0 {
		return nil
	}
	return choices[i]
}

// formWords replace each other in places where the grammar leaves no choice. A word in such a place
// matters only if none of the others does as well.
var formWords = strings.Fields("the . and about")

// without returns the words except one.
func without(words []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == one })
}

// substitutes returns substitutes that leave the right answer as it is, or none.
func substitutes(words []string) []Substitute {
	with := make([]Substitute, len(words))
	for i, w := range words {
		with[i].Word = w
	}
	return with
}
