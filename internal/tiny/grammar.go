// The grammar of the toy model. All words are lower case and stand between single spaces, as do the
// points, colons and question marks. A document is of one kind:
//
//	agreement  = sentence { sentence }             one to three in training, one in a test
//	sentence   = phrase { preposition phrase } verb-phrase "."  zero to three attractors
//	phrase     = "the" [ adjective ] noun
//	verb-phrase= ("is"|"are"|"was"|"were") (adjective|place) | ("has"|"have") participle
//	           | lexical-verb [ adverb ]
//
//	pronoun    = clause { clause }                 one or two in training, one in a test
//	clause     = name frame ending "." | name possessive-verb ("her"|"his") noun "."
//	frame      = verb [ preposition ] persons [ preposition "the" noun ]
//	           | verb "the" noun [ preposition persons ] | "said" [ "to" persons ]
//	persons    = name [ "and" name ]
//	ending     = connective ("she"|"he") tail | "and" possessive-verb ("her"|"his") noun
//	tail       = "was" mood | deed [ adverb ] | wish "the" noun
//	           | possessive-verb ("her"|"his") noun
//
//	recall     = fact fact [ fact [ fact ] ] question { question }
//	fact       = name "has the" color object "."
//	question   = "who has the" [ color ] object "?" name "."
//	           | "what does" name "have ? the" color object "."
//	           | "what color is the" object "?" color "."
//	           | fact               in training, one of the facts once more
//	in training also without colors, "john has the lamp .",
//	and as bare pairs, "john lamp . lamp ? john ."
//
//	copying    = "list :" word { word } "again :" word { word } "."  the same words again
//
// The verb agrees with the first noun of its sentence, whatever comes between them. A pronoun
// always means the first person of its clause. ("said" is followed by "that", the other frames by
// one of the other connectives.) The names, objects and colors of a recall document all differ, and
// so do its questions. The words of a list all differ.

package tiny

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Kind is one of the four phenomena that the grammar shows.
type Kind uint8

// The kinds of document.
const (
	Agreement Kind = iota // a verb agrees with its subject across other nouns
	Pronoun               // a pronoun agrees with a person across other persons
	Recall                // a fact of the prompt is asked for
	Copying               // a list is repeated
)

var kindNames = [...]string{"agreement", "pronoun", "recall", "copying"}

// Kinds returns the kinds in order.
func Kinds() []Kind { return []Kind{Agreement, Pronoun, Recall, Copying} }

// String returns the name of the kind in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// A Role is why a word is evidence for an answer.
type Role uint8

// The roles of evidence.
const (
	// Source is the word that decides the answer: the subject of a verb, the person that a pronoun
	// means, or the earlier occurrence of an answer that is recalled or copied.
	Source Role = iota
	// Cue is the word by which the source is found: the word of the fact that the question names,
	// or a pronoun that already agrees. A list has no cue: the next word to copy follows from its
	// place.
	Cue
	// Query is the word of a question that repeats the cue.
	Query
)

var roleNames = [...]string{"source", "cue", "query"}

// String returns the name of the role in lower case.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("Role(%d)", uint8(r))
}

// Evidence is one word that decides an answer.
type Evidence struct {
	Word int // index into [Document.Words], smaller than the answer's
	Role Role
}

// An Answer is a word of a document that follows from the words before it.
type Answer struct {
	// Word is the index of the answer in [Document.Words].
	Word int
	// Form is what is asked: "singular" or "plural" for agreement, "subject" or "possessive" for
	// pronouns, "who", "what-color", "what-object" or "color" for recall, "copy" for copying.
	Form string
	// Evidence holds the words that decide the answer, sources first and queries last.
	Evidence []Evidence
	// Alternatives are wrong answers that form a minimal pair with the right one: the same verb in
	// the other number, the other pronoun, the foils of a recall question, the other words of a
	// list.
	Alternatives []string
	// Attractors counts the words that could mislead: nouns between subject and verb, persons
	// between the person and the pronoun, foils of a recall question, other words of a list.
	Attractors int
}

// A Document is a text of the grammar, with the words in it that can be predicted.
type Document struct {
	Kind    Kind
	Words   []string
	Answers []Answer // in the order of the text
}

// Text returns the words with single spaces between them.
func (d Document) Text() string { return strings.Join(d.Words, " ") }

// Span returns the bytes [begin, end) of word i in [Document.Text]. They include the space before
// the word, which belongs to its token; word 0 has none. It panics if there is no word i.
func (d Document) Span(i int) (begin, end int) {
	for _, w := range d.Words[:i] {
		begin += len(w) + 1
	}
	end = begin + len(d.Words[i])
	if i > 0 {
		begin--
	}
	return begin, end
}

// BareSpan returns the bytes [begin, end) of word i without the space before it.
func (d Document) BareSpan(i int) (begin, end int) {
	begin, end = d.Span(i)
	if i > 0 {
		begin++
	}
	return begin, end
}

// Prompt returns the text before the answer. The space before the answer is not included, because
// it belongs to the token of the answer.
func (d Document) Prompt(a Answer) string { return strings.Join(d.Words[:a.Word], " ") }

// Accepts returns whether word is right in the place of the answer. For agreement any verb of the
// right number is right: "the keys" may go on with "are", "have" or "open". For the other kinds
// only the answer itself is right.
func (d Document) Accepts(a Answer, word string) bool {
	if d.Kind != Agreement {
		return word == d.Words[a.Word]
	}
	plural := a.Form == "plural"
	return slices.ContainsFunc(verbs, func(v forms) bool { return v.form(plural) == word })
}

// A Split is the combinations of words that a generator uses.
type Split uint8

// The splits.
const (
	// Train uses only combinations that are used for training.
	Train Split = iota
	// HeldOut uses only combinations that are held out from training, for all answers and all
	// foils.
	HeldOut
)

// A Generator makes documents. It keeps no state and is safe for concurrent use.
type Generator struct {
	split Split
}

// New returns the generator of a split.
func New(split Split) *Generator { return &Generator{split: split} }

// Document returns a document of the kind; rng is its only source of randomness. For [Train] it has
// the shape of a training document, with several sentences or questions; for [HeldOut] it has the
// shape that [Generator.Test] gives. It panics if the kind is unknown.
func (g *Generator) Document(rng *rand.Rand, kind Kind) Document {
	if g.split == HeldOut {
		return g.single(rng, kind, rng.IntN(balance))
	}
	b := &builder{rng: rng, doc: Document{Kind: kind}}
	switch kind {
	case Agreement:
		g.agreements(b)
	case Pronoun:
		g.pronouns(b)
	case Recall:
		g.trainingRecall(b)
	case Copying:
		g.copying(b, 2+rng.IntN(7))
	default:
		panic(fmt.Sprintf("tiny: unknown kind %d", kind))
	}
	return b.doc
}

// MaxTest is the largest test set for which every kind has enough different documents.
const MaxTest = 10000

// Test returns n test documents of the kind. Each has one sentence or question, and no two have the
// same prompt before the first answer. All attractors and other persons have the opposite number or
// gender. The conditions come equally often: for agreement one to three attractors and each number,
// for pronouns one or two persons, each gender and each form, for recall two to four facts and each
// question, for copying three to seven words. With the split [Train] the combinations are those of
// training. Equal arguments give equal documents. It panics if n is negative or above [MaxTest].
func (g *Generator) Test(kind Kind, n int, seed uint64) []Document {
	if n < 0 || n > MaxTest {
		panic(fmt.Sprintf("tiny: test set of %d documents; it must be 0 to %d", n, MaxTest))
	}
	rng := rand.New(rand.NewPCG(seed, uint64(kind)))
	seen := make(map[string]bool, n)
	documents := make([]Document, 0, n)
	for len(documents) < n {
		d := g.single(rng, kind, len(documents))
		prompt := d.Prompt(d.Answers[0])
		if seen[prompt] {
			continue
		}
		seen[prompt] = true
		documents = append(documents, d)
	}
	return documents
}

// balance is a multiple of the number of cells that [Generator.single] goes round, for every kind.
const balance = 360

// single makes a document for testing; cell is the balanced condition that it is for.
func (g *Generator) single(rng *rand.Rand, kind Kind, cell int) Document {
	b := &builder{rng: rng, doc: Document{Kind: kind}}
	switch kind {
	case Agreement:
		g.sentence(b, agreementPlan{attractors: 1 + cell%3, plural: cell/3%2 == 1, opposite: true})
	case Pronoun:
		g.clause(b, clausePlan{
			persons: 1 + cell%2, male: cell/2%2 == 1, possessive: cell/4%2 == 1, opposite: true,
			short: true,
		})
	case Recall:
		facts := 2 + cell%3
		g.recall(b, fullFacts, facts, []inquiry{{rng.IntN(facts), question(cell / 3 % 3)}})
	case Copying:
		g.copying(b, 3+cell%5)
	default:
		panic(fmt.Sprintf("tiny: unknown kind %d", kind))
	}
	return b.doc
}

// allows reports whether the split may combine the two words.
func (g *Generator) allows(r relation, a, b string) bool {
	return r.heldOut(a, b) == (g.split == HeldOut)
}

// A builder appends words and answers to a document.
type builder struct {
	rng *rand.Rand
	doc Document
}

// add appends words and returns the index of the last.
func (b *builder) add(words ...string) int {
	b.doc.Words = append(b.doc.Words, words...)
	return len(b.doc.Words) - 1
}

// answer appends the answer word and records it.
func (b *builder) answer(word string, a Answer) int {
	a.Word = b.add(word)
	b.doc.Answers = append(b.doc.Answers, a)
	return a.Word
}

// chance is true with probability p.
func (b *builder) chance(p float64) bool { return b.rng.Float64() < p }

// one returns a random member of the pool.
func one[T any](b *builder, pool []T) T { return pool[b.rng.IntN(len(pool))] }

// oneThat returns a random member of the pool for which ok holds. There must be one.
func oneThat[T any](b *builder, pool []T, ok func(T) bool) T {
	for {
		if x := one(b, pool); ok(x) {
			return x
		}
	}
}
