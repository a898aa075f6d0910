package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// byteChar is the character for each byte in a byte-level vocabulary: a printable character of
// Latin-1 for itself, the others in order from U+0100 on (GPT-2, encoder.py, bytes_to_unicode). The
// space is "Ġ".
var byteChar = func() (table [256]rune) {
	next := rune(256)
	for b := range table {
		switch {
		// All but controls, both spaces and the soft hyphen.
		case '!' <= b && b <= '~', 0xa1 <= b && b <= 0xac, 0xae <= b:
			table[b] = rune(b)
		default:
			table[b] = next
			next++
		}
	}
	return table
}()

// charByte is the inverse of byteChar.
var charByte = func() map[rune]byte {
	table := make(map[rune]byte, len(byteChar))
	for b, r := range byteChar {
		table[r] = byte(b)
	}
	return table
}()

// contentOf returns the bytes of s written with the characters of byteChar.
func contentOf(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(byteChar[s[i]])
	}
	return b.String()
}

// bytesOf returns the bytes that a token of a byte-level vocabulary stands for. A content with a
// character outside byteChar (of some added tokens) stands for itself.
func bytesOf(content string) string {
	b := make([]byte, 0, len(content))
	for _, r := range content {
		c, ok := charByte[r]
		if !ok {
			return content
		}
		b = append(b, c)
	}
	return string(b)
}

// byteLevel is the pre_tokenizer ByteLevel. With spell it writes bytes as their characters;
// without, the model takes words as bytes.
type byteLevel struct {
	addPrefixSpace bool
	useRegex       bool
	spell          bool
}

// split puts a space before the text if asked, splits it by the rule of GPT-2 if asked, and writes
// the bytes of the words.
func (b byteLevel) split(p piece, m *meter, yield func(piece)) (err error) {
	if b.addPrefixSpace {
		if p, err = p.withLeadingSpace(m); err != nil {
			return err
		}
	}
	word := yield
	if b.spell {
		word = func(w piece) {
			if err == nil {
				w, err = byteLevelText(w, m)
			}
			if err == nil {
				yield(w)
			}
		}
	}
	if b.useRegex {
		splitWords(p, word)
		return err
	}
	word(p)
	return err
}

// trimOffsets removes white space from the offsets of every token, as Hugging Face does: it counts
// the white space in the text of the token, so if the tokenizer put a space before a later piece, a
// character is removed in its place. Only at the start of the text does addPrefixSpace prevent
// that. The first of the tokens has index first in its list.
func trimOffsets(text string, tokens []token, addPrefixSpace bool, first int, m *meter) error {
	for i := range tokens {
		t := &tokens[i]
		leading, trailing := countSpaces(t.text)
		if err := m.step(1 + leading + trailing); err != nil {
			return err
		}
		if leading == 1 && addPrefixSpace && (first+i == 0 || t.Begin == 0) {
			leading = 0
		}
		t.Begin = forward(text, t.Begin, t.End, leading)
		t.End = max(back(text, t.End, trailing), t.Begin)
	}
	return nil
}

// countSpaces counts the white space at both ends of a token's text, in characters.
func countSpaces(s string) (leading, trailing int) {
	for rest := s; rest != ""; leading++ {
		r, size := utf8.DecodeRuneInString(rest)
		if !isSpaceOrByteSpace(r) {
			break
		}
		rest = rest[size:]
	}
	for rest := s; rest != ""; trailing++ {
		r, size := utf8.DecodeLastRuneInString(rest)
		if !isSpaceOrByteSpace(r) {
			break
		}
		rest = rest[:len(rest)-size]
	}
	return leading, trailing
}

// isSpaceOrByteSpace reports whether r is white space or "Ġ".
func isSpaceOrByteSpace(r rune) bool {
	return r == byteChar[' '] || unicode.Is(unicode.White_Space, r)
}

// forward moves n characters from begin towards end.
func forward(text string, begin, end, n int) int {
	for ; n > 0 && begin < end; n-- {
		_, size := utf8.DecodeRuneInString(text[begin:end])
		begin += size
	}
	return begin
}

// back moves n characters from end towards the start of the text, or not at all if there are fewer.
func back(text string, end, n int) int {
	at := end
	for ; n > 0; n-- {
		if at == 0 {
			return end
		}
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return at
}
