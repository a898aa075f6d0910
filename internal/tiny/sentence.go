package tiny

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Sentence is a text for one of the embedded models, with the words in it that decide its
// answer.
type Sentence struct {
	// Kind is the phenomenon, one of [Model.Kinds]. Form is a variant of it.
	Kind, Form string
	// Words are the words of the text. The mask token of a masked model is one of them.
	Words []string
	// Answer is the index in Words of the mask token. It is len(Words) if the answer is the next
	// word, or the first word of a translation, and -1 if it is a class of the whole text.
	Answer int
	// Right and Wrong are a minimal pair: two words for the place of the answer, or the names of
	// two classes.
	Right, Wrong string
	// Evidence holds the words that decide the answer, sources first. They may stand before and
	// after the answer.
	Evidence []Evidence
	// Attractors counts the words that could mislead.
	Attractors int
	// Nearest is what a baseline answers that looks only at the nearest word of the right kind, as
	// the number of the last noun. It is Right or Wrong.
	Nearest string
	// Target are, for a model that translates, the words of the translation, the answer first, and
	// Links which words they come from, in the order of the target. Changes are, for each word of
	// the translation, words of the source that can be replaced, in their order: the one that
	// decides the word has an answer, which is right in its place after the same words of the
	// target. With the others the word stays. A full stop has none.
	Target  []string
	Links   []Link
	Changes [][]Change
}

// MaxSentences is the largest set of sentences for which every kind has enough different ones.
const MaxSentences = 2000

// Mask is the mask token of the embedded masked model.
const Mask = "[MASK]"

// Text returns the words with single spaces between them.
func (s Sentence) Text() string { return strings.Join(s.Words, " ") }

// Filled returns the text with a word in the place of the answer. A class has no place in the
// text, which is then returned as it is.
func (s Sentence) Filled(word string) string {
	words := slices.Clone(s.Words)
	switch {
	case s.Answer == len(words):
		words = append(words, word)
	case s.Answer >= 0:
		words[s.Answer] = word
	}
	return strings.Join(words, " ")
}

// Span returns the bytes [begin,end) of word i in [Sentence.Text], without the space before it. It
// panics if there is no word i.
func (s Sentence) Span(i int) (begin, end int) {
	for _, w := range s.Words[:i] {
		begin += len(w) + 1
	}
	return begin, begin + len(s.Words[i])
}

// Sources returns the indices of the words with the role [Source], in rising order.
func (s Sentence) Sources() []int {
	var words []int
	for _, e := range s.Evidence {
		if e.Role == Source {
			words = append(words, e.Word)
		}
	}
	slices.Sort(words)
	return words
}

// A sentenceMaker makes one kind of sentence. Cells go round the conditions that come equally often
// in a test set; a negative cell is a training sentence, whose conditions are drawn.
type sentenceMaker struct {
	kind  string
	cells int
	make  func(g *sentenceBuilder, cell int) Sentence
}

// sentenceBuilder builds one sentence.
type sentenceBuilder struct {
	builder
	split Split
}

// test draws n different sentences of one kind. Equal arguments give equal sentences.
func (m sentenceMaker) test(split Split, n int, seed uint64) []Sentence {
	if n < 0 || n > MaxSentences {
		panic(fmt.Sprintf("tiny: test set of %d sentences; it must be 0 to %d", n, MaxSentences))
	}
	rng := rand.New(rand.NewPCG(seed, hash(m.kind)))
	seen := make(map[string]bool, n)
	sentences := make([]Sentence, 0, n)
	for len(sentences) < n {
		s := m.draw(rng, split, len(sentences)%m.cells)
		if text := s.Text(); !seen[text] {
			seen[text] = true
			sentences = append(sentences, s)
		}
	}
	return sentences
}

// draw makes one sentence.
func (m sentenceMaker) draw(rng *rand.Rand, split Split, cell int) Sentence {
	g := &sentenceBuilder{builder: builder{rng: rng}, split: split}
	s := m.make(g, cell)
	s.Kind, s.Words = m.kind, g.doc.Words
	return s
}

// allows returns whether the split may combine two words. As in [relation], every word has a class,
// and a pair of two words of one class is kept for testing: one pair in eight.
func (g *sentenceBuilder) allows(a, b string) bool {
	const classes = 8
	rankA, okA := sentenceRanks[a]
	rankB, okB := sentenceRanks[b]
	if !okA || !okB {
		panic(fmt.Sprintf("tiny: %q or %q is in no pool of words", a, b))
	}
	return (rankA%classes == rankB%classes) == (g.split == HeldOut)
}

// choose returns what a test cell fixes, the part n of it below size, or a random number below size
// for training. It also returns the rest of the cell.
func (g *sentenceBuilder) choose(cell, size int) (n, rest int) {
	if cell < 0 {
		return g.rng.IntN(size), cell
	}
	return cell % size, cell / size
}

// picked returns a member of a pool that goes with another word in this split.
func (g *sentenceBuilder) picked(pool []string, with string) string {
	return oneThat(&g.builder, pool, func(w string) bool { return g.allows(w, with) })
}

// pickedForms is picked for words with two forms, of which the first is compared.
func (g *sentenceBuilder) pickedForms(pool []forms, with string, used ...forms) forms {
	return oneThat(&g.builder, pool, func(f forms) bool {
		return !slices.Contains(used, f) && g.allows(f.singular, with)
	})
}

// number is the name of a grammatical number.
func number(plural bool) string {
	if plural {
		return "plural"
	}
	return "singular"
}
