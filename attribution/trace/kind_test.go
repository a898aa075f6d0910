package trace_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// kindly is an error with a kind.
type kindly struct{ kind trace.ErrorKind }

func (e kindly) Error() string         { return "no" }
func (e kindly) Kind() trace.ErrorKind { return e.kind }

func TestKindOf(t *testing.T) {
	memory := kindly{trace.MemoryKind}
	for name, c := range map[string]struct {
		err  error
		want trace.ErrorKind
	}{
		"none":           {nil, trace.NoKind},
		"another":        {errors.New("no"), trace.NoKind},
		"itself":         {memory, trace.MemoryKind},
		"wrapped":        {fmt.Errorf("line 1: %w", memory), trace.MemoryKind},
		"joined":         {errors.Join(errors.New("no"), memory), trace.MemoryKind},
		"of its own say": {kindly{}, trace.NoKind},
	} {
		if got := trace.KindOf(c.err); got != c.want {
			t.Errorf("%s: kind %q, want %q", name, got, c.want)
		}
	}
}
