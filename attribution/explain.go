package attribution

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Explain lets a model continue a prompt and says, by every method asked for, where each generated
// token came from:
//
//	M[t,j,l] = R_l on T = m+t tokens, last row, column j < m
//
// (the generative reading of attention rollout). Earlier generated tokens take part in the
// products, only their columns are cut; their share is [Explanation.OtherMass]. In a causal model M
// is rows m-1..m+n-2 of one pass over all tokens; [Options.OwnRow] takes rows m..m+n-1 instead, the
// tokens' own.
//
// A continuation is encoded on its own and without special tokens, so that it begins exactly where
// the user says: a leading space is part of it, and most vocabularies spell "are" and " are"
// differently. Token ids are carried through; no text is decoded and encoded again.
//
// An encoder reads the text once and generates nothing. What is explained are its predictions at
// [Options.Positions], each by the row of its own position over all m tokens of the text, and
// [Explanation.Maps] has the rows of all:
//
//	M[t,j,l] = R_l[position of t, j]
//
// [Options.OnStep] sees the explanation grow. If ctx is done, or the model fails on the way,
// Explain returns what there is so far and an error, which wraps ctx.Err() or the model's. A nil
// explanation comes with a [UsageError] or with the model's refusal of the prompt.
func Explain(ctx context.Context, m Model, prompt string, opts Options) (*Explanation, error) {
	r, err := newRun(m, prompt, opts)
	if err != nil {
		return nil, err
	}
	for step, err := range m.Steps(ctx, r.ids, r.ask) {
		if err == nil {
			err = r.addStep(ctx, step)
		}
		if err != nil {
			return r.e, r.wrap(ctx, err)
		}
	}
	if !r.complete() {
		return r.e, r.wrap(ctx, fmt.Errorf("the model stopped after %s", r.progress()))
	}
	return r.e, nil
}

// run is one explanation in the making.
type run struct {
	opts Options
	plan *plan
	e    *Explanation
	ids  []int // of the prompt
	ask  trace.Ask
	// tokens is n, as many as are asked for; 0 if an encoder finds its positions itself.
	tokens int
	// fed is how many tokens the model was fed.
	processed int
	// pending is a token whose own row has not come yet.
	pending *GeneratedToken
	// ended is whether the latest token ends the text.
	ended bool
	// remarks are the warnings that do not change from step to step.
	remarks []string
	// read are the rows of an encoder, one entry for each ask.
	encoderRows []Mixed
	// model is what scorers ask, nil without any; contrast is what they compare with; scores are
	// their latest, one entry for each method of the plan.
	model    Model
	contrast *int
	scores   []*Scores
	// missing are the residues of scorers that should have none, one entry for each method of the
	// plan, nil without scorers.
	missing []incomplete
	// text are the ids so far, of the prompt and of what is explained.
	text []int
}

// newRun checks everything that can be checked before the model starts.
func newRun(m Model, prompt string, opts Options) (*run, error) {
	info := m.Info()
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if err := opts.checkFor(info); err != nil {
		return nil, err
	}
	if prompt == "" {
		return nil, usagef("the prompt is empty; give some text to %s", purpose(info))
	}
	if len(prompt) > maxTextBytes {
		return nil, usagef("prompt of %d bytes; at most %d", len(prompt), maxTextBytes)
	}
	p, err := newPlan(opts, setting{
		layers: info.Layers, heads: info.Heads, bidirectional: info.Bidirectional,
		allLevels: opts.AllLevels,
	})
	if err != nil {
		return nil, err
	}
	if opts.Chat {
		if prompt, err = conversation(m, prompt); err != nil {
			return nil, err
		}
		opts.Specials = trace.SpecialsOff // the form has them
	}
	tokens, err := m.Encode(prompt, opts.Specials)
	if err != nil {
		return nil, fmt.Errorf("attribution: prompt: %w", err)
	}
	if len(tokens) == 0 {
		return nil, usagef("the prompt %s has no tokens; give some text to %s", quote(prompt),
			purpose(info))
	}
	r := &run{opts: opts, plan: p}
	if info.Bidirectional {
		err = r.prepareReading(m, info, tokens)
	} else {
		err = r.prepareAsk(m, info, len(tokens))
	}
	if err != nil {
		return nil, err
	}
	if err := r.prepareScoring(m); err != nil {
		return nil, err
	}
	for _, t := range tokens {
		r.ids = append(r.ids, t.ID)
	}
	r.text = slices.Clone(r.ids)
	r.start(info, newPrompt(prompt, tokens))
	r.remark(m, prompt)
	return r, nil
}

// conversation returns what the model sees when a user says the prompt.
func conversation(m Model, prompt string) (string, error) {
	c, ok := m.(Conversational)
	if !ok {
		return "", usagef("%s knows no form of conversation; explain the prompt as it is",
			quote(m.Info().Name))
	}
	text, err := c.Chat(prompt)
	if err != nil {
		return "", fmt.Errorf("attribution: chat: %w", err)
	}
	if len(text) > maxTextBytes {
		return "", usagef("conversation of %d bytes; at most %d", len(text), maxTextBytes)
	}
	return text, nil
}

// prepareAsk sets what the model is asked for, within its context.
func (r *run) prepareAsk(m Model, info trace.Info, prompt int) error {
	r.tokens = r.opts.MaxTokens
	if r.tokens == 0 {
		r.tokens = defaultTokens
		if info.Context > prompt {
			r.tokens = min(r.tokens, info.Context-prompt)
		}
	}
	r.ask = trace.Ask{
		Mixings: r.plan.asks, Sampling: r.opts.Sampling, Alternatives: r.opts.alternatives(),
		OwnRow: r.opts.OwnRow, Progress: r.opts.OnProgress,
	}
	if r.opts.Continuation != "" {
		tokens, err := m.Encode(r.opts.Continuation, trace.SpecialsOff)
		if err != nil {
			return fmt.Errorf("attribution: continuation: %w", err)
		}
		if len(tokens) == 0 {
			return usagef("the continuation %s has no tokens", quote(r.opts.Continuation))
		}
		for _, t := range tokens {
			r.ask.Continuation = append(r.ask.Continuation, t.ID)
		}
		r.tokens = len(tokens)
	}
	r.ask.MaxTokens = r.tokens
	if info.Context > 0 && prompt+r.tokens > info.Context {
		return usagef("%d prompt tokens and %d to explain are %d, but the context of %s is %d "+
			"tokens; shorten one of them",
			prompt, r.tokens, prompt+r.tokens, quote(info.Name), info.Context)
	}
	return checkBudget(m, r.plan.bytes(prompt, r.tokens),
		fmt.Sprintf("%d tokens: what the methods keep", prompt+r.tokens),
		"take a shorter text or fewer layers")
}

// newPrompt returns the prompt as an explanation shows it.
func newPrompt(text string, tokens []trace.Token) Prompt {
	p := Prompt{Text: text}
	for _, t := range tokens {
		p.IDs = append(p.IDs, t.ID)
		p.Texts = append(p.Texts, t.Text)
		p.Offsets = append(p.Offsets, [2]int{t.Begin, t.End})
		p.Special = append(p.Special, t.Special)
	}
	return p
}

// start makes an explanation without generated tokens.
func (r *run) start(info trace.Info, prompt Prompt) {
	prompt.BOSAdded = !info.Bidirectional && prompt.Special[0] &&
		prompt.Offsets[0][0] == prompt.Offsets[0][1]
	r.e = &Explanation{
		Version: Version, Model: info, Prompt: prompt, Steps: []GeneratedToken{},
		Methods: map[string]*Result{}, OtherMass: map[string][]float64{}, Warnings: []string{},
	}
	for _, m := range r.plan.methods {
		settings := r.opts.settings(m, r.plan.first, r.plan.last)
		switch {
		case m.scorer != nil:
			settings["row"] = "prediction"
		case info.Bidirectional:
			settings["row"] = "position explained"
		case r.opts.OwnRow:
			settings["row"] = "own row"
		default:
			settings["row"] = "predicting position"
		}
		r.e.Order = append(r.e.Order, m.Name)
		r.e.Methods[m.Name] = &Result{
			Options: settings, Layers: m.levels, Unit: m.unit,
			Shape: [3]int{0, len(prompt.IDs), len(m.levels)}, Data: []float64{},
		}
		r.e.OtherMass[m.Name] = []float64{}
	}
}

// remark collects what the user should know before the first token.
func (r *run) remark(m Model, prompt string) {
	if r.e.Prompt.BOSAdded {
		r.remarks = append(r.remarks, fmt.Sprintf("A begin-of-text token, %s, was put before the "+
			"prompt.",
			quote(r.e.Prompt.Texts[0])))
	}
	if limited, ok := m.(Limited); ok {
		if words := limited.UnknownWords(prompt + r.opts.Continuation); len(words) > 0 {
			r.remarks = append(r.remarks, fmt.Sprintf("The model never saw %s; prompts that it "+
				"knows: %s.",
				quoteWords(words, 10), quotePrompts(limited.Examples(), 3)))
		}
	}
	r.remarks = append(r.remarks, r.plan.warnings...)
	r.e.Warnings = append(r.e.Warnings, r.remarks...)
}

// quoteWords returns the first of some words of the user's, quoted and joined, and how many more
// there are.
func quoteWords(words []string, most int) string {
	var some []string
	for _, w := range words[:min(len(words), most)] {
		some = append(some, quote(w))
	}
	if len(words) > most {
		some = append(some, fmt.Sprintf("and %d more", len(words)-most))
	}
	return strings.Join(some, ", ")
}

// quotePrompts returns the first prompts of a model's own, quoted and joined. They are not cut: one
// copies them.
func quotePrompts(prompts []string, most int) string {
	var some []string
	for _, p := range prompts[:min(len(prompts), most)] {
		some = append(some, strconv.Quote(p))
	}
	return strings.Join(some, ", ")
}

// take takes one step of the model.
func (r *run) addStep(ctx context.Context, step trace.Step) error {
	if r.e.Model.Bidirectional {
		return r.addPrediction(ctx, step)
	}
	return r.add(ctx, step)
}

// longPrompt is how many tokens a prompt has whose rows take long enough to combine to be worth a
// word: rollout of a thousand tokens takes a second a layer.
const longPrompt = 512

// add takes one step of a decoder: rows for the methods and the next token.
func (r *run) add(ctx context.Context, step trace.Step) error {
	rows, err := r.plan.readStep(step, r.processed)
	if err != nil {
		return err
	}
	r.processed += step.Count
	from := r.processed - 1 // the row that predicts the next token, or the own row of the one before
	if r.opts.OwnRow && r.pending == nil {
		from = r.processed // the prompt's rows explain no token
	}
	if r.opts.OnProgress != nil && step.Count >= longPrompt {
		r.opts.OnProgress(trace.Progress{Stage: "combining the layers of the prompt's rows",
			Unit: "step", Done: 1, Total: 1})
	}
	if err := r.plan.extend(ctx, rows, from); err != nil {
		return err
	}
	var next *GeneratedToken
	if step.Next != nil {
		if next, err = newToken(*step.Next); err != nil {
			return err
		}
		r.ended = step.Next.Stop
	}
	if r.opts.OwnRow {
		next, r.pending = r.pending, next
	}
	if next == nil {
		return nil
	}
	if err := r.score(ctx, slices.Clone(r.text), len(r.text)-1, *next); err != nil {
		return err
	}
	r.append(*next, func(*job) int { return 0 }) // the one row that was wanted
	r.text = append(r.text, next.ID)
	return nil
}

// newToken returns a generated token as an explanation shows it.
func newToken(p trace.Prediction) (*GeneratedToken, error) {
	t := &GeneratedToken{
		ID: p.Token.ID, Text: p.Token.Text, Probability: p.Probability, Special: p.Token.Special,
		Forced: p.Forced,
		Class:  p.Class, Unscored: p.Unscored, Alternatives: []Alternative{},
	}
	for _, a := range p.Alternatives {
		t.Alternatives = append(t.Alternatives, Alternative{a.Token.ID, a.Token.Text,
			a.Probability})
	}
	for _, a := range append(t.Alternatives, Alternative{t.ID, t.Text, t.Probability}) {
		if !(a.Probability >= 0) || math.IsInf(a.Probability, 0) {
			return nil, fmt.Errorf("the model gives token %d probability %v", a.ID, a.Probability)
		}
	}
	return t, nil
}

// append adds a token and its row of every method, which is that wanted row of the method's job.
func (r *run) append(t GeneratedToken, wanted func(*job) int) {
	e, m := r.e, len(r.ids)
	e.Steps = append(e.Steps, t)
	for i, p := range r.plan.methods {
		shown, mass := r.latest(i, wanted)
		T, res := len(mass)/len(p.levels), e.Methods[p.Name]
		for j := range m {
			for k := range p.levels {
				res.Data = append(res.Data, shown[k*T+j])
			}
		}
		res.Shape[0]++
		for k := range p.levels {
			other := 0.0
			for _, x := range mass[k*T+m : (k+1)*T] {
				other += x
			}
			e.OtherMass[p.Name] = append(e.OtherMass[p.Name], other)
		}
	}
	e.Warnings = append(append([]string{}, r.remarks...), r.plan.zeroWarnings()...)
	e.Warnings = append(e.Warnings, r.residueWarnings()...)
	if r.opts.OnStep != nil {
		r.opts.OnStep(e)
	}
}

// complete is whether the run reached its end: all tokens, or one that ends the text, and their
// rows.
func (r *run) complete() bool {
	if r.tokens == 0 {
		return len(r.e.Steps) > 0
	}
	return len(r.e.Steps) == r.tokens || r.ended && r.pending == nil
}

// progress says how far the run is: "2 of 5 tokens".
func (r *run) progress() string {
	of, what := "", "tokens"
	if r.tokens > 0 {
		of = fmt.Sprintf(" of %d", r.tokens)
	}
	if r.e.Model.Bidirectional {
		what = "predictions"
	}
	return fmt.Sprintf("%d%s %s", len(r.e.Steps), of, what)
}

// wrap makes an error of the model one of this package, of the context if that is done.
func (r *run) wrap(ctx context.Context, err error) error {
	_, isUsage := err.(*UsageError) //nolint:errorlint // one that came as it is, and not one in another's words
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("attribution: stopped after %s: %w", r.progress(), ctx.Err())
	case len(r.e.Steps) == 0 && isUsage:
		return err
	case r.e.Model.Bidirectional && len(r.e.Steps) == 0:
		// mostly that there is nothing to predict in this text
		return fmt.Errorf("attribution: %w", err)
	}
	return fmt.Errorf("attribution: after %s: %w", r.progress(), err)
}
