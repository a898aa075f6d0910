package attribution

import (
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Limits of options: far above what a picture can show, and low enough that a slip of the finger
// does not fill memory.
const (
	defaultTokens       = 16
	maxTokens           = 4096
	defaultAlternatives = 5
	maxAlternatives     = 1000
	defaultFoils        = 5
	maxFoils            = 100
	maxTextBytes        = 1 << 20

	// Above 100 tokens are drawn evenly, whatever the model says: logits are some tens apart.
	maxTemperature = 100
	// The largest vocabularies have some 300,000 tokens.
	maxTopK = 1_000_000
	// A distance of Value Zeroing is at most 2 by the angle; a Euclidean one is a length of the
	// residual stream, thousands in models with a few large components.
	maxThreshold = 1e6
)

// Check returns a [trace.UsageError] for the first option that no model and no method can fulfil: a
// number out of its range, or options that exclude each other. [Explain] calls it, and then checks
// what depends on the model and the methods; who passes options on may want to know before.
func (o Options) Check() error { return o.check() }

// Together reports whether one of the methods that are named takes the tokens of a span away as
// one, so that By must be known before it is computed.
func (o Options) Together() bool {
	all, err := o.methods(nil)
	return err == nil && slices.ContainsFunc(all, func(m Method) bool {
		return m.alone(&o).info().Together
	})
}

// alternatives returns how many alternatives each token carries.
func (o Options) alternatives() int {
	if o.Alternatives == 0 {
		return defaultAlternatives
	}
	return o.Alternatives
}

// scoredFoils returns how many foils scorers compare a prediction with, by default none for a
// token.
func (o Options) scoredFoils(classes bool) int {
	if o.Foils == nil && !classes {
		return 0
	}
	return o.foils()
}

// foils returns how many foils the layer that wrote, heads and the lens compare a prediction with.
func (o Options) foils() int {
	switch {
	case o.Contrast != "":
		return 0
	case o.Foils != nil:
		return *o.Foils
	}
	return defaultFoils
}

// checkHeads returns a usage error if a head is not one of the model's H heads.
func (o Options) checkHeads(heads int) error {
	if o.Heads.Fusion == trace.OneHead && (o.Heads.Head < 0 || o.Heads.Head >= heads) {
		return LookupOption("heads").usagef("%s %d; there are %d, from 0 to %d",
			trace.Called("heads", "head"), o.Heads.Head, heads, heads-1)
	}
	if o.PerHead != nil && (*o.PerHead < 0 || *o.PerHead >= heads) {
		return LookupOption("per-head").usagef("%s %d; there are %d heads, from 0 to %d",
			trace.Called("per-head"), *o.PerHead, heads, heads-1)
	}
	return nil
}

// layerRange returns the first and last layer asked for, of L.
func (o Options) layerRange(layers int) (first, last int, err error) {
	if layers < 1 {
		return 0, 0, pkg.Errorf("the model has %s; it needs one or more",
			message.Count(layers, "layer"))
	}
	first, last = o.FirstLayer, layers-1
	if o.LastLayer != nil {
		last = *o.LastLayer
	}
	if first < 0 || last >= layers || first > last {
		order := onOff(first > last, ", and the first comes first")
		return 0, 0, LookupOption("layers").usagef("%s %d to %d; there are %d, from 0 to %d%s",
			trace.Called("layers"), first, last, layers, layers-1, order)
	}
	return first, last, nil
}

// methods returns the methods asked for, each once and in order; without any, those of byDefault.
func (o Options) methods(byDefault []string) ([]Method, error) {
	names := o.Methods
	if len(names) == 0 {
		names = byDefault
	}
	var all []Method
	seen := map[string]bool{}
	for _, name := range names {
		some, err := LookupMethods(name)
		if err != nil {
			return nil, err
		}
		for _, m := range some {
			if !seen[m.Name] {
				seen[m.Name] = true
				all = append(all, m)
			}
		}
	}
	return all, nil
}
