package evaluate

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Case is a text and one prediction of it.
type Case struct {
	// Group is what the case is an example of; measures are summarised by group and over all.
	Group  string `json:"group,omitempty"`
	Prompt string `json:"prompt"`
	// Continuation is the token that is explained; default: what the model chooses. Contrast is what scorers compare it with.
	Continuation string `json:"continuation,omitempty"`
	Contrast     string `json:"contrast,omitempty"`
	// Position, of an encoder, is the token whose prediction is explained; default: the only masked one, or where the class is read.
	Position *int `json:"position,omitempty"`
	// Evidence are the bytes [begin,end) of the prompt that are known to decide the prediction.
	Evidence [][2]int `json:"evidence,omitempty"`
}

// Options says what to measure. The zero value measures the default methods against the evidence of each case.
type Options struct {
	// Methods are names of methods. Default: [attribution.DefaultMethods]. The scorer random is measured beside them.
	Methods []string
	// Explain are the options of every explanation; what says what to explain or generate is set by each case.
	Explain attribution.Options
	// Faithful takes tokens away, as Scoring says; Draws > 0 measures the soft forms, too, and Beam > 0 NAOPC.
	Faithful    bool
	Draws, Beam int
	Scoring     attribution.Scoring
	// Ties is how near two scores must be, as a part of the largest, to count as equal where they are compared with evidence, because
	// rounding is no ranking. Default 0: only equal ones do.
	Ties float64
	// References are methods that the size of every method's scores is correlated with, such as occlusion.
	References []string
	// Done are results of an earlier run of the same cases and options, by index of the case: they are not computed again.
	Done map[int]*Result
	// OnResult is called after every case with what is new; OnProgress is told how far the run is.
	OnResult   func(*Result) error
	OnProgress func(trace.Progress)
}

// Result is what was measured of one case.
type Result struct {
	Case  int    `json:"case"`
	Group string `json:"group,omitempty"`
	// Token is what was explained and Probability the model's own; Chosen is whether the model would have chosen it.
	Token       string  `json:"token"`
	Probability float64 `json:"probability"`
	Chosen      bool    `json:"chosen"`
	// Scores are the prompt's, [m], by method.
	Scores map[string][]float64 `json:"scores"`
	// Measures are by method and name; see [Measures].
	Measures map[string]map[string]Value `json:"measures"`
}

// Chance is the name of the line that has what scores without any knowledge get, beside the methods.
const ChanceLine = "chance"

// RandomLine is the method that every report has: random scores.
const RandomLine = "random"

// Run measures methods on cases, one after the other. It returns a [attribution.UsageError] for options and cases that are wrong, naming the
// case, an error of the model, and one that wraps ctx.Err(); the report then has the cases before it.
func Run(ctx context.Context, m attribution.Model, cases []Case, opts Options) (*Report, error) {
	opts.Methods = opts.methods()
	var results []*Result
	for i, c := range cases {
		r := opts.Done[i]
		if r == nil {
			var err error
			if r, err = opts.measure(ctx, m, i, c); err != nil {
				return newReport(opts, results), fmt.Errorf("evaluate: case %d of %d: %w", i, len(cases), err)
			}
			if opts.OnResult != nil {
				if err := opts.OnResult(r); err != nil {
					return newReport(opts, results), err
				}
			}
		}
		results = append(results, r)
		if opts.OnProgress != nil {
			opts.OnProgress(trace.Progress{Stage: "measuring methods", Unit: "case", Done: i + 1, Total: len(cases)})
		}
	}
	return newReport(opts, results), nil
}

// methods returns the methods asked for with the random line.
func (o Options) methods() []string {
	names := slices.Clone(o.Methods)
	if len(names) == 0 {
		names = attribution.DefaultMethods()
	}
	if !slices.Contains(names, RandomLine) {
		names = append(names, RandomLine)
	}
	return names
}

// measure explains one case by every method and measures the result.
func (o Options) measure(ctx context.Context, m attribution.Model, i int, c Case) (*Result, error) {
	e, err := o.explain(ctx, m, c)
	if err != nil {
		return nil, err
	}
	step := e.Steps[0]
	r := &Result{
		Case: i, Group: c.Group, Token: step.Text, Probability: step.Probability, Scores: map[string][]float64{}, Measures: map[string]map[string]Value{},
	}
	r.Chosen = len(step.Alternatives) > 0 && step.Alternatives[0].ID == step.ID
	for _, name := range o.Methods {
		res := e.Methods[name]
		r.Scores[name] = res.Row(0, res.Top())
		r.Measures[name] = map[string]Value{}
	}
	if err := r.align(e.Prompt, c, o.Ties); err != nil {
		return nil, err
	}
	if o.Faithful {
		if err := o.remove(ctx, m, e, r); err != nil {
			return nil, err
		}
	}
	for _, reference := range o.References {
		for _, name := range o.Methods {
			r.Measures[name]["correlation with "+reference] = correlation(r.Scores[name], e.Methods[reference])
		}
	}
	return r, nil
}

// explain explains the case's prediction by the methods and references.
func (o Options) explain(ctx context.Context, m attribution.Model, c Case) (*attribution.Explanation, error) {
	opts := o.Explain
	opts.Methods = slices.Concat(o.Methods, o.References)
	opts.MaxTokens, opts.Continuation, opts.Contrast = 1, c.Continuation, c.Contrast
	opts.OnStep, opts.OnProgress, opts.Positions = nil, nil, nil
	if c.Continuation != "" {
		opts.MaxTokens = 0
	}
	if !slices.ContainsFunc(opts.Methods, replaces) {
		opts.Scoring.Replacement = "" // it is that of the tokens which Faithful takes away
	}
	if m.Info().Bidirectional {
		opts.MaxTokens = 0
		if c.Position != nil {
			opts.Positions = []int{*c.Position}
		}
	}
	e, err := attribution.Explain(ctx, m, c.Prompt, opts)
	if err != nil {
		return nil, err
	}
	if len(e.Steps) != 1 {
		return nil, fmt.Errorf("%d predictions are explained, want one: give a continuation of one token, or the position of an encoder", len(e.Steps))
	}
	return e, nil
}

// replaces is whether a method of that name replaces tokens.
func replaces(name string) bool {
	m, err := attribution.LookupMethod(name)
	if err != nil || m.Scorer == "" {
		return false
	}
	s, err := attribution.LookupScorer(m.Scorer)
	return err == nil && s.Info().Replaces
}

// align compares every method's scores with the evidence, if there is any.
func (r *Result) align(p attribution.Prompt, c Case, ties float64) error {
	if len(c.Evidence) == 0 {
		return nil
	}
	cue, n := make([]bool, len(p.IDs)), 0
	for j, o := range p.Offsets {
		for _, e := range c.Evidence {
			if o[0] < e[1] && e[0] < o[1] && !cue[j] {
				cue[j], n = true, n+1
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("no token of the prompt lies in the evidence %v", c.Evidence)
	}
	for name, scores := range r.Scores {
		Align(tied(sizes(scores), ties), cue).addTo(r.Measures[name])
	}
	r.Measures[ChanceLine] = map[string]Value{}
	Chance(len(cue), n).addTo(r.Measures[ChanceLine])
	return nil
}

// tied returns scores, none negative, with those made equal that follow one another in falling order by no more than a part of the largest.
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

// addTo adds the measures by name.
func (c Cues) addTo(m map[string]Value) {
	m["average precision"], m["reciprocal rank"] = Value(c.AveragePrecision), Value(c.ReciprocalRank)
	m["rank"], m["share on evidence"] = Value(c.Rank), c.Dot
}

// remove takes tokens away by every method's ranking.
func (o Options) remove(ctx context.Context, m attribution.Model, e *attribution.Explanation, r *Result) error {
	step := e.Steps[0]
	position := len(e.Prompt.IDs) - 1
	if step.Position != nil {
		position = *step.Position
	}
	text, err := attribution.NewRemoval(ctx, m, trace.Query{IDs: e.Prompt.IDs, Objective: trace.Objective{Position: position, Token: step.ID}}, o.Scoring)
	if err != nil {
		return err
	}
	for _, name := range o.Methods {
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
	return nil
}

// addTo adds the measures by name.
func (f *Faithfulness) addTo(m map[string]Value, o Options) {
	m["AOPC"], m["comprehensiveness"], m["sufficiency"] = Value(f.AOPC), Value(f.Comprehensiveness), Value(f.Sufficiency)
	m["normalised comprehensiveness"], m["normalised sufficiency"] = f.NormalizedComprehensiveness, f.NormalizedSufficiency
	m["deletion area"], m["insertion area"] = Value(f.DeletionArea), Value(f.InsertionArea)
	if o.Draws > 0 {
		m["soft comprehensiveness"], m["soft sufficiency"] = f.SoftComprehensiveness, f.SoftSufficiency
	}
	if o.Beam > 0 {
		m["NAOPC"] = f.NAOPC
	}
}

// correlation returns the rank correlation of the sizes of scores with a reference's.
func correlation(scores []float64, reference *attribution.Result) Value {
	if rho, ok := Spearman(sizes(scores), sizes(reference.Row(0, reference.Top()))); ok {
		return Value(rho)
	}
	return nothing
}
