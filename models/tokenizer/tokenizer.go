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
// [Tokenizer.Encode] gives all tokens of one text. What the sections truncation and padding say is about batches:
// [Tokenizer.EncodeBatch] does it, and takes pairs of texts.
//
// Offsets are bytes of the text as it was given, half open. A token that spells a part of a character has the offsets of
// the whole character, as in Hugging Face, so neighbouring tokens may overlap there. A text need not be valid UTF-8: each
// byte that is not part of a character is one character of its own, neither letter, digit nor space.
//
// Time and memory grow with the length of the text (BPE: times its logarithm), whatever the text and the file. Only a
// regular expression of the file can take longer, and it is stopped after seconds with an error.
package tokenizer

import (
	"fmt"
	"io"
	"math"
	"os"
)

// Tokenizer turns text into tokens and back. It is safe for concurrent use. Make one with [Load], [Parse] or [Train].
type Tokenizer struct {
	file       file // all of the file but its vocabulary and merges
	vocab      vocabulary
	added      *addedTokens
	normalizer normalizer // nil if there is none
	pre        preTokenizers
	model      model
	post       postProcessor
	decoder    decoder
	truncation *Truncation // of the file, or nil
	padding    *Padding
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
		split(p piece, yield func(piece)) error
	}
	// model appends the tokens of a word.
	model interface {
		tokenize(dst []token, word piece) ([]token, error)
	}
)

// token is an Encoded on its way through the pipeline. text is what Hugging Face calls the token: its entry in the
// vocabulary, or the matched text of an added token with the white space that it took along.
type token struct {
	Encoded
	text   string
	typeID uint32
	second bool // it is of the second text of a pair
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
// a text. An empty text has no other tokens. It returns an error if the text needs an unknown token that the file does not
// have, if a regular expression of the file takes too long, and for texts of 2 GiB.
func (t *Tokenizer) Encode(text string, addSpecials bool) ([]Encoded, error) {
	tokens, err := t.tokens(text, false)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if tokens, err = t.finish([2]string{text}, [][]token{tokens}, addSpecials); err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	encoded := make([]Encoded, len(tokens))
	for i, tok := range tokens {
		encoded[i] = tok.Encoded
	}
	return encoded, nil
}

// tokens returns the tokens of a text before they are finished.
func (t *Tokenizer) tokens(text string, second bool) ([]token, error) {
	if len(text) > math.MaxInt32 {
		return nil, fmt.Errorf("the text has %d bytes, the limit is %d; split it", len(text), math.MaxInt32)
	}
	w := encodeWork{t, make([]token, 0, len(text)/4+2), nil}
	t.added.plain.cut(text, func(begin, end, id int) {
		p := piece{text: text[begin:end], input: text, at: begin}
		if id >= 0 {
			w.addToken(p, id)
			return
		}
		w.normalized(p)
	})
	if second {
		for i := range w.tokens {
			w.tokens[i].second, w.tokens[i].typeID = true, 1
		}
	}
	return w.tokens, w.err
}

// encodeWork is a text on its way. After an error nothing more is done.
type encodeWork struct {
	*Tokenizer
	tokens []token
	err    error
}

// addToken adds an added token that stands where p is.
func (w *encodeWork) addToken(p piece, id int) {
	begin, end := p.offsets(0, len(p.text))
	special := w.vocab.entries[id].special
	w.tokens = append(w.tokens, token{Encoded: Encoded{id, begin, end, special}, text: p.text})
}

// normalized adds the tokens of a part of the text as it was given.
func (w *encodeWork) normalized(p piece) {
	if w.normalizer != nil && w.err == nil {
		p, w.err = w.normalizer.normalize(p)
	}
	if w.err != nil || p.text == "" {
		return
	}
	w.added.normalized.cut(p.text, func(begin, end, id int) {
		if id >= 0 {
			w.addToken(p.slice(begin, end), id)
			return
		}
		w.words(p.slice(begin, end))
	})
}

// words adds the tokens of a part of the normalised text.
func (w *encodeWork) words(p piece) {
	if w.err != nil {
		return
	}
	err := w.pre.split(p, func(word piece) {
		if w.err == nil && word.text != "" {
			w.tokens, w.err = w.model.tokenize(w.tokens, word)
		}
	})
	if w.err == nil {
		w.err = err
	}
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
