package budget

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// plain is a model that says nothing about memory. No test calls its methods.
type plain struct{ trace.Model }

// budgeted is a model with a budget.
type budgeted struct {
	plain
	memory trace.Memory
}

func (b budgeted) Memory() trace.Memory { return b.memory }

// left is a model that knows no more than what is left.
func left(bytes int64) trace.Model { return budgeted{memory: trace.Memory{Left: bytes}} }

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		model trace.Model
		need  float64
		want  *trace.MemoryError // nil: it fits
	}{
		{"the default fits", plain{}, 4e9, nil},
		{"more than the default", plain{}, 4e9 + 1, refusal(4e9+1, 4e9, 4e9, false)},
		{"a budget of 0 is unknown", left(0), 4e9, nil},
		{"the budget fits", left(100), 100, nil},
		{"more than the budget", left(100), 101, refusal(101, 100, 100, false)},
		{
			"more than the rest of a limit",
			budgeted{memory: trace.Memory{Left: 100, Limit: 300, Chosen: true}},
			200,
			refusal(200, 100, 300, true),
		},
		{
			"more than an integer holds",
			left(math.MaxInt64),
			math.Inf(1),
			refusal(1<<62, math.MaxInt64, math.MaxInt64, false),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Check(c.model, c.need, "flow of 9 tokens", "explain fewer tokens")
			if c.want == nil {
				if err != nil {
					t.Errorf("error %v, want none", err)
				}
				return
			}
			var got *trace.MemoryError
			if !errors.As(err, &got) || *got != *c.want {
				t.Fatalf("error %+v, want %+v", got, c.want)
			}
			for _, text := range []string{"flow of 9 tokens", "explain fewer tokens"} {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %q does not say %q", err, text)
				}
			}
		})
	}
}

// refusal returns the error that TestCheck expects.
func refusal(need, left, limit int64, chosen bool) *trace.MemoryError {
	return &trace.MemoryError{
		What: "flow of 9 tokens", Need: need, Instead: "explain fewer tokens",
		Memory: trace.Memory{Left: left, Limit: limit, Chosen: chosen},
	}
}
