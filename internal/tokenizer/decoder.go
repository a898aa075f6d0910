package tokenizer

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder makes text of tokens.
type decoder interface {
	// decode returns texts that are the decoded text when they are concatenated. With raw, bytes
	// that are not part of a character stay as they are.
	decode(tokens []string, raw bool, m *meter) ([]string, error)
	// spell returns what a token spells in the middle of a text, as raw bytes, and done if the
	// decoders that follow must not change it.
	spell(token string, m *meter) (text string, done bool, err error)
}

// decoders are applied one after the other. A Sequence inside a Sequence is flattened.
type decoders []partOf[decoder]

// decode applies all decoders. Each step counts the bytes that it reads and those that it adds, so
// that a hostile file cannot make a text without limit.
func (d decoders) decode(tokens []string, raw bool, m *meter) ([]string, error) {
	for _, each := range d {
		before := bytesIn(tokens)
		err := m.step(before + pieceSteps*len(tokens))
		if err == nil {
			tokens, err = each.part.decode(tokens, raw, m)
		}
		if err == nil {
			err = m.grow(bytesIn(tokens) - before)
		}
		if err != nil {
			return nil, each.wrap(err)
		}
	}
	return tokens, nil
}

// spell returns the token as it is if decoding exceeds its budget. It shows a token by itself,
// where the tokens around it are not known.
func (d decoders) spell(token string, m *meter) string {
	text := token
	for _, each := range d {
		before := len(text)
		err := m.step(pieceSteps + before)
		done := false
		if err == nil {
			text, done, err = each.part.spell(text, m)
		}
		if err == nil {
			err = m.grow(len(text) - before)
		}
		if err != nil {
			return token
		}
		if done {
			break
		}
	}
	return text
}

// bytesIn returns the number of bytes of all tokens.
func bytesIn(tokens []string) int {
	n := 0
	for _, t := range tokens {
		n += len(t)
	}
	return n
}

// spaceDecoder is used if the file has no decoder: it puts a space between tokens.
type spaceDecoder struct{}

func (spaceDecoder) decode(tokens []string, _ bool, _ *meter) ([]string, error) {
	return []string{strings.Join(tokens, " ")}, nil
}

func (spaceDecoder) spell(token string, _ *meter) (string, bool, error) {
	return " " + token, false, nil
}

// tokenDecoder is a decoder that changes each token by itself. at is the index of the token, last
// that of the last one. A token without context is decoded as one in the middle. Most decoders are
// of this kind; the others join or drop tokens.
type tokenDecoder func(token string, at, last int, m *meter) (string, error)

func (f tokenDecoder) decode(tokens []string, _ bool, m *meter) ([]string, error) {
	decoded := make([]string, len(tokens))
	room := m.room()
	for i, t := range tokens {
		var err error
		if decoded[i], err = f(t, i, len(tokens)-1, m); err != nil {
			return nil, err
		}
		// decoders.decode counts the growth in the end; this only stops it from getting far beyond.
		if room -= len(decoded[i]) - len(t); room < 0 {
			return nil, m.grow(m.room() - room)
		}
	}
	return decoded, nil
}

func (f tokenDecoder) spell(token string, m *meter) (string, bool, error) {
	// at 1 of 0..2 is neither the first nor the last token.
	text, err := f(token, 1, 2, m)
	return text, false, err
}

// byteLevelDecoder replaces the characters of a byte-level vocabulary by their bytes.
type byteLevelDecoder struct{}

// decode joins the bytes of all tokens before they become text, because a character may be divided
// among tokens.
func (byteLevelDecoder) decode(tokens []string, raw bool, _ *meter) ([]string, error) {
	var b []byte
	for _, t := range tokens {
		b = append(b, bytesOf(t)...)
	}
	if raw {
		return []string{string(b)}, nil
	}
	return []string{toValidUTF8(b)}, nil
}

func (byteLevelDecoder) spell(token string, _ *meter) (string, bool, error) {
	return bytesOf(token), true, nil
}

// byteFallback decodes tokens such as <0x0A>. A run of them that is not valid UTF-8 becomes as many
// U+FFFD.
type byteFallback struct{}

func (byteFallback) decode(tokens []string, raw bool, _ *meter) ([]string, error) {
	decoded := make([]string, 0, len(tokens))
	// run has the bytes of neighbours <0xHH>, which may be one character together.
	var run []byte
	flush := func() {
		switch {
		case len(run) == 0:
		case raw || utf8.Valid(run):
			decoded = append(decoded, string(run))
		default:
			decoded = append(decoded, slices.Repeat([]string{string(utf8.RuneError)}, len(run))...)
		}
		run = run[:0]
	}
	for _, t := range tokens {
		if c, ok := fallbackByte(t); ok {
			run = append(run, c)
			continue
		}
		flush()
		decoded = append(decoded, t)
	}
	flush()
	return decoded, nil
}

func (byteFallback) spell(token string, _ *meter) (string, bool, error) {
	if c, ok := fallbackByte(token); ok {
		return string([]byte{c}), false, nil
	}
	return token, false, nil
}

// fallbackByte returns the byte of a token <0xHH>. As in the number parser of Rust, the first digit
// may be a plus sign.
func fallbackByte(token string) (byte, bool) {
	if len(token) != 6 || !strings.HasPrefix(token, "<0x") || token[5] != '>' {
		return 0, false
	}
	digits := token[3:5]
	if digits[0] == '+' {
		digits = digits[1:]
	}
	n, err := strconv.ParseUint(digits, 16, 8)
	return byte(n), err == nil
}

// fuse joins all tokens.
type fuse struct{}

func (fuse) decode(tokens []string, _ bool, _ *meter) ([]string, error) {
	return []string{strings.Join(tokens, "")}, nil
}

func (fuse) spell(token string, _ *meter) (string, bool, error) { return token, true, nil }

// ctc is CTC, the decoder of models that hear speech: it drops repeated tokens, and the token that
// separates tokens that are really repeated.
type ctc struct {
	Type          string `json:"type"`
	PadToken      string `json:"pad_token" need:"true"`
	WordDelimiter string `json:"word_delimiter_token" need:"true"`
	Cleanup       bool   `json:"cleanup" need:"true"`
}

func (c ctc) decode(tokens []string, _ bool, m *meter) ([]string, error) {
	var decoded []string
	for i, t := range tokens {
		// Repetitions are compared before anything is removed.
		if i > 0 && t == tokens[i-1] {
			continue
		}
		t, _, err := c.spell(t, m)
		if err != nil {
			return nil, err
		}
		if t != "" {
			decoded = append(decoded, t)
		}
	}
	return decoded, nil
}

func (c ctc) spell(token string, m *meter) (string, bool, error) {
	token = strings.ReplaceAll(token, c.PadToken, "")
	if c.Cleanup {
		if err := m.step(len(cleanups) * len(token)); err != nil {
			return "", false, err
		}
		// The text grows by at most one byte for each byte, and one.
		token = strings.ReplaceAll(cleanup(token), c.WordDelimiter, " ")
	}
	return token, false, nil
}

// decoderKinds parses the decoders, by type.
var decoderKinds = map[string]func(raw json.RawMessage) (decoder, error){
	"BPEDecoder":   reading(newBPEDecoder),
	"ByteFallback": bare[decoder](byteFallback{}),
	"ByteLevel":    reading(newByteLevelDecoder),
	"CTC":          reading(func(c ctc) (decoder, error) { return c, nil }),
	"Fuse":         bare[decoder](fuse{}),
	"Metaspace":    reading(newMetaspaceDecoder),
	"Replace":      reading(newReplaceDecoder),
	"Strip":        reading(newStripDecoder),
	"WordPiece":    reading(newWordPieceDecoder),
}

// parseDecoder parses a decoder as a list.
func parseDecoder(key string, raw json.RawMessage, depth int) (decoders, error) {
	if isNull(raw) && depth == 0 {
		return decoders{{place{key, "null"}, spaceDecoder{}}}, nil
	}
	return sectionOf("decoders", decoderKinds).parts(key, raw, depth)
}

// newByteLevelDecoder makes ByteLevel, whose settings change nothing in decoding.
func newByteLevelDecoder(byteLevelFile) (decoder, error) { return byteLevelDecoder{}, nil }

// newBPEDecoder makes BPEDecoder: a suffix marks the end of a word, and becomes a space except
// in the last token.
func newBPEDecoder(f struct {
	Type   string `json:"type"`
	Suffix string `json:"suffix" need:"true"`
}) (decoder, error) {
	return tokenDecoder(func(token string, at, last int, _ *meter) (string, error) {
		if at == last {
			return strings.ReplaceAll(token, f.Suffix, ""), nil
		}
		// The text grows by at most one byte for each byte, and one.
		return strings.ReplaceAll(token, f.Suffix, " "), nil
	}), nil
}

// newMetaspaceDecoder makes Metaspace. The space that was put before the first token is taken
// away.
func newMetaspaceDecoder(f metaspaceFile) (decoder, error) {
	m, err := newMetaspace(f)
	if err != nil {
		return nil, err
	}
	return tokenDecoder(func(token string, at, _ int, _ *meter) (string, error) {
		if at == 0 && m.prepend != "never" {
			return strings.ReplaceAll(token, m.replacement, ""), nil
		}
		return strings.ReplaceAll(token, m.replacement, " "), nil
	}), nil
}

// newReplaceDecoder makes Replace, which works in each token by itself.
func newReplaceDecoder(f replaceFile) (decoder, error) {
	r, err := newReplacer(f)
	return tokenDecoder(func(token string, _, _ int, m *meter) (string, error) {
		return r.text(token, m)
	}), err
}

// newStripDecoder makes Strip, which removes up to start and stop times a character at the ends
// of each token.
func newStripDecoder(f struct {
	Type    string `json:"type"`
	Content string `json:"content"`
	Start   uint   `json:"start" need:"true"`
	Stop    uint   `json:"stop" need:"true"`
}) (decoder, error) {
	if err := oneRune("content", f.Content); err != nil {
		return nil, err
	}
	return tokenDecoder(func(token string, _, _ int, _ *meter) (string, error) {
		for i := uint(0); i < f.Start && strings.HasPrefix(token, f.Content); i++ {
			token = token[len(f.Content):]
		}
		for i := uint(0); i < f.Stop && strings.HasSuffix(token, f.Content); i++ {
			token = token[:len(token)-len(f.Content)]
		}
		return token, nil
	}), nil
}

// newWordPieceDecoder makes WordPiece. A token with the prefix continues a word; before any
// other one there is a space.
func newWordPieceDecoder(f struct {
	Type    string `json:"type"`
	Prefix  string `json:"prefix" need:"true"`
	Cleanup bool   `json:"cleanup" need:"true"`
}) (decoder, error) {
	return tokenDecoder(func(token string, at, _ int, m *meter) (string, error) {
		if at > 0 {
			rest, inWord := strings.CutPrefix(token, f.Prefix)
			if token = rest; !inWord {
				token = " " + token
			}
		}
		if f.Cleanup {
			if err := m.step(len(cleanups) * len(token)); err != nil {
				return "", err
			}
			token = cleanup(token)
		}
		return token, nil
	}), nil
}

// cleanups are the replacements that the reference does for English text. Their order counts.
var cleanups = [][2]string{
	{" .", "."},
	{" ?", "?"},
	{" !", "!"},
	{" ,", ","},
	{" ' ", "'"},
	{" n't", "n't"},
	{" 'm", "'m"},
	{" do not", " don't"},
	{" 's", "'s"},
	{" 've", "'ve"},
	{" 're", "'re"},
}

// cleanup removes spaces before punctuation and contractions, one rule after the other.
func cleanup(s string) string {
	for _, c := range cleanups {
		s = strings.ReplaceAll(s, c[0], c[1])
	}
	return s
}
