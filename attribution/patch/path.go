package patch

import (
	"context"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// PathOptions are a path between two heads, and the prompts. Place and Estimate of Options are not
// used.
type PathOptions struct {
	Options
	// Sender and Receiver are the layer and the number of both heads, 0-based. The receiver is in a
	// later layer.
	Sender, Receiver [2]int
	// Through is what of the receiver the change reaches: [trace.QueryVector], the default,
	// [trace.KeyVector] or [trace.Value]. Heads that share a key or a value receive it together.
	Through trace.Tap
}

// Path returns how much of the difference between two prompts passes from one head to another one
// directly: path patching (Goldowsky-Dill et al. 2023, "Localizing Model Behavior with Path
// Patching"). The number is a recovery, or for [Noising] a loss, as in [Result].
//
// First the prompt that is patched is run with the sender's output of the other prompt, while the
// heads of all layers between keep what they have without it; feed-forward parts are computed
// again. What the receiver has there, its query, key or value, is set in a second run, in which
// everything after it is computed from the change. Both heads are patched at all positions.
//
// It costs four runs over a prompt, and the errors are those of [Map]; a head that the model lacks
// or a receiver that is not after the sender is a [trace.UsageError].
func Path(ctx context.Context, m trace.Model, o PathOptions) (float64, error) {
	if o.Through == "" {
		o.Through = trace.QueryVector
	}
	err := known("way into the receiver", o.Through,
		[]trace.Tap{trace.QueryVector, trace.KeyVector, trace.Value})
	if err != nil {
		return 0, err
	}
	info := m.Info()
	for _, head := range [][2]int{o.Sender, o.Receiver} {
		if head[0] < 0 || head[0] >= info.Layers || head[1] < 0 || head[1] >= info.Heads {
			return 0, usagef("head %d.%d; %s has layers 0 to %d and heads 0 to %d", head[0],
				head[1], info.Name, info.Layers-1, info.Heads-1)
		}
	}
	if o.Receiver[0] <= o.Sender[0] {
		return 0, usagef("the receiver is in layer %d and the sender in layer %d; a head reads "+
			"what earlier layers wrote", o.Receiver[0], o.Sender[0])
	}
	o.Place = Heads
	p, err := newPatching(m, o.Options)
	if err == nil {
		err = p.prepare(ctx)
	}
	if err != nil {
		return 0, err
	}
	received, err := p.received(ctx, o)
	if err != nil {
		return 0, err
	}
	values, err := p.m.Predict(ctx, []trace.Query{p.query(p.base, received)})
	if err != nil {
		return 0, err
	}
	return p.share(values[0] - p.ends[0]), nil
}

// received returns the edit that gives the receiver what it has when the sender's change reaches it
// past other heads.
func (p *patching) received(ctx context.Context, o PathOptions) (trace.Edit, error) {
	sent, err := p.at(o.Sender[0]*p.r.Shape[1] + o.Sender[1]).From(p.set)
	if err != nil {
		return sent, err
	}
	edits := append(slices.Clone(p.o.Edits), sent)
	if between := o.Receiver[0] - o.Sender[0] - 1; between > 0 {
		frozen := trace.Edit{Tap: sent.Tap, Change: trace.SetValue}
		for l := range between {
			frozen.Layers = append(frozen.Layers, o.Sender[0]+1+l)
		}
		if frozen, err = frozen.From(p.have); err != nil {
			return sent, err
		}
		edits = append(edits, frozen)
	}
	out, err := p.m.Run(ctx, p.base, []trace.Tap{o.Through}, edits)
	if err != nil {
		return sent, err
	}
	e := trace.Edit{Tap: o.Through, Layers: o.Receiver[:1], Change: trace.SetValue}
	if out[0].Shape[1] <= o.Receiver[1] {
		return e, pkg.Errorf("the tap %s has the shape %v", o.Through, out[0].Shape)
	}
	// Heads that share a key or a value have the same numbers.
	size := len(out[0].Data) / out[0].Shape[0] / out[0].Shape[1]
	of := func(h int) []float32 {
		return out[0].Data[(o.Receiver[0]*out[0].Shape[1]+h)*size:][:size]
	}
	for h := range out[0].Shape[1] {
		if h == o.Receiver[1] || o.Through != trace.QueryVector &&
			slices.Equal(of(h), of(o.Receiver[1])) {
			e.Heads = append(e.Heads, h)
		}
	}
	return e.From(out[0])
}
