package attribution

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// oddTokens returns a sentence for everything in the tokens of the prompt that people rarely mean.
func (r *run) oddTokens(m trace.Model) (remarks []string) {
	p := r.e.Prompt
	if len(p.IDs) > 1 && p.Special[0] && p.Special[1] && p.IDs[0] == p.IDs[1] {
		remarks = append(remarks, fmt.Sprintf("%s stands twice at the start of what the model "+
			"reads; if it was typed, the tokenizer adds it once more: leave it out of the prompt.",
			message.Quote(p.Texts[0])))
	}
	if !strings.HasSuffix(p.Text, " ") || r.e.Model.Reads() || r.opts.InChat() {
		return remarks
	}
	word, err := m.Encode(" a", trace.SpecialsFollow)
	if err == nil && len(word) > 0 && len(word[0].Text) > 1 && word[0].Text[0] == ' ' {
		remarks = append(remarks, fmt.Sprintf("The prompt ends in a space, and the words of %s "+
			"begin with one, so hardly any word can follow: leave out the space at the end.",
			message.Quote(r.e.Model.Name)))
	}
	return remarks
}

// spacelessRemark returns a sentence about words if most letters of a text are of a script without
// spaces between words, and otherwise nothing.
func spacelessRemark(text string) []string {
	spaceless := 0 // how many more such letters there are than others
	for _, r := range text {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai,
			unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			spaceless++
		} else if unicode.IsLetter(r) {
			spaceless--
		}
	}
	if spaceless <= 0 {
		return nil
	}
	return []string{"The script of the prompt puts no spaces between words, so a word here is " +
		"all that stands between two marks; ranges of bytes divide it further."}
}
