// Package planted is transformers whose weights are set by hand, so that what decides each answer is known exactly: circuits that copy,
// look up, add, join two conditions, or carry evidence over another position, and one whose attention misleads.
//
//	m, err := models.Open("planted-induction", models.Options{})
//
// A grammar says what should decide an answer, and a trained model may read it elsewhere. Here nothing else can decide it: a circuit reads
// what its matrices read, and every other token may be any word without moving the answer's logit by a bit. So a method that ranks the
// evidence below another token is wrong about this model. It is not shown wrong about models that were trained: those spread what they
// do over many heads, and their attention is not all or nothing, as it is here. Where attention is all, its gradient is 0.
//
// A circuit is a GPT-2 in the layout of Hugging Face, made in memory. Its residual stream has named features, one for each word, position
// or copy, each held as a pair of numbers u and -u with u = 2⁻²⁰. Pairs make the mean of the stream 0, and their squares vanish in float32
// beside a norm's epsilon of ¼: every norm is a multiplication by 2²⁰, to the last bit, and none couples what it should not. Scores of
// attention differ by 128 or more, so that its softmax is 1 and 0 in float32, where a circuit does not share it by design.
package planted

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Prefix begins the names of all circuits, Note is what every picture of one says.
const (
	Prefix = "planted-"
	Note   = "circuit with weights set by hand"
)

// Circuit is a transformer with weights set by hand, and the texts that it answers. It is not to be modified.
type Circuit struct {
	// Name is what the model is opened by.
	Name string
	// Rule says which tokens decide the answer, and how.
	Rule string

	wire func() *network
	// draw puts what the circuit needs into a text of fillers and returns its evidence, rising, and answer.
	draw func(rng *rand.Rand, words []string) (evidence []int, answer string)
	// fits is whether w in the place of word i shows what that word does; nil is whether it is
	// another word.
	fits func(t Text, i int, w string) bool
}

// circuits are all of them.
var circuits = []*Circuit{offset, relay, induction, distractor, sum, conjunction}

// Circuits returns all circuits, the simplest first.
func Circuits() []*Circuit { return slices.Clone(circuits) }

// Names returns the names of all circuits, in the order of [Circuits].
func Names() []string {
	var names []string
	for _, c := range circuits {
		names = append(names, c.Name)
	}
	return names
}

// Lookup returns a circuit by its name. The error lists those that there are.
func Lookup(name string) (*Circuit, error) {
	if i := slices.Index(Names(), name); i >= 0 {
		return circuits[i], nil
	}
	return nil, fmt.Errorf("planted: there is no circuit %.60q; there are %s", name, strings.Join(Names(), ", "))
}

// Lengths of the texts that are drawn, in words; <bos> stands before them.
const (
	MinLength = 6
	MaxLength = 24
)

// MaxTexts is how many texts can be drawn at once.
const MaxTexts = 1 << 16

// Text is a prompt, its answer, and what decides that.
type Text struct {
	Words []string
	// Evidence are the words that decide the answer, by rising index: if one of them is another, so is the answer, or its logit.
	Evidence []int
	// Answer is the word that the model puts behind the prompt, Foil another one, whose logit is 0 whatever the evidence is.
	Answer, Foil string
}

// Texts returns n texts of [MinLength] to [MaxLength] words, equal for equal seeds. It panics if n is negative or above [MaxTexts].
func (c *Circuit) Texts(n int, seed uint64) []Text {
	if n < 0 || n > MaxTexts {
		panic(fmt.Sprintf("planted: %d texts, of which at most %d are drawn at once", n, MaxTexts))
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	texts := make([]Text, n)
	for i := range texts {
		words := make([]string, MinLength+rng.IntN(MaxLength-MinLength+1))
		for j := range words {
			words[j] = pick(rng, fillers)
		}
		t := &texts[i]
		t.Words = words
		t.Evidence, t.Answer = c.draw(rng, words)
		t.Foil = no
		if t.Answer != yes {
			t.Foil = t.foil()
		}
	}
	return texts
}

// foil returns a word of the text that is not its answer, or else any.
func (t *Text) foil() string {
	for i, w := range t.Words {
		if w != t.Answer && !slices.Contains(t.Evidence, i) {
			return w
		}
	}
	return no
}

// Others returns the words that show, in the place of word i of a text of the circuit, whether it
// is evidence: in the place of evidence each changes the answer or its logit, and elsewhere none
// does. There is always one. It panics if there is no word i.
func (c *Circuit) Others(t Text, i int) []string {
	var others []string
	begin := feature(t.Words[i]) + 1 // so that not every change takes the first word
	for k := range words {
		w := words[(begin+k)%len(words)]
		if w != t.Words[i] && (c.fits == nil || c.fits(t, i, w)) {
			others = append(others, w)
		}
	}
	return others
}

// Prompt returns the text.
func (t Text) Prompt() string { return strings.Join(t.Words, " ") }

// Span returns the bytes [begin,end) of word i in the prompt.
func (t Text) Span(i int) (begin, end int) {
	for _, w := range t.Words[:i] {
		begin += len(w) + 1
	}
	return begin, begin + len(t.Words[i])
}
