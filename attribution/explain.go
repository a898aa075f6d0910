package attribution

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/budget"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Explain lets a model continue a prompt and computes, by every method in opts, where each
// generated token came from:
//
//	M[t,j,l] = R_l on T = m+t tokens, last row, column j
//
// for n generated tokens t, sources j and layers l. The sources are the m prompt tokens and the
// generated tokens before t; [Result.OtherMass] has the sum over the latter. In a causal model
// M is rows m-1..m+n-2 of one pass over all tokens, the rows that predict the generated tokens.
// [Options.OwnRow] uses rows m..m+n-1 instead, the tokens' own.
//
// A continuation is encoded as the end of the prompt ([trace.EncodeAfter]), and so is a contrast.
// So a leading space is part of it, and most vocabularies have different tokens for "are" and
// " are". Token ids are used throughout; no text is decoded and encoded again.
//
// An encoder reads the text once and generates nothing. Explain then explains its predictions at
// [Options.Positions], each by the row of its own position over all m tokens of the text.
// [Explanation.Maps] has the rows of all positions:
//
//	M[t,j,l] = R_l[position of t, j]
//
// [Options.OnStep] is called after each token. If ctx is done or the model fails, Explain returns
// the explanation so far and an error that wraps ctx.Err() or the model's error. The explanation is
// nil if the model refuses the prompt, and if the error is a [trace.UsageError] or of
// [trace.MemoryKind] before the first token is explained.
func Explain(
	ctx context.Context, m trace.Model, prompt string, opts Options,
) (*Explanation, error) {
	r, err := newRun(m, prompt, opts)
	if err != nil {
		return nil, err
	}
	return r.explain(ctx, m)
}

// explain runs the model and returns what [Explain] returns.
func (r *run) explain(ctx context.Context, m trace.Model) (*Explanation, error) {
	for step, err := range m.Steps(ctx, r.ids, r.ask) {
		if err == nil {
			err = r.addStep(ctx, step)
		}
		if err != nil {
			return r.finish(r.soFar(err), r.wrap(ctx, err))
		}
	}
	return r.finish(r.e, r.end(ctx))
}

// finish returns an explanation, nil for none, as it is asked for: with its tokens grouped. The
// error is err, or that a text that is complete does not have what the target names.
func (r *run) finish(e *Explanation, err error) (*Explanation, error) {
	if e == nil || len(e.Steps) == 0 {
		return e, err
	}
	e, wrong := r.grouped(e)
	if wrong == nil && !r.target.Tokens() {
		e, wrong = e.groupTargets(r.target, r.opts.AllLayers)
		if wrong == nil && r.opts.OnStep != nil {
			r.opts.OnStep(e)
		}
	}
	if err == nil && wrong != nil {
		return nil, wrong
	}
	return e, err
}

// grouped returns an explanation over the spans of the prompt that are asked for.
func (r *run) grouped(e *Explanation) (*Explanation, error) {
	if r.spans == nil {
		return e, nil
	}
	if !r.opts.Together() {
		return e.Group(r.by)
	}
	return e.groupBy(r.spans, r.by) // which were taken away as one
}

// prepareGroups reads how tokens are grouped. It returns a usage error if that does not fit the
// prompt.
func (r *run) prepareGroups() (err error) {
	if r.by, err = ParseGrouping(r.opts.By); err != nil {
		return err
	}
	if r.target, err = ParseTarget(r.opts.Target); err != nil {
		return err
	}
	if r.tokens > 0 {
		if err := r.target.fits(r.tokens); err != nil {
			return err
		}
	}
	if r.by.Tokens() {
		return nil
	}
	if r.spans, err = r.e.spans(r.by); err != nil {
		if usage := (*trace.UsageError)(nil); errors.As(err, &usage) {
			return LookupOption("by").usagef("%s %s: %s", trace.Called("by"), r.by,
				usage.Reason)
		}
		return err
	}
	for _, m := range r.plan.methods {
		if m.info().Together {
			r.e.Methods[m.Name].Options["spans"] = together
		}
	}
	return nil
}

// soFar returns the explanation so far, nil if nothing was explained because of what the caller
// asked for or of the memory.
func (r *run) soFar(err error) *Explanation {
	refused := errors.Is(err, trace.ErrUsage) || trace.KindOf(err) == trace.MemoryKind
	if refused && len(r.e.Steps) == 0 {
		return nil
	}
	return r.e
}

// end returns an error if the model has ended before all tokens have arrived.
func (r *run) end(ctx context.Context) error {
	if !r.complete() {
		return r.wrap(ctx, fmt.Errorf("the model stopped after %s", r.progress()))
	}
	return nil
}

// run is the state of one call of [Explain].
type run struct {
	opts Options
	plan *plan
	e    *Explanation
	ids  []int // of the prompt, [m]
	// types are the token types of the prompt, [m]; nil if all are 0.
	types []int
	ask   trace.Ask
	// tokens is n, the number of tokens asked for; 0 if an encoder chooses its positions itself.
	tokens int
	// processed is the number of tokens that have gone through the model.
	processed int
	// pending is a prediction whose own row has not arrived yet; only with OwnRow.
	pending *prediction
	// ended reports whether the latest token ends the text.
	ended bool
	// remarks are the warnings that stay the same from step to step.
	remarks []string
	// encoderRows are the rows of the whole text, one entry for each ask; nil for a decoder.
	encoderRows []aggregation.Rows
	// model is the model that scorers ask, nil without scorers. contrast is the token they compare
	// with, nil for none. scores are their latest results, one entry for each method of the plan.
	model    trace.Model
	contrast *int
	scores   []*scorer.Scores
	// step is the latest step, from which live scorers multiply.
	step trace.Step
	// missing counts the predictions for which a complete scorer left too large a residue, one
	// entry for each method of the plan; nil without scorers.
	missing []incomplete
	// flat counts the predictions for which nearly every value is the whole prediction, one entry
	// for each method of the plan; nil without scorers.
	flat []flatRows
	// text are the ids so far: the prompt and the tokens explained.
	text []int
	// by and target are how tokens are grouped, and spans are the columns, nil for tokens.
	by, target Grouping
	spans      []Span
}

// prediction is a token and the terms of its logit, which are nil if they were not asked for or the
// model does not know them.
type prediction struct {
	GeneratedToken
	terms *trace.AttentionTerms
}

// newRun checks everything that can be checked before the model runs.
func newRun(m trace.Model, prompt string, opts Options) (*run, error) {
	info := m.Info()
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if err := opts.checkModel(info); err != nil {
		return nil, err
	}
	if prompt == "" && len(opts.Conversation.Messages) == 0 {
		return nil, trace.Usagef("the prompt is empty; give some text to %s", purpose(info))
	}
	if len(prompt) > maxTextBytes {
		return nil, trace.Usagef("prompt of %d bytes; at most %d", len(prompt), maxTextBytes)
	}
	set := setting{
		layers: info.Layers, heads: info.Heads, bidirectional: info.Bidirectional,
		allLevels: opts.AllLevels, generates: !info.Reads(),
		byDefault: DefaultMethods(info), numbers: info.Numbers,
	}
	if reader, ok := m.(trace.LayerReader); ok {
		set.readsLayers = reader.ReadsLayers()
	}
	p, err := newPlan(opts, set)
	if err != nil {
		return nil, err
	}
	if !info.Head.Competes() {
		if opts.Foils != nil && *opts.Foils > 0 {
			return nil, trace.Usagef("foils %d; what %s scores does not exclude each other, so "+
				"there is nothing to compare with", *opts.Foils, message.Quote(info.Name))
		}
		opts.Foils = new(0)
	}
	var parts []trace.Part
	if opts.InChat() {
		if prompt, parts, err = conversation(m, opts.Conversation, prompt); err != nil {
			return nil, err
		}
		opts.Specials = trace.SpecialsOff // the chat template adds them
	}
	prompt, second, tokens, err := encode(m, prompt, opts)
	if err != nil {
		return nil, err
	}
	if len(tokens) == 0 {
		return nil, trace.Usagef("the prompt %s has no tokens; give some text to %s",
			message.Quote(prompt), purpose(info))
	}
	read := newPrompt(prompt, tokens)
	read.Second = second
	read.Parts = parts
	if err := read.check(); err != nil {
		return nil, pkg.Errorf("prompt: %s gives wrong tokens: %w", message.Quote(info.Name), err)
	}
	r := &run{opts: opts, plan: p, types: read.Types}
	if err := r.prepareScoring(m, prompt); err != nil {
		return nil, err
	}
	if info.Reads() {
		err = r.prepareReading(m, info, tokens)
		r.ask.Types, r.ask.Answers = r.types, read.answers()
	} else {
		err = r.prepareAsk(m, info, read)
	}
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		r.ids = append(r.ids, t.ID)
	}
	r.text = slices.Clone(r.ids)
	r.start(info, read)
	if err := r.prepareGroups(); err != nil {
		return nil, err
	}
	r.remark(m, prompt)
	return r, nil
}

// encode returns the tokens of a prompt and the text that they are of, which for a pair has both
// texts; second is where the second one begins.
func encode(m trace.Model, prompt string, opts Options) (
	text string, second int, tokens []trace.Token, err error,
) {
	if opts.Pair == "" {
		tokens, err = m.Encode(prompt, opts.Specials)
	} else {
		pairs, ok := m.(trace.PairEncoder)
		if !ok {
			return "", 0, nil, trace.Usagef("%s cannot encode two texts as a pair",
				message.Quote(m.Info().Name))
		}
		tokens, err = pairs.EncodePair(prompt, opts.Pair, opts.Specials)
		prompt, second = trace.JoinPair(prompt, opts.Pair)
	}
	if err != nil {
		return "", 0, nil, pkg.Errorf("prompt: %w", err)
	}
	return prompt, second, tokens, nil
}

// conversation returns the text that the model sees when a user says the prompt, with its parts:
// the chat template filled in.
func conversation(
	m trace.Model, c trace.Conversation, prompt string,
) (string, []trace.Part, error) {
	talker, ok := m.(trace.Conversational)
	if !ok {
		return "", nil, trace.Usagef("%s knows no form of conversation; explain the prompt as "+
			"it is", message.Quote(m.Info().Name))
	}
	text, parts, err := talker.Converse(c, prompt)
	if err != nil {
		return "", nil, err
	}
	if len(text) > maxTextBytes {
		return "", nil, trace.Usagef("conversation of %d bytes; at most %d", len(text),
			maxTextBytes)
	}
	return text, parts, nil
}

// prepareAsk sets what a decoder is asked for. It returns an error if the tokens exceed the model's
// context or the rows its memory.
func (r *run) prepareAsk(m trace.Model, info trace.Info, read Prompt) error {
	prompt := len(read.IDs)
	r.tokens = r.opts.MaxTokens
	if r.tokens == 0 {
		r.tokens = defaultTokens
		if left := info.Context - prompt; 0 < left && left < r.tokens {
			r.tokens = left
			r.warn(fmt.Sprintf("The context of %s has %d tokens, so at most %d come after the "+
				"prompt.", message.Quote(info.Name), info.Context, left))
		}
	}
	r.ask = trace.Ask{
		Mixings: r.plan.asks, Sampling: r.opts.Sampling, Alternatives: r.alternatives(),
		OwnRow: r.opts.OwnRow, Progress: r.opts.OnProgress,
	}
	if r.plan.needsTerms() {
		r.ask.Terms = &trace.TermsAsk{
			Contrast: r.contrast, Foils: r.opts.foils(), Rows: r.plan.lateAsks,
		}
	}
	if r.opts.Continuation != "" {
		tokens, joined, err := trace.EncodeAfter(m, read.Text, r.opts.Continuation)
		if err != nil {
			return pkg.Errorf("continuation: %w", err)
		}
		if len(tokens) == 0 {
			return trace.Usagef("the continuation %s has no tokens",
				message.Quote(r.opts.Continuation))
		}
		for _, t := range tokens {
			r.ask.Continuation = append(r.ask.Continuation, t.ID)
		}
		if joined {
			r.warn(fmt.Sprintf("In one text, the model would read the end of the prompt, %s, and "+
				"the start of the continuation, %s, as other tokens than it is given here.",
				message.Quote(read.Texts[prompt-1]), message.Quote(tokens[0].Text)))
		}
		r.tokens = len(tokens)
	}
	r.plan.chooseVectors(m, prompt, r.tokens)
	r.ask.Products = r.plan.usesVectors()
	r.ask.MaxTokens = r.tokens
	if info.Context > 0 && prompt >= info.Context {
		return trace.Usagef("the prompt has %d tokens, and the context of %s is %d tokens; "+
			"shorten the prompt by %d or more", prompt, message.Quote(info.Name), info.Context,
			prompt-info.Context+1)
	}
	if info.Context > 0 && prompt+r.tokens > info.Context {
		return trace.Usagef(
			"%d prompt tokens and %d to explain are %d, but the context of %s is %d "+
				"tokens; shorten one of them",
			prompt, r.tokens, prompt+r.tokens, message.Quote(info.Name), info.Context,
		)
	}
	return budget.Check(m, r.plan.bytes(prompt, r.tokens),
		fmt.Sprintf("%d tokens: what the methods keep", prompt+r.tokens),
		"take a shorter text or fewer layers")
}

// newPrompt returns the prompt in the form of an explanation.
func newPrompt(text string, tokens []trace.Token) Prompt {
	p := Prompt{Text: text}
	for _, t := range tokens {
		p.IDs = append(p.IDs, t.ID)
		p.Texts = append(p.Texts, t.Text)
		p.Offsets = append(p.Offsets, [2]int{t.Begin, t.End})
		p.Special = append(p.Special, t.Special)
		p.Types = append(p.Types, t.Type)
	}
	if !slices.ContainsFunc(p.Types, func(k int) bool { return k != 0 }) {
		p.Types = nil
	}
	return p
}

// answers are the positions [begin,end) of the second text's tokens, where the answer to a question
// is; the zero value for one text.
func (p *Prompt) answers() (within [2]int) {
	for j := range p.IDs {
		if p.InSecond(j) {
			if within[1] == 0 {
				within[0] = j
			}
			within[1] = j + 1
		}
	}
	return within
}

// InSecond reports whether token j belongs to the second text of a pair. A control token that the
// tokenizer added belongs to neither.
func (p *Prompt) InSecond(j int) bool {
	return p.Second > 0 && j < len(p.Offsets) && p.Offsets[j][0] >= p.Second
}

// start creates the explanation, with all its methods and no generated tokens.
func (r *run) start(info trace.Info, prompt Prompt) {
	prompt.BOSAdded = !info.Reads() && prompt.Special[0] &&
		prompt.Offsets[0][0] == prompt.Offsets[0][1]
	r.e = &Explanation{
		Version: Version, Model: info, Prompt: prompt, Steps: []GeneratedToken{},
		Methods: map[string]*Result{}, Warnings: []string{},
	}
	for _, m := range r.plan.methods {
		settings := r.opts.settings(m)
		switch {
		case m.scorer != nil:
			settings["row"] = "prediction"
		case info.Reads():
			settings["row"] = "position explained"
		case r.opts.OwnRow:
			settings["row"] = "own row"
		default:
			settings["row"] = "predicting position"
		}
		r.e.Order = append(r.e.Order, m.Name)
		r.e.Methods[m.Name] = &Result{
			Options: settings, Facts: m.facts, Layers: m.levels, Unit: m.unit,
			Shape: [3]int{0, len(prompt.IDs), len(m.levels)}, Rows: [][]float64{},
			OtherMass: []float64{}, Shown: []int{},
		}
	}
}

// remark collects the warnings that are known before the first token.
func (r *run) remark(m trace.Model, prompt string) {
	if r.e.Prompt.BOSAdded {
		r.remarks = append(r.remarks, fmt.Sprintf("A begin-of-text token, %s, was put before the "+
			"prompt.",
			message.Quote(r.e.Prompt.Texts[0])))
	}
	if limited, ok := m.(trace.Limited); ok {
		if words := limited.UnknownWords(prompt + r.opts.Continuation); len(words) > 0 {
			r.remarks = append(r.remarks, fmt.Sprintf("The model never saw %s; prompts that it "+
				"knows: %s.",
				quoteWords(words, 10), quotePrompts(limited.Examples(), 3)))
		}
	}
	r.remarks = append(r.remarks, r.oddTokens(m)...)
	r.remarks = append(r.remarks, r.plan.warnings...)
	r.e.Warnings = append(r.e.Warnings, r.remarks...)
}

// quoteWords returns the first words, at most most, quoted and joined, and how many more there are.
// The words come from the user, so long ones are cut.
func quoteWords(words []string, most int) string {
	var some []string
	for _, w := range words[:min(len(words), most)] {
		some = append(some, message.Quote(w))
	}
	if len(words) > most {
		some = append(some, fmt.Sprintf("and %d more", len(words)-most))
	}
	return strings.Join(some, ", ")
}

// quotePrompts returns the first of a model's example prompts, quoted and joined. They are not cut,
// because users copy them.
func quotePrompts(prompts []string, most int) string {
	var some []string
	for _, p := range prompts[:min(len(prompts), most)] {
		some = append(some, strconv.Quote(p))
	}
	return strings.Join(some, ", ")
}

// addStep adds one step of the model to the explanation.
func (r *run) addStep(ctx context.Context, step trace.Step) error {
	if r.e.Model.Reads() {
		return r.addPrediction(ctx, step)
	}
	return r.add(ctx, step)
}

// longPrompt is the number of prompt tokens from which progress is reported while layers are
// combined: rollout of a thousand tokens takes a second a layer.
const longPrompt = 512

// add adds one step for a decoder: its rows go to the methods, and its token to the explanation.
func (r *run) add(ctx context.Context, step trace.Step) error {
	if err := r.checkStep(step); err != nil {
		return err
	}
	rows, err := r.plan.reader().Read(step, r.processed)
	if err != nil {
		return err
	}
	r.processed += step.Count
	// The row that predicts the next token, which is also the last token's own row.
	from := r.processed - 1
	if r.opts.OwnRow && r.pending == nil {
		from = r.processed // no generated token has a row yet
	}
	if r.opts.OnProgress != nil && step.Count >= longPrompt {
		r.opts.OnProgress(trace.Progress{
			Stage: "combining the layers of the prompt's rows",
			Unit:  "step", Done: 1, Total: 1,
		})
	}
	if err := r.plan.extend(ctx, rows, from); err != nil {
		return err
	}
	if from < r.processed {
		if err := r.plan.extendVectors(ctx, step); err != nil {
			return err
		}
	}
	var next *prediction
	if step.Next != nil {
		if next, err = newPrediction(step, r.e.Model.Layers); err != nil {
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
	r.step = step
	if err := r.score(ctx, slices.Clone(r.text), len(r.text)-1, *next); err != nil {
		return err
	}
	if err := r.plan.extendLate(ctx, step, r.layerThatWrote(next.terms)); err != nil {
		return err
	}
	r.append(*next, func(*job) int { return 0 }) // the one row that was wanted
	r.text = append(r.text, next.ID)
	return nil
}

// checkStep returns an error for a step after the last token, and for one with another number of
// tokens than the prompt, or than the one token that follows it.
func (r *run) checkStep(step trace.Step) error {
	want := 1
	if r.processed == 0 {
		want = len(r.ids)
	}
	switch {
	case r.complete() || r.ended && step.Next != nil:
		return fmt.Errorf("the model made another step after the last token")
	case step.Count != want:
		return fmt.Errorf("the model fed %s in a step, want %d",
			message.Count(step.Count, "token"), want)
	}
	return nil
}

// newPrediction returns the prediction of a step. It returns an error for terms that do not fit the
// text or the model's layers or are NaN or infinite, and one of newToken.
func newPrediction(step trace.Step, layers int) (*prediction, error) {
	t, err := newToken(*step.Next)
	if err != nil {
		return nil, err
	}
	if terms, T := step.Terms, step.First+step.Count; terms != nil {
		if terms.L != layers || terms.S != T || len(terms.Attention) != layers*T {
			return nil, fmt.Errorf("the model gives %d terms of %d layers and %d sources for %d "+
				"layers and %d tokens", len(terms.Attention), terms.L, terms.S, layers, T)
		}
		for _, x := range append(terms.Attention[:len(terms.Attention):len(terms.Attention)],
			terms.Value) {
			if !finite(x) {
				return nil, fmt.Errorf("the model gives a term of %v for token %d", x, t.ID)
			}
		}
	}
	return &prediction{*t, step.Terms}, nil
}

// certain is the largest probability of a token: 1 and the rounding of a softmax in bfloat16, whose
// next number after 1 is 1.0078.
const certain = 1 + 1e-2

// newToken returns a prediction in the form of an explanation. It returns an error for a
// probability that is negative, above 1 or NaN.
func newToken(p trace.Prediction) (*GeneratedToken, error) {
	t := &GeneratedToken{
		ID: p.Token.ID, Text: p.Token.Text, Probability: p.Probability, Special: p.Token.Special,
		Forced: p.Forced,
		Class:  p.Class, Unscored: p.Unscored, Alternatives: []Alternative{},
	}
	for _, a := range p.Alternatives {
		t.Alternatives = append(t.Alternatives, Alternative{
			a.Token.ID, a.Token.Text,
			a.Probability,
		})
	}
	for _, a := range append(t.Alternatives, Alternative{t.ID, t.Text, t.Probability}) {
		if !(a.Probability >= 0 && a.Probability <= certain) {
			return nil, fmt.Errorf("the model gives token %d probability %v", a.ID, a.Probability)
		}
	}
	return t, nil
}

// append adds a token and its row of every method. wanted returns which of the rows that a job has
// computed is this token's.
func (r *run) append(t prediction, wanted func(*job) int) {
	e, m := r.e, len(r.ids)
	t.Alternatives = t.Alternatives[:min(len(t.Alternatives), r.opts.alternatives())]
	e.Steps = append(e.Steps, t.GeneratedToken)
	wrote := r.layerThatWrote(t.terms)
	for i, p := range r.plan.methods {
		shown, mass := r.latest(i, wanted)
		T, res := len(mass)/len(p.levels), e.Methods[p.Name]
		rows := slices.Clone(shown)
		for k := range p.levels {
			res.Rows = append(res.Rows, rowmath.At(rows, k, T))
			other := rowmath.Total(rowmath.At(mass, k, T)[m:])
			res.OtherMass = append(res.OtherMass, other)
		}
		res.Shape[0]++
		layer := p.levels[len(p.levels)-1]
		if p.choosesLayer {
			layer = wrote
		}
		res.Shown = append(res.Shown, layer)
	}
	e.Warnings = append(append([]string{}, r.remarks...), r.plan.zeroWarnings()...)
	e.Warnings = append(append(e.Warnings, r.residueWarnings()...), r.flatWarnings()...)
	r.report()
}

// report tells the caller of another token. Before the last one it is not known which tokens a
// target has.
func (r *run) report() {
	switch {
	case !r.target.Tokens():
		if r.opts.OnProgress != nil {
			r.opts.OnProgress(trace.Progress{
				Stage: "explaining the target", Unit: "token", Done: len(r.e.Steps),
				Total: r.tokens,
			})
		}
	case r.opts.OnStep != nil:
		if e, err := r.grouped(r.e); err == nil {
			r.opts.OnStep(e)
		}
	}
}

// complete reports whether all tokens asked for, or one that ends the text, have arrived with their
// rows.
func (r *run) complete() bool {
	if r.tokens == 0 {
		return len(r.e.Steps) > 0
	}
	return len(r.e.Steps) == r.tokens || r.ended && r.pending == nil
}

// progress returns how far the run is: "2 of 5 tokens".
func (r *run) progress() string {
	of, what := "", "tokens"
	if r.tokens > 0 {
		of = fmt.Sprintf(" of %d", r.tokens)
	}
	if r.e.Model.Reads() {
		what = "predictions"
	}
	return fmt.Sprintf("%d%s %s", len(r.e.Steps), of, what)
}

// wrap adds the package and the progress to an error. If ctx is done, the error is ctx.Err().
func (r *run) wrap(ctx context.Context, err error) error {
	_, isUsage := err.(*trace.UsageError) //nolint:errorlint // not if something wraps it
	switch {
	case ctx.Err() != nil:
		return pkg.Errorf("stopped after %s: %w", r.progress(), ctx.Err())
	case len(r.e.Steps) == 0 && isUsage:
		return err
	case r.e.Model.Reads() && len(r.e.Steps) == 0:
		// usually that there is nothing to predict in this text
		return pkg.Errorf("%w", err)
	}
	return pkg.Errorf("after %s: %w", r.progress(), err)
}
