package tokenizer

import "unicode/utf8"

// piece is a part of the text on its way to the model, with the way back: text[lead:] is the input from byte at on, and
// the lead bytes in front of it were put there by the tokenizer.
type piece struct {
	text string
	at   int
	lead int
}

// slice returns bytes [i,j) of p.
func (p piece) slice(i, j int) piece {
	if i == 0 {
		return piece{text: p.text[:j], at: p.at, lead: p.lead}
	}
	return piece{text: p.text[i:j], at: p.at + i - p.lead}
}

// withLeadingSpace puts a space in front of p unless there is one.
func (p piece) withLeadingSpace() piece {
	if p.text == "" || p.text[0] == ' ' {
		return p
	}
	return piece{text: " " + p.text, at: p.at, lead: 1}
}

// offsets returns the bytes of the input that bytes [i,j) of p stand for, 0 ≤ i < j, widened to whole characters. Bytes
// put in front stand for the first character, as Hugging Face has it.
func (p piece) offsets(i, j int) (begin, end int) {
	s := p.text[p.lead:]
	begin, _ = character(s, max(i-p.lead, 0))
	_, end = character(s, max(j-1-p.lead, 0))
	return p.at + begin, p.at + end
}

// character returns the bytes [begin,end) of the character of s that byte i belongs to. A byte of no valid character is
// one of its own.
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
