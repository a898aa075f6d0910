package units

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// RangeOf returns for each byte of a text the number of its range, or -1 if there is none. It
// returns a usage error if a range is empty or outside the text, or if two overlap.
func RangeOf(text string, ranges [][2]int) ([]int, error) {
	of := make([]int, len(text))
	for i := range of {
		of[i] = -1
	}
	for k, r := range ranges {
		if r[0] < 0 || r[1] > len(text) || r[0] >= r[1] {
			return nil, trace.Usagef(
				"span %d to %d; the text has bytes 0 to %d, and the first comes before the last",
				r[0], r[1], len(text),
			)
		}
		for i := r[0]; i < r[1]; i++ {
			if of[i] >= 0 {
				other := ranges[of[i]]
				return nil, trace.Usagef("spans %d to %d and %d to %d overlap", other[0], other[1],
					r[0], r[1])
			}
			of[i] = k
		}
	}
	return of, nil
}

// SentenceRanges returns the bytes [begin,end) of each sentence of a text, which needs no tokens.
// [Tokens.Sentences] says where a sentence ends. White space between sentences belongs to none.
func SentenceRanges(text string) [][2]int {
	var ranges [][2]int
	last := -1
	for at, sentence := range sentenceOf(text) {
		switch {
		case sentence < 0:
		case sentence != last:
			ranges, last = append(ranges, [2]int{at, at + 1}), sentence
		default:
			ranges[len(ranges)-1][1] = at + 1
		}
	}
	for i, r := range ranges {
		ranges[i][1] = r[0] + len(strings.TrimSpace(text[r[0]:r[1]]))
	}
	return ranges
}

// ParagraphRanges returns the bytes [begin,end) of each paragraph of a text. Paragraphs are divided
// by lines that are empty or white space. White space around a paragraph belongs to none.
func ParagraphRanges(text string) [][2]int {
	var ranges [][2]int
	at, inside := 0, false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		begin := at + strings.Index(line, trimmed)
		end := begin + len(trimmed)
		switch {
		case trimmed == "":
		case inside:
			ranges[len(ranges)-1][1] = end
		default:
			ranges = append(ranges, [2]int{begin, end})
		}
		at, inside = at+len(line), trimmed != ""
	}
	return ranges
}

// The marks that end a sentence: those that need white space after them, because they stand inside
// numbers and names too, and those of texts without spaces, which do not. The closing marks after
// them belong to the same sentence.
const (
	spacedEnds   = ".!?…।؟۔"
	unspacedEnds = "。！？"
	closings     = "\"'”’»)]}」』）】》〉"
)

// IsProgram reports whether a text is a program as a whole: two lines or more are indented, and
// there are no fences of three backticks.
func IsProgram(text string) bool {
	indented := 0
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " \t")
		if indent := len(line) - len(rest); indent > 1 || strings.HasPrefix(line, "\t") {
			if strings.TrimSpace(rest) != "" {
				indented++
			}
		}
	}
	return indented > 1 && !strings.Contains(text, "```")
}

// sentenceOf returns for each byte of a text the number of its sentence, -1 for white space between
// sentences.
func sentenceOf(text string) []int {
	program := IsProgram(text)
	of := make([]int, len(text))
	sentence, ended, unspaced, between := 0, false, false, true
	for at, r := range text {
		_, size := utf8.DecodeRuneInString(text[at:])
		space := unicode.IsSpace(r)
		mark := strings.ContainsRune(spacedEnds+unspacedEnds, r)
		closing := strings.ContainsRune(closings, r)
		if !between && (r == '\n' || !program && (space && ended ||
			!space && !mark && !closing && unspaced)) {
			sentence, between = sentence+1, true
		}
		if !space {
			between = false
			ended = mark || ended && closing
			unspaced = strings.ContainsRune(unspacedEnds, r) || unspaced && (mark || closing)
		}
		for i := range size {
			of[at+i] = sentence
			if between {
				of[at+i] = -1
			}
		}
	}
	return of
}

// InWord reports whether a character is part of a word wherever it stands: a letter, a digit or
// another number, a mark on one, or an underscore.
func InWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '_'
}

// Plain returns a token as a list of tokens spells it: without the marks of spaces, with small
// letters, and "\n" for white space with a line break.
func Plain(text string) string {
	s := WithoutMarks(text)
	plain := strings.ToLower(strings.TrimSpace(s))
	if plain == "" && strings.Contains(s, "\n") {
		return "\n"
	}
	return plain
}

// marks are those that vocabularies have for spaces and line breaks.
var marks = strings.NewReplacer("Ġ", " ", "▁", " ", "Ċ", "\n")

// WithoutMarks replaces the marks that vocabularies have for spaces and line breaks, which are
// letters.
func WithoutMarks(text string) string { return marks.Replace(text) }
