package trace_test

import (
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// TestProgress has one line for work that is counted, measured, and neither.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		p    trace.Progress
		want string
	}{
		{
			trace.Progress{Stage: "preparing prompt rows", Unit: "layer", Done: 1, Total: 6},
			"preparing prompt rows, layer 1 of 6",
		},
		{
			trace.Progress{Stage: "loading the weights", Unit: "percent", Done: 36, Total: 100},
			"loading the weights, 36 %",
		},
		{trace.Progress{Stage: "starting the backend"}, "starting the backend"},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("%+v is %q, want %q", c.p, got, c.want)
		}
	}
}
