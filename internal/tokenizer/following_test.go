package tokenizer

import (
	"slices"
	"testing"
)

// TestFollowing cuts the texts of the reference between any two tokens where the first part, by
// itself, has the same tokens. What follows the cut must then have the tokens that it has in the
// whole text, encoded alone: nothing is put before a text that follows another. A few cuts differ,
// because the text before them counts; trace.EncodeAfter, which knows that text, is right there
// too.
func TestFollowing(t *testing.T) {
	cases := refCases(t)
	for _, c := range []struct {
		kind   string
		unlike int
		reason string
	}{
		{"gpt2", 0, ""},
		{"roberta", 0, ""},
		{"llama2_metaspace", 0, ""},
		{"llama2_legacy", 1, "a control token before the cut, after which Prepend acts once more"},
		{"llama3", 2, "a mark joins the letters after it, but not if a word comes before"},
		{"unigram", 16, "two ways to write 4444 are equally likely, and a control token"},
	} {
		tok := load(t, c.kind+".json")
		follows, cuts, unlike := tok.Following(), 0, 0
		for _, text := range cases {
			text := text.Text
			whole := tokensOf(t, tok, text)
			for j := 1; j < len(whole); j++ {
				at := whole[j].Begin
				if before := tokensOf(t, tok, text[:at]); whole[j-1].End > at ||
					!slices.EqualFunc(before, whole[:j], sameID) {
					continue // the cut is inside of a token of the whole text
				}
				cuts++
				if !slices.EqualFunc(tokensOf(t, follows, text[at:]), whole[j:], sameID) {
					unlike++
				}
			}
		}
		if cuts < 1600 || unlike != c.unlike {
			t.Errorf("%s: %d of %d cuts differ, want %d of more than 1,600 (%s)", c.kind, unlike,
				cuts, c.unlike, c.reason)
		}
	}
}

func sameID(a, b Encoded) bool { return a.ID == b.ID }

func tokensOf(t *testing.T, tok *Tokenizer, text string) []Encoded {
	t.Helper()
	tokens, err := tok.Encode(text, false)
	must(t, err)
	return tokens
}
