package evaluate

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Options selects what to measure. The zero value measures the default methods against the
// evidence of each case.
type Options struct {
	// Methods are names of methods. Default: [attribution.DefaultMethods] of the model. The scorer
	// random is measured beside them.
	Methods []string
	// Explain has the options of every explanation. Each case sets those about what to explain
	// or generate, and Methods above names the methods. So its own Methods, MaxTokens, By and
	// Target have no effect.
	Explain attribution.Options
	// Faithful measures what happens without tokens, which are removed as in Scoring. Of cases
	// with a counterfactual or with changes it also measures the flip rates. Draws > 0
	// also measures the soft forms, and Beam > 0 NAOPC.
	Faithful    bool
	Draws, Beam int
	Scoring     scorer.Options
	// Ablations > 0 measures how well the scores predict what so many random ablations do, and what
	// is lost without the tokens of the highest scores; see ablation.go. Scoring is how tokens
	// are removed. The quantity is the probability.
	Ablations int
	// Limit is the largest number of cases of a group that are scored; the group's other cases are
	// left out, unless they were tried before the limit was reached. Default 0: no limit. Cases
	// with Selection are counted apart.
	Limit int
	// Others returns the changes of a pair that the model answers, those that the case has among
	// them. Default: those that the case has.
	Others func(trace.Model, Case) ([]Change, error)
	// SkipFirst leaves the first token of every case out of the ranking and of Ablations, as that
	// of a pair always is, unless it is evidence.
	SkipFirst bool
	// Alone lets scorers explain the answer of a pair without its foil.
	Alone bool
	// Least is the part of the prediction that a change must move to decide it; see [Move.Decides].
	// Default ½.
	Least float64
	// Ties is the largest difference between two scores, relative to the largest score, at which
	// they count as equal when they are compared with evidence. So rounding does not decide a rank.
	// Default 0: only equal scores are equal.
	Ties float64
	// References are methods, such as occlusion, to whose scores those of every method are
	// compared: the rank correlation of their sizes is measured.
	References []string
	// Done has results of an earlier run of the same cases and options, by the index of the case.
	// They are not computed again. Ablations may differ: then they alone are measured.
	Done map[int]*Result
	// OnResult is called with every new result; its error ends the run. OnProgress is called with
	// how far the run is.
	OnResult   func(*Result) error
	OnProgress func(trace.Progress)
}

// Result has what was measured for one case.
type Result struct {
	Case  int    `json:"case"`
	Group string `json:"group,omitempty"`
	// Token is the token explained and Probability the model's own, in [0,1]. Chosen reports
	// whether the model would have chosen it.
	Token       string  `json:"token"`
	Probability float64 `json:"probability"`
	Chosen      bool    `json:"chosen"`
	// Foil is, for a pair, the token that the model chooses after the counterfactual. Answered says
	// that the model gives a right answer after the prompt.
	Foil     string `json:"foil,omitempty"`
	Answered bool   `json:"answered,omitempty"`
	// Model is the hash of the model. Selection reports whether the case is for choosing layers.
	Model     string `json:"model"`
	Selection bool   `json:"selection,omitempty"`
	// Proof has the results of the case's changes, nil if it has none. If it does not prove the
	// evidence, nothing is measured.
	Proof *Proof `json:"proof,omitempty"`
	patch *patch // of a proven pair
	// ranked are, by method, those of Ranked that it ranks.
	ranked map[string][]int
	// Words are the prompt tokens that are text. A control token cannot be evidence, so it is
	// neither ranked nor removed. Ranked are the tokens that are compared with the evidence: Words
	// without words of form that decide the prediction.
	Words  []int `json:"words,omitempty"`
	Ranked []int `json:"ranked,omitempty"`
	// ByLayer has, for methods of one layer, the average precision in each of Layers. Picked is the
	// layer that is scored. LayerChosen reports whether cases with Selection chose it; otherwise it
	// is the one that a picture shows.
	Layers      []int              `json:"layers,omitempty"`
	ByLayer     map[string][]Value `json:"by_layer,omitempty"`
	Picked      map[string]int     `json:"picked,omitempty"`
	LayerChosen bool               `json:"layer_chosen,omitempty"`
	// Ablations is the number of ablations that were measured.
	Ablations int `json:"ablations,omitempty"`
	// Scores has the scores of the prompt tokens, [m], by method.
	Scores map[string][]float64 `json:"scores,omitempty"`
	// Measures are by method and name.
	Measures map[string]map[string]Value `json:"measures,omitempty"`
}

// scored reports whether the case counts: it is not for choosing layers, and its evidence is proven
// or has no changes.
func (r *Result) scored() bool { return !r.Selection && (r.Proof == nil || r.Proof.Proven()) }

// in reports whether the case belongs to a group of a report. The last of several groups, allGroup,
// has all cases.
func (r *Result) in(group string, groups []string) bool {
	return r.Group == group || len(groups) > 1 && group == groups[len(groups)-1]
}

// allGroup is the group of all cases in a report with several groups.
const allGroup = "all"

// checkGroups returns an error if one of several groups has the name of all of them.
func checkGroups(cases []Case) error {
	named := slices.IndexFunc(cases, func(c Case) bool { return c.Group == allGroup })
	other := slices.IndexFunc(cases, func(c Case) bool { return c.Group != allGroup })
	if named < 0 || other < 0 {
		return nil
	}
	return cases[named].wrap(named, len(cases), fmt.Errorf("a group is named %q, and so are all "+
		"groups together: give it another name", allGroup))
}

// Names of scores that do not depend on the text, which reports compare with the methods.
const (
	// ChanceLine is the mean of a measure over all orders of the tokens.
	ChanceLine = "chance"
	// RandomLine is random scores, a method that every report has.
	RandomLine = "random"
	// EarliestLine and LatestLine rank tokens by position: evidence that is always early, or late,
	// can be found without a method.
	EarliestLine = "earliest first"
	LatestLine   = "latest first"
)

// Lines returns the names of the scores that do not depend on the text.
func Lines() []string { return []string{RandomLine, EarliestLine, LatestLine, ChanceLine} }

// Run measures methods on cases, one after the other, those with Selection first. It returns a
// [trace.UsageError] that names the case if options or cases are invalid, an error of the
// model, or one that wraps ctx.Err(). With an error the report has the cases before it.
//
// The changes of a case are tried before it is explained, at the cost of two passes for each
// change. Methods of one layer are scored in one layer, which the cases with Selection choose: the
// one with the highest average precision over all of these cases.
func Run(ctx context.Context, m trace.Model, cases []Case, opts Options) (*Report, error) {
	if err := opts.check(); err != nil {
		return newReport(m.Info(), opts, cases, nil), err
	}
	opts.Methods, opts.References = opts.methods(m.Info()), expand(opts.References)
	if err := checkGroups(cases); err != nil {
		return newReport(m.Info(), opts, cases, nil), err
	}
	results := make([]*Result, len(cases))
	done := func() []*Result {
		return slices.DeleteFunc(slices.Clone(results), func(r *Result) bool { return r == nil })
	}
	model := m.Info().Hash
	var picked map[string]int
	measured := 0
	for _, selection := range []bool{true, false} {
		scored := map[string]int{} // by group
		for i, c := range cases {
			if c.Selection != selection {
				continue
			}
			if measured++; opts.Limit > 0 && scored[c.Group] >= opts.Limit {
				continue
			}
			r, isNew, err := opts.result(ctx, m, i, c, picked)
			if err != nil {
				err = c.wrap(i, len(cases), err)
				return newReport(m.Info(), opts, cases, done()), err
			}
			if isNew && opts.OnResult != nil {
				if err := opts.OnResult(r); err != nil {
					return newReport(m.Info(), opts, cases, done()), err
				}
			}
			results[i] = r
			if r.Proof == nil || r.Proof.Proven() {
				scored[c.Group]++
			}
			if opts.OnProgress != nil {
				at := trace.Progress{Stage: "measuring methods", Unit: "case", Done: measured}
				if at.Total = len(cases); opts.Limit > 0 {
					at.Stage += fmt.Sprintf(" (%s: %d of %d scored)", c.Group, scored[c.Group],
						opts.Limit)
				}
				opts.OnProgress(at)
			}
		}
		picked = pick(model, opts.Methods, done())
	}
	return newReport(m.Info(), opts, cases, done()), nil
}

// result returns the result of one case, from Done if it is there. isNew reports whether something
// was measured.
func (o Options) result(
	ctx context.Context, m trace.Model, i int, c Case, picked map[string]int,
) (r *Result, isNew bool, err error) {
	if r = o.Done[i]; r == nil {
		r, err = o.measure(ctx, m, i, c, picked)
		return r, true, err
	}
	if err := o.checkDone(r, c); err != nil {
		return nil, false, fmt.Errorf("its result of an earlier run is damaged: %w; remove it, or "+
			"measure again", err)
	}
	if r.Measures == nil || r.Ablations == o.Ablations {
		return r, false, nil
	}
	r.Ablations = 0
	for _, measures := range r.Measures {
		delete(measures, ldsMeasure)
		delete(measures, dropMeasure)
	}
	if o.Ablations == 0 {
		return r, false, nil
	}
	if !m.Info().Reads() {
		c.Continuation = r.Token
	}
	if c.Counterfactual != "" {
		c.Contrast = r.Foil
	}
	one := o
	one.Methods, one.References = []string{"raw"}, nil // one pass, for the tokens
	e, err := one.explain(ctx, m, c)
	if err != nil {
		return nil, false, err
	}
	return r, true, o.ablate(ctx, m, e, c, r)
}

// checkDone returns an error if a result of an earlier run cannot be one of this case: it may come
// from a file.
func (o Options) checkDone(r *Result, c Case) error {
	if r.Group != c.Group || r.Selection != c.Selection {
		return fmt.Errorf("it is of group %.60q, and the case of %.60q", r.Group, c.Group)
	}
	if !r.scored() {
		return nil
	}
	tokens := len(r.Scores[RandomLine])
	for _, name := range slices.Concat(o.Methods, []string{EarliestLine, LatestLine}) {
		if n := len(r.Scores[name]); n == 0 || n != tokens || r.Measures[name] == nil {
			return fmt.Errorf("it has %d scores and %d measures of %s, and %d scores of %s", n,
				len(r.Measures[name]), name, tokens, RandomLine)
		}
	}
	for _, j := range slices.Concat(r.Words, r.Ranked) {
		if j < 0 || j >= tokens {
			return fmt.Errorf("it ranks token %d of %d", j, tokens)
		}
	}
	for name, values := range r.ByLayer {
		if len(values) != len(r.Layers) {
			return fmt.Errorf("it has %d values of %s in %d layers", len(values), name,
				len(r.Layers))
		}
	}
	return nil
}

// methods returns the methods asked for, and random. By default they are those of the model.
func (o Options) methods(info trace.Info) []string {
	names := expand(o.Methods)
	if len(names) == 0 {
		names = attribution.DefaultMethods(info)
	}
	if !slices.Contains(names, RandomLine) {
		names = append(names, RandomLine)
	}
	return names
}

// expand returns the names with those of its methods in the place of [attribution.Classic]. An
// unknown name stays; [attribution.Explain] refuses it.
func expand(names []string) []string {
	var all []string
	for _, name := range names {
		methods, err := attribution.LookupMethods(name)
		if err != nil {
			all = append(all, name)
		}
		for _, m := range methods {
			if !slices.Contains(all, m.Name) {
				all = append(all, m.Name)
			}
		}
	}
	return all
}

// measure tries the changes of one case, explains it, and measures the result. picked has the layer
// of each method of one layer; methods without an entry use the one that a picture shows.
func (o Options) measure(
	ctx context.Context, m trace.Model, i int, c Case, picked map[string]int,
) (*Result, error) {
	r := &Result{Case: i, Group: c.Group, Model: m.Info().Hash, Selection: c.Selection}
	if c.Counterfactual != "" || len(c.Changes) > 0 {
		if err := o.prove(ctx, m, &c, r); err != nil || !r.Proof.Proven() {
			return r, err
		}
	}
	if c.Selection {
		other := func(name string) bool { return !oneLayer(name) }
		o.Methods = slices.DeleteFunc(slices.Clone(o.Methods), other)
		o.References, o.Faithful, o.Ablations = nil, false, 0
		if len(o.Methods) == 0 {
			return r, nil
		}
	}
	e, err := o.explain(ctx, m, c)
	if err != nil {
		return nil, err
	}
	r.describe(e)
	if err := o.align(e, c, r, picked); err != nil || c.Selection {
		return r, err
	}
	if err := r.addPatched(ctx); err != nil {
		return nil, err
	}
	if o.Faithful {
		if err := o.remove(ctx, m, e, r); err != nil {
			return nil, err
		}
	}
	if o.Ablations > 0 {
		if err := o.ablate(ctx, m, e, c, r); err != nil {
			return nil, err
		}
	}
	for _, reference := range o.References {
		res := e.Methods[reference]
		row := res.Row(0, res.Level(0))
		for _, name := range o.Methods {
			r.Measures[name]["correlation with "+reference] = r.correlation(r.Scores[name], row)
		}
	}
	return r, nil
}

// describe sets what was explained, and which tokens are text.
func (r *Result) describe(e *attribution.Explanation) {
	step := e.Steps[0]
	r.Token, r.Probability = step.Text, step.Probability
	r.Chosen = len(step.Alternatives) > 0 && step.Alternatives[0].ID == step.ID
	r.Words = nil
	for j, special := range e.Prompt.Special {
		if !special {
			r.Words = append(r.Words, j)
		}
	}
}

// prove tries the changes of a case and sets the proof and the token explained. For a pair it also
// sets the case's continuation and contrast to what the model chooses.
func (o Options) prove(ctx context.Context, m trace.Model, c *Case, r *Result) error {
	o.Methods, o.References = []string{"raw"}, nil // one pass, to get the token explained
	asked := *c
	if c.Counterfactual != "" {
		asked.Continuation, asked.Contrast = "", ""
	}
	e, err := o.explain(ctx, m, asked)
	if err != nil {
		return err
	}
	r.describe(e)
	x, err := o.prover(m, *c, e, 0)
	if err != nil {
		return err
	}
	if c.Counterfactual == "" {
		r.Proof, err = x.prove(ctx)
		return err
	}
	pair, err := x.provePair(ctx, o.Others)
	if err != nil {
		return err
	}
	r.Proof, r.Answered, r.Foil, r.patch = pair.proof, pair.answered, pair.foil, pair.patch
	c.Continuation, c.Contrast = e.Steps[0].Text, pair.foil
	return nil
}

// prover returns what tries the changes of a case, for one step of its explanation. The steps
// before it stay as they are.
func (o Options) prover(
	m trace.Model, c Case, e *attribution.Explanation, step int,
) (x prover, err error) {
	p, ok := m.(trace.Predictor)
	if head := m.Info().Head; !ok || head != trace.NextToken && head != trace.MaskedToken {
		return x, fmt.Errorf("the changes of a case need a model that predicts tokens of other "+
			"texts, and %s does not", m.Info().Name)
	}
	x = prover{
		model: p, c: c, prompt: e.Prompt, specials: o.Explain.Specials,
		position: position(e) + step, answer: e.Steps[step].ID, least: o.Least,
	}
	for _, s := range e.Steps[:step] {
		x.prefix = append(x.prefix, s.ID)
	}
	if o.Explain.InChat() {
		x.specials = trace.SpecialsOff // the conversation has them
	}
	if x.least == 0 {
		x.least = defaultLeast
	}
	return x, nil
}

// position returns the target whose prediction is explained.
func position(e *attribution.Explanation) int {
	if at := e.Steps[0].Position; at != nil {
		return *at
	}
	return len(e.Prompt.IDs) - 1
}

// explain computes the explanation of the case's prediction by the methods and references.
func (o Options) explain(
	ctx context.Context, m trace.Model, c Case,
) (*attribution.Explanation, error) {
	opts := o.Explain
	opts.Methods = slices.Concat(o.Methods, o.References)
	opts.AllLayers = true // they are compared
	opts.MaxTokens, opts.Continuation, opts.Contrast = 1, c.Continuation, ""
	if slices.ContainsFunc(opts.Methods, isScorer) && !o.Alone { // it is an error without any
		opts.Contrast = c.Contrast
	}
	opts.OnStep, opts.OnProgress, opts.Positions = nil, nil, nil
	opts.By, opts.Target = "", "" // tokens are ranked
	if c.Continuation != "" {
		opts.MaxTokens = 0
	}
	if !slices.ContainsFunc(opts.Methods, replaces) {
		opts.Scoring.Replacement = "" // it is that of the tokens which Faithful takes away
	}
	if m.Info().Reads() {
		opts.MaxTokens = 0
	}
	if c.Position != nil { // an error for decoders
		opts.Positions = []int{*c.Position}
	}
	e, err := attribution.Explain(ctx, m, c.Prompt, opts)
	if err != nil {
		return nil, err
	}
	if err := c.checkSpans(e.Prompt.Text); err != nil {
		return nil, err
	}
	if len(e.Steps) != 1 {
		return nil, fmt.Errorf("%d predictions are explained, want one: give a continuation of "+
			"one token, or a position for an encoder", len(e.Steps))
	}
	return e, nil
}

// replaces reports whether a method is a scorer that replaces tokens.
func replaces(name string) bool {
	m, err := attribution.LookupMethod(name)
	if err != nil || m.Scorer == "" {
		return false
	}
	s, err := scorer.Lookup(m.Scorer)
	return err == nil && s.Info().Replaces
}

// isScorer reports whether a method is a scorer.
func isScorer(name string) bool {
	m, err := attribution.LookupMethod(name)
	return err == nil && m.Scorer != ""
}

// correlation returns the rank correlation of the sizes of two rows over the words of the text; NaN
// if it is undefined.
func (r *Result) correlation(a, b []float64) Value {
	if rho, ok := Spearman(sizes(rowmath.Pick(a, r.Words)), sizes(rowmath.Pick(b, r.Words))); ok {
		return Value(rho)
	}
	return undefined
}
