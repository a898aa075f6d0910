package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// bpeFile is a model section of type BPE without its vocabulary and merges.
type bpeFile struct {
	Type                    string   `json:"type"`
	Dropout                 *float64 `json:"dropout"`
	UnkToken                *string  `json:"unk_token"`
	ContinuingSubwordPrefix *string  `json:"continuing_subword_prefix"`
	EndOfWordSuffix         *string  `json:"end_of_word_suffix"`
	FuseUnk                 bool     `json:"fuse_unk"`
	ByteFallback            bool     `json:"byte_fallback"`
	IgnoreMerges            bool     `json:"ignore_merges"`
}

// prefix is put before each symbol of a word but the first.
func (f bpeFile) prefix() string {
	if f.ContinuingSubwordPrefix == nil {
		return ""
	}
	return *f.ContinuingSubwordPrefix
}

// suffix is put after the last symbol of a word.
func (f bpeFile) suffix() string {
	if f.EndOfWordSuffix == nil {
		return ""
	}
	return *f.EndOfWordSuffix
}

// maxAffix is the length of the longest prefix and suffix of symbols, in bytes. Each character of a
// word is looked up together with them.
const maxAffix = 64

// newBPEModel makes the model of a file for words that are text; see [bpe.useByteSymbols].
func newBPEModel(f bpeFile, m modelFile, vocab *vocabulary) (model, error) {
	b := &bpe{
		file: f, unk: noSymbol, cache: newWordCache(), contents: vocab.contents(),
		ids: vocab.modelIDs(),
	}
	for key, affix := range map[string]string{
		"continuing_subword_prefix": b.file.prefix(), "end_of_word_suffix": b.file.suffix(),
	} {
		if len(affix) > maxAffix {
			return nil, fmt.Errorf("model.%s: %.40q... has %d bytes, the limit is %d", key, affix,
				len(affix), maxAffix)
		}
	}
	if d := b.file.Dropout; d != nil && *d != 0 {
		return nil, &unsupportedError{
			"model.dropout", fmt.Sprint(*d),
			[]string{"null", "0: it makes the result random"},
		}
	}
	if b.file.ByteFallback && b.file.prefix()+b.file.suffix() != "" {
		// The bytes of the affix would count as bytes of the word, and offsets would leave the
		// text.
		return nil, &unsupportedError{
			"model.byte_fallback",
			"true with continuing_subword_prefix or end_of_word_suffix",
			[]string{"one of them"},
		}
	}
	if b.file.UnkToken != nil {
		b.unk = vocab.modelID(*b.file.UnkToken)
	}
	// The symbols of single characters are looked up most, so they have a map of their own.
	b.chars = make(map[rune]int32)
	for content, id := range b.ids {
		if r, size := decodeRune(content); size == len(content) {
			b.chars[r] = id
		}
	}
	if b.file.ByteFallback {
		b.bytes = byteTokens(vocab.modelID)
	}
	if err := b.rank(m.merges); err != nil {
		return nil, err
	}
	b.cutBefore = b.findCutBefore()
	return b, nil
}

// rank gives each merge its rank, its index in the file. If a pair is listed again, the later rank
// counts.
func (m *bpe) rank(merges []mergeText) error {
	m.merges = make(map[pair]merge, len(merges))
	prefix := m.file.prefix()
	var merged []byte
	for i, text := range merges {
		left, ok := m.ids[text[0]]
		if !ok {
			return errMerge(i, text[0])
		}
		right, ok := m.ids[text[1]]
		if !ok {
			return errMerge(i, text[1])
		}
		if len(text[1]) < len(prefix) || !utf8.ValidString(text[1][len(prefix):]) {
			return fmt.Errorf("model.merges[%d]: token %.80q is shorter than "+
				"continuing_subword_prefix %.80q", i, text[1], prefix)
		}
		// The right token loses its prefix: "a" and "##b" make "ab".
		merged = append(append(merged[:0], text[0]...), text[1][len(prefix):]...)
		id, ok := m.ids[string(merged)]
		if !ok {
			return errMerge(i, string(merged))
		}
		m.merges[pair{left, right}] = merge{rank: int32(i), id: id}
	}
	return nil
}

// errMerge is the error for a merge of tokens, or into one, that the vocabulary lacks.
func errMerge(i int, content string) error {
	return fmt.Errorf("model.merges[%d]: token %.80q is not in vocab", i, content)
}

// wordMark is the character that stands for a space in vocabularies of sentencepiece.
const wordMark = "▁"

// findCutBefore returns the word mark if no merge joins it with a character before it. A text
// without a pre-tokenizer is one long word. Its parts are then the same as those of its words,
// which the cache may have.
func (m *bpe) findCutBefore() string {
	// Otherwise a character may be left out, which moves the offsets of those after it.
	complete := m.unk != noSymbol || m.bytes != nil && !containsNone(m.bytes)
	if _, ok := m.ids[wordMark]; !ok || !complete || m.file.IgnoreMerges || m.file.prefix() != "" ||
		m.file.suffix() != "" {
		return ""
	}
	for p := range m.merges {
		if strings.HasPrefix(m.contents[p.right], wordMark) &&
			!strings.HasSuffix(m.contents[p.left], wordMark) {
			return ""
		}
	}
	return wordMark
}

func containsNone(ids *[256]int32) bool {
	for _, id := range ids {
		if id == noSymbol {
			return true
		}
	}
	return false
}

// useByteSymbols makes the model take words as bytes, instead of as the characters that stand for
// them in a byte-level vocabulary. It reports whether that gives the same tokens: each byte must
// have a symbol, or there must be an unknown token.
func (m *bpe) useByteSymbols() bool {
	if m.file.prefix() != "" || m.file.suffix() != "" || m.bytes != nil {
		return false
	}
	var symbols [256]int32
	for c, r := range byteChar {
		id, ok := m.ids[string(r)]
		if !ok {
			if id = noSymbol; m.unk == noSymbol {
				return false
			}
		}
		symbols[c] = id
	}
	m.symbols, m.cutBefore = &symbols, ""
	return true
}
