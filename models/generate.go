package models

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// Steps runs the model on all ids in one pass, and then on one token after another: the token that
// it chose, or the next token of ask.Continuation. It ends after ask.MaxTokens tokens, after the
// continuation, or with end-of-text. It yields at most one error, as the last value. If ctx is
// done, the error wraps ctx.Err() and comes after the running layer or pass; earlier steps stay
// valid.
//
// An encoder or a classifier reads ids once and yields its predictions; see [trace.Ask].
func (m *Model) Steps(ctx context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		if m.info.Reads() {
			m.read(ctx, ids, ask, yield)
			return
		}
		g, err := m.newGeneration(ids, ask)
		if err != nil {
			yield(trace.Step{}, err)
			return
		}
		defer g.session.Close()
		if ask.Sampling.Beams > 1 && len(ask.Continuation) == 0 {
			if g.found, err = m.search(ctx, ids, g.ask); err != nil {
				yield(trace.Step{}, err)
				return
			}
		}
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

// ReadsLayers reports whether steps compute rows of single layers on request: those of a model that
// generates do.
func (m *Model) ReadsLayers() bool {
	return m.spec.Head == spec.LanguageHead && !m.spec.Bidirectional
}

// Multiplies reports whether steps multiply vectors by the rows of a layer on request: those of a
// model that generates do.
func (m *Model) Multiplies() bool { return m.ReadsLayers() }

// generation is the state of a text that is being continued.
type generation struct {
	chooser
	session *transformer.Session
	// pending are the ids of the next pass: first the prompt, then one token.
	pending []int
}

// newGeneration checks what was asked for and opens a session.
func (m *Model) newGeneration(ids []int, ask trace.Ask) (*generation, error) {
	c, err := m.newChooser(ids, ask)
	if err != nil {
		return nil, err
	}
	session, err := m.newSession(ask, c.room(len(ids)))
	if err != nil {
		return nil, err
	}
	return &generation{chooser: *c, session: session, pending: ids}, nil
}

// newSession opens a session that keeps what is asked for, with room for so many tokens.
func (m *Model) newSession(ask trace.Ask, room int) (*transformer.Session, error) {
	session, err := m.graph.NewSession(ask.Mixings, room)
	if err != nil {
		return nil, err
	}
	if len(ask.Edits) > 0 {
		session.Edit(ask.Edits...)
	}
	if ask.Products {
		session.KeepStreams()
	}
	if ask.Terms != nil {
		if err := session.KeepTerms(ask.Terms.Rows...); err != nil {
			return nil, err
		}
		if ask.Terms.ByHead {
			session.SplitTerms()
		}
	}
	if ask.Lens > 0 {
		session.KeepLens()
	}
	return session, nil
}

// next runs the model on the pending ids and chooses a token. more reports whether another step
// follows.
func (g *generation) next(ctx context.Context) (step trace.Step, more bool, err error) {
	step = trace.Step{First: g.session.Length(), Count: len(g.pending)}
	var out *transformer.Output
	if step.First == 0 {
		out, err = g.session.Prompt(ctx, g.pending, g.ask.Progress)
	} else {
		out, err = g.session.Step(ctx, g.pending[0])
	}
	if err != nil {
		return trace.Step{}, false, err
	}
	step.Rows = out.Rows
	if g.ask.Products {
		step.Multiply = g.session.Multiply
	}
	if g.done {
		return step, false, nil
	}
	if err := g.m.checkLogits(out.Logits); err != nil {
		return trace.Step{}, false, trace.Edited(g.ask.Edits, err)
	}
	if g.ask.Logits {
		step.Logits = out.Logits
	}
	p := softmax(out.Logits)
	step.Next = g.predict(out.Logits, p, g.session.Length()-1)
	g.pending = []int{step.Next.Token.ID}
	if g.ask.Terms != nil {
		o := g.objective(step.Next, p)
		one := func(
			ctx context.Context, o []*trace.Objective,
		) ([]*trace.AttentionTerms, error) {
			terms, err := g.session.Terms(ctx, *o[0])
			return []*trace.AttentionTerms{terms}, err
		}
		terms, err := termsOf(ctx, []*chooser{&g.chooser}, []*trace.Objective{&o}, one)
		if err != nil {
			return trace.Step{}, false, err
		}
		step.Terms = terms[0]
		step.RowsOfLayer = g.session.RowsOfLayer
	}
	if g.ask.Lens > 0 {
		err := g.session.Lens(func(scores []float32) (err error) {
			step.Lens, err = g.m.lensLayers(scores, step.Next.Token.ID, g.ask.Lens)
			return err
		})
		if err != nil {
			return trace.Step{}, false, err
		}
	}
	return step, g.more(), nil
}

// chooser chooses the tokens of one text.
type chooser struct {
	m   *Model
	ask trace.Ask
	rng *rand.Rand
	// found are the tokens that a search has chosen.
	found []int
	// generated is how many tokens were generated, and bytes is the length of their text.
	generated, bytes int
	done             bool // only the row of the last token is missing
}

// newChooser checks what was asked of a text that begins with ids.
func (m *Model) newChooser(ids []int, ask trace.Ask) (*chooser, error) {
	if err := checkSampling(ask.Sampling); err != nil {
		return nil, err
	}
	if len(ask.Continuation) > 0 {
		if err := m.graph.CheckVocabulary(ask.Continuation); err != nil {
			return nil, pkg.Errorf("continuation: %w", err)
		}
		ask.MaxTokens = len(ask.Continuation)
	}
	if len(ask.Positions) > 0 {
		return nil, pkg.Errorf("%s generates, and explains what it generates; "+
			"positions are chosen for encoders", m.info.Name)
	}
	if m.spec.Head != spec.LanguageHead {
		return nil, pkg.Errorf("%s has no head that scores tokens "+
			"(its architecture ends in Model), so it cannot generate", m.info.Name)
	}
	if ask.MaxTokens < 1 {
		return nil, pkg.Errorf("%d tokens are to be generated; at least 1 is needed", ask.MaxTokens)
	}
	if left := m.info.Room(ids); ask.MaxTokens > left {
		return nil, pkg.Errorf("%d prompt tokens and %d to generate are more than "+
			"the context of %d", m.spec.Context-left, ask.MaxTokens, m.spec.Context)
	}
	if ask.Terms != nil && ask.Terms.Foils < 0 {
		return nil, pkg.Errorf("%d foils; want 0 or more", ask.Terms.Foils)
	}
	if ask.Terms != nil && ask.Terms.Contrast != nil && ask.Terms.Foils > 0 {
		return nil, pkg.Errorf("parts against a contrast and %d foils; "+
			"they are against one of the two", ask.Terms.Foils)
	}
	rng := rand.New(rand.NewPCG(ask.Sampling.Seed, 0)) //nolint:gosec // the user gives the seed
	return &chooser{m: m, ask: ask, rng: rng}, nil
}

// room returns how many tokens the model reads of a text with so many in its prompt.
func (c *chooser) room(prompt int) int {
	return roomFor(prompt, c.ask.MaxTokens) - 1 // the model does not read the last token
}

// roomFor returns how many tokens a prompt and those to generate are together; the largest number
// if that overflows.
func roomFor(prompt, generated int) int {
	return prompt + min(generated, math.MaxInt-prompt)
}

// more reports whether another step follows the latest one.
func (c *chooser) more() bool { return !c.done }

// objective returns the number whose parts are asked for: the logit of the next token against the
// contrast or the foils, which are the most probable other tokens by p, [V].
func (c *chooser) objective(next *trace.Prediction, p []float64) trace.Objective {
	o := trace.Objective{
		Quantity: trace.Logit, Token: next.Token.ID, Contrast: c.ask.Terms.Contrast,
	}
	if n := min(c.ask.Terms.Foils, len(p)-1); n > 0 {
		o.Foils = trace.Foils(o.Token, n, mostProbable(p, n+1))
	}
	return o
}

// termsOf returns the parts of the objective of each text, nil where it is nil, as terms computes
// them; and those without foils, for texts that ask for both.
func termsOf(ctx context.Context, texts []*chooser, objectives []*trace.Objective,
	terms func(context.Context, []*trace.Objective) ([]*trace.AttentionTerms, error),
) ([]*trace.AttentionTerms, error) {
	all, err := terms(ctx, objectives)
	if err != nil {
		return nil, err
	}
	alone, some := make([]*trace.Objective, len(objectives)), false
	for i, o := range objectives {
		if o != nil && texts[i].ask.Terms.Alone {
			without := *o
			without.Foils, alone[i], some = nil, &without, true
		}
	}
	if !some {
		return all, nil
	}
	further, err := terms(ctx, alone)
	if err != nil {
		return nil, err
	}
	for i, o := range alone {
		if o != nil {
			all[i].Alone = further[i]
		}
	}
	return all, nil
}

// predict chooses the next token by the logits and their probabilities p, [V] each, after the row
// at position, or takes it from the continuation.
func (c *chooser) predict(logits []float32, p []float64, position int) *trace.Prediction {
	next := &trace.Prediction{Position: position}
	id := 0
	if c.generated < len(c.ask.Continuation) {
		id, next.Forced = c.ask.Continuation[c.generated], true
	} else {
		if id = choose(p, c.ask.Sampling, c.rng); c.found != nil {
			id = c.found[c.generated]
		}
		next.Stop = c.m.ends[id]
	}
	next.Probability, next.Scores = p[id], scoresOf(logits, id)
	next.Token = c.token(id)
	c.bytes = next.Token.End
	for _, alternative := range mostProbable(p, c.ask.Alternatives) {
		next.Alternatives = append(next.Alternatives,
			trace.Alternative{Token: c.token(alternative), Probability: p[alternative]})
	}
	c.generated++
	c.done = next.Stop || c.generated == c.ask.MaxTokens
	return next
}

// token describes a token at the end of the generated text, to which a control token adds no bytes.
func (c *chooser) token(id int) trace.Token {
	t := c.m.token(id)
	t.Begin, t.End = c.bytes, c.bytes
	if !t.Special {
		t.End += len(t.Text)
	}
	return t
}
