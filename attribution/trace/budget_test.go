package trace_test

import (
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/errorkind"
)

// TestMemoryError: an error has what is needed, what the limit is and what would fit, and its kind
// what would help.
func TestMemoryError(t *testing.T) {
	limit := trace.Memory{Limit: 8 << 30, Left: 8 << 30}
	chosen := trace.Memory{Limit: 1e9, Left: 4e8, Chosen: true}
	for _, c := range []struct {
		err  trace.MemoryError
		want string
		kind errorkind.Kind
	}{
		{
			trace.MemoryError{Memory: limit, What: "flow", Need: 12 << 30, Instead: "take less"},
			"attribution: flow needs about 12.9 GB, the limit is 8.6 GB; take less, or allow more " +
				"memory", errorkind.Memory,
		},
		{
			trace.MemoryError{
				Package: "transformer", Memory: chosen, What: "a pass", Need: 6e8,
				Instead: "take less",
			},
			"transformer: a pass needs about 600 MB, the limit is 1.0 GB (given), of which 400 MB " +
				"are left for it; take less, or allow more memory", errorkind.Memory,
		},
		{
			trace.MemoryError{
				Package: "models", Memory: limit, What: "it", Need: 12 << 30, Machine: true,
				Half: 6 << 30,
			},
			"models: it needs about 12.9 GB, this machine has 8.6 GB; in bfloat16 it needs 6.4 GB",
			errorkind.DType,
		},
		{
			trace.MemoryError{
				Package: "models", Memory: limit, What: "it", Need: 12 << 30, Machine: true,
				Instead: "take another",
			},
			"models: it needs about 12.9 GB, this machine has 8.6 GB; take another", errorkind.None,
		},
	} {
		if got := c.err.Error(); got != c.want || c.err.Kind() != c.kind {
			t.Errorf("error %q of kind %q, want %q of kind %q", got, c.err.Kind(), c.want, c.kind)
		}
	}
	if err := (trace.Memory{}).Check(math.Inf(1), "", ""); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}
