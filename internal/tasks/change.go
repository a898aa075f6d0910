package tasks

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// classes are the classes of all words, those of words of templates first, because a verb that is
// also in a list of pairs must keep the sense of its template.
var classes = allClasses()

func allClasses() (all [][]string) {
	all = append(all, texts.Classes...)
	for _, w := range []*words{texts.HeldOut, texts.Dev} {
		for _, name := range lists {
			all = append(all, w.Lists[name])
		}
		var relations [][]string
		for _, name := range pairLists {
			relations = append(relations, w.Lists[name])
		}
		for _, relation := range append(relations, w.Relations...) {
			var first, second []string
			for _, p := range relation {
				a, b, _ := strings.Cut(p, " ")
				first, second = append(first, a), append(second, b)
			}
			all = append(all, first, second)
		}
	}
	return all
}

// maxSubstitutes is the largest number of changes of one word. A word decides if the answer changes
// with each of them.
const maxSubstitutes = 2

// Changes returns the changes of a case's other words: up to two for every word and mark of
// punctuation outside its evidence that has no change in c yet. The word is replaced by one that
// can stand in its place, of as many tokens, that does not occur in the prompt and is neither
// answer nor foil. A word for which none is found has no change. Sentences of filler are replaced
// as a whole, each by another one, which saves passes through the model. The model is asked to
// encode, and for nothing else.
func Changes(m trace.Model, c evaluate.Case) ([]evaluate.Change, error) {
	changes := slices.Clone(c.Changes)
	used := map[string]bool{}
	for _, text := range slices.Concat([]string{c.Continuation, c.Contrast}, c.Answers, c.Foils) {
		used[strings.ToLower(strings.TrimSpace(text))] = true
	}
	words := spans(c.Prompt, c.Evidence)
	for _, span := range words {
		used[strings.ToLower(c.Prompt[span[0]:span[1]])] = true
	}
	isUsed := func(text string) bool {
		if unicode.IsDigit(rune(text[0])) {
			return false // any digit may be in an answer
		}
		return used[strings.ToLower(text)] ||
			strings.Contains(text, " ") && strings.Contains(c.Prompt, text)
	}
	for _, span := range slices.Concat(fillers(c), words) {
		has := func(have evaluate.Change) bool { return overlap(have.Span, span) }
		if slices.ContainsFunc(changes, has) {
			continue
		}
		found := 0
		for _, text := range substitutes(c.Prompt[span[0]:span[1]], span[0]) {
			change := evaluate.Change{Span: span, Text: text}
			if isUsed(text) {
				continue
			}
			fits, err := change.Fits(m, c.Prompt, trace.SpecialsAuto)
			if err != nil {
				return nil, err
			}
			if fits {
				changes, found = append(changes, change), found+1
			}
			if found == maxSubstitutes {
				break
			}
		}
	}
	return changes, nil
}

// fillers returns the bytes of the sentences of filler that have a substitute.
func fillers(c evaluate.Case) (all [][2]int) {
	for _, w := range []*words{texts.HeldOut, texts.Dev} {
		for _, text := range w.Lists["fillers"] {
			if at := strings.Index(c.Prompt, text); at >= 0 {
				all = append(all, [2]int{at, at + len(text)})
			}
		}
	}
	return all
}

// spans returns the bytes of the words, the numbers and the marks of punctuation of a text, without
// those of the evidence.
func spans(text string, evidence [][2]int) (all [][2]int) {
	class := func(r rune) int {
		switch {
		case unicode.IsLetter(r):
			return 1
		case unicode.IsDigit(r):
			return 2
		case unicode.IsSpace(r):
			return 0
		}
		return 3
	}
	inside := func(at int) bool {
		return slices.ContainsFunc(evidence, func(e [2]int) bool { return e[0] <= at && at < e[1] })
	}
	begin, before := 0, 0
	for at, r := range text {
		now := class(r)
		if inside(at) {
			now = 0
		}
		if now != before {
			if before != 0 {
				all = append(all, [2]int{begin, at})
			}
			begin, before = at, now
		}
	}
	if before != 0 {
		all = append(all, [2]int{begin, len(text)})
	}
	return all
}

// overlap reports whether two ranges of bytes have a byte in common.
func overlap(a, b [2]int) bool { return a[0] < b[1] && b[0] < a[1] }

// substitutes returns what can stand in the place of a word, the best first: the other words of its
// classes, beginning at a place that depends on the word's position, then neutral words. A number
// is replaced by a neighbor of as many digits. Capital letters stay.
func substitutes(word string, at int) (all []string) {
	if unicode.IsDigit(rune(word[0])) {
		return numbers(word)
	}
	for _, w := range []*words{texts.HeldOut, texts.Dev} {
		if slices.Contains(w.Lists["fillers"], word) {
			return w.Lists["fillers"]
		}
	}
	key := word
	if !isClassed(word) {
		key = strings.ToLower(word)
	}
	for _, class := range classes {
		if k := slices.Index(class, key); k >= 0 {
			for i := range len(class) - 1 {
				other := class[(k+1+(i+at)%(len(class)-1))%len(class)]
				all = append(all, capitalized(other, word))
			}
		}
	}
	if unicode.IsLetter([]rune(word)[0]) {
		for _, other := range texts.Neutral {
			all = append(all, capitalized(other, word))
		}
	}
	return all
}

// isClassed reports whether a word, as it is written, is in a class.
func isClassed(word string) bool {
	return slices.ContainsFunc(classes, func(c []string) bool { return slices.Contains(c, word) })
}

// numbers returns numbers of as many digits whose last digit differs by one or two.
func numbers(word string) (all []string) {
	last := word[len(word)-1]
	for _, step := range []int{1, -1, 2, -2} {
		if d := int(last) + step; d >= '1' && d <= '9' {
			all = append(all, word[:len(word)-1]+string(rune(d)))
		}
	}
	return all
}

// capitalized returns a word with a capital letter if like has one.
func capitalized(word, like string) string {
	r, _ := utf8.DecodeRuneInString(like)
	if first, n := utf8.DecodeRuneInString(word); unicode.IsUpper(r) {
		return string(unicode.ToUpper(first)) + word[n:]
	}
	return word
}
