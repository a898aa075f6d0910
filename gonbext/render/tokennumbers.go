package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/message"
)

// What the help of a command, the documents and a cell say of the generated tokens that a picture
// shows: [Show.SetTokens] reads their numbers, and [Show.Opened] has the defaults.
const (
	TokenNumbers = "by its number from 0, which counts all generated tokens, punctuation too; 0 " +
		"is the one that pictures call generated 1; or by its word, if that is generated once"
	OneToken   = "the first word that the method says much of, or that is no article"
	SomeTokens = "the first 6 that are words or pieces of words, without punctuation"
)

// SetTokens sets what Token, Tokens or Word are from a text: the number of a generated token,
// several joined by commas, as 0,2, or a word, which is what has a letter and no comma. The error,
// a [trace.UsageError], says what is accepted.
func (s *Show) SetTokens(text string) error {
	s.Token, s.Tokens, s.Word = nil, nil, ""
	if text = strings.TrimSpace(text); strings.ContainsFunc(text, unicode.IsLetter) &&
		!strings.Contains(text, ",") {
		s.Word = text
		return nil
	}
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || n > attribution.MaxIndex {
			return usagef("want a whole number from 0 to %d: a generated token is named %s",
				attribution.MaxIndex, TokenNumbers)
		}
		all = append(all, n)
	}
	if s.Tokens = all; len(all) == 1 {
		s.Token, s.Tokens = &all[0], nil
	}
	return nil
}

// AtWord returns s with Token in place of Word, if it has a Word, or several words that follow each
// other; punctuation at both ends does not count. It returns a [trace.UsageError] if no word that
// was generated is that one, or several are.
func (s Show) AtWord(e *attribution.Explanation) (Show, error) {
	if s.Word == "" {
		return s, nil
	}
	var words, found []string
	var begins, at []int // the tokens and the bytes at which words begin
	answer, joins := "", e.ContinuesWord()
	for t, g := range e.Steps {
		text := units.WithoutMarks(g.Text)
		// The words of a name are words here.
		if e.Model.Reads() || !joins[len(e.Prompt.Texts)+t] || strings.HasPrefix(text, " ") {
			begins, at = append(begins, t), append(at, len(answer))
		}
		answer += text
	}
	at = append(at, len(answer))
	other := func(r rune) bool { return !units.InWord(r) || r == '_' }
	asked := strings.TrimFunc(s.Word, other)
	for i := range begins {
		word := answer[at[i]:at[i+1]]
		words = append(words, strings.TrimFunc(word, other))
		begin := at[i] + len(word) - len(strings.TrimLeftFunc(word, other))
		after, has := strings.CutPrefix(answer[begin:], asked)
		next, _ := utf8.DecodeRuneInString(after)
		if asked != "" && words[i] != "" && has && (!units.InWord(next) ||
			slices.Contains(at, begin+len(asked))) {
			s.Token = &begins[i]
			found = append(found, fmt.Sprint(begins[i]))
		}
	}
	switch word := message.Quote(s.Word); len(found) {
	case 0:
		return s, trace.Usagef("no generated word is %s; %sthe answer is %s", word,
			message.DidYouMean(s.Word, words),
			message.Quote(strings.TrimSpace(attribution.TextOf(e.Steps))))
	case 1:
		s.Word = ""
		return s, nil
	default:
		return s, trace.Usagef("the word %s is generated %d times; give the number of one, of the "+
			"tokens %s", word, len(found), message.Some(found, 10))
	}
}
