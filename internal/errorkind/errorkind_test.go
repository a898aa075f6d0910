package errorkind_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/internal/errorkind"
)

// kindly is an error with a kind.
type kindly struct{ kind errorkind.Kind }

func (e kindly) Error() string        { return "no" }
func (e kindly) Kind() errorkind.Kind { return e.kind }

func TestKindOf(t *testing.T) {
	memory := kindly{errorkind.Memory}
	for name, c := range map[string]struct {
		err  error
		want errorkind.Kind
	}{
		"none":           {nil, errorkind.None},
		"another":        {errors.New("no"), errorkind.None},
		"itself":         {memory, errorkind.Memory},
		"wrapped":        {fmt.Errorf("line 1: %w", memory), errorkind.Memory},
		"joined":         {errors.Join(errors.New("no"), memory), errorkind.Memory},
		"of its own say": {kindly{}, errorkind.None},
	} {
		if got := errorkind.Of(c.err); got != c.want {
			t.Errorf("%s: kind %q, want %q", name, got, c.want)
		}
	}
}
