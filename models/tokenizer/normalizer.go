package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// normalizer changes a piece of text before it is split.
type normalizer interface {
	normalize(p piece, m *meter) (piece, error)
}

// normalizers are applied one after the other. A Sequence inside a Sequence is flattened.
type normalizers []normalizerPart

type normalizerPart struct {
	place
	normalizer
}

// normalize applies all normalizers. The piece remembers for each byte where it comes from, so that
// tokens have offsets in the text before.
func (n normalizers) normalize(p piece, m *meter) (piece, error) {
	for _, each := range n {
		err := m.step(1)
		if err == nil {
			p, err = each.normalize(p, m)
		}
		if err != nil {
			return p, each.wrap(err)
		}
	}
	return p, nil
}

// normalizerFunc is a normalizer that is a function.
type normalizerFunc func(p piece, m *meter) (piece, error)

func (c normalizerFunc) normalize(p piece, m *meter) (piece, error) { return c(p, m) }

// normalizerKinds parses the normalizers, by type.
var normalizerKinds = map[string]func(raw json.RawMessage) (normalizer, error){
	"BertNormalizer": parseBertNormalizer,
	"ByteLevel":      bare(normalizerFunc(byteLevelText)),
	"Lowercase":      bare(normalizerFunc(lowercase)),
	"NFC":            bare(normalizerFunc(nfc.apply)),
	"NFD":            bare(normalizerFunc(nfd.apply)),
	"NFKC":           bare(normalizerFunc(nfkc.apply)),
	"NFKD":           bare(normalizerFunc(nfkd.apply)),
	"Nmt":            bare(normalizerFunc(nmt)),
	"Precompiled":    parsePrecompiled,
	"Prepend":        parsePrepend,
	"Replace":        parseReplaceNormalizer,
	"Sequence":       nil, // see parseNormalizer
	"Strip":          parseStrip,
	"StripAccents":   bare(normalizerFunc(stripAccents)),
}

// bare returns the function that parses a normalizer without settings. Any other key is an error.
func bare(n normalizer) func(json.RawMessage) (normalizer, error) {
	return func(raw json.RawMessage) (normalizer, error) {
		var only struct {
			Type string `json:"type"`
		}
		return n, decodeStrict(raw, &only)
	}
}

// parseNormalizer parses a normalizer as a list.
func parseNormalizer(key string, raw json.RawMessage, depth int) (normalizers, error) {
	if isNull(raw) && depth == 0 {
		return nil, nil
	}
	kind := kindOf(raw)
	if kind == "Sequence" {
		return parseNormalizers(key, raw, depth)
	}
	parse, ok := normalizerKinds[kind]
	if !ok {
		return nil, unsupportedType(key, raw, names(normalizerKinds)...)
	}
	n, err := parse(raw)
	return normalizers{{place{key, kind}, n}}, atKey(key, err)
}

func parseNormalizers(key string, raw json.RawMessage, depth int) (all normalizers, err error) {
	var s struct {
		Type string            `json:"type"`
		Each []json.RawMessage `json:"normalizers"`
	}
	if err := decodeStrict(raw, &s); err != nil {
		return nil, atKey(key, err)
	}
	// Before going deeper: the depth of a hostile file must not become that of the stack.
	if depth == maxNesting {
		return nil, errNesting(key)
	}
	for i, r := range s.Each {
		n, err := parseNormalizer(fmt.Sprintf("%s.normalizers[%d]", key, i), r, depth+1)
		if err != nil {
			return nil, err
		}
		if all = append(all, n...); len(all) > maxParts {
			return nil, errParts(key, len(all))
		}
	}
	return all, nil
}

// parsePrepend parses Prepend, which puts a text before every piece that is not empty.
func parsePrepend(raw json.RawMessage) (normalizer, error) {
	var f struct {
		Type    string  `json:"type"`
		Prepend *string `json:"prepend"`
	}
	if err := decodeStrict(raw, &f); err != nil {
		return nil, err
	}
	if f.Prepend == nil {
		return nil, errors.New("type Prepend needs prepend")
	}
	return normalizerFunc(func(p piece, m *meter) (piece, error) {
		return p.prepend(m, *f.Prepend)
	}), nil
}

// patternFile is a pattern in a file: one of the two is set.
type patternFile struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// replaceFile is Replace, a normalizer and a decoder.
type replaceFile struct {
	Type    string       `json:"type"`
	Pattern *patternFile `json:"pattern"`
	Content *string      `json:"content"`
}

// replacer replaces all matches of a pattern.
type replacer struct {
	pattern pattern
	content string
}

// parseReplace parses Replace, whose pattern is a text or a regular expression. The content is
// literal in both.
func parseReplace(raw json.RawMessage) (replacer, error) {
	var f replaceFile
	if err := decodeStrict(raw, &f); err != nil {
		return replacer{}, err
	}
	if f.Pattern == nil || f.Content == nil {
		return replacer{}, errors.New("type Replace needs pattern and content")
	}
	pat, err := parsePattern(*f.Pattern)
	return replacer{pat, *f.Content}, err
}

func parseReplaceNormalizer(raw json.RawMessage) (normalizer, error) { return parseReplace(raw) }

// normalize replaces all matches, from left to right and without overlap.
func (r replacer) normalize(p piece, m *meter) (piece, error) {
	return p.replaceAll(m, r.pattern, r.content)
}

// text replaces all matches in a text without offsets. The caller counts the growth.
func (r replacer) text(s string, m *meter) (string, error) {
	if s == "" { // nothing matches in an empty text
		return s, nil
	}
	var b strings.Builder
	var over error
	done, room, found := 0, m.room(), false
	err := r.pattern.find(s, m, func(begin, end int) {
		// The result is stopped while it grows, and not when it is complete.
		if room -= len(r.content) - (end - begin); room < 0 && over == nil {
			over = m.grow(m.room() - room)
		}
		if over != nil {
			return
		}
		if !found {
			found = true
			// Enough for a text with one match, the usual case.
			b.Grow(len(s) + len(r.content))
		}
		b.WriteString(s[done:begin])
		b.WriteString(r.content)
		done = end
	})
	if err = errors.Join(over, err); err != nil || !found {
		return s, err
	}
	b.WriteString(s[done:])
	return b.String(), nil
}

func parseStrip(raw json.RawMessage) (normalizer, error) {
	var f struct {
		Type  string `json:"type"`
		Left  *bool  `json:"strip_left"`
		Right *bool  `json:"strip_right"`
	}
	if err := decodeStrict(raw, &f); err != nil {
		return nil, err
	}
	if f.Left == nil || f.Right == nil {
		return nil, errors.New("type Strip needs strip_left and strip_right")
	}
	return normalizerFunc(func(p piece, m *meter) (piece, error) {
		return strip(p, m, *f.Left, *f.Right)
	}), nil
}

// strip removes the white space at the ends of p.
func strip(p piece, m *meter, left, right bool) (piece, error) {
	begin, end := 0, len(p.text)
	if left {
		begin = spaceEnd(p.text, 0)
	}
	if right {
		end = spaceStart(p.text, end, begin)
	}
	if begin == 0 && end == len(p.text) {
		return p, m.step(len(p.text))
	}
	w := p.rewrite(m)
	for i := 0; i < len(p.text); {
		r, size := decodeRune(p.text[i:])
		if i >= begin && i < end {
			w.replace(r)
		} else {
			w.drop(1)
		}
		i += size
	}
	return w.changed()
}

// lowercase is the mapping of Unicode without context. Only U+0130 becomes two characters.
func lowercase(p piece, m *meter) (piece, error) {
	if p.unchangedBy(lower) {
		return p, m.step(len(p.text))
	}
	w := p.rewrite(m)
	for i := 0; i < len(p.text); {
		r, size := decodeRune(p.text[i:])
		i += size
		w.replace(lower(r))
		if r == 'İ' {
			w.insert('\u0307')
		}
	}
	return w.changed()
}

// stripAccents drops all marks.
func stripAccents(p piece, m *meter) (piece, error) {
	return p.filter(m, func(r rune) bool { return !marks.has(r) })
}

// nmt drops control characters and replaces special spaces by a space, as sentencepiece normalises
// text for machine translation.
func nmt(p piece, m *meter) (piece, error) {
	return p.mapRunes(m, func(r rune) rune {
		switch {
		case 0x01 <= r && r <= 0x08, r == 0x0b, 0x0e <= r && r <= 0x1f,
			r == 0x7f, r == 0x8f, r == 0x9f:
			return -1
		case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, 0x200b <= r && r <= 0x200f,
			r == 0x2028, r == 0x2029, r == 0x2581, r == 0xfeff, r == 0xfffd:
			return ' '
		}
		return r
	})
}

// byteLevelText replaces each byte by its character in a byte-level vocabulary. The first byte
// takes the place of its character, and the others are inserted after it.
func byteLevelText(p piece, m *meter) (piece, error) {
	w := p.rewrite(m)
	for i := 0; i < len(p.text); {
		_, size := decodeRune(p.text[i:])
		for k, c := range []byte(p.text[i : i+size]) {
			if k == 0 {
				w.replace(byteChar[c])
				continue
			}
			w.insert(byteChar[c])
		}
		i += size
	}
	return w.changed()
}
