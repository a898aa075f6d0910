package gonbext

import (
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
)

// check returns an error for the first option that is wrong whatever the model, so that a cell says so
// before an engine is started or a model read.
func (o Options) check() error {
	if o.MaxMemory < 0 {
		return usagef("MaxMemory %d bytes; it must be positive, or 0 for what the machine has left", o.MaxMemory)
	}
	if err := o.attribution().Check(); err != nil {
		return err
	}
	if o.Layer == nil {
		return nil
	}
	switch layer := *o.Layer; {
	case layer < 0:
		return usagef("Layer %d; layers count from 0", layer)
	case layer < o.FirstLayer:
		return usagef("Layer %d; the first layer that is combined is FirstLayer %d", layer, o.FirstLayer)
	case o.LastLayer != nil && layer > *o.LastLayer:
		return usagef("Layer %d; the last layer that is combined is LastLayer %d", layer, *o.LastLayer)
	}
	return nil
}

// checkLayer returns an error if the model of e has no such layer, or none of the results has it: flow
// without AllLevels has the last one alone. Nothing is known of a model without layers.
func (o Options) checkLayer(e *Explanation) error {
	layers := e.Model.Layers
	if o.Layer == nil || layers == 0 {
		return nil
	}
	if *o.Layer >= layers {
		return usagef("Layer %d; %.60q has %d, from 0 to %d", *o.Layer, e.Model.Name, layers, layers-1)
	}
	var have []int
	for _, r := range e.Methods {
		have = append(have, r.Layers...)
	}
	if len(have) == 0 || slices.Contains(have, *o.Layer) {
		return nil
	}
	slices.Sort(have)
	return usagef("Layer %d; the results have %v", *o.Layer, slices.Compact(have))
}

// usageError is an error that the caller can avoid; errors.Is finds [attribution.ErrUsage] in it.
type usageError struct{ reason string }

func (e *usageError) Error() string        { return "gonbext: " + e.reason }
func (e *usageError) Is(target error) bool { return target == attribution.ErrUsage }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }
