package evaluate

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Case is a text and one prediction of the model to explain.
type Case struct {
	// Group is a name for similar cases; measures are summarised by group and over all cases. One
	// of several groups cannot be named "all", because all cases together are.
	Group  string `json:"group,omitempty"`
	Prompt string `json:"prompt"`
	// Continuation is the token to explain; default: the token that the model chooses. Contrast is
	// the token that scorers compare it with.
	Continuation string `json:"continuation,omitempty"`
	Contrast     string `json:"contrast,omitempty"`
	// Position is, for encoders, the token whose prediction is explained; default: the only masked
	// token, or the one where the class is read.
	Position *int `json:"position,omitempty"`
	// Evidence are the bytes [begin,end) of the prompt that are known to decide the prediction.
	Evidence [][2]int `json:"evidence,omitempty"`
	// Changes are to prove the evidence: a case is scored only if they do; see [Proof]. Without
	// changes the evidence is accepted as given.
	Changes []Change `json:"changes,omitempty"`
	// Counterfactual, if not empty, is the prompt with all of its evidence replaced by words of the
	// same kind, so that another answer is right. The case is then a pair, which is proven by what
	// the model chooses; see [Proof]. Its first token is never ranked, because models use it as a
	// sink.
	Counterfactual string `json:"counterfactual,omitempty"`
	// Answers are, for a pair, the tokens that are right after the prompt, and Foils those that are
	// right after the counterfactual. Default: Continuation and Contrast. If there are several,
	// the token that the model chooses is explained.
	Answers []string `json:"answers,omitempty"`
	Foils   []string `json:"foils,omitempty"`
	// Question are, for a pair, the bytes [begin,end) of the prompt that ask for the answer: they
	// say which of several things is wanted, and what kind of thing. Their words count as words of
	// form: they may decide, and those that do are not ranked; see [Change.Form].
	Question [][2]int `json:"question,omitempty"`
	// Selection marks a case that is used to choose the layer of methods of one layer. It is not
	// scored.
	Selection bool `json:"selection,omitempty"`
	// Source is where the case is from, such as a line of a file. Errors name it.
	Source string `json:"-"`
}

// wrap returns an error with the number of the case, how many there are, and where it is from.
func (c Case) wrap(i, cases int, err error) error {
	source := ""
	if c.Source != "" {
		source = " (" + c.Source + ")"
	}
	return fmt.Errorf("evaluate: case %d of %d%s: %w", i, cases, source, err)
}

// CheckSpans returns an error unless the evidence and the question are parts of the prompt: bytes
// [begin,end) with at least one byte, which begin and end between characters.
func (c Case) CheckSpans() error { return c.checkSpans(c.Prompt) }

// checkSpans is CheckSpans for the text whose bytes the spans are.
func (c Case) checkSpans(prompt string) error {
	for _, part := range []struct {
		name  string
		spans [][2]int
	}{{"evidence", c.Evidence}, {"question", c.Question}} {
		for i, s := range part.spans {
			if err := checkSpan(s, prompt); err != nil {
				return fmt.Errorf("%s, number %d: %w", part.name, i+1, err)
			}
		}
	}
	return nil
}

// checkSpan returns an error unless bytes [begin,end) are whole characters of the prompt.
func checkSpan(span [2]int, prompt string) error {
	begin, end := span[0], span[1]
	if begin < 0 || begin >= end || end > len(prompt) {
		return fmt.Errorf("bytes %d to %d of a prompt of %d bytes: want 0 ≤ begin < end ≤ %d",
			begin, end, len(prompt), len(prompt))
	}
	for _, at := range span {
		if at < len(prompt) && !utf8.RuneStart(prompt[at]) {
			return fmt.Errorf("bytes %d to %d of the prompt: byte %d is within a character; "+
				"count bytes, and begin and end between characters", begin, end, at)
		}
	}
	return nil
}

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
		return newReport(opts, nil), err
	}
	opts.Methods, opts.References = opts.methods(m.Info()), Expand(opts.References)
	if err := checkGroups(cases); err != nil {
		return newReport(opts, nil), err
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
				return newReport(opts, done()), err
			}
			if isNew && opts.OnResult != nil {
				if err := opts.OnResult(r); err != nil {
					return newReport(opts, done()), err
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
	return newReport(opts, done()), nil
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
	names := Expand(o.Methods)
	if len(names) == 0 {
		names = attribution.DefaultMethods(info)
	}
	if !slices.Contains(names, RandomLine) {
		names = append(names, RandomLine)
	}
	return names
}

// Expand returns the names with those of its methods in the place of [attribution.Classic]. An
// unknown name stays; [attribution.Explain] refuses it.
func Expand(names []string) []string {
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
	p, ok := m.(trace.Predictor)
	if head := m.Info().Head; !ok || head != trace.NextToken && head != trace.MaskedToken {
		return fmt.Errorf("the changes of a case need a model that predicts tokens of other texts,"+
			" and %s does not", m.Info().Name)
	}
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
	x := prover{
		model: p, c: *c, prompt: e.Prompt, specials: o.Explain.Specials,
		position: position(e), answer: e.Steps[0].ID, least: o.Least,
	}
	if o.Explain.InChat() {
		x.specials = trace.SpecialsOff // the conversation has them
	}
	if x.least == 0 {
		x.least = defaultLeast
	}
	if c.Counterfactual == "" {
		r.Proof, err = x.prove(ctx)
		return err
	}
	pair, err := x.provePair(ctx, o.Others)
	if err != nil {
		return err
	}
	r.Proof, r.Answered, r.Foil = pair.proof, pair.answered, pair.foil
	c.Continuation, c.Contrast = e.Steps[0].Text, pair.foil
	return nil
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

// align sets the scores of every method, in the picked layer for methods of one layer, and compares
// them with the evidence if there is any.
func (o Options) align(e *attribution.Explanation, c Case, r *Result, picked map[string]int) error {
	cue, err := r.cues(e.Prompt, c, o.skipsFirst(c))
	if err != nil {
		return err
	}
	r.Scores, r.Measures = map[string][]float64{}, map[string]map[string]Value{}
	for _, name := range o.Methods {
		res := e.Methods[name]
		level := res.Level(0)
		if oneLayer(name) {
			level = r.pickLevel(name, res, picked)
			if cue != nil {
				r.alignLayers(name, res, cue, o.Ties)
			}
		}
		r.Scores[name], r.Measures[name] = res.Row(0, level), map[string]Value{}
	}
	if c.Selection {
		r.Scores, r.Measures = nil, nil
		return nil
	}
	r.addPositions(len(e.Prompt.IDs))
	if cue == nil {
		return nil
	}
	n := 0
	for _, is := range cue {
		if is {
			n++
		}
	}
	for name, scores := range r.Scores {
		cues := Align(tied(sizes(at(scores, r.Ranked)), o.Ties), cue)
		if name == EarliestLine || name == LatestLine {
			cues.Dot = undefined // ranks are no shares
		}
		cues.addTo(r.Measures[name])
		if c.Counterfactual != "" {
			positions := name == EarliestLine || name == LatestLine // ranks are no shares
			point(at(scores, r.Ranked), cue, topTokens).addTo(r.Measures[name], !positions)
		}
	}
	r.Measures[ChanceLine] = map[string]Value{}
	Chance(len(cue), n).addTo(r.Measures[ChanceLine])
	if c.Counterfactual != "" {
		point(make([]float64, len(cue)), cue, topTokens).addTo(r.Measures[ChanceLine], false)
	}
	return nil
}

// isScorer reports whether a method is a scorer.
func isScorer(name string) bool {
	m, err := attribution.LookupMethod(name)
	return err == nil && m.Scorer != ""
}

// skipsFirst reports whether the first token of a case, which models use as a sink, is not ranked
// unless it is evidence. That of a pair is none; see [prover.checkPair].
func (o Options) skipsFirst(c Case) bool { return o.SkipFirst || c.Counterfactual != "" }

// cues sets which tokens are ranked, and returns for each whether it is evidence; nil without
// evidence.
func (r *Result) cues(p attribution.Prompt, c Case, skipFirst bool) ([]bool, error) {
	var form [][2]int
	if r.Proof != nil {
		form = r.Proof.deciding()
	}
	touches := func(j int, spans [][2]int) bool {
		return slices.ContainsFunc(spans, func(s [2]int) bool { return overlaps(p.Offsets[j], s) })
	}
	var cue []bool
	for _, j := range r.Words {
		is := touches(j, c.Evidence)
		if j == 0 && skipFirst && !is {
			continue
		}
		if is || !touches(j, form) {
			r.Ranked, cue = append(r.Ranked, j), append(cue, is)
		}
	}
	if len(c.Evidence) == 0 {
		return nil, nil
	}
	if !slices.Contains(cue, true) {
		return nil, fmt.Errorf("no token of the prompt lies in the evidence %v", c.Evidence)
	}
	return cue, nil
}

// pickLevel sets which layer of a method is scored, and returns its level.
func (r *Result) pickLevel(name string, res *attribution.Result, picked map[string]int) int {
	level := res.Level(0)
	if layer, ok := picked[name]; ok {
		if k := slices.Index(res.Layers, layer); k >= 0 {
			level, r.LayerChosen = k, true
		}
	}
	if r.Picked == nil {
		r.Picked = map[string]int{}
	}
	r.Picked[name], r.Layers = res.Layers[level], res.Layers
	return level
}

// alignLayers compares every layer of a method with the evidence.
func (r *Result) alignLayers(name string, res *attribution.Result, cue []bool, ties float64) {
	if r.ByLayer == nil {
		r.ByLayer = map[string][]Value{}
	}
	for k := range res.Layers {
		cues := Align(tied(sizes(at(res.Row(0, k), r.Ranked)), ties), cue)
		r.ByLayer[name] = append(r.ByLayer[name], Value(cues.AveragePrecision))
	}
}

// addPositions adds the two scores that rank n tokens by position.
func (r *Result) addPositions(n int) {
	early, late := make([]float64, n), make([]float64, n)
	for j := range n {
		early[j], late[j] = float64(n-j), float64(j+1)
	}
	r.Scores[EarliestLine], r.Scores[LatestLine] = early, late
	r.Measures[EarliestLine], r.Measures[LatestLine] = map[string]Value{}, map[string]Value{}
}

// at returns the scores of the given tokens.
func at(scores []float64, tokens []int) []float64 {
	out := make([]float64, len(tokens))
	for i, j := range tokens {
		out[i] = scores[j]
	}
	return out
}

// tied returns scores in which neighbours in falling order are equal if they differ by at most part
// times the largest score. Scores must not be negative.
func tied(scores []float64, part float64) []float64 {
	out := slices.Clone(scores)
	all := make([]int, len(scores))
	for j := range all {
		all[j] = j
	}
	order := falling(scores, all)
	for k, j := range order[1:] {
		if before := order[k]; scores[before]-scores[j] <= part*scores[order[0]] {
			out[j] = out[before]
		}
	}
	return out
}

// addTo adds the measures to m by their names.
func (c Cues) addTo(m map[string]Value) {
	m["average precision"], m["reciprocal rank"] = Value(c.AveragePrecision), Value(
		c.ReciprocalRank)
	m["rank"], m["share on evidence"] = Value(c.Rank), c.Dot
}

// textOnly is a [Remover] that never removes control tokens.
type textOnly struct {
	Remover
	words []int
}

func (t textOnly) Removable() []int {
	other := func(j int) bool { return !slices.Contains(t.words, j) }
	return slices.DeleteFunc(t.Remover.Removable(), other)
}

// remove measures what happens to the prediction when tokens are removed in the order of every
// method's ranking.
func (o Options) remove(
	ctx context.Context, m trace.Model, e *attribution.Explanation, r *Result,
) error {
	q := trace.Query{IDs: e.Prompt.IDs, Types: e.Prompt.Types}
	q.Position, q.Token = position(e), e.Steps[0].ID
	removal, err := scorer.NewRemoval(ctx, m, q, o.Scoring)
	if err != nil {
		return err
	}
	text := textOnly{removal, r.Words}
	names := slices.Concat(o.Methods, []string{EarliestLine, LatestLine})
	for _, name := range names {
		f, err := Faithful(ctx, text, r.Scores[name], o.Draws)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if o.Beam > 0 {
			if _, err := f.Normalize(ctx, text, o.Beam); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		f.addTo(r.Measures[name], o)
	}
	if r.Proof == nil {
		return nil
	}
	return o.flip(ctx, m, q, r, names)
}

// ablate measures how well the scores of every method predict what random ablations do. Like
// control tokens, a first token that is not ranked is never removed.
func (o Options) ablate(
	ctx context.Context, m trace.Model, e *attribution.Explanation, c Case, r *Result,
) error {
	q := trace.Query{IDs: e.Prompt.IDs, Types: e.Prompt.Types}
	q.Position, q.Token = position(e), e.Steps[0].ID
	opts := o.Scoring
	opts.Quantity = trace.Probability
	removal, err := scorer.NewRemoval(ctx, m, q, opts)
	if err != nil {
		return err
	}
	tokens := slices.DeleteFunc(textOnly{removal, r.Words}.Removable(), func(j int) bool {
		return j == 0 && o.skipsFirst(c) && !slices.Contains(r.Ranked, 0)
	})
	a, err := newAblations(ctx, removal, tokens, o.Ablations, opts.Seed+uint64(r.Case))
	if err != nil {
		return err
	}
	r.Ablations = o.Ablations
	for _, name := range slices.Concat(o.Methods, []string{EarliestLine, LatestLine}) {
		r.Measures[name][ldsMeasure] = undefined
		if lds, ok := a.LDS(r.Scores[name]); ok {
			r.Measures[name][ldsMeasure] = Value(lds)
		}
		drop, err := a.Drop(ctx, r.Scores[name], tokens, topTokens)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.Measures[name][dropMeasure] = Value(drop)
	}
	return nil
}

// addTo adds the measures to m by their names.
func (f *Faithfulness) addTo(m map[string]Value, o Options) {
	m["AOPC"], m["comprehensiveness"], m["sufficiency"] = Value(f.AOPC), Value(
		f.Comprehensiveness), Value(f.Sufficiency)
	m["normalised comprehensiveness"] = f.NormalizedComprehensiveness
	m["normalised sufficiency"] = f.NormalizedSufficiency
	m["deletion area"], m["insertion area"] = Value(f.DeletionArea), Value(f.InsertionArea)
	if o.Draws > 0 {
		m["soft comprehensiveness"] = f.SoftComprehensiveness
		m["soft sufficiency"] = f.SoftSufficiency
	}
	if o.Beam > 0 {
		m["NAOPC"] = f.NAOPC
	}
}

// correlation returns the rank correlation of the sizes of two rows over the words of the text; NaN
// if it is undefined.
func (r *Result) correlation(a, b []float64) Value {
	if rho, ok := Spearman(sizes(at(a, r.Words)), sizes(at(b, r.Words))); ok {
		return Value(rho)
	}
	return undefined
}
