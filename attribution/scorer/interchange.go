package scorer

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { register("interchange", interchangeInfo, interchange) }

// interchanged is how many tokens are tried in the place of each.
const interchanged = 5

// interchange is how much the number f falls when a token is replaced by one that the model thinks
// likely there:
//
//	s_j = f(x) - Σ_a p(a) f(x with a at j),  Σ_a p(a) = 1
//
// over the five most probable tokens a other than x_j, weighted by their probability: for a decoder
// those after the tokens before j, for an encoder those at j with j masked. f is the logit; with a
// contrast it is that of the answer minus that of the foil. Unlike in [occlusion] no token goes
// missing and no position moves, so the model reads texts like those that it was trained on. It is
// a reference for single tokens and no ceiling: what two tokens say alike is found at neither, and
// a change of grammar counts as well.
//
// The tokens of a group G, see [Options.Groups], are replaced together: the i-th text has at each
// of them the i-th of its own candidates, and counts by the mean of their probabilities:
//
//	s_G = f(x) - Σ_i (1/|G| Σ_{j∈G} p_j(a_i)) f(x with a_i at every j of G)
//
// A token that has no candidates stays. A candidate fits the text before it and not the other new
// tokens, so a long group becomes less of a text.
//
// A token that the model has no alternatives for has the value 0: the first token of the text in a
// decoder, and the one at which an encoder is asked. Values are [T]. It costs T steps to find the
// alternatives and 5T + 1 passes, in batches.
func interchange(ctx context.Context, x *question) (*Scores, error) {
	if x.q.Embeddings != nil {
		return nil, trace.Usagef("interchange puts other tokens in; leave the query's " +
			"embeddings out")
	}
	if _, err := requireModel[trace.Predictor](x, "predicts other texts"); err != nil {
		return nil, err
	}
	if err := x.oneStack(); err != nil {
		return nil, err
	}
	others, err := x.candidatesFor(ctx)
	if err != nil {
		return nil, err
	}
	if !x.info.Bidirectional {
		others[0] = candidates{} // the model predicts nothing there
	}
	var swaps []swap
	for _, source := range x.sources() {
		swaps = append(swaps, swapsOf(source, others)...)
	}
	f, err := x.predict(ctx, 1+len(swaps), func(i int) trace.Query {
		q := x.q
		if i > 0 {
			q.IDs = slices.Clone(q.IDs)
			for k, j := range swaps[i-1].tokens {
				q.IDs[j] = swaps[i-1].ids[k]
			}
		}
		return q
	})
	if err != nil {
		return nil, err
	}
	out := &Scores{Values: make([]float64, len(x.q.IDs)), Value: f[0]}
	for i, v := range f {
		if err := x.checkFinite(fmt.Sprintf("for text %d of %d the value", i, len(f)),
			v); err != nil {
			return nil, err
		}
		if i > 0 {
			out.Values[swaps[i-1].at] += swaps[i-1].weight * (f[0] - v)
		}
	}
	return out, nil
}

var interchangeInfo = Info{
	Summary:    "what the prediction loses when the token is another one that is likely there",
	Formula:    "s_j = f(x) - Σ_a p(a) f(x with a at j), a the five most probable others at j",
	Paper:      "ours; after the interchange interventions of Geiger et al. 2021",
	Cost:       "5T + 1 passes through the model a token, and a step for each of the text",
	Needs:      "predictions of other texts, and a head that predicts tokens",
	Signed:     true,
	Together:   true,
	Evidence:   trace.Tested,
	LastAsks:   true,
	Quantities: []trace.Quantity{trace.Logit, trace.LogProbability, trace.Probability},
	Edits:      true,
}

// swap is tokens that stand in the place of others.
type swap struct {
	at          int // the token at which the value stands
	tokens, ids []int
	weight      float64 // adds up to 1 over all swaps of the same tokens
}

// swapsOf returns the swaps of the tokens of one source, at most interchanged of them. The last
// candidate of a token with fewer stands in the other swaps too, where it does not count.
func swapsOf(source []int, others []candidates) []swap {
	var tokens []int
	most := 0
	for _, j := range source {
		if n := min(interchanged, len(others[j].ids)); n > 0 {
			tokens, most = append(tokens, j), max(most, n)
		}
	}
	swaps := make([]swap, most)
	for i := range swaps {
		s := swap{at: source[0], tokens: tokens}
		for _, j := range tokens {
			c := others[j]
			n := min(interchanged, len(c.ids))
			s.ids = append(s.ids, c.ids[min(i, n-1)])
			if i >= n {
				continue
			}
			p := c.sums[i]
			if i > 0 {
				p -= c.sums[i-1]
			}
			s.weight += p / c.sums[n-1] / float64(len(tokens))
		}
		swaps[i] = s
	}
	return swaps
}
