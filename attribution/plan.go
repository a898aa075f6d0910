package attribution

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// plan is what a set of methods needs: the rows to ask for, each once, and the jobs that combine
// them.
type plan struct {
	opts        Options
	first, last int // layers
	// prefix is how many tokens at the beginning see each other, and encoder how many layers belong
	// to the encoder of two stacks; see [aggregation.Config].
	prefix, encoder int
	asks            []trace.MixingAsk
	jobs            []*job
	methods         []planned
	// late are the jobs of the methods that are computed in the layer shown alone, and lateAsks
	// the rows that they need.
	late     []*job
	lateAsks []trace.MixingAsk
	// histories are the rows that live scorers read, by index of the ask.
	histories map[int]*scorer.History
	// warnings are remarks on options that some methods do not take.
	warnings []string
}

// planned is a method with what this run makes of it.
type planned struct {
	Method
	mixing MixingInfo
	job    *job
	scorer scorer.Scorer // instead of a job
	lift   bool
	// live is the scorer if it can be computed from the rows of ask and the terms of a step, else
	// nil. ask is -1 for a scorer without rows.
	live scorer.Live
	ask  int
	// quantity is what the scorer explains.
	quantity trace.Quantity
	// vectors reports whether the scorer reads products with the rows of its mixing, and no rows.
	vectors bool
	// choosesLayer is whether the layer shown is chosen for each token.
	choosesLayer bool
	// first and last are the layers that are combined, and topOnly is whether the aggregation gives
	// the top layer alone unless all are asked for.
	first, last int
	topOnly     bool
	// levels are the layers that the result has, and unit is what a value is.
	levels []int
	unit   string
	// facts are those of the result.
	facts Facts
}

// setting is what a plan must know of the text and the model.
type setting struct {
	layers, heads int
	allLevels     bool
	// generates is whether a model generates the text, and readsLayers whether it can compute rows
	// of a single layer after it chose a token.
	generates, readsLayers bool
	// classes is whether the head scores classes, and numbers whether its scores are numbers
	// without a probability.
	classes, numbers bool
	// byDefault are the methods if the options name none.
	byDefault []string
}

// newPlan looks all methods up and checks the options that concern them. Errors are usage errors.
func newPlan(opts Options, set setting) (*plan, error) {
	if err := opts.checkHeads(set.heads); err != nil {
		return nil, err
	}
	first, last, err := opts.layerRange(set.layers)
	if err != nil {
		return nil, err
	}
	all, err := opts.methods(set.byDefault)
	if err != nil {
		return nil, err
	}
	p := &plan{opts: opts, first: first, last: last}
	for _, m := range all {
		p.add(m, set)
	}
	return p, p.checkOptions()
}

// see makes the first tokens, so many as prefix says, see each other in the encoder's layers, so
// many as encoder says. Nothing was extended yet.
func (p *plan) see(prefix, encoder int) {
	if prefix == p.prefix {
		return
	}
	p.prefix, p.encoder = prefix, encoder
	for _, j := range slices.Concat(p.jobs, p.late) {
		a, _ := aggregation.Lookup(j.aggregation) // add has found it
		j.cfg.Prefix, j.cfg.Encoder = prefix, encoder-j.firstLayer
		j.start(a, j.uniform != nil)
	}
}

// add plans one method, with the job of an earlier one if that is the same.
func (p *plan) add(m Method, set setting) {
	if m.Scorer != "" {
		p.methods = append(p.methods, p.scored(m, set))
		return
	}
	mixing, _ := LookupMixing(m.Mixing) // LookupMethod has found both
	combined, _ := aggregation.Lookup(m.Aggregation)
	info := combined.Info()
	pm := planned{
		Method: m, mixing: mixing, unit: m.Aggregation + " of " + mixing.Unit,
		first: p.first, last: p.last, topOnly: info.TopOnly,
	}
	switch {
	case info.Shares || m.Normalize:
		pm.unit = "share of " + mixing.Unit
	case m.Aggregation == "flow":
		pm.unit = "flow"
	}
	if p.opts.Lift && mixing.Sums {
		pm.lift, pm.unit = true, "lift (1 = uniform attention)"
	}
	pm.facts = mixedFacts(m, info, pm.lift)
	cfg := aggregation.Config{
		Layers: p.last - p.first + 1, TopOnly: info.TopOnly && !set.allLevels,
	}
	for l := p.last + 1 - cfg.Levels(); l <= p.last; l++ {
		pm.levels = append(pm.levels, l)
	}
	pm.choosesLayer = info.Single && set.generates &&
		p.opts.FirstLayer == 0 && p.opts.LastLayer == nil
	pm.facts.LayerChosen = pm.choosesLayer
	if pm.choosesLayer && mixing.PerPair && set.readsLayers && !p.opts.AllLayers {
		pm.levels = []int{LayerByToken} // computed after the token is chosen
		cfg.Layers = 1
		pm.job = p.lateJob(m, mixing, cfg, combined)
		p.methods = append(p.methods, pm)
		return
	}
	pm.job = p.job(m, mixing, info, cfg, combined, pm.lift)
	p.methods = append(p.methods, pm)
}

// scored plans a scorer. It is live if the model generates, and every layer's rows are read.
func (p *plan) scored(m Method, set setting) planned {
	sc, _ := scorer.Lookup(m.Scorer) // LookupMethod has found it
	info := sc.Info()
	pm := planned{
		Method: m, scorer: sc, levels: []int{set.layers - 1}, ask: -1,
		quantity: p.opts.quantity(info, set.numbers), unit: info.Unit,
	}
	if pm.unit == "" {
		pm.unit = "change of the " + string(pm.quantity)
	}
	pm.facts = p.opts.scoredFacts(pm, set.classes)
	if info.ByLayer {
		pm.levels = nil
		for l := range set.layers {
			pm.levels = append(pm.levels, l)
		}
	}
	live, ok := sc.(scorer.Live)
	if !ok || !set.generates || pm.quantity != trace.Logit ||
		p.last-p.first+1 != set.layers {
		return pm
	}
	pm.live = live
	if live.Mixing() == "" {
		return pm
	}
	pm.ask = p.ask(trace.MixingAsk{Name: live.Mixing(), AllRows: true})
	if p.histories == nil {
		p.histories = map[int]*scorer.History{}
	}
	if p.histories[pm.ask] == nil {
		p.histories[pm.ask] = &scorer.History{}
	}
	return pm
}

// needsTerms reports whether the terms of every prediction are needed.
func (p *plan) needsTerms() bool {
	return p.scoresLive() || p.choosesLayer()
}

// scoresLive reports whether a scorer reads the terms.
func (p *plan) scoresLive() bool {
	return slices.ContainsFunc(p.methods, func(m planned) bool { return m.live != nil })
}

// choosesLayer reports whether the terms choose the layer of a method.
func (p *plan) choosesLayer() bool {
	return slices.ContainsFunc(p.methods, func(m planned) bool { return m.choosesLayer })
}

// usesFoils reports whether a scorer explains against foils.
func (p *plan) usesFoils() bool {
	return slices.ContainsFunc(p.methods, func(m planned) bool { return m.info().Foils })
}

// job returns the job of a method: an old one if it has the same rows, residual and aggregation.
func (p *plan) job(
	m Method, mi MixingInfo, info aggregation.Info, cfg aggregation.Config,
	a aggregation.Aggregation, lift bool,
) *job {
	j := &job{
		mixing: m.Mixing, aggregation: m.Aggregation, cfg: cfg, head: -1,
		firstLayer: p.first, rule: p.rule(m, mi),
	}
	if p.opts.Residual != nil && m.Residual > 0 {
		j.rule.Residual = *p.opts.Residual
	}
	ask := trace.MixingAsk{Name: m.Mixing, AllRows: info.AllRows}
	var shown trace.Heads
	ask.Heads, shown = p.heads(mi)
	if shown != ask.Heads {
		head := ask
		head.Heads = shown
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
	j.start(a, lift)
	p.jobs = append(p.jobs, j)
	return j
}

// lateJob returns the job of a method that is computed in one layer only, the one that is shown.
func (p *plan) lateJob(
	m Method, mi MixingInfo, cfg aggregation.Config, a aggregation.Aggregation,
) *job {
	j := &job{
		mixing: m.Mixing, aggregation: m.Aggregation, cfg: cfg, head: -1,
		ask: len(p.lateAsks), state: a.New(cfg), rule: p.rule(m, mi),
	}
	_, shown := p.heads(mi)
	p.late = append(p.late, j)
	p.lateAsks = append(p.lateAsks, trace.MixingAsk{Name: m.Mixing, Heads: shown})
	return j
}

// rule returns how the rows of a method are normalised with its own residual.
func (p *plan) rule(m Method, mi MixingInfo) aggregation.Normalization {
	return aggregation.Normalization{
		Residual: m.Residual, Scaled: mi.scaled(),
		DropSink: p.opts.DropSink, Discard: p.opts.Discard,
	}
}

// heads returns how the options fuse the heads of a mixing, and the heads of the layer shown: one
// head if the options name one, else the same.
func (p *plan) heads(mi MixingInfo) (all, shown trace.Heads) {
	if mi.takes(p.opts.Heads) {
		all = p.opts.Heads
	}
	shown = all
	if h := p.opts.PerHead; h != nil && mi.takes(trace.Heads{Fusion: trace.OneHead}) {
		shown = trace.Heads{Fusion: trace.OneHead, Head: *h}
	}
	return all, shown
}

// extendLate computes the methods of one layer for the last token of a step, in that layer.
func (p *plan) extendLate(ctx context.Context, step trace.Step, layer int) error {
	if len(p.late) == 0 {
		return nil
	}
	if step.RowsOfLayer == nil {
		return errors.New("the model said that it gives rows of single layers, and gives none")
	}
	one := trace.Step{First: step.First + step.Count - 1, Count: 1}
	for _, ask := range p.lateAsks {
		rows, err := step.RowsOfLayer(ctx, layer, ask)
		if err != nil {
			return err
		}
		one.Rows = append(one.Rows, rows)
	}
	reader := p.reader()
	reader.First, reader.Last, reader.Asks = 0, 0, p.lateAsks
	rows, err := reader.Read(one, one.First)
	if err != nil {
		return fmt.Errorf("layer %d: %w", layer, err)
	}
	for _, j := range p.late {
		j.firstLayer, j.cfg.Encoder = layer, p.encoder-layer
		if err := j.extend(ctx, rows, one.First); err != nil {
			return err
		}
	}
	return nil
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
func (m planned) info() scorer.Info {
	if m.scorer == nil {
		return scorer.Info{}
	}
	return m.scorer.Info()
}

// threshold returns the value below which entries of a mixing are set to 0; 0 for none.
func (p *plan) threshold(mixing string) float64 {
	if info, _ := LookupMixing(mixing); info.Distance {
		return p.opts.Threshold
	}
	return 0
}

// reader returns what reads the rows that the plan asks for.
func (p *plan) reader() aggregation.Reader {
	return aggregation.Reader{
		First: p.first, Last: p.last, Prefix: p.prefix, Asks: p.asks, Threshold: p.threshold,
	}
}

// checkOptions returns a usage error for an option that no method takes. An option that only some
// methods take is a warning for each of the others.
func (p *plan) checkOptions() error {
	for _, row := range allOptions() {
		warnings, err := row.checkMethods(&p.opts, p.methods)
		if err != nil {
			return err
		}
		p.warnings = append(p.warnings, warnings...)
	}
	return nil
}

// bytes returns about how much memory the states and results need for m prompt tokens and n
// generated ones.
func (p *plan) bytes(m, n int) float64 {
	// The model's rows, their float64, these normalised, and what a state keeps of them: at most
	// three float64 of every pair that is seen, half of all.
	const perEntry = 4 + 8 + 8 + 3*8/2
	sum := 0.0
	for _, j := range p.jobs {
		a, _ := aggregation.Lookup(j.aggregation)
		if !a.Info().AllRows {
			continue
		}
		if j.vectors { // the result, and what goes into a layer and comes out of it
			rows := float64(j.cfg.Levels())
			if j.bounded() {
				rows = aggregation.BoundVectors
			}
			sum += 4 * 8 * rows * float64(m+n)
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
		sum += 8 * float64(len(pm.levels)) * float64(n) * float64(n) / 2
	}
	// float64 while they are read, and half of float32 in the end.
	sum += float64(len(p.histories)) * (8 + 8 + 4/2) * float64(p.last+1) *
		float64(m+n) * float64(m+n)
	return sum
}

// extend adds the rows of one step to every job: one entry of rows for each ask, not normalised.
// Targets before from get no result.
func (p *plan) extend(ctx context.Context, rows []aggregation.Rows, from int) error {
	for _, j := range p.jobs {
		if j.vectors {
			continue
		}
		if err := j.extend(ctx, rows, from); err != nil {
			return err
		}
	}
	for ask, h := range p.histories {
		h.Add(rows[ask], aggregation.Config{Prefix: p.prefix})
	}
	return nil
}

// zeroWarnings returns a sentence for every mixing with rows that are all zero, and for every job
// whose values are bounds.
func (p *plan) zeroWarnings() []string {
	var all []string
	for _, j := range slices.Concat(p.jobs, p.late) {
		for _, w := range []string{j.zeroWarning(), j.boundWarning()} {
			if w != "" && !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return all
}
