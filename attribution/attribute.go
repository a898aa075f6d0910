package attribution

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Attribution is what [Attribute] computes: for each method a map of every target, T tokens.
type Attribution struct {
	// Order is the names of Methods in the order asked for.
	Order []string `json:"order"`
	// Methods has the result of each method by name.
	Methods map[string]*Map `json:"methods"`
	// Bidirectional is whether any target takes something from a later source, so that the text is an encoder's.
	Bidirectional bool `json:"bidirectional"`
	// Warnings are remarks for the user, one sentence each.
	Warnings []string `json:"warnings"`
}

// Map is the result of one method for every target: how much of target t comes from source s after layer Layers[l].
type Map struct {
	// Options are the settings that made the numbers, by name, for provenance.
	Options map[string]string `json:"options"`
	// Layers are the layers that the first axis stands for, 0-based.
	Layers []int `json:"layers"`
	// Shape is [L,T,T], and Data is row-major.
	Shape [3]int    `json:"shape"`
	Data  []float64 `json:"data"`
	// Unit says what a value is, for legends.
	Unit string `json:"unit"`
}

// Row returns the row of target t at level l, [T]. It aliases Data and panics if an index is out of range.
func (m *Map) Row(l, t int) []float64 { return row(m.Data, l*m.Shape[1]+t, m.Shape[2]) }

// Attribute computes methods on rows from any program: for each mixing that they need, a tensor of that name,
// "attention" [L,H,T,S] or [L,T,S] with rows that sum to 1 (or "attention-mean", if there is no other), "value-zeroing" [L,T,S] with distances. S is T, and all
// tensors have the same L and T. Others are ignored. It returns every level, [L,T,T], of every method, flow included.
//
// Of the options, those that say how to generate are ignored; heads fuse [L,H,T,S], and [L,T,S] counts as one head.
// Rows of attention may be off by 1e-3, as half precision is; they are divided by their sums, before heads are fused,
// and if one is off by more than 1e-5 a warning says so. Whether the text is a decoder's is seen from the zeros above
// the diagonal. Inputs are not modified.
//
// It returns a [UsageError] for options that are wrong, another error for data that are: shapes, numbers that are
// negative, NaN or infinite, rows that do not sum to 1. If ctx is done the error wraps ctx.Err(). [Options.OnProgress]
// is told of every row of a decoder's text, or once with [Options.DiscardWhole]. Flow costs L·T² max-flow problems.
func Attribute(ctx context.Context, inputs []trace.Tensor, opts Options) (*Attribution, error) {
	in, err := newInput(inputs, opts)
	if err != nil {
		return nil, err
	}
	p, err := newPlan(opts, setting{
		layers: in.layers, heads: in.heads, bidirectional: in.bidirectional, allLevels: true,
	})
	if err != nil {
		return nil, err
	}
	fused := make([][]float64, len(p.asks)) // [L,T,T] each
	for i, ask := range p.asks {
		fused[i] = in.fuse(ask, p)
	}
	a := newAttribution(p, in)
	if err := a.compute(ctx, p, in, fused); err != nil {
		return nil, err
	}
	a.Warnings = append(append(in.warnings, p.warnings...), p.zeroWarnings()...)
	return a, nil
}

// newAttribution returns an attribution of zeros.
func newAttribution(p *plan, in *input) *Attribution {
	a := &Attribution{Methods: map[string]*Map{}, Bidirectional: in.bidirectional, Warnings: []string{}}
	for _, m := range p.methods {
		a.Order = append(a.Order, m.Name)
		a.Methods[m.Name] = &Map{
			Options: p.opts.settings(m, p.first, p.last), Layers: m.levels, Unit: m.unit,
			Shape: [3]int{len(m.levels), in.tokens, in.tokens},
			Data:  make([]float64, len(m.levels)*in.tokens*in.tokens),
		}
	}
	return a
}

// compute extends the plan's jobs row by row, or all at once if the text is bidirectional or its whole
// maps are needed.
func (a *Attribution) compute(ctx context.Context, p *plan, in *input, fused [][]float64) error {
	count := 1
	if in.bidirectional || p.opts.DiscardWhole {
		count = in.tokens
	}
	for first := 0; first < in.tokens; first += count {
		rows := make([]Mixed, len(fused))
		for i, data := range fused {
			rows[i] = cut(data, p.last-p.first+1, in.tokens, first, count)
		}
		if err := p.extend(ctx, rows, first); err != nil {
			return fmt.Errorf("attribution: stopped after %d of %d rows: %w", first, in.tokens, err)
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

// cut returns targets first..first+n-1 of [L,T,T] over the sources so far.
func cut(data []float64, layers, tokens, first, n int) Mixed {
	m := Mixed{First: first, L: layers, N: n}
	for l := range layers {
		for k := range n {
			m.Data = append(m.Data, row(data, l*tokens+first+k, tokens)[:m.T()]...)
		}
	}
	return m
}

// store copies the latest n rows of a method to their places.
func (m *Map) store(p planned, first, n int) {
	T := p.job.sources
	for k := range n {
		shown, _ := p.values(k)
		for l := range m.Shape[0] {
			copy(m.Row(l, first+k), shown[l*T:(l+1)*T])
		}
	}
}
