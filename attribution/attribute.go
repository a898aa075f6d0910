package attribution

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Attribution is the result of [Attribute]: for each method a map with the rows of all T tokens.
type Attribution struct {
	// Order has the names of the methods in the order of [Options.Methods].
	Order []string `json:"order"`
	// Methods has the result of each method by name.
	Methods map[string]*Map `json:"methods"`
	// Bidirectional reports whether some target has a nonzero value for a later source, so that the
	// text was read by an encoder.
	Bidirectional bool `json:"bidirectional"`
	// Sinks reports whether rows of attention sum to less than 1; see [Input.Sinks].
	Sinks bool `json:"sinks,omitempty"`
	// Warnings are remarks for the user, one sentence each.
	Warnings []string `json:"warnings"`
}

// Map is the result of one method for every target: how much of target t comes from source s after
// layer Layers[l].
type Map struct {
	// Options has the settings by which the numbers were computed, in words, by name.
	Options map[string]string `json:"options"`
	// Facts are what programs decide by.
	Facts `json:"facts"`
	// Layers are the layers of the first axis, 0-based.
	Layers []int `json:"layers"`
	// Shape is [L,T,T], and Data is row-major.
	Shape [3]int    `json:"shape"`
	Data  []float64 `json:"data"`
	// Unit describes a value, for legends.
	Unit string `json:"unit"`
}

// Row returns the row of target t at level l, [T]. It aliases Data and panics if an index is out of
// range.
func (m *Map) Row(l, t int) []float64 { return rowmath.At(m.Data, l*m.Shape[1]+t, m.Shape[2]) }

// Attribute computes methods on rows from any program. For each mixing that the methods need,
// from must have a tensor of that name: "attention", [L,H,T,S] or [L,T,S], with rows that sum to
// 1 ("attention-mean" is used if it is missing), or "value-zeroing", [L,T,S], with distances. S
// must be T, and all tensors must have the same L and T. Other tensors are ignored. Attribute
// returns every level, [L,T,T], of every method, flow included.
//
// Options about how to generate text are ignored. [Options.Heads] fuses [L,H,T,S]; [L,T,S]
// counts as one head. The sum of a row of attention may be off from 1 by 0.005, the rounding of
// bfloat16. Rows are divided by their sums before heads are fused, and a warning names the worst
// row if it is off by more than 1e-5. If a row sums to less, all rows are taken as of a model with
// sinks ([Input.Sinks]), and a warning says so unless the input did. A text is a decoder's if all
// numbers above the diagonal are 0. Inputs are not modified.
//
// It returns a [trace.UsageError] if the options are invalid, and another error if the data are:
// wrong shapes, numbers that are negative, NaN or infinite, rows that sum to more than 1 or to 0.
// If ctx is done the error wraps ctx.Err(). [Options.OnProgress] is called after every row for
// decoders. Flow costs L·T² max-flow problems.
//
// Tensors are read piece by piece: one head of one layer at a time, [T,T], each twice. So it needs
// memory for its results only. If these need more than the input's budget, it returns a
// [trace.MemoryError] before it reads anything. An error of reading is wrapped.
func Attribute(ctx context.Context, from Input, opts Options) (*Attribution, error) {
	in, p, err := newInputPlan(ctx, from, opts, true)
	if err != nil {
		return nil, err
	}
	fused := make([][]float64, len(p.asks)) // [L,T,T] each
	for i, ask := range p.asks {
		if fused[i], err = in.fuse(ctx, ask, p); err != nil {
			return nil, err
		}
	}
	a := newAttribution(p, in)
	if err := a.compute(ctx, p, in, fused); err != nil {
		return nil, err
	}
	a.Warnings = append(append(in.warnings, p.warnings...), p.zeroWarnings()...)
	return a, nil
}

// MapTap returns the tap whose tensor [Attribute] computes the maps of a method from. It returns a
// [trace.UsageError] if the method is unknown, or if no tensor is enough for it.
func MapTap(method string) (trace.Tap, error) {
	m, err := LookupMethod(method)
	if err != nil {
		return "", err
	}
	switch m.Mixing {
	case "attention":
		return trace.Attention, nil
	case string(trace.ValueZeroing):
		return trace.ValueZeroing, nil
	}
	return "", trace.Usagef("there are no maps of method %s: maps are made of attention, as those "+
		"of raw, rollout and flow, or of value-zeroing", message.Quote(method))
}

// MapOf returns the map of a method over a text, of which m records what [MapTap] says. If m has a
// method Info, as models have, it tells which tokens see each other. The other options are those of
// opts. It returns an error as [MapTap], [Attribute] and m do.
func MapOf(
	ctx context.Context, m trace.Tracer, ids []int, method string, opts Options,
) (*Map, error) {
	tap, err := MapTap(method)
	if err != nil {
		return nil, err
	}
	tensors, err := m.Trace(ctx, ids, []trace.Tap{tap})
	if err != nil {
		return nil, err
	}
	opts.Methods = []string{method}
	in := InMemory(tensors)
	if described, ok := m.(interface{ Info() trace.Info }); ok {
		info := described.Info()
		in.Prefix, in.Encoder, in.Sinks = info.Prefix(ids), info.EncoderLayers, info.Sinks
	}
	a, err := Attribute(ctx, in, opts)
	if err != nil {
		return nil, err
	}
	return a.Methods[method], nil
}

// newInputPlan checks the tensors that the methods of opts need, and plans the computation. For a
// decoder's text the shapes alone tell whether it fits in memory. An encoder's text needs more,
// but only the numbers show that it is an encoder's, so it is checked again after they are read.
func newInputPlan(
	ctx context.Context, from Input, opts Options, allLevels bool,
) (*input, *plan, error) {
	if err := opts.check(MethodOptions); err != nil {
		return nil, nil, err
	}
	in, err := newInput(from.Tensors, opts)
	if err != nil {
		return nil, nil, err
	}
	set := setting{
		layers: in.layers, heads: in.heads, allLevels: allLevels,
		byDefault: DefaultMethods(trace.Info{}),
	}
	if err := from.checkLayers(in, opts); err != nil {
		return nil, nil, err
	}
	p, err := newPlan(opts, set)
	if err != nil {
		return nil, nil, err
	}
	if from.Prefix < 0 || from.Prefix > in.tokens {
		return nil, nil, trace.Usagef("a prefix of %d tokens; the text has %d", from.Prefix,
			in.tokens)
	}
	p.see(from.Prefix, from.Encoder)
	in.prefixed, in.sinks = from.Prefix > 0, from.Sinks
	if err := from.check(p, in.tokens); err != nil {
		return nil, nil, err
	}
	if err := in.checkNumbers(ctx); err != nil || !in.bidirectional || p.prefix > 0 {
		return in, p, err
	}
	p.see(in.tokens, 0)
	return in, p, from.check(p, in.tokens)
}

// manyLayers is more than any model has, and few enough that a plan for them is small.
const manyLayers = 1 << 12

// checkLayers returns a [trace.MemoryError] if there are very many layers and their fused rows
// alone do not fit. A plan allocates memory for each layer, so this check comes first: a file may
// claim any number of layers.
func (in Input) checkLayers(x *input, opts Options) error {
	first, last, err := opts.layerRange(x.layers)
	if err != nil || last-first < manyLayers {
		return err
	}
	need := perLayer(x.tokens) * float64(last-first+1)
	return in.checkNeed(need, fmt.Sprintf("what the methods keep of %d tokens in %d layers",
		x.tokens, last-first+1))
}

// perLayer returns how many bytes the fused rows of a layer need, [T,T] of float64, with their
// slice headers.
func perLayer(tokens int) float64 {
	T := float64(tokens)
	return 8*T*T + 24*T + 64
}

// check returns a [trace.MemoryError] if a plan needs more than the input's budget for T tokens.
func (in Input) check(p *plan, tokens int) error {
	var names []string
	for _, m := range p.methods {
		names = append(names, m.Name)
	}
	what := fmt.Sprintf("%s of %d tokens in %d layers",
		message.List(names), tokens, p.last-p.first+1)
	return in.checkNeed(p.inputBytes(tokens), what)
}

// checkNeed returns a [trace.MemoryError] if something needs more than the budget.
func (in Input) checkNeed(need float64, what string) error {
	return in.Memory.Check(need, what, "take fewer layers or methods, or a shorter text")
}

// inputBytes returns about how many bytes are needed for T tokens: one head that is being read, the
// fused rows, the states of the jobs and the maps.
func (p *plan) inputBytes(tokens int) float64 {
	square := float64(tokens) * float64(tokens)
	layers := float64(p.last - p.first + 1)
	sum := 4*square + perLayer(tokens)*layers*float64(len(p.asks))
	for _, j := range p.jobs {
		state := 0.0
		if a, _ := aggregation.Lookup(j.aggregation); a.Info().AllRows {
			// flow keeps three numbers for each pair that is seen; others keep fewer
			state = 3 * perLayer(tokens) * layers / 2
		}
		// all rows at once: those of every pair, two copies of them, and the result
		if p.prefix > 0 {
			state = 2*state + (2*layers+float64(j.cfg.Levels()))*8*square
		}
		if j.uniform != nil {
			state *= 2
		}
		sum += state
	}
	for _, m := range p.methods {
		sum += 8 * float64(len(m.levels)) * square
	}
	return sum
}

// newAttribution returns an attribution whose maps are all zero.
func newAttribution(p *plan, in *input) *Attribution {
	a := &Attribution{
		Methods: map[string]*Map{}, Bidirectional: in.bidirectional, Sinks: in.sinks,
		Warnings: []string{},
	}
	for _, m := range p.methods {
		a.Order = append(a.Order, m.Name)
		a.Methods[m.Name] = &Map{
			Options: p.opts.settings(m), Facts: m.facts, Layers: m.levels, Unit: m.unit,
			Shape: [3]int{len(m.levels), in.tokens, in.tokens},
			Data:  make([]float64, len(m.levels)*in.tokens*in.tokens),
		}
	}
	return a
}

// compute fills the maps: row by row, or all at once if tokens see each other. fused has the
// rows of each ask, [L,T,T].
func (a *Attribution) compute(ctx context.Context, p *plan, in *input, fused [][]float64) error {
	count := 1
	if p.prefix > 0 {
		count = in.tokens
	}
	for first := 0; first < in.tokens; first += count {
		rows := make([]aggregation.Rows, len(fused))
		for i, data := range fused {
			rows[i] = cut(data, p.last-p.first+1, in.tokens, first, count)
		}
		if err := p.extend(ctx, rows, first); err != nil {
			return pkg.Errorf("stopped after %d of %d rows: %w", first, in.tokens, err)
		}
		for _, m := range p.methods {
			a.Methods[m.Name].store(m, first, count)
		}
		if p.opts.OnProgress != nil {
			p.opts.OnProgress(trace.Progress{
				Stage: "computing rows", Unit: "row", Done: first + count, Total: in.tokens,
			})
		}
	}
	return nil
}

// cut returns targets first..first+n-1 of data, [L,T,T], over sources 0..first+n-1.
func cut(data []float64, layers, tokens, first, n int) aggregation.Rows {
	m := aggregation.Rows{First: first, L: layers, N: n}
	for l := range layers {
		for k := range n {
			m.Data = append(m.Data, rowmath.At(data, l*tokens+first+k, tokens)[:m.T()]...)
		}
	}
	return m
}

// store copies the latest n rows of a method into the map, from target first on.
func (m *Map) store(p planned, first, n int) {
	T := p.job.sources
	for k := range n {
		shown, _ := p.values(k)
		for l := range m.Shape[0] {
			copy(m.Row(l, first+k), shown[l*T:(l+1)*T])
		}
	}
}
