package tokenizer

import "unicode/utf8"

// piece is a part of the text on its way to the model, with the way back: text[lead:] is the input from byte at on, and
// the lead bytes in front of it were put there by the tokenizer.
type piece struct {
	text  string
	input string // the whole text that is encoded
	at    int
	lead  int
}

// slice returns bytes [i,j) of p.
func (p piece) slice(i, j int) piece {
	p.text = p.text[i:j]
	if i > 0 {
		p.at, p.lead = p.at+i-p.lead, 0
	}
	return p
}

// withLeadingSpace puts a space in front of p unless there is one. An empty piece stays empty.
func (p piece) withLeadingSpace() piece {
	if p.text == "" || p.text[0] == ' ' {
		return p
	}
	p.text, p.lead = " "+p.text, 1
	return p
}

// offsets returns the bytes of the input that bytes [i,j) of p stand for, i < j, widened to whole characters. Bytes put in
// front stand for the first character, as Hugging Face has it.
func (p piece) offsets(i, j int) (begin, end int) {
	begin, _ = character(p.input, p.at+max(i-p.lead, 0))
	_, end = character(p.input, p.at+max(j-1-p.lead, 0))
	return begin, end
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
