package patch

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Estimate is [Map] by attribution patching (Nanda 2023; Syed et al. 2023, "Attribution Patching
// Outperforms Automated Circuit Discovery"): two runs and one gradient in place of a run for each
// place. a is what a run has at the place, and the gradient is that of the run that is patched:
//
//	recovery ≈ (a_other − a_patched) · ∂m/∂a / (m_other − m_patched)
//
// It is exact where m is linear between the two runs, and may be far off where a change is large:
// in the residual stream of early layers and where attention saturates. The result has no Recovery.
// The errors are those of [Map], without its limit of tokens, and a [trace.UsageError] for a model
// that gives no gradients with respect to taps.
func Estimate(ctx context.Context, m trace.Model, o Options) (*Result, error) {
	p, err := newPatching(m, o)
	if err == nil {
		err = p.prepare(ctx)
	}
	if err == nil {
		err = p.estimate(ctx)
	}
	if err != nil {
		return nil, err
	}
	return p.r, nil
}

// estimate fills in the estimates.
func (p *patching) estimate(ctx context.Context) error {
	m, ok := p.m.(trace.Differentiable)
	if !ok {
		return usagef("%s gives no gradients, which estimates need", p.m.Info().Name)
	}
	all, err := m.Gradients(ctx, []trace.Query{p.query(p.base, nil)}, trace.WithTaps)
	if err != nil {
		return err
	}
	at := slices.Index(trace.GradientTaps(), p.o.Place.tap())
	if len(all) != 1 || at >= len(all[0].Taps) {
		return usagef("%s gives no gradients of %s, which estimates need", p.m.Info().Name,
			p.o.Place.tap())
	}
	p.r.Estimate = make([]float64, p.r.Shape[0]*p.r.Shape[1])
	for _, k := range p.changed {
		var values [3][]float32
		for i, t := range []trace.Tensor{p.have, p.set, all[0].Taps[at]} {
			e, err := p.at(k).From(t)
			if err != nil {
				return err
			}
			values[i] = e.Value
		}
		change := 0.0
		for i, slope := range values[2] {
			change += (float64(values[1][i]) - float64(values[0][i])) * float64(slope)
		}
		p.r.Estimate[k] = p.share(change)
	}
	return nil
}

// correlate fills in the correlation of the estimates with the recoveries.
func (p *patching) correlate() {
	var x, y []float64
	for _, k := range p.changed {
		if p.r.Estimate != nil {
			x, y = append(x, p.r.Recovery[k]), append(y, p.r.Estimate[k])
		}
	}
	if len(x) < 2 {
		return
	}
	if c := stat.Correlation(x, y, nil); !math.IsNaN(c) {
		p.r.Correlation = &c
	}
}
