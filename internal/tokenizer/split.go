package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// The patterns by which most byte-level tokenizers split. They are scanned by hand, which is many
// times faster than [program] and takes one pass.
const (
	gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	// llama3Pattern is GPT-4's: contractions in capitals, any mark before a word, up to three
	// digits at a time, line breaks.
	llama3Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ` +
		`?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	// qwen2Pattern has one digit at a time.
	qwen2Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ` +
		`?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// scanners has the scanner for each pattern that has one.
var scanners = map[string]pattern{
	gpt2Pattern:   scanner(wordLen),
	llama3Pattern: scanner(func(s string) int { return lineWordLen(s, 3) }),
	qwen2Pattern:  scanner(func(s string) int { return lineWordLen(s, 1) }),
	" {2,}":       spaceRuns{}, // sentencepiece's removal of extra white space
}

// splitWords yields the words of p by the rule of GPT-2, [gpt2Pattern].
func splitWords(p piece, yield func(piece)) {
	for i := 0; i < len(p.text); {
		n := wordLen(p.text[i:])
		yield(p.slice(i, i+n))
		i += n
	}
}

// wordLen returns the length in bytes of the first word of s, which is not empty. It is the first
// alternative that matches, as a regular expression would choose: a contraction, then a space and a
// run of one class, then white space.
func wordLen(s string) int {
	if n := contraction(s); n > 0 {
		return n
	}
	class, size := classAt(s)
	// The space belongs to the word after it.
	if s[0] == ' ' && len(s) > 1 {
		if next, nextSize := classAt(s[1:]); next != space {
			class, size = next, 1+nextSize
		}
	}
	if class == space {
		return spacesLen(s)
	}
	for size < len(s) {
		next, n := classAt(s[size:])
		if next != class {
			break
		}
		size += n
	}
	return size
}

// contraction returns the length of the English contraction at the start of s, or 0. As in the
// pattern, only after an apostrophe in ASCII and in lower case.
func contraction(s string) int {
	if s[0] != '\'' || len(s) < 2 {
		return 0
	}
	switch s[1] {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(s) > 2 {
		switch s[1:3] {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

// spacesLen returns the length of the white space at the start of s. If a word follows and there
// are several spaces, the last one is left out: it belongs to the word or is a word by itself. That
// is \s+(?!\S)|\s+: the first alternative gives one character back where a word follows.
func spacesLen(s string) int {
	n, last := 0, 0
	for n < len(s) {
		class, size := classAt(s[n:])
		if class != space {
			break
		}
		n, last = n+size, size
	}
	if n < len(s) && n > last {
		n -= last
	}
	return n
}

// lineWordLen returns the length in bytes of the first word of s, which is not empty, by
// [llama3Pattern] or [qwen2Pattern]. A number has at most digits digits. The cases are those of the
// pattern, in its order.
func lineWordLen(s string, digits int) int {
	if n := foldedContraction(s); n > 0 {
		return n
	}
	class, size := classAt(s)
	// [^\r\n\p{L}\p{N}]?\p{L}+: one character that is no letter or number may come first.
	begin := size // of what follows one character before a word
	if class == letter {
		begin = 0
	}
	if class != number && s[0] != '\r' && s[0] != '\n' {
		if n := runLen(s[begin:], letter); n > 0 {
			return begin + n
		}
	}
	switch {
	// \p{N}{1,3} or \p{N}
	case class == number:
		for range digits - 1 {
			if size == len(s) {
				break
			}
			next, n := classAt(s[size:])
			if next != number {
				break
			}
			size += n
		}
		return size
	// ` ?[^\s\p{L}\p{N}]+[\r\n]*` without the space
	case class == other:
		return punctuationLen(s)
	// the same with it
	case s[0] == ' ':
		if n := punctuationLen(s[1:]); n > 0 {
			return 1 + n
		}
	}
	// \s*[\r\n]+
	if n := lineBreaksLen(s); n > 0 {
		return n
	}
	return spacesLen(s)
}

// foldedContraction is contraction without regard to case. The long s (ſ) counts as an s.
func foldedContraction(s string) int {
	if s[0] != '\'' || len(s) < 2 {
		return 0
	}
	if len(s) > 2 && s[1:3] == "ſ" {
		return 3
	}
	// The bit 0x20 makes an ASCII letter small.
	switch s[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(s) > 2 {
		switch [2]byte{s[1] | 0x20, s[2] | 0x20} {
		case [2]byte{'r', 'e'}, [2]byte{'v', 'e'}, [2]byte{'l', 'l'}:
			return 3
		}
	}
	return 0
}

// runLen returns the length of the characters of a class at the start of s.
func runLen(s string, class charClass) int {
	n := 0
	for n < len(s) {
		next, size := classAt(s[n:])
		if next != class {
			break
		}
		n += size
	}
	return n
}

// punctuationLen returns the length of the characters at the start of s that are neither letter,
// number nor space, and of the line breaks after them.
func punctuationLen(s string) int {
	n := runLen(s, other)
	for n > 0 && n < len(s) && (s[n] == '\r' || s[n] == '\n') {
		n++
	}
	return n
}

// lineBreaksLen returns the length of the white space at the start of s up to its last line break,
// 0 if it has none. The pattern \s*[\r\n]+ is greedy and gives back what comes after the last line
// break.
func lineBreaksLen(s string) int {
	n, last := 0, 0
	for n < len(s) {
		class, size := classAt(s[n:])
		if class != space {
			break
		}
		if s[n] == '\r' || s[n] == '\n' {
			last = n + 1
		}
		n += size
	}
	return last
}

// charClass is the class of a character in the splitting patterns.
type charClass uint8

const (
	other charClass = iota
	letter
	number
	space
)

// asciiClass has the classes of ASCII, most of a text, in one table.
var asciiClass = func() (table [utf8.RuneSelf]charClass) {
	for r := range table {
		table[r] = classOf(rune(r))
	}
	return table
}()

// classAt returns the class of the first character of s and its length in bytes. A byte that is not
// part of a valid character is other.
func classAt(s string) (charClass, int) {
	if s[0] < utf8.RuneSelf {
		return asciiClass[s[0]], 1
	}
	r, size := utf8.DecodeRuneInString(s)
	return classOf(r), size
}

// classOf returns the class of a character, with the letters and numbers that Go does not know yet.
func classOf(r rune) charClass {
	switch {
	case unicode.IsLetter(r), newLetters.has(r):
		return letter
	case unicode.IsNumber(r), newNumbers.has(r):
		return number
	case unicode.Is(unicode.White_Space, r):
		return space
	}
	return other
}
