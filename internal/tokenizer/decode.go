package tokenizer

import (
	"strings"

	"golang.org/x/text/encoding/unicode"
)

// Decode returns the text that ids spell, without the control tokens if skipSpecials. It is the
// text of Hugging Face: bytes that are not part of a character, such as those of a character that
// is cut off at the end, become U+FFFD, as many as in Hugging Face. It returns an error for an id
// outside the vocabulary, and an error that wraps [errLimit] if the file's decoder causes too much
// work.
func (t *Tokenizer) Decode(ids []int, skipSpecials bool) (string, error) {
	return t.decode(ids, skipSpecials, false)
}

// decode returns the text of ids; with raw, bytes that are not part of a character stay as they
// are. Then decoding the tokens of a text gives the text again if the tokenizer is byte-level and
// has no normalizer, unless the file adds a space at the start, lets an added token remove white
// space, or lacks bytes.
//
// The decoder gets what Hugging Face calls the tokens. For an added token that is its normalised
// text; if normalisation changes the name of a control token, it is no longer skipped.
func (t *Tokenizer) decode(ids []int, skipSpecials, raw bool) (string, error) {
	tokens := make([]string, 0, len(ids))
	n := 0
	for _, id := range ids {
		if !t.vocab.has(id) {
			return "", pkg.Errorf("id %d is not in the vocabulary, which has %d ids from 0", id,
				t.VocabSize())
		}
		content, ok := t.added.normalizedContent[id]
		if !ok {
			content = t.vocab.entries[id].content
		}
		if skipSpecials && t.added.special[content] {
			continue
		}
		if n += len(content); n > maxDecoded+maxTokenBytes*len(ids) {
			return "", pkg.Errorf("the tokens of %d ids spell more than %d bytes; decode fewer at "+
				"a time", len(ids), maxDecoded+maxTokenBytes*len(ids))
		}
		tokens = append(tokens, content)
	}
	tokens, err := t.decoder.decode(tokens, raw, newMeter(n+len(tokens)))
	if err != nil {
		return "", pkg.Errorf("%w", err)
	}
	return strings.Join(tokens, ""), nil
}

// Limits on decoded text. Tokens are short on average, even if some spell a thousand bytes.
const (
	maxTokenBytes = 512     // bytes for each token
	maxDecoded    = 1 << 20 // bytes in addition
)

// TokenText returns what token id spells in the middle of a text, as raw bytes: it may be a part of
// a character, so it need not be valid UTF-8. If the decoder puts spaces between words, the text
// begins with one. A control token spells its name. The result is empty for an id outside the
// vocabulary, and the name of the token if the decoder causes too much work.
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

// toValidUTF8 replaces each maximal part of an ill-formed sequence by one U+FFFD (Unicode 16, §3.9,
// "U+FFFD substitution of maximal subparts"). Go's own functions replace each byte, or whole runs.
func toValidUTF8(b []byte) string {
	text, err := unicode.UTF8.NewDecoder().Bytes(b)
	if err != nil {
		panic(err) // ill-formed bytes are replaced, and nothing else can be wrong with bytes
	}
	return string(text)
}
