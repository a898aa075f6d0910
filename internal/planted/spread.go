package planted

import (
	"math"
	"math/rand/v2"
	"slices"
)

// redundant copies a color that stands at two places. A head reads both with half of its attention
// each. Without one of them, it reads the other one alone, and the logit is the same.
var redundant = &Circuit{
	Name: Prefix + "redundant",
	Rule: "the answer is the color, which stands at two places: a head reads each with ½ of its " +
		"attention, and either alone gives the same logit",
	wire: func() *network {
		n := newNetwork()
		h := &n.block(1).heads[0]
		h.find(n, colors, halfway)
		h.copy(n.word, n.answer, colors, 1)
		return n
	},
	draw: func(rng *rand.Rand, text []string) ([]int, string) {
		color := pick(rng, colors)
		evidence := rng.Perm(len(text) - 1)[:2] // the last word is a filler
		slices.Sort(evidence)
		for _, i := range evidence {
			text[i] = color
		}
		return evidence, color
	},
	// Only another color in the place of one of them moves the logit, because it is read too.
	fits: func(t Text, i int, w string) bool {
		return slices.Contains(t.Evidence, i) == slices.Contains(colors, w)
	},
}

// Vote returns what a word adds to the logit of "yes" in the circuit planted-soft if a head reads
// it with all of its attention: 10, 14 or 18. It panics if the word is not in the vocabulary.
func Vote(word string) float64 { return 10 + 4*float64(featureOf(word)%3) }

// soft adds votes that two heads read in parts, so that no position and no head has all of the
// evidence. The logit is a linear function of the embedding.
var soft = &Circuit{
	Name: Prefix + "soft",
	Rule: `each word has a vote of 10, 14 or 18, and the logit of "yes" is ½, ¾, ½ and ¼ of the ` +
		"votes of the words 2, 3, 4 and 5 places before the last one: one head reads them with " +
		"½, ¼, 0 and ¼ of its attention, another one with 0, ½, ½ and 0",
	wire: func() *network {
		n := newNetwork()
		heads := n.block(2).heads
		for i, parts := range [][]part{{{2, 2}, {3, 1}, {5, 1}}, {{3, 1}, {4, 1}}} {
			heads[i].share(n, parts)
			heads[i].weigh(n, n.answer+area(feature(yes)),
				func(w string) float64 { return Vote(w) / strength })
		}
		return n
	},
	draw: func(rng *rand.Rand, text []string) ([]int, string) {
		fill(rng, text)
		last := len(text) - 1
		return []int{last - 5, last - 4, last - 3, last - 2}, yes
	},
	fits: func(t Text, i int, w string) bool {
		return !slices.Contains(t.Evidence, i) || Vote(w) != Vote(t.Words[i])
	},
}

// part is how far back a head reads, and its share of the attention relative to other parts.
type part struct {
	back  int
	share float64
}

// share makes the head read several positions, each counted back from the target, in the given
// parts. It is for targets that have all of these positions before them.
func (h *head) share(n *network, parts []part) {
	for p := range context {
		h.key = append(h.key, entry{int(n.position) + p, p, 1})
		for _, x := range parts {
			score := sharp + math.Log(x.share)
			h.query = append(h.query, entry{int(n.position) + p, max(0, p-x.back), score})
		}
	}
}

// The layers of the circuit planted-sink, and the one that reads the evidence.
const (
	sinkLayers  = 4
	sinkReading = 1
)

// sink has four layers, and only the second one writes. All heads look at the first word, whose
// value is zero, as heads of language models do that have nothing to say.
var sink = &Circuit{
	Name: Prefix + "sink",
	Rule: "the answer is the color, of which there is one: the second of four layers reads it " +
		"with ¹⁄₁₆ of its attention; the rest, and all attention of the other layers, is on the " +
		"first word, whose value is zero",
	wire: func() *network {
		n := newNetwork()
		for l := range sinkLayers {
			h := &n.block(1).heads[0]
			among, score, factor := []string(nil), float64(sharp), 1.0
			if l == sinkReading {
				among, score, factor = colors, sharp+math.Log(15), 16
			}
			h.find(n, among, 0)
			h.key = append(h.key, entry{int(n.position) + 1, 0, score})
			h.copy(n.word, n.answer, colors, factor)
		}
		return n
	},
	draw: func(rng *rand.Rand, text []string) ([]int, string) {
		at := 1 + rng.IntN(len(text)-2) // neither the first word nor the last one
		text[at] = pick(rng, colors)
		return []int{at}, text[at]
	},
	fits: keepsOneColor,
}
