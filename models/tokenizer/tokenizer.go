// Package tokenizer reads the tokenizer.json of Hugging Face and does exactly what it says: the same ids, the same
// offsets, the same decoded text. It also trains one kind of such a tokenizer ([Train]) and writes all of them
// ([Tokenizer.WriteTo]).
//
//	t, err := tokenizer.Load("model/tokenizer.json")
//	encoded, err := t.Encode("Hello, world", true)
//	for _, e := range encoded {
//		fmt.Println(e.ID, t.TokenText(e.ID), e.Begin, e.End)
//	}
//
// A tokenizer.json is a pipeline, and every kind of its parts is built here but those that are named. Added tokens are cut
// out of the text ([Tokenizer.SpecialTokens] among them); what is left is normalised (normalizer); that is split into
// words (pre_tokenizer: all but FixedLength and UnicodeScripts); each word becomes tokens (model: BPE without dropout,
// WordPiece, Unigram, WordLevel); and the tokens are finished (post_processor: offsets trimmed, control tokens put
// around). The way back is the decoder. A part of a kind that is not built is an [UnsupportedError] that names it, and so is
// a regular expression with a construct that may mean something else here; none is ever skipped. The reference is
// tokenizers 0.23.3, and where it does something odd, so does this package.
//
// [Tokenizer.Encode] gives all tokens of one text. The sections truncation and padding are about batches of texts: they
// are checked, written back by [Tokenizer.WriteTo], and change no tokens.
//
// Offsets are bytes of the text as it was given, half open. A token that spells a part of a character has the offsets of
// the whole character, as in Hugging Face, so neighbouring tokens may overlap there. A text need not be valid UTF-8: each
// byte that is not part of a character is one character of its own, neither letter, digit nor space.
//
// Time and memory grow with the length of the text (BPE: times its logarithm), whatever the text
// and the file. What a file
// makes of a text is counted, its bytes and its steps, and more than any text needs is a
// [LimitError].
package tokenizer

import (
	"fmt"
	"io"
	"os"
)

// Tokenizer turns text into tokens and back. It is safe for concurrent use. Make one with [Load], [Parse] or [Train].
type Tokenizer struct {
	file       file // all of the file but its vocabulary and merges
	vocab      vocabulary
	added      *addedTokens
	normalizer normalizers
	pre        preTokenizers
	model      model
	post       postProcessors
	decoder    decoders
}

// Encoded is one token of an encoded text.
type Encoded struct {
	// ID is the row of the embedding, 0-based.
	ID int
	// Begin and End are the bytes [Begin,End) of the text that the token stands for; both 0 if the tokenizer put it there.
	Begin, End int
	// Special is whether it is a control token, put there by the tokenizer or typed in the text.
	Special bool
}

// The parts of a pipeline. Each kind that the file may name is a value of one of these.
type (
	// preTokenizer yields the words of a piece of text, from left to right. One that is empty is none.
	preTokenizer interface {
		split(p piece, m *meter, yield func(piece)) error
	}
	// model adds the tokens of a word to w.
	model interface {
		tokenize(w *encodeWork, word piece) error
	}
)

// token is an Encoded on its way through the pipeline. text is what Hugging Face calls the token: its entry in the
// vocabulary, or the matched text of an added token with the white space that it took along.
type token struct {
	Encoded
	text string
}

// maxFile is the size of the largest file that is read, in bytes. The largest in use have about 35 MB.
const maxFile = 128 << 20

// Load reads the tokenizer.json at path.
func Load(path string) (*Tokenizer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > maxFile {
		return nil, fmt.Errorf("tokenizer: %s: the file has %d bytes, the limit is %d; is it a "+
			"tokenizer.json?", path, info.Size(), maxFile)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if len(data) > maxFile { // a pipe has no size
		return nil, fmt.Errorf("tokenizer: %s: more than %d bytes; is it a tokenizer.json?", path,
			maxFile)
	}
	return Parse(data, path)
}

// Encode returns the tokens of text, and with addSpecials the control tokens that the file's post_processor puts around
// a text. An empty text has no other tokens. It returns an error if the text needs an unknown token that the file does not
// have, a [LimitError] if the file makes too much work of the text, and for texts of 512 MiB.
func (t *Tokenizer) Encode(text string, addSpecials bool) ([]Encoded, error) {
	encoded := make([]Encoded, 0, min(len(text)/4+2, maxGuess))
	err := t.chunks(text, addSpecials, func(tokens []token) bool {
		for _, tok := range tokens {
			encoded = append(encoded, tok.Encoded)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return encoded, nil
}

// maxGuess is for how many tokens memory is set aside before they are there.
const maxGuess = 1 << 16

// VocabSize is the highest id plus one, the number of rows that an embedding needs.
func (t *Tokenizer) VocabSize() int { return len(t.vocab.entries) }

// ID returns the id of a token by its content: as the file writes it, so "Ġthe" for " the" and "<s>" for itself.
func (t *Tokenizer) ID(content string) (int, bool) {
	id, ok := t.vocab.ids[content]
	return id, ok
}

// Content is the inverse of [Tokenizer.ID]: what the file calls token id. It is empty for an id outside the vocabulary.
func (t *Tokenizer) Content(id int) string {
	if !t.vocab.has(id) {
		return ""
	}
	return t.vocab.entries[id].content
}

// IsSpecial reports whether id is a control token such as begin-of-text, and not text.
func (t *Tokenizer) IsSpecial(id int) bool { return t.vocab.has(id) && t.vocab.entries[id].special }

// SpecialTokens returns the contents of all control tokens, by id.
func (t *Tokenizer) SpecialTokens() []string {
	var names []string
	for _, e := range t.vocab.entries {
		if e.special {
			names = append(names, e.content)
		}
	}
	return names
}
