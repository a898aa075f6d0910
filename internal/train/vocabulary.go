package train

import (
	"iter"

	"github.com/headwater-ml/headwater/models/tiny"
	"github.com/headwater-ml/headwater/models/tokenizer"
)

// Tokenizer trains the byte-level BPE on the words of the grammar. A common word becomes one token,
// a rare one two or three. The first word of a text gets a space before it, as the other words
// have, so that a name is the same token wherever it is.
func Tokenizer() (*tokenizer.Tokenizer, error) {
	return tokenizer.Train(words(), tokenizer.TrainOptions{
		// far more room than the words need
		VocabSize: 4096, MinFrequency: 50, Specials: []string{bosToken, eosToken},
		BeginWith: bosToken, PrefixSpace: true,
	})
}

// words returns the texts that the tokenizer counts.
func words() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, w := range tiny.Words() {
			for _, text := range spellings(w) {
				if !yield(text, common) {
					return
				}
			}
		}
	}
}

// common is how often each spelling counts. Any number above MinFrequency works.
const common = 100

// spellings returns the pieces of a word that should become tokens.
func spellings(w tiny.Word) []string {
	pieces := w.Pieces
	if len(pieces) == 0 {
		pieces = []string{w.Text}
	}
	return append([]string{" " + pieces[0]}, pieces[1:]...)
}
