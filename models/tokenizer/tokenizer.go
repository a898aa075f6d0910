// Package tokenizer reads the tokenizer.json of Hugging Face and does exactly what it says: the same ids, the same
// offsets, the same decoded text. It also trains such a tokenizer ([Train]) and writes it ([Tokenizer.WriteTo]).
//
//	t, err := tokenizer.Load("model/tokenizer.json")
//	for _, e := range t.Encode("Hello, world", true) {
//		fmt.Println(e.ID, t.TokenText(e.ID), e.Begin, e.End)
//	}
//
// The kind built here is byte-level BPE with GPT-2's splitting rule, as GPT-2 and RoBERTa use it. A tokenizer.json is a
// pipeline: added tokens are cut out of the text ([Tokenizer.SpecialTokens] among them), what is left is split into words
// (pre_tokenizer), each word becomes tokens (model), and the tokens are finished (post_processor: offsets trimmed, control
// tokens put around). A part of a kind that is not built is an [UnsupportedError] that names it; none is ever skipped.
//
// The sections truncation and padding speak of batches. They are kept and written back but nothing is cut or padded: one
// text gives all of its tokens.
//
// Offsets are bytes of the text as it was given, half open. A token that spells a part of a character has the offsets of
// the whole character, as in Hugging Face, so neighbouring tokens may overlap there. A text need not be valid UTF-8: each
// byte that is not part of a character is one character of its own, neither letter, digit nor space.
package tokenizer

import (
	"fmt"
	"io"
	"os"
)

// Tokenizer turns text into tokens and back. It is safe for concurrent use. Make one with [Load], [Parse] or [Train].
type Tokenizer struct {
	file  file // all of the file but its vocabulary and merges
	vocab vocabulary
	added *addedTokens
	pre   preTokenizer
	model model
	post  postProcessor
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
	// preTokenizer yields the words of a piece of text, from left to right.
	preTokenizer interface {
		split(p piece, yield func(piece))
	}
	// model appends the tokens of a word.
	model interface {
		tokenize(dst []token, word piece) []token
	}
	// postProcessor finishes the tokens of a text, in place where it can.
	postProcessor interface {
		process(text string, tokens []token, addSpecials bool) []token
	}
)

// token is an Encoded on its way through the pipeline. text is what Hugging Face calls the token: its entry in the
// vocabulary, or the matched text of an added token with the white space that it took along.
type token struct {
	Encoded
	text string
}

// maxFile is the size of the largest file that is read, in bytes. The largest in use have about 35 MB.
const maxFile = 256 << 20

// Load reads the tokenizer.json at path.
func Load(path string) (*Tokenizer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("tokenizer: %s: file has more than %d bytes; is it a tokenizer.json?", path, maxFile)
	}
	return Parse(data, path)
}

// Encode returns the tokens of text, and with addSpecials the control tokens that the file's post_processor puts around
// a text. An empty text has no other tokens. It never fails. If the vocabulary lacks some of the 256 bytes, the unknown
// token stands for such a byte, or nothing if the file names none; the offsets of its neighbours stay right then, where
// those of Hugging Face move.
func (t *Tokenizer) Encode(text string, addSpecials bool) []Encoded {
	tokens := make([]token, 0, len(text)/4+2)
	t.added.cut(text, func(begin, end, id int) {
		if id >= 0 {
			special := t.vocab.entries[id].special
			tokens = append(tokens, token{Encoded{id, begin, end, special}, text[begin:end]})
			return
		}
		t.pre.split(piece{text: text[begin:end], input: text, at: begin}, func(word piece) {
			tokens = t.model.tokenize(tokens, word)
		})
	})
	tokens = t.post.process(text, tokens, addSpecials)
	encoded := make([]Encoded, len(tokens))
	for i, tok := range tokens {
		encoded[i] = tok.Encoded
	}
	return encoded
}

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
