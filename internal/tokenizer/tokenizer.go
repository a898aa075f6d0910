// Package tokenizer reads the tokenizer.json of Hugging Face and does exactly what it says: the
// same ids, the same offsets, the same decoded text. It also trains a byte-level BPE tokenizer
// ([Train]) and writes a tokenizer as a file ([Tokenizer.WriteTo]).
//
//	t, err := tokenizer.Load("model/tokenizer.json")
//	encoded, err := t.Encode("Hello, world", true)
//	for _, e := range encoded {
//		fmt.Println(e.ID, t.TokenText(e.ID), e.Begin, e.End)
//	}
//
// A tokenizer.json describes a pipeline. Added tokens are cut out of the text first. The rest is
// normalised (normalizer) and split into words (pre_tokenizer), each word becomes tokens (model),
// and control tokens are added and offsets trimmed (post_processor). The way back is the decoder.
// All kinds of parts are supported except the pre-tokenizers FixedLength and UnicodeScripts, and
// BPE with dropout. A part that is not supported is an error that names it, and so is a regular
// expression with a construct that might mean something else here; nothing is ever skipped. The
// reference is version 0.23.3 of the library tokenizers, also where its results are surprising.
//
// [Tokenizer.Encode] returns all tokens of one text. The sections truncation and padding are about
// batches of texts: they are checked and written back, and change no tokens.
//
// Offsets are bytes of the text as it was given, half open. A token for a part of a character has
// the offsets of the whole character, as in Hugging Face, so neighbouring tokens may overlap there.
// A text need not be valid UTF-8: each byte that is not part of a character counts as a character
// of its own, which is neither letter nor digit nor space.
//
// Time and memory grow with the length of the text (with BPE: times its logarithm), whatever the
// text and the file. The bytes and the steps that a file causes for a text are counted; if they are
// more than any real text needs, the error wraps [errLimit].
package tokenizer

import (
	"io"
	"os"

	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("tokenizer")

// Tokenizer turns text into tokens and back. It is safe for concurrent use. Make one with [Load],
// [Parse] or [Train].
type Tokenizer struct {
	file       file // the file without its vocabulary and merges
	vocab      vocabulary
	added      *addedTokens
	normalizer normalizers
	pre        preTokenizers
	model      model
	post       postProcessors
	decoder    decoders
	follows    bool // see Following
	// ids are the ids of the model's tokens, by the number that the model has for them; nil where
	// they are the same.
	ids []int32
	// translating is not nil if a control token names the language of a text, and end is then the
	// token with which texts end.
	translating *translating
	end         string
}

// Encoded is one token of a text.
type Encoded struct {
	// ID is the row of the embedding, 0-based.
	ID int
	// Begin and End are the bytes [Begin,End) of the text that the token stands for. Both are 0 for
	// a token that the tokenizer added.
	Begin, End int
	// Special is true for a control token, whether the tokenizer added it or the text contains it.
	Special bool
	// Type is the token type: which of two texts the token belongs to, as the file says.
	Type int
}

// The parts of a pipeline. Each kind of part in a file is a type that implements one of these.
type (
	// preTokenizer yields the words of a piece of text from left to right. Empty words are ignored.
	preTokenizer interface {
		split(p piece, m *meter, yield func(piece)) error
	}
	// model appends the tokens of a word to w.
	model interface {
		tokenize(w *encodeWork, word piece) error
		// unknownID is the token for text without any other, or noSymbol.
		unknownID() int32
	}
)

// token is an Encoded inside the pipeline. text is what Hugging Face calls the token: its entry in
// the vocabulary, or the matched text of an added token with the white space that belongs to the
// match.
type token struct {
	Encoded
	text string
}

// maxFile is the size of the largest file that is read, in bytes. The largest in use have about 35
// MB.
const maxFile = 128 << 20

// Load reads the tokenizer.json at path. See [Parse] for errors; a file of more than 128 MiB is
// refused.
func Load(path string) (*Tokenizer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > maxFile {
		return nil, pkg.Errorf("%s: the file has %d bytes, the limit is %d; is it a "+
			"tokenizer.json?", path, info.Size(), maxFile)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	if len(data) > maxFile { // a pipe has no size
		return nil, pkg.Errorf("%s: more than %d bytes; is it a tokenizer.json?", path, maxFile)
	}
	return Parse(data, path)
}

// EncodePair returns the tokens of two texts, joined as the file's post_processor joins a pair,
// with the control tokens that it adds if addSpecials is true. Offsets are bytes of first, a line
// break and second. Errors are those of [Tokenizer.Encode].
func (t *Tokenizer) EncodePair(first, second string, addSpecials bool) ([]Encoded, error) {
	m, begin := newMeter(len(first)+len(second)), len(first)+1
	lists := make([][]token, 2)
	for i, text := range []string{first, second} {
		var err error
		if lists[i], err = t.tokens(text, m); err != nil {
			return nil, pkg.Errorf("%w", err)
		}
	}
	for j := range lists[1] {
		lists[1][j].Begin, lists[1][j].End = lists[1][j].Begin+begin, lists[1][j].End+begin
		lists[1][j].Type = 1
	}
	tokens, err := t.finish(first+"\n"+second, lists, addSpecials, m)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	encoded := make([]Encoded, len(tokens))
	for i, tok := range tokens {
		encoded[i] = tok.Encoded
	}
	return encoded, nil
}

// Encode returns the tokens of text; with addSpecials it includes the control tokens that the
// file's post_processor adds. An empty text has no other tokens. It returns an error if the text
// needs the unknown token but the file has none, an error that wraps [errLimit] if the file causes
// too much work for the text, and an error for a text of 512 MiB or more.
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

// Following returns the tokenizer for texts that continue another one: where t puts a space or "▁"
// before the first word of a text, it puts none. So " is" is one token, and "is" the end of a word.
// Control tokens are added as by t.
func (t *Tokenizer) Following() *Tokenizer {
	f := *t
	f.follows = true
	return &f
}

// maxGuess bounds how many tokens memory is allocated for in advance.
const maxGuess = 1 << 16

// VocabSize returns the highest id plus one: the number of rows that an embedding needs.
func (t *Tokenizer) VocabSize() int { return len(t.vocab.entries) }

// ID returns the id of a token by its content, as the file writes it: "Ġthe" for " the", and "<s>"
// for the control token of that name.
func (t *Tokenizer) ID(content string) (int, bool) {
	id, ok := t.vocab.ids[content]
	return id, ok
}

// Unknown returns the id of the token that the model of the file names for text without any other,
// and whether there is one.
func (t *Tokenizer) Unknown() (id int, ok bool) {
	unk := t.model.unknownID()
	return int(t.idOf(unk)), unk != noSymbol
}

// idOf returns the id of a token of the model.
func (t *Tokenizer) idOf(number int32) int32 {
	if t.ids == nil || number == noSymbol {
		return number
	}
	return t.ids[number]
}

// IsSpecial reports whether id is a control token such as begin-of-text, and not text.
func (t *Tokenizer) IsSpecial(id int) bool { return t.vocab.has(id) && t.vocab.entries[id].special }
