package attribution

import (
	"slices"
	"strings"
)

// Filter is a list of tokens that a ranking or a picture leaves out. It is for display only: values
// are computed with all tokens and do not change.
type Filter []string

// DefaultFilter returns the list of the note that first used rollout for generated text (Deb 2022):
// comma, full stop, line break, "is", colon, "and".
func DefaultFilter() Filter { return Filter{",", ".", "\n", "is", ":", "and"} }

// Hides reports whether a token is on the list. Spaces around it, the markers of spaces that
// vocabularies use (Ġ, ▁) and letter case do not count. A token of white space with a line break,
// or its spelling Ċ, counts as "\n".
func (f Filter) Hides(text string) bool {
	return len(f) > 0 && slices.Contains(f, plainToken(text))
}

// plainToken returns a token as a filter spells it.
func plainToken(text string) string {
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
