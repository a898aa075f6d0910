package attribution

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// plan is what a set of methods needs: the rows to ask for, each once, and the jobs that combine them.
type plan struct {
	opts          Options
	first, last   int // layers
	bidirectional bool
	asks          []trace.MixingAsk
	jobs          []*job
	methods       []planned
	// warnings are remarks on options that some methods do not take.
	warnings []string
}

// planned is a method with what this run makes of it.
type planned struct {
	Method
	mixing MixingInfo
	job    *job
	scorer Scorer // instead of a job
	lift   bool
	// levels are the layers that the result has, and unit is what a value is.
	levels []int
	unit   string
}

// setting is what a plan must know of the text and the model.
type setting struct {
	layers, heads            int
	bidirectional, allLevels bool
}

// newPlan looks all methods up and checks the options that concern them. Errors are usage errors.
func newPlan(opts Options, set setting) (*plan, error) {
	if err := opts.checkMethods(); err != nil {
		return nil, err
	}
	if err := opts.checkHeads(set.heads); err != nil {
		return nil, err
	}
	first, last, err := opts.layerRange(set.layers)
	if err != nil {
		return nil, err
	}
	all, err := opts.methods()
	if err != nil {
		return nil, err
	}
	p := &plan{opts: opts, first: first, last: last, bidirectional: set.bidirectional}
	for _, m := range all {
		p.add(m, set)
	}
	return p, p.checkOptions()
}

// add plans one method, with the job of an earlier one if that is the same.
func (p *plan) add(m Method, set setting) {
	if m.Scorer != "" {
		scorer, _ := LookupScorer(m.Scorer) // LookupMethod has found it
		p.methods = append(p.methods, planned{
			Method: m, scorer: scorer, levels: []int{set.layers - 1}, unit: p.opts.scoredUnit(scorer.Info()),
		})
		return
	}
	mixing, _ := LookupMixing(m.Mixing) // LookupMethod has found both
	aggregation, _ := LookupAggregation(m.Aggregation)
	info := aggregation.Info()
	pm := planned{Method: m, mixing: mixing, unit: "flow"}
	if info.Shares || m.Normalize {
		pm.unit = "share of " + mixing.Unit
	}
	if p.opts.Lift && mixing.Sums {
		pm.lift, pm.unit = true, "lift (1 = uniform attention)"
	}
	cfg := Config{
		Layers: p.last - p.first + 1, Bidirectional: set.bidirectional,
		TopOnly: info.TopOnly && !set.allLevels,
	}
	for l := p.last + 1 - cfg.levels(); l <= p.last; l++ {
		pm.levels = append(pm.levels, l)
	}
	pm.job = p.job(m, mixing, info, cfg, aggregation, pm.lift)
	p.methods = append(p.methods, pm)
}

// job returns the job of a method: an old one if it has the same rows, residual and aggregation.
func (p *plan) job(m Method, mi MixingInfo, info AggregationInfo, cfg Config, a Aggregation, lift bool) *job {
	j := &job{mixing: m.Mixing, aggregation: m.Aggregation, cfg: cfg, head: -1, ratios: -1}
	j.rule = rule{residual: m.Residual, scaled: mi.scaled(), dropSink: p.opts.DropSink, local: p.opts.LocalLift && m.Residual > 0, discard: p.opts.Discard, whole: p.opts.DiscardWhole}
	if p.opts.Residual != nil && m.Residual > 0 {
		j.rule.residual = *p.opts.Residual
	}
	ask := trace.MixingAsk{Name: m.Mixing, AllRows: info.AllRows}
	if p.opts.MeasuredResidual && m.Residual > 0 {
		j.rule.measured, j.rule.residual = true, 0
		j.ratios = p.ask(trace.MixingAsk{Name: mixingRatio, AllRows: info.AllRows})
	}
	if mi.takes(p.opts.Heads) {
		ask.Heads = p.opts.Heads
	}
	if h := p.opts.PerHead; h != nil && mi.takes(trace.Heads{Fusion: trace.OneHead}) {
		head := ask
		head.Heads = trace.Heads{Fusion: trace.OneHead, Head: *h}
		if info.AllRows {
			j.head = p.ask(head)
		} else {
			ask = head // no lower layers take part
		}
	}
	j.ask = p.ask(ask)
	for _, old := range p.jobs {
		// Equal asks have equal heads over them.
		if old.ask == j.ask && old.aggregation == j.aggregation && old.rule == j.rule {
			return old
		}
	}
	j.state = a.New(cfg)
	if lift {
		j.uniform = a.New(cfg)
	}
	p.jobs = append(p.jobs, j)
	return j
}

// ask returns the index of an ask in asks, where each mixing with the same heads stands once.
func (p *plan) ask(a trace.MixingAsk) int {
	for i, b := range p.asks {
		if b.Name == a.Name && b.Heads == a.Heads {
			p.asks[i].AllRows = b.AllRows || a.AllRows
			return i
		}
	}
	p.asks = append(p.asks, a)
	return len(p.asks) - 1
}

// info describes the scorer; the zero value if the method is none.
func (m planned) info() ScorerInfo {
	if m.scorer == nil {
		return ScorerInfo{}
	}
	return m.scorer.Info()
}

// checkOptions sees to options that only some methods take: one that none takes is an error, one that some do not take
// is a warning.
func (p *plan) checkOptions() error {
	for _, o := range []struct {
		given bool
		name  string
		takes func(planned) bool
		why   string
	}{
		{
			p.opts.Residual != nil, "residual", func(m planned) bool { return m.Residual > 0 },
			"its rows contain the residual or stay as they are",
		},
		{
			p.opts.MeasuredResidual, "measured residual", func(m planned) bool { return m.Residual > 0 },
			"its rows contain the residual or stay as they are",
		},
		{
			p.opts.LocalLift, "local lift", func(m planned) bool { return m.Residual > 0 },
			"it is a factor of the whole row, which matters only beside a residual that is added",
		},
		{
			p.opts.DropSink, "drop sink", func(m planned) bool { return m.scorer == nil },
			"it combines no rows",
		},
		{
			p.opts.Discard > 0, "discard", func(m planned) bool { return m.scorer == nil },
			"it combines no rows",
		},
		{
			p.opts.Heads != trace.Heads{}, "heads", func(m planned) bool { return m.mixing.takes(p.opts.Heads) },
			"it has no heads to be taken like that",
		},
		{
			p.opts.PerHead != nil, "per-head", func(m planned) bool { return m.mixing.takes(trace.Heads{Fusion: trace.OneHead}) },
			"it has no heads apart",
		},
		{
			p.opts.Threshold > 0, "threshold", func(m planned) bool { return m.mixing.Distance },
			"its values are no distances",
		},
		{
			p.opts.FirstLayer > 0 || p.opts.LastLayer != nil, "layers", func(m planned) bool { return m.scorer == nil },
			"it asks the whole model",
		},
		{
			p.opts.Contrast != "", "contrast", func(m planned) bool { return m.scorer != nil },
			"its rows are the same whatever is predicted",
		},
		{
			p.opts.Scoring.Quantity != "", "quantity", func(m planned) bool { return m.scorer != nil },
			"it is no scorer",
		},
		{
			p.opts.Scoring.Batch > 0, "batch", func(m planned) bool { return m.scorer != nil },
			"it is no scorer",
		},
		{
			p.opts.Scoring.Replacement != "", "replacement", func(m planned) bool { return m.info().Replaces },
			"it replaces no token",
		},
		{
			p.opts.Scoring.Steps > 0, "steps", func(m planned) bool { return m.info().Integrates },
			"it computes no integral",
		},
		{
			p.opts.Scoring.Samples > 0, "samples", func(m planned) bool { return m.info().Samples },
			"it draws no samples",
		},
		{
			p.opts.OwnRow, "own row", func(m planned) bool { return m.scorer == nil },
			"it explains a prediction and has no rows",
		},
		{
			p.opts.Lift, "lift", func(m planned) bool { return m.lift },
			"only attention says what its rows would be if they were uniform",
		},
	} {
		if !o.given {
			continue
		}
		for _, m := range p.methods {
			if !o.takes(m) {
				p.warnings = append(p.warnings, fmt.Sprintf("%s does not apply to %s: %s.", o.name, m.Name, o.why))
			}
		}
		if !slices.ContainsFunc(p.methods, o.takes) {
			return usagef("%s applies to none of the methods: %s: %s", o.name, p.methods[0].Name, o.why)
		}
	}
	return p.checkAllLevels()
}

// checkAllLevels returns a usage error if every method has all levels anyway. It is no warning if only
// some have: what was asked for is what they give.
func (p *plan) checkAllLevels() error {
	topOnly := func(m planned) bool {
		a, err := LookupAggregation(m.Aggregation)
		return m.scorer == nil && err == nil && a.Info().TopOnly
	}
	if !p.opts.AllLevels || slices.ContainsFunc(p.methods, topOnly) {
		return nil
	}
	return usagef("all levels applies to none of the methods: %s: it is for flow, whose layers below the top "+
		"are computed on request; rows of others have every layer anyway, and scorers have none", p.methods[0].Name)
}

// bytes returns about how much memory the states and results need for m prompt tokens and n generated ones.
func (p *plan) bytes(m, n int) float64 {
	// The model's rows, their float64, these normalised, and what a state keeps of them: at most three float64 of every pair
	// that is seen, half of all.
	const perEntry = 4 + 8 + 8 + 3*8/2
	sum := 0.0
	for _, j := range p.jobs {
		a, _ := LookupAggregation(j.aggregation)
		if !a.Info().AllRows {
			continue
		}
		need := perEntry * float64(j.cfg.Layers) * float64(m+n) * float64(m+n)
		sum += need
		if j.uniform != nil {
			sum += need
		}
	}
	for _, pm := range p.methods {
		sum += 8 * float64(len(pm.levels)) * float64(m) * float64(n)
	}
	return sum
}

// extend adds the rows of one step to every job: one entry of rows for each ask, not normalised. Targets before from
// get no result.
func (p *plan) extend(ctx context.Context, rows []Mixed, from int) error {
	for _, j := range p.jobs {
		if err := j.extend(ctx, rows, from); err != nil {
			return err
		}
	}
	return nil
}

// zeroWarnings returns a sentence for every mixing with rows that are all zero.
func (p *plan) zeroWarnings() []string {
	var all []string
	for _, j := range p.jobs {
		if w := j.zeroWarning(p.first); w != "" && !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}
