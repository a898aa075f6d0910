package patch

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// estimate fills in the estimates.
func (p *patching) estimate(ctx context.Context) error {
	all, err := p.m.(trace.Differentiable).Gradients(ctx, []trace.Query{p.query(p.base)},
		trace.WithTaps)
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
