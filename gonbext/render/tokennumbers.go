package render

import (
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
)

// What the help of a command, the documents and a cell say of the generated tokens that a picture
// shows: [ParseTokens] reads their numbers, and [Show.Opened] has the defaults.
const (
	TokenNumbers = "by its number from 0, which counts all generated tokens, punctuation too; 0 " +
		"is the one that pictures call generated 1"
	OneToken   = "the first word that is no article"
	SomeTokens = "the first 6 that are words or pieces of words, without punctuation"
)

// ParseTokens reads the numbers of generated tokens, joined by commas, as 0,2. The error, a
// [trace.UsageError], says what is accepted.
func ParseTokens(text string) (all []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || n > attribution.MaxIndex {
			return nil, usagef("want a whole number from 0 to %d: a generated token is named %s",
				attribution.MaxIndex, TokenNumbers)
		}
		all = append(all, n)
	}
	return all, nil
}
