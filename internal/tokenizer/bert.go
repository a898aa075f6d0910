package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// bertNormalizer is the normalisation of BERT: it drops control characters, replaces white space by
// spaces, puts spaces around Chinese characters, strips accents and lowers case.
type bertNormalizer struct {
	cleanText, handleChinese, stripAccents, lowercase bool
}

// newBertNormalizer makes BertNormalizer. Accents are stripped if the file says so, or if it
// says nothing and letters become small.
func newBertNormalizer(f struct {
	Type          string `json:"type"`
	CleanText     bool   `json:"clean_text" need:"true"`
	HandleChinese bool   `json:"handle_chinese_chars" need:"true"`
	StripAccents  *bool  `json:"strip_accents"` // null: as lowercase
	Lowercase     bool   `json:"lowercase" need:"true"`
}) (normalizer, error) {
	b := bertNormalizer{f.CleanText, f.HandleChinese, f.Lowercase, f.Lowercase}
	if f.StripAccents != nil {
		b.stripAccents = *f.StripAccents
	}
	return b, nil
}

// normalize goes through up to four passes. Most texts are ASCII, for which one pass without
// offsets is enough.
func (b bertNormalizer) normalize(p piece, m *meter) (_ piece, err error) {
	if !p.startsInserted() {
		if text, ok := b.ascii(p.text); ok {
			p.text = text
			return p, m.step(len(text))
		}
	}
	if b.cleanText {
		p, err = p.mapRunes(m, cleanRune)
	}
	if b.handleChinese && err == nil {
		p, err = spaceChinese(p, m)
	}
	if b.stripAccents && err == nil {
		// In the normal form D an accent is a character of its own after its letter.
		if p, err = nfd.apply(p, m); err == nil {
			p, err = p.filter(m, func(r rune) bool { return r < 0x300 || !accents.has(r) })
		}
	}
	if b.lowercase && err == nil {
		p, err = lowercase(p, m)
	}
	return p, err
}

// ascii normalises a text of ASCII characters, if its length does not change. Then each byte keeps
// its offset. It reports whether the text is of that kind. Control characters would be dropped,
// which changes the length, so such a text is not of that kind.
func (b bertNormalizer) ascii(s string) (string, bool) {
	first := len(s) // index of the first byte that changes
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf, b.cleanText && c < ' ' && c != '\t' && c != '\n' &&
			c != '\r', c == 0x7f:
			return "", false
		case b.cleanText && c < ' ', b.lowercase && 'A' <= c && c <= 'Z':
			first = min(first, i)
		}
	}
	if first == len(s) {
		return s, true
	}
	t := []byte(s)
	for i := first; i < len(t); i++ {
		switch c := t[i]; {
		case b.cleanText && c < ' ':
			t[i] = ' '
		case b.lowercase && 'A' <= c && c <= 'Z':
			t[i] = c + 'a' - 'A'
		}
	}
	return string(t), true
}

// cleanRune returns what replaces a character when text is cleaned, or -1 to drop it. Order
// matters: a tab is a control character too.
func cleanRune(r rune) rune {
	switch {
	case r == '\t', r == '\n', r == '\r', unicode.Is(unicode.White_Space, r) && !controls.has(r):
		return ' '
	case r == 0, r >= 0x7f && controls.has(r), r < ' ':
		return -1
	}
	return r
}

// spaceChinese puts spaces around each Chinese character. Chinese is written without spaces, and
// BERT treats each character as a word.
func spaceChinese(p piece, m *meter) (piece, error) {
	w := p.rewrite(m)
	for i := 0; i < len(p.text); {
		r, size := decodeRune(p.text[i:])
		i += size
		if !isChinese(r) {
			w.replace(r)
			continue
		}
		w.replace(' ')
		w.insert(r)
		w.insert(' ')
	}
	return w.changed()
}

// isChinese reports whether r is in the blocks that BERT's code lists. They leave out the end of
// extension E.
func isChinese(r rune) bool {
	return r >= 0x3400 &&
		(r <= 0x4dbf || 0x4e00 <= r && r <= 0x9fff || 0xf900 <= r && r <= 0xfaff ||
			0x20000 <= r && r <= 0x2a6df || 0x2a700 <= r && r <= 0x2b81f || 0x2b920 <= r &&
			r <= 0x2ceaf ||
			0x2f800 <= r && r <= 0x2fa1f)
}

// bertWords is BertPreTokenizer: white space separates words, and each punctuation mark is a word.
type bertWords struct{}

// split yields the words in order, none of them empty.
func (bertWords) split(p piece, _ *meter, yield func(piece)) error {
	begin := 0
	word := func(end int) {
		if begin < end {
			yield(p.slice(begin, end))
		}
	}
	for i := 0; i < len(p.text); {
		r, size := decodeRune(p.text[i:])
		switch {
		case isSpace(r):
			word(i)
			begin = i + size
		case isPunctuation(r):
			word(i)
			yield(p.slice(i, i+size))
			begin = i + size
		}
		i += size
	}
	word(len(p.text))
	return nil
}

// isSpace reports whether r is white space in the Unicode sense.
func isSpace(r rune) bool {
	if r < utf8.RuneSelf {
		return r == ' ' || '\t' <= r && r <= '\r'
	}
	return unicode.Is(unicode.White_Space, r)
}

// isPunctuation reports whether r is punctuation as BERT sees it, which includes all marks of
// ASCII, also $ and +.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return '!' <= r && r <= '/' || ':' <= r && r <= '@' ||
			'[' <= r && r <= '`' || '{' <= r && r <= '~'
	}
	return punctuation.has(r)
}
