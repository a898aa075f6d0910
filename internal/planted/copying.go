package planted

import "math/rand/v2"

// How many places back a head reads, in circuits that go by position.
const (
	near = 2
	far  = 3
)

// offset copies the word three places before the last one.
var offset = &Circuit{
	Name: Prefix + "offset",
	Rule: "the answer is the word 3 places before the last one: one head reads that position, " +
		"whatever stands there",
	wire: func() *network {
		n := newNetwork()
		h := &n.block(1).heads[0]
		h.back(n, far)
		h.copy(n.word, n.answer, words, 1)
		return n
	},
	draw: func(rng *rand.Rand, text []string) ([]int, string) { return copied(rng, text, far) },
}

// relay copies in two steps. In the first layer every token gathers the word three places before
// it. In the second layer the last token reads what the token two places before it gathered, and
// nothing of that token itself.
var relay = &Circuit{
	Name: Prefix + "relay",
	Rule: "the answer is the word 5 places before the last one: the token 2 places before the " +
		"last gathers it in the first layer, " +
		"and only what it gathered is read in the second",
	wire: func() *network { return relayOf(1) },
	draw: func(rng *rand.Rand, text []string) ([]int, string) {
		return copied(rng, text, near+far)
	},
}

// carryGain is how many times larger the word that is carried is than the carrier's own word.
const carryGain = 4

// carry is the relay with a loud message: what the carrier gathered is most of its stream, as where
// a language model moves a word to the place where it is needed. So a method that follows the
// stream down from the carrier finds the evidence.
var carry = &Circuit{
	Name: Prefix + "carry",
	Rule: "as in relay, but what the token 2 places before the last one gathered is 4 times as " +
		"large as its own word, and is read with ¼ of the weight",
	wire: func() *network { return relayOf(carryGain) },
	draw: func(rng *rand.Rand, text []string) ([]int, string) {
		return copied(rng, text, near+far)
	},
}

// relayOf returns the network of a relay that makes the word it gathers so many times larger, and
// the head that reads it that much weaker.
func relayOf(gain float64) *network {
	n := newNetwork()
	gathered := n.area(len(words))
	first, second := &n.block(1).heads[0], &n.block(1).heads[0]
	first.back(n, far)
	first.copy(n.word, gathered, words, gain)
	second.back(n, near)
	second.copy(gathered, n.answer, words, 1/gain)
	return n
}

// copied fills a text with words. The answer is the word k places before the last one.
func copied(rng *rand.Rand, text []string, k int) ([]int, string) {
	fill(rng, text)
	at := len(text) - 1 - k
	return []int{at}, text[at]
}

// induction is the pair of heads of Elhage et al. 2021 and Olsson et al. 2022. In the first layer
// every token learns which word is before it. In the second layer the last word finds the token
// that comes after its own earlier occurrence.
var induction = &Circuit{
	Name: Prefix + "induction",
	Rule: "the answer is the word after the earlier occurrence of the last word, which must " +
		"occur exactly once before: both places and the answer decide it",
	wire: func() *network {
		n := newNetwork()
		before := n.area(len(words))
		previous, match := &n.block(1).heads[0], &n.block(1).heads[0]
		previous.back(n, 1)
		previous.copy(n.word, before, words, 1)
		match.copy(n.word, n.answer, words, 1)
		for w := range words {
			match.query = append(match.query, entry{int(n.word) + w, w, sharp})
			match.key = append(match.key, entry{int(before) + w, w, 1})
		}
		for p := range context { // <bos> is read if no word matches
			match.query = append(match.query, entry{int(n.position) + p, len(words), halfway})
		}
		match.key = append(match.key, entry{int(n.position), len(words), 1})
		return n
	},
	draw: func(rng *rand.Rand, text []string) ([]int, string) {
		last := len(text) - 1
		asked := pick(rng, words)
		for i := range text {
			text[i] = pickOther(rng, words, asked)
		}
		place := rng.IntN(last - 1)
		text[place], text[last] = asked, asked
		return []int{place, place + 1, last}, text[place+1]
	},
	// The last word must occur once before, or not at all.
	fits: func(t Text, _ int, w string) bool { return w != t.Words[len(t.Words)-1] },
}
