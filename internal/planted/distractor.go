package planted

import (
	"math"
	"math/rand/v2"
)

// loudHeads is how many heads look at loud words.
const loudHeads = 3

// distractor has four heads that all copy colors. Three of them look for loud words, which are not
// colors, so they read vectors of zeros. The fourth looks at the color with a quarter of its
// attention; the rest goes to <bos>, whose value is zero too.
var distractor = &Circuit{
	Name: Prefix + "distractor",
	Rule: "the answer is the color, of which there is one: a head reads it with ¼ of its " +
		"attention, <bos> has ¾, and three more heads look " +
		"at loud words; nothing but colors has a value that is not zero",
	wire: func() *network {
		n := newNetwork()
		heads := n.block(1 + loudHeads).heads
		for i := range loudHeads {
			heads[i].find(n, loud, halfway)
			heads[i].copy(n.word, n.answer, colors, 1)
		}
		finder := &heads[loudHeads]
		finder.find(n, colors, sharp+math.Log(3))
		finder.copy(n.word, n.answer, colors, 4)
		return n
	},
	draw: func(rng *rand.Rand, text []string) ([]int, string) {
		last := len(text) - 1
		places := rng.Perm(last) // the last word is a filler
		at := places[0]
		text[at] = pick(rng, colors)
		for _, i := range places[1 : 2+rng.IntN(3)] {
			text[i] = pick(rng, loud)
		}
		return []int{at}, text[at]
	},
	fits: keepsOneColor,
}
