package attribution

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// spacedToken is the first token of a text that a user gave without a space before it, and the
// token that it would be with one, where that is one token too.
type spacedToken struct {
	// does is what is done with the text, and option its option.
	does, option string
	text         string
	id, spaced   int
}

// addSpaced remembers a text that follows the prompt, if it begins a word without a space and the
// prompt does not end in one.
func (r *run) addSpaced(m trace.Model, prompt, does, option, text string) {
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(prompt)
	if !units.InWord(first) || unicode.IsSpace(last) {
		return
	}
	own, _, err := trace.EncodeAfter(m, prompt, text)
	if err != nil || len(own) == 0 {
		return
	}
	tokens, joined, err := trace.EncodeAfter(m, prompt, " "+text)
	if err == nil && !joined && len(tokens) > 0 && tokens[0].ID != own[0].ID &&
		strings.TrimSpace(tokens[0].Text) == strings.TrimSpace(own[0].Text) {
		r.spaced = append(r.spaced, spacedToken{
			does, option, own[0].Text, own[0].ID, tokens[0].ID,
		})
	}
}

// remarkSpaced warns at the first prediction of texts without a space, where the model goes on with
// one: its most probable token has a space, and so has the more probable of the two.
func (r *run) remarkSpaced(step trace.Step) {
	if len(step.Logits) == 0 || len(step.Next.Alternatives) == 0 ||
		!strings.HasPrefix(step.Next.Alternatives[0].Token.Text, " ") {
		return
	}
	for _, s := range r.spaced {
		_, without, _ := rowmath.Scores(step.Logits, s.id)
		_, with, _ := rowmath.Scores(step.Logits, s.spaced)
		if with < without { // surprisals
			remark := fmt.Sprintf("%s %s without a space (p = %s); %s has p = %s: for that one, "+
				"begin the %s with a space.", s.does, message.Quote(s.text), chance(without),
				message.Quote(" "+strings.TrimSpace(s.text)), chance(with), s.option)
			r.remarks = append([]string{remark}, r.remarks...) // about all that is shown
		}
	}
}

// chance writes the probability of a surprisal in per cent, with two digits that count.
func chance(surprisal float64) string {
	x := 100 * math.Exp(-surprisal)
	if x < 1e-6 {
		return "below 0.000001 %"
	}
	digits := max(0, 1-int(math.Floor(math.Log10(x))))
	return strconv.FormatFloat(x, 'f', digits, 64) + " %"
}
