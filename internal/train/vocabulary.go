package train

import (
	_ "embed"
	"encoding/json"
	"iter"

	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
)

// Tokenizer trains the byte-level BPE on the words of the grammar. A common word becomes one token,
// a rare one two or three. The first word of a text gets a space before it, as the other words
// have, so that a name is the same token wherever it is.
func Tokenizer() (*tokenizer.Tokenizer, error) { return bytePairs(tiny.Words()) }

// bytePairs is [Tokenizer] for any words.
func bytePairs(of []tiny.Word) (*tokenizer.Tokenizer, error) {
	return tokenizer.Train(words(of), tokenizer.TrainOptions{
		// far more room than the words need
		VocabSize: 4096, MinFrequency: 50, Specials: []string{bosToken, eosToken},
		BeginWith: bosToken, PrefixSpace: true,
	})
}

// words returns the texts that the tokenizer counts.
func words(of []tiny.Word) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, w := range of {
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

// The control tokens that begin and end an encoder's text.
const (
	classToken = "[CLS]"
	endToken   = "[SEP]"
)

// encoderTokenizer is the tokenizer.json for encoders, whose vocabulary has the control tokens
// alone.
//
//go:embed encoder.json
var encoderTokenizer []byte

// wordPieces returns an encoder's tokenizer. It is that of BERT with every word as one token:
// capital letters become small, punctuation stands alone, and any other word is [UNK].
func wordPieces(of []tiny.Word) (*tokenizer.Tokenizer, error) {
	var file map[string]any
	if err := json.Unmarshal(encoderTokenizer, &file); err != nil {
		return nil, pkg.Errorf("encoder.json: %w", err)
	}
	vocabulary := file["model"].(map[string]any)["vocab"].(map[string]any)
	for _, w := range of {
		vocabulary[w.Text] = len(vocabulary)
	}
	text, err := json.Marshal(file)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	return tokenizer.Parse(text, "tokenizer.json")
}
