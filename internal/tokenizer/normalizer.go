package tokenizer

import (
	"encoding/json"
	"errors"
	"strings"
)

// normalizer changes a piece of text before it is split.
type normalizer interface {
	normalize(p piece, m *meter) (piece, error)
}

// normalizers are applied one after the other. A Sequence inside a Sequence is flattened.
type normalizers []partOf[normalizer]

// normalize applies all normalizers. The piece remembers for each byte where it comes from, so that
// tokens have offsets in the text before.
func (n normalizers) normalize(p piece, m *meter) (piece, error) {
	for _, each := range n {
		err := m.step(1)
		if err == nil {
			p, err = each.part.normalize(p, m)
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
	"BertNormalizer": reading(newBertNormalizer),
	"ByteLevel":      bare[normalizer](normalizerFunc(byteLevelText)),
	"Lowercase":      bare[normalizer](normalizerFunc(lowercase)),
	"NFC":            bare[normalizer](normalizerFunc(nfc.apply)),
	"NFD":            bare[normalizer](normalizerFunc(nfd.apply)),
	"NFKC":           bare[normalizer](normalizerFunc(nfkc.apply)),
	"NFKD":           bare[normalizer](normalizerFunc(nfkd.apply)),
	"Nmt":            bare[normalizer](normalizerFunc(nmt)),
	"Precompiled":    reading(newPrecompiled),
	"Prepend":        reading(newPrepend),
	"Replace":        reading(newReplaceNormalizer),
	"Strip":          reading(newStrip),
	"StripAccents":   bare[normalizer](normalizerFunc(stripAccents)),
}

// parseNormalizer parses a normalizer as a list.
func parseNormalizer(key string, raw json.RawMessage, depth int) (normalizers, error) {
	return sectionOf("normalizers", normalizerKinds).parts(key, raw, depth)
}

// newPrepend makes Prepend, which puts a text before every piece that is not empty.
func newPrepend(f struct {
	Type    string `json:"type"`
	Prepend string `json:"prepend" need:"true"`
}) (normalizer, error) {
	return normalizerFunc(func(p piece, m *meter) (piece, error) {
		return p.prepend(m, f.Prepend)
	}), nil
}

// patternFile is a pattern in a file: one of the two is set.
type patternFile struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// replaceFile is Replace, a normalizer and a decoder.
type replaceFile struct {
	Type    string      `json:"type"`
	Pattern patternFile `json:"pattern" need:"true"`
	Content string      `json:"content" need:"true"`
}

// replacer replaces all matches of a pattern.
type replacer struct {
	pattern pattern
	content string
}

// newReplacer makes Replace, whose pattern is a text or a regular expression. The content is
// literal in both.
func newReplacer(f replaceFile) (replacer, error) {
	pat, err := parsePattern(f.Pattern)
	return replacer{pat, f.Content}, err
}

func newReplaceNormalizer(f replaceFile) (normalizer, error) { return newReplacer(f) }

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

func newStrip(f struct {
	Type  string `json:"type"`
	Left  bool   `json:"strip_left" need:"true"`
	Right bool   `json:"strip_right" need:"true"`
}) (normalizer, error) {
	return normalizerFunc(func(p piece, m *meter) (piece, error) {
		return strip(p, m, f.Left, f.Right)
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
