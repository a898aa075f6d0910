// Package planted has transformers whose weights are set by hand, so that it is known exactly what
// decides each answer. There are circuits that copy a word, find one, add two numbers, join two
// conditions and pass evidence on over another position, two whose attention misleads, one whose
// evidence is redundant, and one that spreads its attention.
//
//	m, err := models.Open("planted-induction", models.Options{})
//
// With a trained model, a grammar knows what should decide an answer, but the model may use
// something else. Here nothing else can decide it: a circuit reads only what its matrices read, and
// every other token may be any word without changing one bit of the answer's logit. So a method
// that ranks another token above the evidence is wrong about this model. This does not show that it
// is wrong about trained models: those spread the work over many heads, and their attention is not
// all or nothing as it is here. Where attention is all or nothing, its gradient is 0.
//
// A circuit is a GPT-2 in the layout of Hugging Face, made in memory. Its residual stream has named
// features, one for each word, position or copy. Each feature is held as a pair of numbers u and -u
// with u = 2⁻²⁰. Because of the pairs the mean of the stream is 0, and in float32 their squares
// vanish beside a norm's epsilon of ¼. So every norm is a multiplication by exactly 2²⁰, and none
// mixes features. Attention scores differ by 128 or more, so a softmax is exactly 1 or 0 in
// float32, except where a circuit shares its attention on purpose.
package planted

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("planted")

// Prefix begins the names of all circuits. Note is shown with every picture of a circuit.
const (
	Prefix = "planted-"
	Note   = "circuit with weights set by hand"
)

// Circuit is a transformer with weights set by hand, and a source of texts for it. It must not be
// modified.
type Circuit struct {
	// Name is the name that opens the model.
	Name string
	// Rule is which tokens decide the answer, and how.
	Rule string

	wire func() *network
	// draw puts the words that the circuit needs into a text. It returns the evidence, in rising
	// order, and the answer.
	draw func(rng *rand.Rand, words []string) (evidence []int, answer string)
	// fits returns whether putting w in the place of word i shows whether that word is evidence. If
	// fits is nil, every other word does.
	fits func(t Text, i int, w string) bool
}

// circuits are all circuits.
var circuits = []*Circuit{
	offset, relay, induction, distractor, sum, conjunction, redundant, soft, sink, carry,
}

// Circuits returns all circuits, in the order of reports.
func Circuits() []*Circuit { return slices.Clone(circuits) }

// Names returns the names of all circuits, in the order of [Circuits].
func Names() []string {
	var names []string
	for _, c := range circuits {
		names = append(names, c.Name)
	}
	return names
}

// Lookup returns the circuit with that name. If there is none, the error lists the names.
func Lookup(name string) (*Circuit, error) {
	if i := slices.Index(Names(), name); i >= 0 {
		return circuits[i], nil
	}
	return nil, pkg.Errorf("there is no circuit %.60q; there are %s", name,
		strings.Join(Names(), ", "))
}

// The lengths of the texts in words. <bos> comes before them.
const (
	minLength = 6
	maxLength = 24
)

// maxTexts is how many texts can be drawn at once.
const maxTexts = 1 << 16

// Text is a prompt, its answer, and what decides the answer.
type Text struct {
	Words []string
	// Evidence are the indices of the words that decide the answer, in rising order: replacing one
	// of them changes the answer or its logit.
	Evidence []int
	// Answer is the word that the model predicts after the prompt. Foil is another word, whose
	// logit is always 0.
	Answer, Foil string
}

// Texts returns n texts of 6 to 24 words. Equal seeds give equal texts. It panics if n is negative
// or above 65536.
func (c *Circuit) Texts(n int, seed uint64) []Text {
	if n < 0 || n > maxTexts {
		panic(fmt.Sprintf("planted: %d texts, of which at most %d are drawn at once", n, maxTexts))
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	texts := make([]Text, n)
	for i := range texts {
		words := make([]string, minLength+rng.IntN(maxLength-minLength+1))
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

// foil returns a word of the text that is not its answer or, if there is none, any other word.
func (t *Text) foil() string {
	for i, w := range t.Words {
		if w != t.Answer && !slices.Contains(t.Evidence, i) {
			return w
		}
	}
	return no
}

// Others returns the words that can replace word i to show whether it is evidence: in the place of
// evidence each of them changes the answer or its logit, and in any other place none does. There is
// always one. It panics if there is no word i.
func (c *Circuit) Others(t Text, i int) []string {
	var others []string
	begin := feature(t.Words[i]) + 1 // so that replacements are not always the same word
	for k := range words {
		w := words[(begin+k)%len(words)]
		if w != t.Words[i] && (c.fits == nil || c.fits(t, i, w)) {
			others = append(others, w)
		}
	}
	return others
}

// Prompt returns the words of the text with single spaces between them.
func (t Text) Prompt() string { return strings.Join(t.Words, " ") }

// Span returns the bytes [begin,end) of word i in the prompt.
func (t Text) Span(i int) (begin, end int) {
	for _, w := range t.Words[:i] {
		begin += len(w) + 1
	}
	return begin, begin + len(t.Words[i])
}
