package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Decode returns the text that ids spell, without the control tokens if skipSpecials. It is the text of Hugging Face:
// bytes that are no character, such as those of a character cut off at the end, become U+FFFD, as many as there. It
// returns an error for an id outside the vocabulary, and a [LimitError] if the decoder of the file
// makes too much work of the ids.
func (t *Tokenizer) Decode(ids []int, skipSpecials bool) (string, error) {
	return t.decode(ids, skipSpecials, false)
}

// DecodeBytes is [Tokenizer.Decode] with the bytes as they are. For a byte-level tokenizer without a normalizer
// DecodeBytes(Encode(text)) is text, valid UTF-8 or not, unless the file puts a space in front, lets an added token swallow
// white space, or lacks bytes.
func (t *Tokenizer) DecodeBytes(ids []int, skipSpecials bool) ([]byte, error) {
	text, err := t.decode(ids, skipSpecials, true)
	if err != nil {
		return nil, err
	}
	return []byte(text), nil
}

// decode gives the decoder what Hugging Face calls the tokens: of an added token its normalised text, which then is no
// control token's name any more, if it is another.
func (t *Tokenizer) decode(ids []int, skipSpecials, raw bool) (string, error) {
	tokens := make([]string, 0, len(ids))
	n := 0
	for _, id := range ids {
		if !t.vocab.has(id) {
			return "", fmt.Errorf("tokenizer: id %d is not in the vocabulary, which has %d ids from 0", id, t.VocabSize())
		}
		content, ok := t.added.spelled[id]
		if !ok {
			content = t.vocab.entries[id].content
		}
		if skipSpecials && t.added.special[content] {
			continue
		}
		if n += len(content); n > maxDecoded+maxTokenBytes*len(ids) {
			return "", fmt.Errorf("tokenizer: the tokens of %d ids spell more than %d bytes; "+
				"decode fewer at a time",
				len(ids), maxDecoded+maxTokenBytes*len(ids))
		}
		tokens = append(tokens, content)
	}
	tokens, err := t.decoder.decode(tokens, raw, newMeter(n+len(tokens)))
	if err != nil {
		return "", fmt.Errorf("tokenizer: %w", err)
	}
	return strings.Join(tokens, ""), nil
}

// The tokens of a text are short in the mean, even where some spell a thousand bytes.
const (
	maxTokenBytes = 512     // bytes of a token in the mean
	maxDecoded    = 1 << 20 // bytes of any text
)

// TokenText returns what token id spells in the middle of a text, in raw bytes: a part of a character is possible, so it
// need not be valid UTF-8. Where the decoder puts spaces between words, one is in front. A control token spells its name.
// It is empty for an id outside the vocabulary, and the name of the token where the decoder makes
// too
// much work of it.
func (t *Tokenizer) TokenText(id int) string {
	if !t.vocab.has(id) {
		return ""
	}
	e := t.vocab.entries[id]
	if e.special {
		return e.content
	}
	return t.decoder.spell(e.content, tokenMeter(len(e.content)))
}

// TokenBytes is [Tokenizer.TokenText] as a new slice.
func (t *Tokenizer) TokenBytes(id int) []byte { return []byte(t.TokenText(id)) }

// lossy makes valid UTF-8 of b: each maximal part of an ill-formed sequence becomes one U+FFFD (Unicode 16, §3.9,
// "U+FFFD substitution of maximal subparts"; Go's own functions replace byte by byte or whole runs).
func lossy(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		if r, size := utf8.DecodeRune(b); r != utf8.RuneError || size > 1 {
			s.Write(b[:size])
			b = b[size:]
			continue
		}
		s.WriteRune(utf8.RuneError)
		b = b[subpart(b):]
	}
	return s.String()
}

// subpart is the length of the start of a character at the start of b, which is not a whole one: at least 1.
func subpart(b []byte) int {
	lo, hi, n := byte(0x80), byte(0xbf), 0 // range of the second byte, number of bytes that follow
	switch c := b[0]; {
	case 0xc2 <= c && c <= 0xdf:
		n = 1
	case 0xe0 <= c && c <= 0xef:
		n = 2
		if c == 0xe0 {
			lo = 0xa0
		}
		if c == 0xed {
			hi = 0x9f
		}
	case 0xf0 <= c && c <= 0xf4:
		n = 3
		if c == 0xf0 {
			lo = 0x90
		}
		if c == 0xf4 {
			hi = 0x8f
		}
	}
	k := 1
	for ; k <= n && k < len(b) && lo <= b[k] && b[k] <= hi; k++ {
		lo, hi = 0x80, 0xbf
	}
	return k
}
