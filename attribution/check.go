package attribution

import "github.com/headwater-ml/headwater/attribution/trace"

// Check returns a [UsageError] for the first option that no model can fulfil: a negative count, a
// number that is NaN or infinite, a value beyond a limit, two options that exclude each other.
// [Explain] checks the same; a program that must open a model first asks before it does. Whether the
// methods are known, and what depends on the model, is not checked.
func (o Options) Check() error {
	if err := o.check(); err != nil {
		return err
	}
	if o.FirstLayer < 0 {
		return usagef("first layer %d; layers count from 0", o.FirstLayer)
	}
	if o.LastLayer != nil && *o.LastLayer < o.FirstLayer {
		return usagef("layers %d to %d; the last one must be at least the first", o.FirstLayer, *o.LastLayer)
	}
	if o.PerHead != nil && *o.PerHead < 0 {
		return usagef("per-head %d; heads count from 0", *o.PerHead)
	}
	if o.Heads.Fusion == trace.OneHead && o.Heads.Head < 0 {
		return usagef("head %d; heads count from 0", o.Heads.Head)
	}
	// Each position is another token of the text, and a text has at most as many tokens as bytes, a few
	// control tokens apart.
	if len(o.Positions) > maxTextBytes {
		return usagef("%d positions; at most %d", len(o.Positions), maxTextBytes)
	}
	for _, p := range o.Positions {
		if p < 0 {
			return usagef("position %d; positions count from 0", p)
		}
	}
	return nil
}
