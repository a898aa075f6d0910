package attribution

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/budget"
)

// longText is the number of tokens up to which the rows of all targets are always stored: they then
// take little memory, and results stay what they were, bit for bit. Tests lower it.
var longText = 1024

// exactFlow is the number of tokens up to which flow is exact where the rows fit: with 4 layers,
// 4,096 tokens take half a minute of processor time for each explained token, twice as many about
// ten times that, and bounds 3 seconds.
var exactFlow = 4096

// chooseVectors decides for a text of T = m+n tokens whether the rows of all targets are stored, or
// whether the model computes them again for each of n explained tokens and multiplies vectors by
// them; see [trace.Product]. The first takes memory that grows with T², and for rollout L·T³/6
// multiplications. The second takes memory that grows with T, and n times the rows. It chooses
// vectors where they cost less, and where the rows would not fit. Flow has only bounds by vectors,
// so it takes them only where the rows would not fit, or for more than [exactFlow] tokens.
func (p *plan) chooseVectors(model trace.Model, m, n int) {
	able, ok := model.(trace.Multiplier)
	if !ok || !able.Multiplies() || p.prefix > 0 || m+n <= longText ||
		p.opts.Edits != nil {
		return
	}
	info := model.Info()
	for _, j := range p.jobs {
		stored, vectors := j.costs(info, m+n, n)
		pays := vectors < stored
		if j.bounded() {
			pays = m+n > exactFlow
		}
		j.vectors = pays && j.takesVectors(p.opts)
	}
	p.dropRows()
	if p.rowsFit(model, m, n) {
		return
	}
	for _, j := range p.jobs {
		j.vectors = j.takesVectors(p.opts)
	}
	for i, pm := range p.methods {
		if _, ok := pm.live.(scorer.LiveByProducts); ok && pm.ask >= 0 {
			p.methods[i].vectors = true
			delete(p.histories, pm.ask)
		}
	}
	p.dropRows()
}

// promptSized is a model that knows how many bytes the reading of a prompt takes, rows included. It
// refuses a prompt that needs more than its budget.
type promptSized interface {
	PromptBytes(n int, ask trace.Ask) int64
}

// rowsFit reports whether the memory is enough for what the plan asks for now, with n tokens after
// a prompt of m: for what the methods keep, and for what the model needs while it reads the prompt.
func (p *plan) rowsFit(model trace.Model, m, n int) bool {
	need := p.bytes(m, n)
	if sized, ok := model.(promptSized); ok {
		ask := trace.Ask{Mixings: p.asks, MaxTokens: n}
		if p.needsTerms() {
			ask.Terms = &trace.TermsAsk{Rows: p.lateAsks}
		}
		need = max(need, float64(sized.PromptBytes(m, ask)))
	}
	return budget.Check(model, need, "", "") == nil
}

// takesVectors reports whether the job can be computed by vectors: the aggregation has to know how,
// and rows must need nothing but a residual.
func (j *job) takesVectors(opts Options) bool {
	a, err := aggregation.Lookup(j.aggregation)
	if err != nil {
		return false
	}
	_, ok := a.(aggregation.Vectors)
	if j.bounded() {
		ok = j.cfg.TopOnly && j.uniform == nil
	}
	plain := j.rule == aggregation.Normalization{Residual: j.rule.Residual, Scaled: j.rule.Scaled}
	mixing, err := LookupMixing(j.mixing)
	return ok && plain && err == nil && !(mixing.Distance && opts.Threshold != 0)
}

// bounded reports whether vectors give bounds of the job's result and not the result.
func (j *job) bounded() bool {
	a, err := aggregation.Lookup(j.aggregation)
	_, ok := a.(aggregation.Bounds)
	return err == nil && ok
}

// costs returns about how many multiplications the job takes for n of T tokens if rows are stored,
// and if vectors are multiplied.
func (j *job) costs(info trace.Info, T, n int) (stored, vectors float64) {
	L, pairs := float64(j.cfg.Layers), float64(T)*float64(T)/2
	// A pair of target and source: queries times keys, and about as much as 16 products for the
	// softmax of each head.
	row := float64(info.Width + 16*info.Heads)
	// Products of vectors with stored rows wait for memory; tiles of rows stay in a cache.
	const waits = 3
	stored = waits * L * pairs * (float64(T)/3 + float64(n))
	if j.mixing != "attention" {
		row *= 10 // arrays of the width of the model for every pair
		stored += L * pairs * row
	}
	return stored, float64(n) * L * pairs * (row + float64(j.cfg.Levels()))
}

// dropRows asks for the rows of all targets only where a job or a scorer stores them.
func (p *plan) dropRows() {
	needed := make([]bool, len(p.asks))
	for _, j := range p.jobs {
		a, _ := aggregation.Lookup(j.aggregation) // newPlan has found it
		if j.vectors || !a.Info().AllRows {
			continue
		}
		for _, ask := range []int{j.ask, j.head} {
			if ask >= 0 {
				needed[ask] = true
			}
		}
	}
	for ask := range p.histories {
		needed[ask] = true
	}
	for i := range p.asks {
		p.asks[i].AllRows = p.asks[i].AllRows && needed[i]
	}
}

// usesVectors reports whether a job or a scorer multiplies vectors.
func (p *plan) usesVectors() bool {
	return slices.ContainsFunc(p.jobs, func(j *job) bool { return j.vectors }) ||
		slices.ContainsFunc(p.methods, func(m planned) bool { return m.vectors })
}

// extendVectors computes the jobs that multiply vectors for the last token of a step.
func (p *plan) extendVectors(ctx context.Context, step trace.Step) error {
	T := step.First + step.Count
	for _, j := range p.jobs {
		if !j.vectors {
			continue
		}
		if err := j.vectorRow(ctx, T, p.multiply(ctx, step, j, T)); err != nil {
			return fmt.Errorf("%s of %s: %w", j.aggregation, j.mixing, err)
		}
	}
	return nil
}

// vectorRow computes the result of the last of T tokens.
func (j *job) vectorRow(ctx context.Context, T int, multiply aggregation.Multiply) error {
	a, err := aggregation.Lookup(j.aggregation)
	if err != nil {
		return err
	}
	j.wanted, j.sources = 1, T
	if b, ok := a.(aggregation.Bounds); ok {
		if j.bounds, err = b.Bounds(ctx, j.cfg, T-1, T, multiply); err != nil {
			return err
		}
		j.result = j.bounds.Low
		return j.checkResult()
	}
	v, ok := a.(aggregation.Vectors)
	if !ok {
		return errors.New("it cannot be computed by vectors")
	}
	if j.result, err = v.Row(ctx, j.cfg, T-1, T, multiply); err != nil {
		return err
	}
	if err := j.checkResult(); err != nil || j.uniform == nil {
		return err
	}
	j.base, err = v.Row(ctx, j.cfg, T-1, T,
		func(_, k int, left []float64, _ bool) ([]float64, error) {
			return aggregation.MultiplyUniform(k, T, left, j.rule.Residual), nil
		})
	return err
}

// multiply returns how a job's vectors are multiplied by the rows of a layer.
func (p *plan) multiply(
	ctx context.Context, step trace.Step, j *job, T int,
) aggregation.Multiply {
	return func(layer, k int, left []float64, top bool) ([]float64, error) {
		q := trace.Product{
			Layer: j.firstLayer + layer, Mixing: j.mixing, Heads: p.asks[j.ask].Heads,
			Residual: j.rule.Residual, Scaled: j.rule.Scaled, K: k, Left: left,
		}
		if top && j.head >= 0 {
			q.Heads = p.asks[j.head].Heads
		}
		if p.opts.OnProgress != nil {
			p.opts.OnProgress(trace.Progress{
				Stage: "following the token down", Unit: "layer",
				Done: j.cfg.Layers - layer, Total: j.cfg.Layers,
			})
		}
		return multiplied(ctx, step, q, T)
	}
}

// multiplied asks the model for a product and checks its size.
func multiplied(
	ctx context.Context, step trace.Step, q trace.Product, T int,
) ([]float64, error) {
	if step.Multiply == nil {
		return nil, errors.New("the model said that it multiplies vectors, and does not")
	}
	out, err := step.Multiply(ctx, q)
	if err == nil && len(out) != q.K*T {
		err = fmt.Errorf("the model gives products of %d numbers for %d vectors of %d tokens",
			len(out), q.K, T)
	}
	return out, err
}

// products returns how a live scorer multiplies a vector by the rows of its mixing.
func (m planned) products(ctx context.Context, step trace.Step) scorer.Products {
	return func(layer int, left []float64) ([]float64, error) {
		T := step.First + step.Count
		q := trace.Product{
			Layer: layer, Mixing: m.live.Mixing(), K: 1, Left: make([]float64, T),
		}
		copy(q.Left, left)
		out, err := multiplied(ctx, step, q, T)
		if err != nil {
			return nil, err
		}
		return out[:len(left)], nil
	}
}

// boundWarning returns a sentence on how far the values of the latest token may be below the exact
// result, or "" if they are the result.
func (j *job) boundWarning() string {
	if j.bounds == nil {
		return ""
	}
	kept := make([]bool, j.sources)
	for _, t := range j.bounds.Kept {
		kept[t] = true
	}
	// The largest difference of a kept token, and of another one.
	among, others := 0.0, 0.0
	for t, low := range j.bounds.Low {
		gap := j.bounds.High[t] - low
		if kept[t] {
			among = max(among, gap)
		} else {
			others = max(others, gap)
		}
	}
	return fmt.Sprintf("%s of %s: %d tokens are too many for the exact values. The values are "+
		"lower bounds from the %d strongest tokens; they miss at most %.2g of the exact ones "+
		"there, and at most %.2g for other tokens.", j.aggregation, j.mixing,
		j.sources, len(j.bounds.Kept), among, others)
}
