package patch

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// gradientsAtOnce is how many gradients are held at a time.
const gradientsAtOnce = 4

// estimate fills in the estimates.
func (p *patching) estimate(ctx context.Context) (err error) {
	r, rule := p.r, trace.WithTaps
	before, after, queries := p.have, p.set, []trace.Query{p.query(p.base)}
	if r.Star && (r.Place == Queries || r.Place == Keys) {
		rule = trace.WithAttention
		before, after, err = p.attention(ctx)
	}
	if err == nil && r.Star && p.m.Info().Layers > 1 {
		queries, err = p.withoutLayers(ctx)
	}
	if err != nil {
		return err
	}
	r.Estimate = make([]float64, r.Shape[0]*r.Shape[1])
	for done := 0; done < len(queries); done += gradientsAtOnce {
		some := queries[done:min(done+gradientsAtOnce, len(queries))]
		all, err := p.m.(trace.Differentiable).Gradients(ctx, some, rule)
		if err != nil {
			return err
		}
		for i, g := range all {
			slope := trace.Tensor{Shape: before.Shape, Data: g.AttentionData}
			if at := slices.Index(trace.GradientTaps(), p.o.Place.tap()); at < len(g.Taps) {
				slope = g.Taps[at]
			}
			for _, k := range p.changed {
				if len(queries) > 1 && k/r.Shape[1] == done+i { // in the layer that is passed
					continue
				}
				x, err := p.along(k, before, after, slope)
				if err != nil {
					return usagef("%s gives no gradients for estimates of %s: %s", p.m.Info().Name,
						r.Place, err)
				}
				if x = p.share(x); r.Star {
					x = math.Abs(x) / float64(max(1, len(queries)-1))
				}
				r.Estimate[k] += x
			}
		}
	}
	return nil
}

// along is the change of place k times its slope. A slope may have one row for the heads that share
// what is changed.
func (p *patching) along(k int, before, after, slope trace.Tensor) (change float64, err error) {
	e, of := p.at(k), p.at(k)
	if len(slope.Shape) == 4 && len(before.Shape) == 4 && slope.Shape[1] < before.Shape[1] {
		e.Heads = e.Heads[:1]
		of.Heads = []int{e.Heads[0] * slope.Shape[1] / before.Shape[1]}
	}
	var values [3]trace.Edit
	for i, t := range []trace.Tensor{before, after, slope} {
		from := e
		if i == 2 {
			from = of
		}
		if values[i], err = from.From(t); err != nil {
			return 0, err
		}
	}
	if n := len(values[0].Value); n != len(values[1].Value) || n != len(values[2].Value) {
		return 0, pkg.Errorf("%d numbers and %d slopes", n, len(values[2].Value))
	}
	for i, s := range values[2].Value {
		change += (float64(values[1].Value[i]) - float64(values[0].Value[i])) * float64(s)
	}
	return change, nil
}

// attention returns the attention of the run that is patched, [L,H,T,S], and what the softmax gives
// in each layer with the query, or the key, of the other run alone. Attention depends on queries
// and keys alone, so one run in which all of them are set has that of every layer.
func (p *patching) attention(ctx context.Context) (before, after trace.Tensor, err error) {
	kept := trace.KeyVector
	if p.o.Place == Keys {
		kept = trace.QueryVector
	}
	out, err := p.m.Run(ctx, p.base, []trace.Tap{kept, trace.Attention}, p.o.Edits)
	if err != nil {
		return before, after, err
	}
	edits := slices.Clone(p.o.Edits)
	for i, x := range []trace.Tensor{out[0], p.set} {
		e := trace.Edit{Tap: []trace.Tap{kept, p.o.Place.tap()}[i], Change: trace.SetValue}
		if e, err = e.From(x); err != nil {
			return before, after, err
		}
		edits = append(edits, e)
	}
	set, err := p.m.Run(ctx, p.base, []trace.Tap{trace.Attention}, edits)
	if err != nil {
		return before, after, err
	}
	return out[1], set[0], nil
}

// withoutLayers returns for each layer the query whose gradient goes back through the residual
// stream alone there: what the layer adds is set to what it adds anyway.
func (p *patching) withoutLayers(ctx context.Context) ([]trace.Query, error) {
	taps := []trace.Tap{trace.AttentionOutput, trace.FeedForwardOutput}
	out, err := p.m.Run(ctx, p.base, taps, p.o.Edits)
	if err != nil {
		return nil, err
	}
	queries := make([]trace.Query, p.m.Info().Layers)
	for l := range queries {
		var set [2]trace.Edit
		for i, tap := range taps {
			e := trace.Edit{Tap: tap, Layers: []int{l}, Change: trace.SetValue}
			if set[i], err = e.From(out[i]); err != nil {
				return nil, err
			}
		}
		queries[l] = p.query(p.base, set[:]...)
	}
	return queries, nil
}

// correlate fills in the correlation of the estimates with the recoveries, or with their sizes.
func (p *patching) correlate() {
	var x, y []float64
	for _, k := range p.changed {
		if p.r.Estimate != nil && p.r.Recovery != nil {
			x, y = append(x, p.r.Recovery[k]), append(y, p.r.Estimate[k])
		}
	}
	for i := range x {
		if p.r.Star {
			x[i] = math.Abs(x[i])
		}
	}
	if len(x) < 2 {
		return
	}
	if c := stat.Correlation(x, y, nil); !math.IsNaN(c) {
		p.r.Correlation = &c
	}
}
