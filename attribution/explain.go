package attribution

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/errorkind"
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
// [errorkind.Memory] before the first token is explained.
func Explain(
	ctx context.Context, m trace.Model, prompt string, opts Options,
) (*Explanation, error) {
	m, err := trace.Between(m, opts.From, opts.To)
	if err != nil {
		return nil, err
	}
	r, err := newRun(m, prompt, opts)
	if err != nil {
		return nil, err
	}
	return r.explain(ctx, m)
}

// explain runs the model and returns what [Explain] returns.
func (r *run) explain(ctx context.Context, m trace.Model) (*Explanation, error) {
	if k, ok := r.model.(trace.TextKeeper); ok {
		model, free := k.ForText()
		defer free()
		r.model = model
	}
	for step, err := range m.Steps(ctx, r.ids, r.ask) {
		if err == nil {
			err = r.addStep(ctx, step)
		}
		if err != nil {
			return r.finish(r.soFar(err), r.wrap(ctx, err))
		}
	}
	err := r.end(ctx)
	if r.opts.InChat() && !r.ended && r.opts.Continuation == "" && !r.e.Model.Reads() {
		r.e.Warnings = append(r.e.Warnings, fmt.Sprintf("The answer was cut at %s, the most that "+
			"max-tokens allows here.", message.Count(len(r.e.Steps), "token")))
	}
	if err == nil {
		if err = r.endStudies(ctx); err != nil {
			err = r.wrap(ctx, err)
		}
	}
	return r.finish(r.e, err)
}

// finish returns an explanation, nil for none, as it is asked for: with its tokens grouped. The
// error is err, or that a text that is complete does not have what the target names.
func (r *run) finish(e *Explanation, err error) (*Explanation, error) {
	if e == nil || len(e.Steps) == 0 {
		return e, err
	}
	e, wrong := r.grouped(e)
	if wrong == nil && !r.target.OfTokens() {
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

// soFar returns the explanation so far, nil if nothing was explained because of what the caller
// asked for or of the memory.
func (r *run) soFar(err error) *Explanation {
	refused := errors.Is(err, trace.ErrUsage) || errorkind.Of(err) == errorkind.Memory
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
	// spaced are the texts that a user gave without a space before them, of which there may be one
	// with a space.
	spaced []spacedToken
	// studies are what the studies do that are asked for.
	studies []StudySteps
	// by and target are how tokens are grouped, and spans are the columns, nil for tokens.
	by, target units.Grouping
	spans      []units.Span
}

// prediction is a token and the terms of its logit, which are nil if they were not asked for or the
// model does not know them.
type prediction struct {
	GeneratedToken
	terms *trace.AttentionTerms
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
	from := r.processed - 1 // the row that predicts the next token
	if r.opts.OnProgress != nil && step.Count >= longPrompt {
		r.opts.OnProgress(trace.Progress{
			Stage: "combining the layers of the prompt's rows",
			Unit:  "step", Done: 1, Total: 1,
		})
	}
	if err := r.plan.extend(ctx, rows, from); err != nil {
		return err
	}
	if err := r.plan.extendVectors(ctx, step); err != nil {
		return err
	}
	next, err := newPrediction(step, r.e.Model.Layers)
	if err != nil {
		return err
	}
	if err := r.studyStep(step, &next.GeneratedToken); err != nil {
		return err
	}
	r.ended = step.Next.Stop
	if r.processed == len(r.ids) {
		r.remarkSpaced(step)
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
	case r.complete():
		return fmt.Errorf("the model made another step after the last token")
	case step.Next == nil:
		return fmt.Errorf("the model made a step without a prediction")
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
	T := step.First + step.Count
	for terms := step.Terms; terms != nil; terms = terms.Alone {
		if terms.L != layers || terms.S != T || len(terms.Attention) != layers*T {
			return nil, fmt.Errorf("the model gives %d terms of %d layers and %d sources for %d "+
				"layers and %d tokens", len(terms.Attention), terms.L, terms.S, layers, T)
		}
		for _, x := range append(terms.Attention[:len(terms.Attention):len(terms.Attention)],
			terms.Value) {
			if rowmath.NotFinite(x) {
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
		Class:  p.Class, Unscored: p.Unscored,
	}
	if p.Scores.Finite() {
		t.Scores = new(*p.Scores)
	}
	var err error
	if t.Alternatives, err = AlternativesOf(p); err != nil {
		return nil, err
	}
	return t, nil
}

// AlternativesOf returns the alternatives of a prediction. It returns an error if one of them, or
// the prediction, has a probability that is negative, above 1 or NaN.
func AlternativesOf(p trace.Prediction) ([]Alternative, error) {
	all := []Alternative{}
	for _, a := range append(p.Alternatives[:len(p.Alternatives):len(p.Alternatives)],
		trace.Alternative{Token: p.Token, Probability: p.Probability}) {
		if !(a.Probability >= 0 && a.Probability <= certain) {
			return nil, fmt.Errorf("the model gives token %d probability %v", a.Token.ID,
				a.Probability)
		}
		all = append(all, Alternative{a.Token.ID, a.Token.Text, a.Probability})
	}
	return all[:len(p.Alternatives)], nil
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
	case !r.target.OfTokens():
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
	return len(r.e.Steps) == r.tokens || r.ended
}

// progress returns how far the run is: "2 of 5 tokens", "1 prediction".
func (r *run) progress() string {
	if r.tokens > 0 {
		return fmt.Sprintf("%d of %s", len(r.e.Steps), message.Count(r.tokens, r.e.shown()))
	}
	return r.e.Made()
}

// wrap adds the package and the progress to an error. If ctx is done, the error is ctx.Err().
func (r *run) wrap(ctx context.Context, err error) error {
	_, isUsage := err.(*trace.UsageError) //nolint:errorlint // not if something wraps it
	_, isEdit := err.(*trace.EditError)   //nolint:errorlint // as above
	switch {
	case ctx.Err() != nil:
		return pkg.Errorf("stopped after %s: %w", r.progress(), ctx.Err())
	case len(r.e.Steps) == 0 && (isUsage || isEdit):
		return err
	case r.e.Model.Reads() && len(r.e.Steps) == 0:
		// usually that there is nothing to predict in this text
		return pkg.Errorf("%w", err)
	}
	return pkg.Errorf("after %s: %w", r.progress(), err)
}
