package models

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// Steps feeds ids at once and then one token after the other: the chosen one, or the next of ask.Continuation. It ends after
// ask.MaxTokens tokens, after the continuation, or with end-of-text, and yields at most one error, last. A ctx that is done ends it
// between two passes, or within a long one, with an error that wraps ctx.Err(); what was yielded before stays valid.
//
// An encoder reads ids once and yields its predictions at ask.Positions, one a step.
func (m *Model) Steps(ctx context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		if m.spec.Bidirectional {
			m.read(ctx, ids, ask, yield)
			return
		}
		g, err := m.newGeneration(ids, ask)
		if err != nil {
			yield(trace.Step{}, err)
			return
		}
		defer g.session.Close()
		for {
			step, more, err := g.next(ctx)
			if err != nil {
				yield(trace.Step{}, err)
				return
			}
			if !yield(step, nil) || !more {
				return
			}
		}
	}
}

// generation is a text being continued.
type generation struct {
	m       *Model
	ask     trace.Ask
	session *transformer.Session
	rng     *rand.Rand
	// pending are the ids to be fed next: the prompt, then one token.
	pending []int
	// made is how many tokens were generated, bytes how many bytes they spell.
	made, bytes int
	done        bool // all tokens are there; only the row of the last one is still to come
}

func (m *Model) newGeneration(ids []int, ask trace.Ask) (*generation, error) {
	if err := checkSampling(ask.Sampling); err != nil {
		return nil, err
	}
	if len(ask.Continuation) > 0 {
		if err := m.graph.CheckIDs(ask.Continuation); err != nil {
			return nil, fmt.Errorf("models: continuation: %w", err)
		}
		ask.MaxTokens = len(ask.Continuation)
	}
	if len(ask.Positions) > 0 {
		return nil, fmt.Errorf("models: %s generates, and explains what it generates; positions are chosen of encoders", m.info.Name)
	}
	if m.spec.Head != spec.LanguageHead {
		return nil, fmt.Errorf("models: %s has no head that scores tokens (its architecture ends in Model), so it cannot generate", m.info.Name)
	}
	if ask.MaxTokens < 1 {
		return nil, fmt.Errorf("models: %d tokens are to be generated; at least 1 is needed", ask.MaxTokens)
	}
	if limit := m.spec.Context; limit > 0 && len(ids)+ask.MaxTokens > limit {
		return nil, fmt.Errorf("models: %d prompt tokens and %d to generate are more than the context of %d", len(ids), ask.MaxTokens, limit)
	}
	room := len(ids) + ask.MaxTokens
	if !ask.OwnRow {
		room-- // the last token is not fed
	}
	session, err := m.graph.NewSession(ask.Mixings, room)
	if err != nil {
		return nil, err
	}
	return &generation{
		m: m, ask: ask, session: session, pending: ids,
		rng: rand.New(rand.NewPCG(ask.Sampling.Seed, 0)), //nolint:gosec // a seeded source is the point
	}, nil
}

// next feeds what is pending and chooses a token; more is whether another step follows.
func (g *generation) next(ctx context.Context) (step trace.Step, more bool, err error) {
	step = trace.Step{First: g.session.Length(), Count: len(g.pending)}
	var out *transformer.Output
	if step.First == 0 {
		out, err = g.session.Prompt(ctx, g.pending, g.ask.Progress)
	} else {
		out, err = g.session.Step(ctx, g.pending[0])
	}
	if err != nil {
		return trace.Step{}, false, orMore(err)
	}
	step.Rows = out.Rows
	if g.done {
		return step, false, nil
	}
	step.Next = g.predict(out.Logits)
	g.pending = []int{step.Next.Token.ID}
	g.made++
	g.done = step.Next.Stop || g.made == g.ask.MaxTokens
	return step, !g.done || g.ask.OwnRow, nil
}

// predict chooses the next token from its logits, or takes the one that is forced.
func (g *generation) predict(logits []float32) *trace.Prediction {
	p := softmax(logits)
	next := &trace.Prediction{Position: g.session.Length() - 1}
	id := 0
	if g.made < len(g.ask.Continuation) {
		id, next.Forced = g.ask.Continuation[g.made], true
	} else {
		id = choose(p, g.ask.Sampling, g.rng)
		next.Stop = g.m.stop[id]
	}
	next.Probability = p[id]
	next.Token = g.token(id)
	g.bytes = next.Token.End
	for _, alternative := range mostProbable(p, g.ask.Alternatives) {
		next.Alternatives = append(next.Alternatives, trace.Alternative{Token: g.token(alternative), Probability: p[alternative]})
	}
	return next
}

// token describes id at the end of the text made so far; a control token takes no bytes there.
func (g *generation) token(id int) trace.Token {
	t := trace.Token{ID: id, Text: g.m.tokenText(id), Special: g.m.special(id), Begin: g.bytes, End: g.bytes}
	if !t.Special {
		t.End += len(t.Text)
	}
	return t
}
