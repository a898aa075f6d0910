package planted

import (
	"math/rand/v2"
	"slices"
)

// late is how far back the second piece of evidence is, in circuits that read two.
const late = 5

// Support returns what a word adds to the logit of "yes" in the circuit planted-sum if it is 2
// places before the last word: a number from 16 to 20. It panics if the word is not in the
// vocabulary.
func Support(word string) float64 { return strength + float64(featureOf(word)%5) }

// Doubt returns what a word adds to the logit of "yes" in the circuit planted-sum if it is 5 places
// before the last word: a number from -4 to -1. It panics if the word is not in the vocabulary.
func Doubt(word string) float64 { return -1 - float64(featureOf(word)%4) }

// featureOf returns the feature of a word. It panics if the word is not in the vocabulary.
func featureOf(word string) int {
	f := feature(word)
	if f < 0 {
		panic("planted: " + word + " is not in the vocabulary")
	}
	return f
}

// sum adds two numbers. Both heads go by position, so the logit is a linear function of the
// embedding, and every definition of a contribution gives each token the same value.
var sum = &Circuit{
	Name: Prefix + "sum",
	Rule: `the logit of "yes" is the sum of two numbers: one for the word 2 places before the ` +
		"last, from 16 to 20, and one for the word 5 places before it, from -4 to -1",
	wire: func() *network {
		n := newNetwork()
		heads := n.block(2).heads
		for i, part := range []struct {
			back   int
			weight func(string) float64
		}{{near, Support}, {late, Doubt}} {
			heads[i].back(n, part.back)
			heads[i].weigh(n, n.answer+area(feature(yes)),
				func(w string) float64 { return part.weight(w) / strength })
		}
		return n
	},
	draw: func(rng *rand.Rand, text []string) ([]int, string) {
		fill(rng, text)
		return pair(text), yes
	},
	fits: func(t Text, i int, w string) bool {
		switch old := t.Words[i]; i {
		case t.Evidence[0]:
			return Doubt(w) != Doubt(old)
		case t.Evidence[1]:
			return Support(w) != Support(old)
		}
		return true
	},
}

// conjunction is the logical and of two conditions, computed by one hidden unit max(0, a + b - 1).
var conjunction = &Circuit{
	Name: Prefix + "and",
	Rule: `the answer is "yes" if the word 2 places before the last and the one 5 places before ` +
		"it are both things: a hidden unit is max(0, a + b - 1)",
	wire: func() *network {
		n := newNetwork()
		conditions := n.area(2)
		b := n.block(2)
		for i, k := range []int{near, late} {
			condition := conditions + area(i)
			b.heads[i].back(n, k)
			b.heads[i].weigh(n, condition, isThing)
			b.up = append(b.up, entry{int(condition), 0, 1})
		}
		b.threshold = -1
		b.down = []entry{{0, int(n.answer) + feature(yes), 1}}
		return n
	},
	draw: func(rng *rand.Rand, text []string) ([]int, string) {
		fill(rng, text)
		evidence := pair(text)
		for _, i := range evidence {
			text[i] = pick(rng, things)
		}
		return evidence, yes
	},
	fits: func(t Text, i int, w string) bool {
		return !slices.Contains(t.Evidence, i) || isThing(w) == 0
	},
}

// isThing returns 1 for a thing and 0 for any other word.
func isThing(word string) float64 {
	if i := feature(word); i >= feature(things[0]) && i < feature(things[0])+len(things) {
		return 1
	}
	return 0
}

// pair returns the places that circuits with two pieces of evidence read.
func pair(text []string) []int { return []int{len(text) - 1 - late, len(text) - 1 - near} }
