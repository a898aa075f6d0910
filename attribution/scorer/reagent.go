package scorer

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

func init() { register("reagent", reagentInfo, reagent) }

const (
	// replacedShare is the part of the tokens that are replaced at a time.
	replacedShare = 0.3
	// plausible is the number of candidates for each place.
	plausible = 32
	// sureDelta limits changes of probability, so that log-odds stay finite: at most 14.5.
	sureDelta = 1 - 1e-6
)

// reagent replaces random sets of tokens R by plausible ones, many times, and compares the losses
// with and without each token in the set:
//
//	u(R) = logit((1 + p(x) - p(x with R replaced)) / 2)
//	s_j = mean of u(R) over R ∋ j - mean of u(R) over R ∌ j
//
// (Zhao and Shan 2024, ReAGent, §3). As in the paper a set is three tenths of the tokens, rounded,
// and at least one. The log-odds of a change of probability count for the tokens replaced and
// against the others. Departures:
//
//   - Replacements come from the model explained and not from RoBERTa. For a decoder they are its
//     predictions from the tokens before, and at the first token its whole vocabulary; for an
//     encoder, its predictions with that token masked. They are drawn from the 32 most probable
//     ones.
//   - There are [Options.Samples] sets, pieces of random permutations, so that no token is replaced
//     more than once more than another. In the paper every set is independent, and it stops when
//     the most important tokens alone keep the prediction among the first three.
//   - Values are differences of means. In the paper they are sums that begin at random numbers and
//     go through softmax. The ranking is the same in the limit. With more samples our values
//     converge, while in the paper one token approaches 1.
//
// The tokens of a group, see [Options.Groups], are in the same sets, so R is a set of groups.
//
// The token at which an encoder is asked is never replaced; its value is 0. Values are [T], in
// nats. It costs T + Samples passes, in batches.
func reagent(ctx context.Context, x *question) (*Scores, error) {
	if err := x.oneStack(); err != nil {
		return nil, err
	}
	if x.q.Embeddings != nil {
		return nil, trace.Usagef("reagent puts other tokens in; leave the query's embeddings out")
	}
	if _, err := requireModel[trace.Predictor](x, "predicts other texts"); err != nil {
		return nil, err
	}
	others, err := x.candidatesFor(ctx)
	if err != nil {
		return nil, err
	}
	source := x.random()
	sources := x.sources()
	sets := replacedSets(source, replaceable(sources, others), x.opts.Samples)
	f, err := x.predict(ctx, 1+len(sets), func(i int) trace.Query {
		q := x.q
		if i == 0 {
			return q
		}
		q.IDs = slices.Clone(q.IDs)
		for _, s := range sets[i-1] {
			for _, j := range sources[s] {
				if len(others[j].ids) > 0 {
					q.IDs[j] = others[j].draw(source)
				}
			}
		}
		return q
	})
	if err != nil {
		return nil, err
	}
	for i, v := range f {
		what := fmt.Sprintf("for text %d of %d the value", i, len(f))
		if err := x.checkFinite(what, v); err != nil {
			return nil, err
		}
	}
	s := &Scores{Values: make([]float64, len(x.q.IDs)), Value: f[0]}
	for i, v := range x.differences(len(sources), sets, f) {
		s.Values[sources[i][0]] = v
	}
	return s, nil
}

var reagentInfo = Info{
	Summary: "what the prediction loses when the token is among those replaced by others " +
		"that could stand there",
	Formula: "s_j = E[u(R) | j ∈ R] - E[u(R) | j ∉ R], u(R) = logit((1 + p(x) - p(x with " +
		"R replaced)) / 2)",
	Paper: "Zhao and Shan 2024, §3",
	Cost: "samples passes through the model a token, 256 by default, and one for each " +
		"token of the text",
	Unit:       "log-odds of the loss",
	Needs:      "predictions of other texts, and a head that predicts tokens",
	Signed:     true,
	Samples:    true,
	Together:   true,
	Evidence:   trace.Tested,
	LastAsks:   true,
	Quantities: []trace.Quantity{trace.Probability},
	Edits:      true,
}

// replaceable returns the numbers of the sources that have a token with candidates.
func replaceable(sources [][]int, others []candidates) (free []int) {
	for i, source := range sources {
		if slices.ContainsFunc(source, func(j int) bool { return len(others[j].ids) > 0 }) {
			free = append(free, i)
		}
	}
	return free
}

// replacedSets returns n sets of replacedShare of the free sources: consecutive pieces of random
// permutations. A piece may begin in one permutation and end in the next, in which the sources of
// that beginning come last, so that no set has a source twice.
func replacedSets(source *rand.Rand, free []int, n int) [][]int {
	if len(free) == 0 {
		return nil
	}
	size := max(1, int(math.Round(replacedShare*float64(len(free)))))
	var sets [][]int
	var queue []int
	for len(sets) < n {
		if begun := queue; len(begun) < size {
			source.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
			isBegun := func(j int) bool { return slices.Contains(begun, j) }
			queue = slices.Concat(begun, slices.DeleteFunc(slices.Clone(free), isBegun), begun)
		}
		sets, queue = append(sets, queue[:size]), queue[size:]
	}
	return sets
}

// differences returns for each of n sources the mean of u over the sets with it minus the mean over
// the sets without it, [n]. f[0] is p(x), f[i+1] belongs to sets[i].
func (x *question) differences(n int, sets [][]int, f []float64) []float64 {
	with, count := make([]float64, n), make([]float64, n)
	all := 0.0
	for i, set := range sets {
		delta := f[0] - f[i+1]
		if x.q.Contrast != nil {
			delta /= 2 // a difference of two probabilities is in [-1,1]
		}
		u := 2 * math.Atanh(max(-sureDelta, min(delta, sureDelta)))
		all += u
		for _, j := range set {
			with[j] += u
			count[j]++
		}
	}
	out := make([]float64, n)
	for j := range out {
		if count[j] > 0 {
			out[j] = with[j] / count[j]
		}
		if without := float64(len(sets)) - count[j]; count[j] > 0 && without > 0 {
			out[j] -= (all - with[j]) / without
		}
	}
	return out
}

// candidates are the tokens that may replace another one. sums[i] is the sum of the weights of
// ids[0..i].
type candidates struct {
	ids  []int
	sums []float64
}

// draw returns a random candidate with a probability in proportion to its weight.
func (c candidates) draw(source *rand.Rand) int {
	u := source.Float64() * c.sums[len(c.sums)-1]
	i, _ := slices.BinarySearchFunc(c.sums, u, func(sum, u float64) int {
		if sum <= u {
			return -1
		}
		return 1
	})
	return c.ids[min(i, len(c.ids)-1)]
}

// candidatesFor returns for each token of the question, [T], the tokens that may replace it; none
// where it must stay.
func (x *question) candidatesFor(ctx context.Context) ([]candidates, error) {
	if !x.tokens() {
		return nil, trace.Usagef(
			"%s needs a model whose head predicts tokens; the head of %s is %s", x.scorer,
			message.Quote(x.info.Name), x.info.Head,
		)
	}
	if x.info.Bidirectional {
		return x.maskedCandidates(ctx)
	}
	return x.nextCandidates(ctx)
}

// nextCandidates returns what a decoder predicts at each token from the tokens before it. The model
// predicts all of them in one run over the text, but a run ends at a token that ends texts; the
// next run then starts there.
func (x *question) nextCandidates(ctx context.Context) ([]candidates, error) {
	ids := x.q.IDs
	all := make([]candidates, len(ids))
	all[0] = uniformCandidates(ids[0], x.info.Vocab)
	for at := 1; at < len(ids); {
		before := at
		ask := trace.Ask{
			Continuation: slices.Clone(ids[at:]), MaxTokens: len(ids) - at,
			Alternatives: plausible, Edits: trace.EditsWithin(x.q.Edits, len(ids)-1),
		}
		for step, err := range x.m.Steps(ctx, slices.Clone(ids[:at]), ask) {
			if err != nil {
				return nil, x.callError(ctx, err)
			}
			if step.Next == nil || at >= len(ids) {
				return nil, x.modelError("a step that nobody asked for, at token %d of %d",
					at, len(ids))
			}
			all[at] = candidatesExcept(ids[at], step.Next.Alternatives)
			at++
		}
		if at == before {
			return nil, x.modelError("no step at token %d", at)
		}
	}
	return all, nil
}

// maskedCandidates returns what an encoder predicts at each token with that token masked, for all
// but the position of the question.
func (x *question) maskedCandidates(ctx context.Context) ([]candidates, error) {
	mask, ok := x.specialToken("mask")
	if !ok {
		return nil, trace.Usagef("%s masks one token after the other, and %s has no mask",
			x.scorer, message.Quote(x.info.Name))
	}
	all := make([]candidates, len(x.q.IDs))
	for j, id := range x.q.IDs {
		if j == x.q.Position {
			continue
		}
		ids := slices.Clone(x.q.IDs)
		ids[j] = mask.other
		for step, err := range x.m.Steps(ctx, ids, trace.Ask{
			Positions: []int{j}, Types: x.q.Types,
			Alternatives: plausible, Edits: x.q.Edits,
		}) {
			if err != nil {
				return nil, x.callError(ctx, err)
			}
			if step.Next == nil {
				return nil, x.modelError("no prediction of token %d", j)
			}
			all[j] = candidatesExcept(id, step.Next.Alternatives)
		}
	}
	return all, nil
}

// candidatesExcept returns the alternatives other than id, weighted by their probability.
func candidatesExcept(id int, alternatives []trace.Alternative) (c candidates) {
	sum := 0.0
	for _, a := range alternatives {
		if a.Token.ID != id && a.Probability > 0 {
			sum += a.Probability
			c.ids, c.sums = append(c.ids, a.Token.ID), append(c.sums, sum)
		}
	}
	return c
}

// uniformCandidates returns all tokens of a vocabulary except id, with equal weights.
func uniformCandidates(id, vocab int) (c candidates) {
	for other := range vocab {
		if other != id {
			c.ids, c.sums = append(c.ids, other), append(c.sums, float64(len(c.ids)+1))
		}
	}
	return c
}
