package evaluate

import (
	"fmt"
	"math"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// check returns a [trace.UsageError] for a number that is negative, infinite or NaN.
func (o Options) check() error {
	for _, v := range []struct {
		name  string
		value float64
	}{
		{"draws", float64(o.Draws)},
		{"beam", float64(o.Beam)},
		{"ablations", float64(o.Ablations)},
		{"limit", float64(o.Limit)},
		{"least", o.Least},
		{"ties", o.Ties},
	} {
		if !(v.value >= 0) || math.IsInf(v.value, 1) {
			return &trace.UsageError{
				Package: "evaluate",
				Reason:  fmt.Sprintf("%s %v; it must be finite and 0 or more", v.name, v.value),
			}
		}
	}
	return nil
}
