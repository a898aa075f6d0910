package report

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/message"
)

// word is a word or span that texts are sorted by, and what was found of it.
type word struct {
	Text  string
	Texts int64 // that have it
	// Shares are those of its tokens in each row of these texts.
	Shares  mean
	largest float64
}

// tokensOf returns the prompt tokens that have a byte of a word, in order.
func tokensOf(w string, result *corpus.Result) []int {
	found := occurrences(result.Text, w)
	var tokens []int
	for j := range result.PromptIDs {
		begin, end := int(result.PromptBegin[j]), int(result.PromptEnd[j])
		k, _ := slices.BinarySearchFunc(found, begin, func(at, begin int) int {
			return cmp.Compare(at+len(w)-1, begin)
		})
		if begin < end && k < len(found) && found[k] < end {
			tokens = append(tokens, j)
		}
	}
	return tokens
}

// occurrences returns where a text has a whole word, as byte offsets.
func occurrences(text, w string) []int {
	var found []int
	for from := 0; ; {
		i := strings.Index(text[from:], w)
		if i < 0 {
			return found
		}
		at := from + i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		first, size := utf8.DecodeRuneInString(w)
		last, _ := utf8.DecodeLastRuneInString(w)
		after, _ := utf8.DecodeRuneInString(text[at+len(w):])
		if inWord(before, first) || inWord(last, after) {
			from = at + size
			continue
		}
		found = append(found, at)
		from = at + len(w)
	}
}

// inWord reports whether a word goes on from one character to the next.
func inWord(a, b rune) bool { return ofWord(a) && ofWord(b) }

// ofWord reports whether a character belongs to a word that ends at other characters. Scripts
// without spaces between words have no such characters.
func ofWord(r rune) bool {
	return !message.Spaceless(r) && (unicode.IsLetter(r) || unicode.IsDigit(r) ||
		unicode.IsMark(r) || r == '_')
}
