package gonbext

import (
	"errors"
	"fmt"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/errorkind"
)

// hints say, in terms of a cell, what to do about an error of the engine, with options by
// [trace.Called].
var hints = map[errorkind.Kind]string{
	errorkind.Memory: "set " + trace.Called("max memory", "MaxMemory of gonbext.Model"),
	errorkind.DType:  "set " + trace.Called("dtype", "DType of gonbext.Model") + ` to "bfloat16"`,
	errorkind.Cache: "run headwater download with the name of the model, which " +
		"fetches broken files again",
	errorkind.Tokenizer: "trace token ids by TryTraceInput of gonbext.Model",
	errorkind.Plugin:    "run headwater setup xla",
}

// hint adds to an error what to do about a method that this program has registered and the engine
// has not.
func (r request) hint(err error) error {
	usage := (*trace.UsageError)(nil)
	if !errors.As(err, &usage) || !usage.Unknown || engine.IsOwn() {
		return err
	}
	for _, name := range r.options.Methods {
		if _, unknown := attribution.LookupMethods(name); unknown != nil {
			return err
		}
	}
	return fmt.Errorf("%w: this program knows it and the engine does not, "+
		"so import gonbext/local, which makes this program the engine", err)
}
