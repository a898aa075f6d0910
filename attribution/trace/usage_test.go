package trace_test

import (
	"errors"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func TestUsageError(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"of attribution": {
			trace.Usagef("head %d; there are %d", 4, 2), "attribution: head 4; there are 2",
		},
		"of another package": {
			&trace.UsageError{Package: "engine", Reason: "no text"}, "engine: no text",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.err.Error() != c.want {
				t.Errorf("the error is %q, want %q", c.err, c.want)
			}
			if !errors.Is(c.err, trace.ErrUsage) {
				t.Error("errors.Is does not find ErrUsage in it")
			}
		})
	}
}
