package fakemodel

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Continued is a [Model] that computes how probable a continuation is by a function, and remembers
// the prompts that it was asked for.
type Continued struct {
	*Model
	// LogProbability returns ln p of token i of the continuation after a prompt of such words.
	LogProbability func(prompt []string, i int) float64
	// Prompts are the words of every prompt so far.
	Prompts *[][]string
}

// NewContinued returns a model with these words beside <bos>, whose tokens are whole words.
func NewContinued(words []string, logProbability func(prompt []string, i int) float64) Continued {
	m := New(1, Evenly)
	m.Words = append([]string{"<bos>"}, words...)
	m.About.Vocab, m.About.Head = len(m.Words), trace.NextToken
	return Continued{Model: m, LogProbability: logProbability, Prompts: new([][]string)}
}

// PredictContinuation returns LogProbability of each token after each prompt.
func (c Continued) PredictContinuation(
	ctx context.Context, prompts [][]int, continuation []int, done func(int),
) (*trace.Continuations, error) {
	out := &trace.Continuations{}
	for k, ids := range prompts {
		var words []string
		for _, id := range ids {
			words = append(words, c.Words[id])
		}
		*c.Prompts = append(*c.Prompts, words)
		var row []float64
		for i := range continuation {
			row = append(row, c.LogProbability(words, i))
		}
		out.LogProbabilities = append(out.LogProbabilities, row)
		out.Read += len(ids)
		out.Whole += len(ids)
		if done != nil {
			done(k + 1)
		}
	}
	return out, ctx.Err()
}
