package evaluate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Preference is which of two words a model prefers in the same place: a minimal pair.
type Preference struct {
	Case  int    `json:"case"`
	Group string `json:"group,omitempty"`
	// Difference is ln p(continuation) - ln p(contrast), in nats.
	Difference float64 `json:"difference"`
	// Right reports whether the difference is above 0.
	Right bool `json:"right"`
	// LeftOut is why the pair was not tried; empty if it was.
	LeftOut string `json:"left_out,omitempty"`
}

// Preferences has what a model prefers in some minimal pairs.
type Preferences struct {
	Pairs []Preference `json:"pairs"`
	// Tried is the number of pairs that were tried, and Right that of those in which the model
	// prefers the right word. Accuracy is Right / Tried; NaN if none was tried.
	Tried    int   `json:"tried"`
	Right    int   `json:"right"`
	Accuracy Value `json:"accuracy"`
}

// preferBatch is how many texts are predicted in one call.
const preferBatch = 16

// Prefer asks for each case whether a model prefers Continuation, the right word, to Contrast, the
// wrong one: after the prompt for decoders, and for encoders at the case's position or at the only
// masked token. Pairs with a word that is not one token are left out, as in Mohebbi et al. 2023,
// and so are those without a place; the preference says why. A decoder's words begin with a space
// where its tokens do.
//
// It costs one pass for each pair. Errors name the case; they are those of the model, or wrap
// ctx.Err().
func Prefer(
	ctx context.Context, m trace.Predictor, cases []Case, specials trace.Specials,
) (*Preferences, error) {
	p := &Preferences{Accuracy: undefined}
	var queries []trace.Query
	var asked []int
	for i, c := range cases {
		p.Pairs = append(p.Pairs, Preference{Case: i, Group: c.Group})
		q, reason, err := preferenceQuery(m, c, specials)
		if err != nil {
			return nil, c.wrap(i, len(cases), err)
		}
		if reason != "" {
			p.Pairs[i].LeftOut = reason
			continue
		}
		queries, asked = append(queries, q), append(asked, i)
	}
	for begin := 0; begin < len(queries); begin += preferBatch {
		if err := ctx.Err(); err != nil {
			return nil, pkg.Errorf("stopped before pair %d: %w", asked[begin], err)
		}
		end := min(begin+preferBatch, len(queries))
		values, err := m.Predict(ctx, queries[begin:end])
		if err == nil && len(values) != end-begin {
			err = errors.New("the model has another number of answers than of questions")
		}
		if err != nil {
			return nil, pkg.Errorf("cases from %d on: %w", asked[begin], err)
		}
		for k, x := range values {
			pair := &p.Pairs[asked[begin+k]]
			pair.Difference, pair.Right = x, x > 0
			if p.Tried++; pair.Right {
				p.Right++
			}
		}
	}
	if p.Tried > 0 {
		p.Accuracy = Value(float64(p.Right) / float64(p.Tried))
	}
	return p, nil
}

// preferenceQuery asks for the difference of a pair. reason is why there is no such question.
func preferenceQuery(
	m trace.Predictor, c Case, specials trace.Specials,
) (q trace.Query, reason string, err error) {
	var words [2]int
	for k, word := range []string{c.Continuation, c.Contrast} {
		if word == "" {
			return q, "the pair needs a continuation and a contrast", nil
		}
		tokens, _, err := trace.EncodeAfter(m, c.Prompt, word)
		if err != nil {
			return q, "", err
		}
		if len(tokens) != 1 {
			reason = fmt.Sprintf("%.60q is %d tokens, and a pair needs one", word, len(tokens))
			return q, reason, nil
		}
		words[k] = tokens[0].ID
	}
	if words[0] == words[1] {
		return q, fmt.Sprintf("%.60q and %.60q are the same token", c.Continuation,
			c.Contrast), nil
	}
	tokens, err := m.Encode(c.Prompt, specials)
	if err != nil {
		return q, "", err
	}
	for _, t := range tokens {
		q.IDs = append(q.IDs, t.ID)
	}
	q.Quantity, q.Token, q.Contrast = trace.LogProbability, words[0], &words[1]
	q.Position, reason = pairPosition(m, c, q.IDs)
	return q, reason, nil
}

// pairPosition returns the target row that predicts the word of a pair.
func pairPosition(m trace.Predictor, c Case, ids []int) (at int, reason string) {
	if !m.Info().Bidirectional {
		return len(ids) - 1, ""
	}
	if c.Position != nil {
		if *c.Position < 0 || *c.Position >= len(ids) {
			return 0, fmt.Sprintf("position %d of a text of %d tokens", *c.Position, len(ids))
		}
		return *c.Position, ""
	}
	mask, ok := 0, false
	if r, is := m.(trace.Replacer); is {
		mask, ok = r.Replacement("mask")
	}
	first := slices.Index(ids, mask)
	if !ok || first < 0 || slices.Contains(ids[first+1:], mask) {
		return 0, "the text has no single masked token, and the pair no position"
	}
	return first, ""
}
