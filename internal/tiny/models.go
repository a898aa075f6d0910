package tiny

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Task is what a model was trained to do.
type Task string

// The tasks.
const (
	NextWord   Task = "next word"   // a decoder, which predicts the next token
	MaskedWord Task = "masked word" // an encoder, which predicts the token under [Mask]
	WholeText  Task = "class"       // an encoder, which predicts a class of the whole text
	// Translation is that of a model of two stacks, which writes a target for a source.
	Translation Task = "translation"
)

// A Model is one of the trained models that are part of the program.
type Model struct {
	// Name is the name that opens the model. Note is shown with every picture of it.
	Name, Note string
	// Task is what it does. Labels are the names of its classes, if it has any.
	Task   Task
	Labels []string

	directory string
	makers    []sentenceMaker
	examples  []string
	words     func() []string // of the sentences that it was trained on
}

// The embedded models by name.
const (
	VerbName      = "tiny-verb"
	MaskedName    = "tiny-mlm"
	SentimentName = "tiny-sentiment"
	AlibiName     = "tiny-alibi"
	// TranslationName is a model of two stacks.
	TranslationName = "tiny-translation"
)

var masked = []sentenceMaker{
	{"pronoun", 4, maskedPronoun},
	{"determiner", 16, maskedDeterminer},
	{"agreement", 6, maskedAgreement},
	{"anaphor", 16, maskedAnaphor},
}

// models are the embedded models, the first one first.
var models = []Model{
	{
		Name: Name, Note: Note, Task: NextWord, directory: "data",
		words: func() []string { return nil }, // none beside those of the documents
	},
	{
		Name: VerbName, Note: "toy model for verb number", Task: WholeText,
		Labels: []string{number(false), number(true)}, directory: "trained/" + VerbName,
		makers: []sentenceMaker{{"verb number", 18, verbNumber}}, words: verbWords,
		examples: []string{
			"the key to the cabinets", "the keys that the man lost near the door",
			"near the cabinets , the old key",
		},
	},
	{
		Name: MaskedName, Note: "toy masked model", Task: MaskedWord,
		directory: "trained/" + MaskedName,
		makers:    masked, words: maskedWords,
		examples: []string{
			"mary convinced john of [MASK] love .",
			"the pictures of some hat [MASK] scaring marcus .",
			"the author talked to sara about [MASK] book .",
			"the woman near the men hurt [MASK] .",
		},
	},
	{
		Name: SentimentName, Note: "toy model for sentiment", Task: WholeText,
		Labels:    []string{negativeLabel, positiveLabel},
		directory: "trained/" + SentimentName,
		makers:    []sentenceMaker{{"sentiment", 20, sentiment}}, words: sentimentWords,
		examples: []string{
			"the story is dull but the music is lovely .", "the film is not very funny .",
			"although the acting was great , we hated the plot .",
		},
	},
	{
		Name: AlibiName, Note: "toy decoder of twelve layers", Task: NextWord,
		directory: "trained/" + AlibiName,
		examples: []string{
			"the keys to the cabinet", "mary convinced john of", "the film is not",
		},
		words: func() []string { return sorted(maskedWords(), sentimentWords()) },
	},
	{
		Name: TranslationName, Note: "toy model for translation", Task: Translation,
		directory: "trained/" + TranslationName,
		makers: []sentenceMaker{
			{"gender", 8, translation(false)}, {"number", 8, translation(true)},
		},
		words: translationWords,
		examples: []string{
			"under the red table , the old queen slept .", "the small dogs lost the white map .",
			"behind the cold houses , the girl found the keys .",
		},
	},
}

// Models returns the embedded models, the first one first.
func Models() []Model { return slices.Clone(models) }

// Names returns the names of the embedded models, in the order of [Models].
func Names() []string {
	var names []string
	for _, m := range models {
		names = append(names, m.Name)
	}
	return names
}

// Lookup returns the embedded model of a name.
func Lookup(name string) (Model, bool) {
	i := slices.IndexFunc(models, func(m Model) bool { return m.Name == name })
	if i < 0 {
		return Model{}, false
	}
	return models[i], true
}

// Files returns the checkpoint in the directory layout of Hugging Face: config.json,
// tokenizer.json, model.safetensors, the report of the training, report.json, for a decoder
// generation_config.json, and for a model of two stacks tokenizer_config.json.
func (m Model) Files() fs.FS {
	files, err := fs.Sub(checkpoints, m.directory)
	if err != nil {
		panic(err) // the paths of models are valid
	}
	return files
}

// Kinds returns the kinds of sentences that the model was trained for, in the order of its report.
func (m Model) Kinds() []string {
	if m.Task == NextWord {
		return slices.Clone(kindNames[:])
	}
	var kinds []string
	for _, k := range m.makers {
		kinds = append(kinds, k.kind)
	}
	return kinds
}

// Sentences returns n different test sentences of a kind. All conditions of the kind come equally
// often, and whatever could mislead does: it has the other number, gender or sentiment. With
// [HeldOut], the words that matter were never together in training. Equal arguments give equal
// sentences. A decoder's sentences are prompts, whose answer is the next word.
//
// It panics if the model has no such kind, and if n is negative or above [MaxSentences].
func (m Model) Sentences(split Split, kind string, n int, seed uint64) []Sentence {
	i := slices.Index(m.Kinds(), kind)
	switch {
	case i < 0:
		panic(fmt.Sprintf("tiny: %s has no sentences of kind %q; it has %s", m.Name, kind,
			strings.Join(m.Kinds(), ", ")))
	case m.Task != NextWord:
		return m.makers[i].test(split, n, seed)
	}
	var sentences []Sentence
	for _, d := range New(split).Test(Kind(i), n, seed) {
		sentences = append(sentences, d.prompt())
	}
	return sentences
}

// prompt returns the text before the first answer of a document as a sentence.
func (d Document) prompt() Sentence {
	a := d.Answers[0]
	right, wrong, nearest := d.Words[a.Word], a.Alternatives[0], d.LastWord(a)
	if nearest != right {
		nearest = wrong
	}
	return Sentence{
		Kind: d.Kind.String(), Form: a.Form, Words: slices.Clone(d.Words[:a.Word]), Answer: a.Word,
		Right: right, Wrong: wrong, Evidence: slices.Clone(a.Evidence), Attractors: a.Attractors,
		Nearest: nearest,
	}
}

// Training returns a sentence as the training of the model draws it; rng is its only source of
// randomness. It panics if the model is a decoder, whose training draws from all kinds of
// documents and sentences: see [Text].
func (m Model) Training(rng *rand.Rand) Sentence {
	if len(m.makers) == 0 {
		panic("tiny: " + m.Name + " is a decoder, which has no training sentences")
	}
	return m.makers[rng.IntN(len(m.makers))].draw(rng, Train, -1)
}

// Text returns a complete sentence of any of the other models, with its answer filled in and the
// index of the answer in its words, or -1 if the answer is a class. It is what the larger grammar
// of the decoder of twelve layers has beside the documents.
func Text(rng *rand.Rand) (words []string, answer int) {
	m := slices.Concat(masked, models[3].makers)
	s := m[rng.IntN(len(m))].draw(rng, Train, -1)
	words = s.Words
	if s.Answer >= 0 {
		words[s.Answer] = s.Right
	}
	return words, s.Answer
}

// Words returns the vocabulary of the model, sorted, without control tokens. The encoders share one
// vocabulary, so an encoder has words that its own training never showed: see
// [Model.UnknownWords].
func (m Model) Words() []Word {
	if m.Name == Name {
		return Words()
	}
	var all []Word
	if m.Task == Translation {
		for _, w := range m.words() {
			all = append(all, Word{Text: w})
		}
		return all
	}
	if m.Task == NextWord {
		all = Words()
	}
	for _, w := range sentenceWords() {
		if _, ok := known[w]; !ok || m.Task != NextWord {
			all = append(all, Word{Text: w})
		}
	}
	slices.SortFunc(all, func(a, b Word) int { return strings.Compare(a.Text, b.Text) })
	return all
}

// UnknownWords returns the words of text that the training of the model never showed, each once, in
// the order of the text, nil if there are none. Words are separated by spaces, and case counts:
// neither "The" nor "rusty." is a word that a decoder knows. The encoders read capital letters as
// small ones and need no space before punctuation.
func (m Model) UnknownWords(text string) []string {
	trained := m.words()
	if m.Task == MaskedWord || m.Task == WholeText {
		trained = append(trained, controlTokens...)
		text = strings.NewReplacer(".", " . ", ",", " , ").Replace(strings.ToLower(text))
	}
	var unknown []string
	for w := range strings.FieldsSeq(text) {
		_, ofDocuments := known[w]
		if slices.Contains(trained, w) || ofDocuments && m.Task == NextWord ||
			slices.Contains(unknown, w) {
			continue
		}
		unknown = append(unknown, w)
	}
	return unknown
}

// controlTokens are what a user may write in a text for an encoder beside words, in small letters.
var controlTokens = []string{"[mask]", "[cls]", "[sep]"}

// Examples returns prompts that the model handles, the best first.
func (m Model) Examples() []string {
	if m.Name != Name {
		return slices.Clone(m.examples)
	}
	var prompts []string
	for _, e := range Examples() {
		prompts = append(prompts, e.Prompt)
	}
	return prompts
}
