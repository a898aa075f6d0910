package tokenizer

import "unicode/utf8"

// piece is a part of the text on its way to the model, with the offsets in the text that was given.
//
// Until it is changed, text[lead:] is input[at:], and the lead bytes before it were inserted by the
// tokenizer. After a change, origins has the place in the input of every byte of text.
type piece struct {
	text     string
	input    string   // the whole text that is encoded
	origins  []origin // by byte of text; nil if nothing has changed
	at       int      // where its part of input begins
	lead     int      // number of inserted bytes at the start of text
	inserted bool     // all of it was inserted; it stands for no part of input
	follows  bool     // other text stands right before it, so nothing is put there
}

// origin is the bytes [begin,end) of the input that a byte of a changed text stands for: a
// character, or nothing. There is one for each byte of the text, so it is small: 29 bits for begin,
// 3 for the length.
type origin uint32

func newOrigin(begin, end int) origin {
	return origin(begin<<3 | (end - begin)) //nolint:gosec // see maxText
}

func (o origin) begin() int { return int(o >> 3) }

func (o origin) end() int { return int(o>>3 + o&7) }

// slice returns bytes [i,j) of p.
func (p piece) slice(i, j int) piece {
	p.follows = p.follows && i == 0
	if p.origins != nil {
		p.text, p.origins = p.text[i:j], p.origins[i:j]
		if i < j {
			p.at = p.origins[0].begin()
			p.inserted = p.origins[j-i-1].end() <= p.at
		}
		return p
	}
	p.text = p.text[i:j]
	if i > 0 {
		p.at, p.lead = p.at+i-p.lead, 0
	}
	return p
}

// withLeadingSpace adds a space at the start of p unless there is one or p follows other text. An
// empty piece stays empty.
func (p piece) withLeadingSpace(m *meter) (piece, error) {
	if p.text == "" || p.text[0] == ' ' || p.follows {
		return p, nil
	}
	if p.origins != nil || p.lead > 0 {
		return p.prepend(m, " ")
	}
	p.text, p.lead = " "+p.text, 1
	return p, m.grow(1)
}

// offsets returns the bytes of the input that bytes [i,j) of p stand for, i < j, widened to whole
// characters. Bytes that were inserted at the start stand for the first character, as in Hugging
// Face.
func (p piece) offsets(i, j int) (begin, end int) {
	first, last := p.origin(i), p.origin(j-1)
	return first.begin(), last.end()
}

// origin returns where byte i of p comes from.
func (p piece) origin(i int) origin {
	if p.origins != nil {
		return p.origins[i]
	}
	return newOrigin(character(p.input, p.at+max(i-p.lead, 0)))
}

// character returns the bytes [begin,end) of the character of s that byte i belongs to. A byte that
// is not part of a valid character is a character of its own.
func character(s string, i int) (begin, end int) {
	if s[i] < utf8.RuneSelf {
		return i, i + 1
	}
	for k := i; k >= 0 && k > i-utf8.UTFMax; k-- {
		if !utf8.RuneStart(s[k]) {
			continue
		}
		if _, size := utf8.DecodeRuneInString(s[k:]); k+size > i {
			return k, k + size
		}
		break
	}
	return i, i + 1
}

// badByte is added to a byte that is not part of a valid character. Such numbers are above the last
// code point.
const badByte = utf8.MaxRune + 1

// decodeRune returns the first character of s, which is not empty, and its length in bytes.
func decodeRune(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return badByte + rune(s[0]), 1
	}
	return r, size
}

// appendRune is the inverse of decodeRune.
func appendRune(b []byte, r rune) []byte {
	if r >= badByte {
		return append(b, byte(r-badByte))
	}
	return utf8.AppendRune(b, r)
}
