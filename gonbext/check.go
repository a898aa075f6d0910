package gonbext

import (
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// check returns an error for the first setting that is wrong whatever the model, so that a cell
// says so before an engine is started or a model is read.
func (r request) check() error {
	if r.model.MaxMemory < 0 {
		return usagef("%s %d bytes; it must be positive, or 0 for what the machine has left",
			trace.Called("max memory", "MaxMemory"), r.model.MaxMemory)
	}
	if err := r.options.Check(); err != nil {
		return err
	}
	if err := r.show.Check(); err != nil {
		return err
	}
	switch {
	case r.show.By != "" && r.options.By != "" && r.show.By != r.options.By:
		return usagef("By of Options is %.60q and By of Show is %.60q; give one of the two",
			r.options.By, r.show.By)
	case r.show.Source != nil && r.show.View().Takes["source"] == 0:
		return usagef("Source %d is for gonbext.FlowGraph; leave it out", *r.show.Source)
	case r.show.Layer == nil:
		return nil
	}
	switch layer, o := *r.show.Layer, r.options; {
	case layer < o.FirstLayer:
		return usagef("%s %d; the first layer that is combined is %s %d", shownLayer, layer,
			trace.Called("first layer", "FirstLayer"), o.FirstLayer)
	case o.LastLayer != nil && layer > *o.LastLayer:
		return usagef("%s %d; the last layer that is combined is %s %d", shownLayer, layer,
			trace.Called("last layer", "LastLayer"), *o.LastLayer)
	}
	return nil
}

// shownLayer is the layer of Show in an error.
var shownLayer = trace.Called("layer", "Layer")

// groups reports whether tokens are grouped.
func (r request) groups() bool {
	return r.show.By != "" || r.options.By != "" || r.options.Target != ""
}

// checkLayer returns an error if the model of e does not have the layer to show, or no result has
// it: flow without AllLevels has the last one alone. Nothing is known about a model without layers.
func (r request) checkLayer(e *Explanation) error {
	layers := e.Model.Layers
	if r.show.Layer == nil || layers == 0 {
		return nil
	}
	if *r.show.Layer >= layers {
		return usagef("%s %d; %.60q has layers 0 to %d", shownLayer, *r.show.Layer, e.Model.Name,
			layers-1)
	}
	var have []int
	for _, result := range e.Methods {
		have = append(have, result.Layers...)
	}
	if len(have) == 0 || slices.Contains(have, *r.show.Layer) {
		return nil
	}
	slices.Sort(have)
	return usagef("%s %d; the results have the layers %v", shownLayer, *r.show.Layer,
		slices.Compact(have))
}

// usagef returns a [trace.UsageError] of this package with a formatted reason.
func usagef(format string, args ...any) error {
	return &trace.UsageError{Package: "gonbext", Reason: message.Sprintf(format, args...)}
}
