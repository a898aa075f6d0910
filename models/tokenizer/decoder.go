package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder makes text of tokens.
type decoder interface {
	// decode returns texts, which are the text when put together. With raw, bytes that are no character stay.
	decode(tokens []string, raw bool) []string
	// spell returns what a token spells in the middle of a text, as raw bytes; done if no other decoder should touch it.
	spell(token string) (text string, done bool)
}

// decoders is one decoder after the other.
type decoders []decoder

func (d decoders) decode(tokens []string, raw bool) []string {
	for _, each := range d {
		tokens = each.decode(tokens, raw)
	}
	return tokens
}

func (d decoders) spell(token string) (_ string, done bool) {
	for _, each := range d {
		if token, done = each.spell(token); done {
			break
		}
	}
	return token, done
}

// spaced is a file without decoder: there is a space between tokens.
type spaced struct{}

func (spaced) decode(tokens []string, _ bool) []string { return []string{strings.Join(tokens, " ")} }

func (spaced) spell(token string) (string, bool) { return " " + token, false }

// eachToken is a decoder that changes each token by itself. at is its place, last the place of the last; a token that is
// asked for alone is in the middle.
type eachToken func(token string, at, last int) string

func (f eachToken) decode(tokens []string, _ bool) []string {
	decoded := make([]string, len(tokens))
	for i, t := range tokens {
		decoded[i] = f(t, i, len(tokens)-1)
	}
	return decoded
}

func (f eachToken) spell(token string) (string, bool) { return f(token, 1, 2), false }

// byteLevelDecoder reads the characters that stand for bytes.
type byteLevelDecoder struct{}

func (byteLevelDecoder) decode(tokens []string, raw bool) []string {
	var b []byte
	for _, t := range tokens {
		b = append(b, bytesOf(t)...)
	}
	if raw {
		return []string{string(b)}
	}
	return []string{lossy(b)}
}

func (byteLevelDecoder) spell(token string) (string, bool) { return bytesOf(token), true }

// byteFallback reads tokens such as <0x0A>. A run of them that is no text becomes as many U+FFFD.
type byteFallback struct{}

func (byteFallback) decode(tokens []string, raw bool) []string {
	decoded := make([]string, 0, len(tokens))
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
	return decoded
}

func (byteFallback) spell(token string) (string, bool) {
	if c, ok := fallbackByte(token); ok {
		return string([]byte{c}), false
	}
	return token, false
}

// fallbackByte is the byte of a token <0xHH>. As Rust reads numbers, the first digit may be a plus sign.
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

// fuse makes one token of all.
type fuse struct{}

func (fuse) decode(tokens []string, _ bool) []string { return []string{strings.Join(tokens, "")} }

func (fuse) spell(token string) (string, bool) { return token, true }

// ctc drops repeated tokens, and the one that keeps apart what is really twice.
type ctc struct {
	Type          string  `json:"type"`
	PadToken      *string `json:"pad_token"`
	WordDelimiter *string `json:"word_delimiter_token"`
	Cleanup       *bool   `json:"cleanup"`
}

func (c ctc) decode(tokens []string, _ bool) []string {
	var decoded []string
	for i, t := range tokens {
		if i > 0 && t == tokens[i-1] {
			continue
		}
		if t, _ = c.spell(t); t != "" {
			decoded = append(decoded, t)
		}
	}
	return decoded
}

func (c ctc) spell(token string) (string, bool) {
	token = strings.ReplaceAll(token, *c.PadToken, "")
	if *c.Cleanup {
		token = strings.ReplaceAll(cleanup(token), *c.WordDelimiter, " ")
	}
	return token, false
}

// decoderKinds reads the decoders of each type.
var decoderKinds = map[string]func(raw json.RawMessage) (decoder, error){
	"BPEDecoder":   parseBPEDecoder,
	"ByteFallback": bareDecoder(byteFallback{}),
	"ByteLevel":    parseByteLevelDecoder,
	"CTC":          parseCTC,
	"Fuse":         bareDecoder(fuse{}),
	"Metaspace":    parseMetaspaceDecoder,
	"Replace":      parseReplaceDecoder,
	"Sequence":     nil, // see parseDecoder
	"Strip":        parseStripDecoder,
	"WordPiece":    parseWordPieceDecoder,
}

func bareDecoder(d decoder) func(json.RawMessage) (decoder, error) {
	return func(raw json.RawMessage) (decoder, error) {
		var only struct {
			Type string `json:"type"`
		}
		return d, decodeStrict(raw, &only)
	}
}

func parseDecoder(key string, raw json.RawMessage, depth int) (decoder, error) {
	if isNull(raw) && depth == 0 {
		return spaced{}, nil
	}
	kind := kindOf(raw)
	if kind == "Sequence" {
		return parseDecoders(key, raw, depth)
	}
	parse, ok := decoderKinds[kind]
	if !ok {
		return nil, unsupportedType(key, raw, names(decoderKinds)...)
	}
	d, err := parse(raw)
	return d, under(key, err)
}

func parseDecoders(key string, raw json.RawMessage, depth int) (decoder, error) {
	var s struct {
		Type string            `json:"type"`
		Each []json.RawMessage `json:"decoders"`
	}
	if err := decodeStrict(raw, &s); err != nil {
		return nil, under(key, err)
	}
	if depth == maxNesting {
		return nil, errNesting(key)
	}
	all := make(decoders, len(s.Each))
	for i, r := range s.Each {
		var err error
		if all[i], err = parseDecoder(fmt.Sprintf("%s.decoders[%d]", key, i), r, depth+1); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func parseByteLevelDecoder(raw json.RawMessage) (decoder, error) {
	_, err := parseByteLevel(raw)
	return byteLevelDecoder{}, err
}

func parseBPEDecoder(raw json.RawMessage) (decoder, error) {
	var f struct {
		Type   string  `json:"type"`
		Suffix *string `json:"suffix"`
	}
	if err := decodeStrict(raw, &f); err != nil {
		return nil, err
	}
	if f.Suffix == nil {
		return nil, errors.New("BPEDecoder needs suffix")
	}
	return eachToken(func(token string, at, last int) string {
		if at == last {
			return strings.ReplaceAll(token, *f.Suffix, "")
		}
		return strings.ReplaceAll(token, *f.Suffix, " ")
	}), nil
}

func parseCTC(raw json.RawMessage) (decoder, error) {
	var c ctc
	if err := decodeStrict(raw, &c); err != nil {
		return nil, err
	}
	if c.PadToken == nil || c.WordDelimiter == nil || c.Cleanup == nil {
		return nil, errors.New("CTC needs pad_token, word_delimiter_token and cleanup")
	}
	return c, nil
}

func parseMetaspaceDecoder(raw json.RawMessage) (decoder, error) {
	m, err := parseMetaspace(raw)
	if err != nil {
		return nil, err
	}
	return eachToken(func(token string, at, _ int) string {
		if at == 0 && m.prepend != "never" {
			return strings.ReplaceAll(token, m.replacement, "")
		}
		return strings.ReplaceAll(token, m.replacement, " ")
	}), nil
}

func parseReplaceDecoder(raw json.RawMessage) (decoder, error) {
	r, err := parseReplace(raw)
	return eachToken(func(token string, _, _ int) string {
		// A pattern that takes too long on a token leaves it as it is.
		p, err := piece{text: token, input: token}.replaceAll(r.pattern, r.content)
		if err != nil {
			return token
		}
		return p.text
	}), err
}

func parseStripDecoder(raw json.RawMessage) (decoder, error) {
	var f struct {
		Type    string `json:"type"`
		Content string `json:"content"`
		Start   *uint  `json:"start"`
		Stop    *uint  `json:"stop"`
	}
	if err := decodeStrict(raw, &f); err != nil {
		return nil, err
	}
	if err := oneRune("content", f.Content); err != nil {
		return nil, err
	}
	if f.Start == nil || f.Stop == nil {
		return nil, errors.New("Strip needs start and stop")
	}
	return eachToken(func(token string, _, _ int) string {
		for i := uint(0); i < *f.Start && strings.HasPrefix(token, f.Content); i++ {
			token = token[len(f.Content):]
		}
		for i := uint(0); i < *f.Stop && strings.HasSuffix(token, f.Content); i++ {
			token = token[:len(token)-len(f.Content)]
		}
		return token
	}), nil
}

func parseWordPieceDecoder(raw json.RawMessage) (decoder, error) {
	var f struct {
		Type    string  `json:"type"`
		Prefix  *string `json:"prefix"`
		Cleanup *bool   `json:"cleanup"`
	}
	if err := decodeStrict(raw, &f); err != nil {
		return nil, err
	}
	if f.Prefix == nil || f.Cleanup == nil {
		return nil, errors.New("WordPiece needs prefix and cleanup")
	}
	return eachToken(func(token string, at, _ int) string {
		if at > 0 {
			rest, inWord := strings.CutPrefix(token, *f.Prefix)
			if token = rest; !inWord {
				token = " " + token
			}
		}
		if *f.Cleanup {
			token = cleanup(token)
		}
		return token
	}), nil
}

// cleanups are what the reference takes for English: pairs of a text and what replaces it.
var cleanups = [][2]string{
	{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"},
	{" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
}

// cleanup takes spaces away that English does not have, one kind after the other.
func cleanup(s string) string {
	for _, c := range cleanups {
		s = strings.ReplaceAll(s, c[0], c[1])
	}
	return s
}
