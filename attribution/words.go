package attribution

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/internal/message"
)

// mostPieces is how many tokens a word may have. Longer ones are texts without spaces, in which a
// character is a word.
const mostPieces = 12

// ContinuesWord reports for each token of the text whether it continues the word of the token
// before it: [m+n] for the m tokens of the prompt, or its spans, and the n that a decoder
// generated. Words are those of [Prompt.Words]. In scripts without spaces between words, and in
// words of more than 12 tokens, only the bytes of one character belong together. A span is a word,
// and so is each token of a prompt whose tokens have no places in its text.
func (e *Explanation) ContinuesWord() []bool {
	joins := make([]bool, len(e.Prompt.Texts))
	if !e.facts().Spans && e.Prompt.Placed() {
		e.Prompt.joinWords(joins)
	}
	if e.Model.Reads() {
		return joins
	}
	var whole strings.Builder
	answer, ofAnswer := Prompt{}, make([]bool, len(e.Steps))
	for _, g := range e.Steps {
		text, at := WithoutMarks(g.Text), whole.Len()
		whole.WriteString(text)
		answer.Texts = append(answer.Texts, text)
		answer.Special = append(answer.Special, g.Special)
		answer.Offsets = append(answer.Offsets, [2]int{at, at + len(text)})
	}
	answer.Text = whole.String()
	if len(e.Steps) > 0 && e.Steps[0].IDs == nil {
		answer.joinWords(ofAnswer)
	}
	return append(joins, ofAnswer...)
}

// joinWords sets which tokens continue the word of the token before them.
func (p *Prompt) joinWords(joins []bool) {
	for _, word := range p.Words() {
		for _, j := range word.Tokens[1:] {
			// White space beside a word, alone in a token, is no part of it here.
			joins[j] = within(p.Texts[j]) || spaced(p.Texts[j-1], p.Texts[j]) &&
				strings.TrimSpace(p.Texts[j-1]) != "" && strings.TrimSpace(p.Texts[j]) != ""
		}
	}
	for begin, end := 0, 0; begin < len(joins); begin = end {
		for end = begin + 1; end < len(joins) && joins[end]; end++ {
		}
		for j := begin + 1; j < end && end-begin > mostPieces; j++ {
			joins[j] = within(p.Texts[j])
		}
	}
}

// TextOf returns the texts of generated tokens as one.
func TextOf(steps []GeneratedToken) string {
	var b strings.Builder
	for _, g := range steps {
		b.WriteString(g.Text)
	}
	return b.String()
}

// within reports whether a text begins within a character.
func within(text string) bool { return text != "" && !utf8.RuneStart(text[0]) }

// spaced reports whether a script that has spaces between words would have one between two texts if
// they were two words.
func spaced(before, text string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(text)
	return !message.Spaceless(last) && !message.Spaceless(first)
}

// InWord reports whether a character is part of a word wherever it stands: a letter, a digit, a
// mark on one, or an underscore.
func InWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}
