package sources

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Explain returns how much each source of a context counts for an answer, or a part of it. f is the
// log-probability of the target's tokens after the prompt and the tokens of the answer before
// them, their sum over the target:
//
//	ln p(v) = Σ_t ln p(y_t | prompt with the sources of v, y_<t),  v_i = 1 if source i stays
//
// Leave-one-out is ln p(1) - ln p(1 without i), in nats. If there are more sources than
// [Options.Passes], paragraphs are taken out first, or groups of adjacent ones, and then the parts
// of the group with the highest score, until the passes are used up.
//
// ContextCite (Cohen-Wang et al. 2024, §3) draws ablations v, each source kept with probability ½,
// and fits a linear model of the log-odds by a lasso:
//
//	f(v) = σ⁻¹(p(v)) = ln p(v) - ln(1 - p(v))
//	ŵ, b̂ = argmin 1/(2n) Σ_i (f(v_i) - ⟨w, v_i⟩ - b)² + λ‖w‖₁
//
// The scores are ŵ, in log-odds. As in its code, and not in the paper, f is divided by the number
// of tokens of the target and the columns of v are standardised before the fit, and both are undone
// after it; see [Lasso]. p above 1 - 1e-7 counts as that.
//
// It costs one text for each ablation, held-out ablation, and source or group left out, and one for
// each drop; [Result.Passes] counts them. It returns a [trace.UsageError] for a question that
// cannot be asked of the model, otherwise an error of the model, which wraps ctx.Err() if ctx is
// done.
func Explain(ctx context.Context, m trace.Model, q Question, opts Options) (*Result, error) {
	opts, err := opts.WithDefaults()
	if err != nil {
		return nil, err
	}
	r, err := newRun(m, q, opts)
	if err != nil {
		return nil, err
	}
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	return r.result, nil
}

// run is the state of Explain.
type run struct {
	m      trace.ContinuationPredictor
	q      Question
	opts   Options
	result *Result
	// ids are the tokens of the answer up to the end of the target.
	ids []int
	// fit and heldOut are the ablations, and their log-odds.
	fit, heldOut         [][]bool
	fitOdds, heldOutOdds []float64
}

// newRun checks the question and describes it in the result.
func newRun(m trace.Model, q Question, opts Options) (*run, error) {
	p, err := predictor(m)
	if err != nil {
		return nil, err
	}
	if q.Context != nil && q.Names != nil && len(q.Names) != len(q.Context.Documents) {
		return nil, trace.Usagef("%d names for %d documents", len(q.Names),
			len(q.Context.Documents))
	}
	if q.Context == nil || q.Prompt == nil || len(q.Answer.Tokens) == 0 {
		return nil, trace.Usagef("a question of sources needs a context, a prompt and an answer")
	}
	tokens := q.Answer.Tokens
	if q.Target == ([2]int{}) {
		q.Target = [2]int{0, len(tokens)}
	}
	first, end := q.Target[0], q.Target[1]
	if first < 0 || first >= end || end > len(tokens) {
		return nil, trace.Usagef("target tokens %d to %d; the answer has tokens 0 to %d, and the "+
			"target at least one", first, end, len(tokens))
	}
	r := &run{m: p, q: q, opts: opts, ids: trace.IDs(tokens[:end])}
	r.result = &Result{
		Model: m.Info(), Documents: q.Context.Documents, Names: q.Names, Sources: q.Context.Sources,
		Answer: q.Answer.Text, TargetTokens: q.Target,
		Target: strings.TrimSpace(q.Answer.Text[tokens[first].Begin:tokens[end-1].End]),
		Seed:   opts.Seed, HeldOut: opts.HeldOut, Penalty: *opts.Penalty, Warnings: []string{},
	}
	for _, t := range tokens {
		r.result.AnswerTokens = append(r.result.AnswerTokens, t.Text)
	}
	if r.result.Prompt, err = q.Prompt(q.Context.Text(r.all())); err != nil {
		return nil, err
	}
	prompt, err := m.Encode(r.result.Prompt, q.Specials)
	if err != nil {
		return nil, pkg.Errorf("prompt: %w", err)
	}
	if len(r.ids)-1 > m.Info().Room(trace.IDs(prompt)) {
		return nil, tooLong(m, len(prompt), len(r.ids))
	}
	// What is asked first, and the shortest prompt of all: some models need a token to begin with.
	bare, err := q.Prompt(q.Context.Text(q.Context.without(0, len(r.result.Sources))))
	if err != nil {
		return nil, err
	}
	if _, err := m.Encode(bare, q.Specials); err != nil {
		return nil, trace.Usagef("the prompt without any source, %s, cannot be asked of %s (%v); "+
			"put some text around the documents, such as a question", message.Quote(bare),
			m.Info().Name, err)
	}
	r.warn(m)
	return r, nil
}

// warn adds what a reader should know before the scores.
func (r *run) warn(m trace.Model) {
	limited, ok := m.(trace.Limited)
	if !ok {
		return
	}
	words := limited.UnknownWords(r.result.Prompt)
	if len(words) == 0 {
		return
	}
	more := ""
	if len(words) > 1 {
		more = fmt.Sprintf(" and %s more", message.Count(len(words)-1, "word"))
	}
	r.result.Warnings = append(r.result.Warnings, fmt.Sprintf("The model never saw %s%s.",
		message.Quote(words[0]), more))
}

// all keeps every source.
func (r *run) all() []bool { return r.q.Context.without(0, 0) }

// run asks for the texts that do not depend on results, and then for those that do.
func (r *run) run(ctx context.Context) error {
	seed := rand.NewPCG(r.opts.Seed, uint64(len(r.result.Sources)))
	random := rand.New(seed) //nolint:gosec // the user gives the seed
	r.fit = r.ablations(random, r.opts.Ablations)
	r.heldOut = r.ablations(random, r.opts.HeldOut)
	if !slices.Contains(r.opts.Methods, ContextCite) {
		r.fit = nil
	}
	r.result.Ablations = len(r.fit)
	n := len(r.result.Sources)
	first := [][]bool{r.all(), r.q.Context.without(0, n)}
	values, err := r.logProbabilities(ctx, "asking without random sources", slices.Concat(first,
		r.fit, r.heldOut))
	if err != nil {
		return err
	}
	r.result.LogProbability, r.result.WithoutSources = values[0], values[1]
	for i, lnP := range values[2:] {
		if i < len(r.fit) {
			r.fitOdds = append(r.fitOdds, logOdds(lnP))
		} else {
			r.heldOutOdds = append(r.heldOutOdds, logOdds(lnP))
		}
	}
	for _, method := range r.opts.Methods {
		var s *Scores
		if method == ContextCite {
			s, err = r.surrogate(ctx)
		} else {
			s, err = r.leaveOneOut(ctx)
		}
		if err != nil {
			return err
		}
		s.Method = method
		r.result.Methods = append(r.result.Methods, *s)
	}
	return r.measure(ctx)
}

// ablations draws n sets of sources, each source kept with probability ½.
func (r *run) ablations(random *rand.Rand, n int) [][]bool {
	sets := make([][]bool, n)
	for i := range sets {
		sets[i] = make([]bool, len(r.result.Sources))
		for j := range sets[i] {
			sets[i][j] = random.IntN(2) == 0
		}
	}
	return sets
}

// logProbabilities returns ln p of the target for each set of sources that stay, in nats.
func (r *run) logProbabilities(ctx context.Context, stage string, sets [][]bool) (
	[]float64, error,
) {
	prompts := make([][]int, len(sets))
	for i, keep := range sets {
		if err := ctx.Err(); err != nil {
			return nil, pkg.Errorf("stopped: %w", err)
		}
		text, err := r.q.Prompt(r.q.Context.Text(keep))
		if err != nil {
			return nil, err
		}
		tokens, err := r.m.Encode(text, r.q.Specials)
		if err != nil {
			return nil, pkg.Errorf("prompt: %w", err)
		}
		prompts[i] = trace.IDs(tokens)
	}
	done := func(n int) {
		if r.opts.OnProgress != nil {
			r.opts.OnProgress(trace.Progress{
				Stage: stage, Unit: "text", Done: n, Total: len(prompts),
			})
		}
	}
	got, err := r.m.PredictContinuation(ctx, prompts, r.ids, done)
	if err != nil {
		return nil, err
	}
	r.result.Passes += len(prompts)
	r.result.TokensRead += got.Read
	r.result.TokensWhole += got.Whole
	return r.sums(got, len(sets))
}

// sums returns for each prompt the sum over the tokens of the target.
func (r *run) sums(got *trace.Continuations, prompts int) ([]float64, error) {
	if len(got.LogProbabilities) != prompts {
		return nil, pkg.Errorf("the model returned log-probabilities after "+
			"%d prompts, want %d", len(got.LogProbabilities), prompts)
	}
	sums := make([]float64, prompts)
	for i, row := range got.LogProbabilities {
		if len(row) != len(r.ids) {
			return nil, pkg.Errorf("the model returned %d log-probabilities "+
				"for %d tokens", len(row), len(r.ids))
		}
		sums[i] = rowmath.Total(row[r.q.Target[0]:])
		if math.IsNaN(sums[i]) || math.IsInf(sums[i], 0) {
			return nil, pkg.Errorf("the model returned the log-probability "+
				"%v after prompt %d of %d", sums[i], i, prompts)
		}
	}
	return sums, nil
}

// surrogate fits ContextCite's linear model.
func (r *run) surrogate(ctx context.Context) (*Scores, error) {
	tokens := float64(len(r.ids) - r.q.Target[0])
	x, y := make([][]float64, len(r.fit)), make([]float64, len(r.fit))
	for i, keep := range r.fit {
		for _, is := range keep {
			v := 0.0
			if is {
				v = 1
			}
			x[i] = append(x[i], v)
		}
		y[i] = r.fitOdds[i] / tokens
	}
	w, b, err := Lasso(ctx, x, y, *r.opts.Penalty)
	if err != nil {
		return nil, pkg.Errorf("stopped while fitting: %w", err)
	}
	s := &Scores{Unit: "change of the log-odds", Passes: len(r.fit)}
	for _, v := range w {
		s.Values = append(s.Values, evaluate.Value(v*tokens))
	}
	b *= tokens
	s.Intercept = &b
	return s, nil
}

// measure sets the measures of every method. The texts of all drops are asked for at once.
func (r *run) measure(ctx context.Context) error {
	var sets [][]bool
	for i := range r.result.Methods {
		s := &r.result.Methods[i]
		s.LDS = r.lds(s)
		order := s.Strongest()
		for _, k := range dropsOf(len(order)) {
			keep := r.all()
			for _, j := range order[:k] {
				keep[j] = false
			}
			sets = append(sets, keep)
			s.Drops = append(s.Drops, Drop{K: k})
		}
	}
	values, err := r.logProbabilities(ctx, "asking without the strongest sources", sets)
	if err != nil {
		return err
	}
	for i := range r.result.Methods {
		for j := range r.result.Methods[i].Drops {
			r.result.Methods[i].Drops[j].Nats = r.result.LogProbability - values[0]
			values = values[1:]
		}
	}
	return nil
}

// dropsOf returns how many of n sources are taken out to measure a method: 1, 3 and 5, as far as
// one is left.
func dropsOf(n int) []int {
	return slices.DeleteFunc([]int{1, 3, 5}, func(k int) bool { return k >= n })
}

// lds returns the linear datamodeling score of a method; see [Scores].
func (r *run) lds(s *Scores) evaluate.Value {
	scores := s.spread()
	predicted := make([]float64, len(r.heldOut))
	for i, keep := range r.heldOut {
		for j, is := range keep {
			if is {
				predicted[i] += scores[j]
			}
		}
	}
	rho, ok := evaluate.Spearman(predicted, r.heldOutOdds)
	if !ok {
		return evaluate.Value(math.NaN())
	}
	return evaluate.Value(rho)
}

// spread returns a score for each source: that of a source without one is its part of the smallest
// group around it.
func (s *Scores) spread() []float64 {
	out := make([]float64, len(s.Values))
	size := make([]int, len(out)) // of the group that gave the score
	for i, v := range s.Values {
		out[i] = float64(v)
		if math.IsNaN(out[i]) {
			size[i] = math.MaxInt
		}
	}
	for _, g := range s.Groups {
		for i := g.First; i < g.End; i++ {
			if n := g.End - g.First; n < size[i] {
				out[i], size[i] = g.Value/float64(n), n
			}
		}
	}
	return out
}

// Strongest returns all sources, the one with the highest score first; of equal ones the earlier
// first. A source without a score of its own counts with its part of the score of the smallest
// group around it, as for the LDS.
func (s *Scores) Strongest() []int {
	scores := s.spread()
	for i := range scores {
		if math.IsNaN(scores[i]) { // nothing is known of it
			scores[i] = math.Inf(-1)
		}
	}
	return rowmath.Falling(scores, nil)
}

// Ranked returns the sources that have a score of their own, the highest first; of equal ones the
// earlier first.
func (s *Scores) Ranked() []int {
	return slices.DeleteFunc(s.Strongest(), func(i int) bool {
		return math.IsNaN(float64(s.Values[i]))
	})
}

// Together returns the groups whose sources were never left out in smaller parts, the highest score
// first; of equal ones the earlier first.
func (s *Scores) Together() []Group {
	whole := slices.DeleteFunc(slices.Clone(s.Groups), func(g Group) bool {
		for _, v := range s.Values[g.First:g.End] {
			if !math.IsNaN(float64(v)) {
				return true
			}
		}
		return slices.ContainsFunc(s.Groups, func(part Group) bool {
			return part.First >= g.First && part.End <= g.End &&
				part.End-part.First < g.End-g.First
		})
	})
	slices.SortStableFunc(whole, func(a, b Group) int { return cmp.Compare(b.Value, a.Value) })
	return whole
}
