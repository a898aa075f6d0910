package train

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/headwater-ml/headwater/models/tiny"
	"github.com/headwater-ml/headwater/models/tokenizer"
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

// An encoder's control tokens, in the order of their ids from 0.
var encoderTokens = []string{padToken, unknownToken, classToken, endToken, tiny.Mask}

const (
	padToken     = "[PAD]"
	unknownToken = "[UNK]"
	classToken   = "[CLS]"
	endToken     = "[SEP]"
)

// wordPieces returns an encoder's tokenizer. It is that of BERT with every word as one token:
// capital letters become small, punctuation stands alone, and any other word is [UNK].
func wordPieces(of []tiny.Word) (*tokenizer.Tokenizer, error) {
	type object = map[string]any
	vocabulary, added := object{}, []object{}
	for id, content := range encoderTokens {
		vocabulary[content] = id
		added = append(added, object{
			"id": id, "content": content, "special": true, "single_word": false, "lstrip": false,
			"rstrip": false, "normalized": false,
		})
	}
	for i, w := range of {
		vocabulary[w.Text] = len(encoderTokens) + i
	}
	special := func(content string, kind int) object {
		return object{"SpecialToken": object{"id": content, "type_id": kind}}
	}
	text := func(name string, kind int) object {
		return object{"Sequence": object{"id": name, "type_id": kind}}
	}
	template := object{}
	for _, content := range []string{classToken, endToken} {
		template[content] = object{
			"id": content, "ids": []any{vocabulary[content]}, "tokens": []string{content},
		}
	}
	file, err := json.Marshal(object{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added,
		"normalizer": object{
			"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
			"strip_accents": nil, "lowercase": true,
		},
		"pre_tokenizer": object{"type": "BertPreTokenizer"},
		"post_processor": object{
			"type":   "TemplateProcessing",
			"single": []object{special(classToken, 0), text("A", 0), special(endToken, 0)},
			"pair": []object{
				special(classToken, 0), text("A", 0), special(endToken, 0), text("B", 1),
				special(endToken, 1),
			},
			"special_tokens": template,
		},
		"decoder": object{"type": "WordPiece", "prefix": "##", "cleanup": true},
		"model": object{
			"type": "WordPiece", "unk_token": unknownToken, "continuing_subword_prefix": "##",
			"max_input_chars_per_word": 100, "vocab": vocabulary,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return tokenizer.Parse(file, "tokenizer.json")
}
