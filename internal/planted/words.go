package planted

import (
	"math/rand/v2"
	"slices"
)

// The vocabulary: <bos> comes before every text, <unk> stands for all unknown words and has an
// embedding of zeros, and the other words are of four kinds.
const (
	bos = iota
	unk
	specials
)

// The answers of circuits that do not copy.
const (
	yes = "yes"
	no  = "no"
)

var (
	colors  = []string{"red", "blue", "green", "black", "white", "pink", "gray", "gold"}
	things  = []string{"lamp", "key", "cup", "box", "book", "ring", "coin", "shoe"}
	fillers = []string{"near", "under", "beside", "behind", "above", "below", "along", "across"}
	loud    = []string{"boom", "bang", "crash", "hey"}
	words   = slices.Concat(colors, things, fillers, loud, []string{yes, no})
)

// feature returns the index of a word among all words, or -1.
func feature(word string) int { return slices.Index(words, word) }

// pick returns a random word of among.
func pick(rng *rand.Rand, among []string) string { return among[rng.IntN(len(among))] }

// pickOther returns a random word of among that is not the word than.
func pickOther(rng *rand.Rand, among []string, than string) string {
	for {
		if w := pick(rng, among); w != than {
			return w
		}
	}
}

// fill fills a text with words.
func fill(rng *rand.Rand, text []string) {
	for i := range text {
		text[i] = pick(rng, words)
	}
}

// keepsOneColor reports whether word w at place i leaves the text one color: a second one would be
// copied too.
func keepsOneColor(t Text, i int, w string) bool {
	return slices.Contains(t.Evidence, i) || !slices.Contains(colors, w)
}
