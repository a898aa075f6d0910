package attribution

import (
	"slices"

	"github.com/headwater-ml/headwater/attribution/units"
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
	return len(f) > 0 && slices.Contains(f, units.Plain(text))
}
