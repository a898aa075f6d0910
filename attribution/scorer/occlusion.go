package scorer

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { register("occlusion", occlusionInfo, occlusion) }

// occlusion is how much the number f falls without each token:
//
//	s_j = f(x) - f(x without j)
//
// (Zeiler and Fergus 2014, §4.2; erasure in Li et al. 2016b; the blank-out reference of Abnar and
// Zuidema 2020, §4, who use its absolute value). f is the probability; an explanation with a
// contrast takes the difference of the logits. [Options.Replacement] is what replaces the token. If
// tokens are deleted, all later ones move, and with them the position that predicts. A token that
// cannot be deleted has the value 0: the only token of a text, and the one at which an encoder is
// asked. If several tokens say the same, each alone gets a low value, because the others are still
// there. Tokens of [Options.Groups] are taken away together:
//
//	s_G = f(x) - f(x without all of G)
//
// Values are [T]. It costs T + 1 passes forward, in batches, or one for each group and token. In a
// decoder, what comes before the token runs once for all of them, which is about half.
func occlusion(ctx context.Context, x *question) (*Scores, error) {
	r, err := x.newReplacement(ctx)
	if err != nil {
		return nil, err
	}
	var at []int        // the token at which a value stands
	var removed [][]int // the tokens taken away for it
	for _, source := range x.sources() {
		if tokens := r.removable(x, source); len(tokens) > 0 {
			at, removed = append(at, source[0]), append(removed, tokens)
		}
	}
	f, err := x.predict(ctx, 1+len(removed), func(i int) trace.Query {
		if i == 0 {
			return x.q
		}
		return r.without(x, removed[i-1])
	})
	if err != nil {
		return nil, err
	}
	if err := x.checkFinite("value", f[0]); err != nil {
		return nil, err
	}
	s := &Scores{Values: make([]float64, len(x.q.IDs)), Value: f[0]}
	if x.opts.Replacement == "" {
		s.Replacement = x.defaultKind()
	}
	for i, j := range at {
		if err := x.checkFinite(fmt.Sprintf("without token %d (id %d) the value", j, x.q.IDs[j]),
			f[i+1]); err != nil {
			return nil, err
		}
		s.Values[j] = f[0] - f[i+1]
	}
	return s, nil
}

var occlusionInfo = Info{
	Summary:    "what the prediction loses when one token is taken away",
	Formula:    "s_j = f(x) - f(x without j)",
	Paper:      "Zeiler and Fergus 2014, §4.2; Li et al. 2016b; Abnar and Zuidema 2020, §4",
	Cost:       "T + 1 passes through the model a token, over half the text in a decoder",
	Needs:      "predictions of other texts; gradients if an embedding of zeros stands in",
	Signed:     true,
	Evidence:   trace.Tested,
	LastAsks:   true,
	Quantities: []trace.Quantity{trace.Probability, trace.LogProbability, trace.Logit},
	Replaces:   true,
	Together:   true,
	Edits:      true,
}
