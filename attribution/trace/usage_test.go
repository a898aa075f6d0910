package trace_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
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

// TestWords: an error about options has the names of the program that shows it, also inside of
// another error; without names the words of the library stay.
func TestWords(t *testing.T) {
	flag := func(option string) string {
		return map[string]string{"max tokens": "--max-tokens", "layers": "--layers"}[option]
	}
	for _, c := range []struct {
		usage      trace.UsageError
		own, flags string
	}{
		{
			trace.UsageError{
				Option: "max tokens", Reason: trace.Called("max tokens") + " -1; why?",
			},
			"attribution: max tokens -1; why?", "--max-tokens -1; why?",
		},
		{
			trace.UsageError{Reason: trace.Called("layers", "FirstLayer") + " 2; give " +
				trace.Called("other", "Other")},
			"attribution: FirstLayer 2; give Other", "--layers 2; give Other",
		},
		{trace.UsageError{Package: "x", Option: "layers", Reason: "layer -1"}, "x: layer -1", "layer -1 (--layers)"},
		{trace.UsageError{Option: "other", Reason: "no"}, "attribution: no", "no"},
		{trace.UsageError{Reason: "a\x1ab\x1a"}, "attribution: ab", "ab"},
	} {
		err := fmt.Errorf("line 1: %w", &c.usage)
		if err.Error() != "line 1: "+c.own {
			t.Errorf("%q, want %q", err, c.own)
		}
		if got := message.Words(err, flag); got != "line 1: "+c.flags {
			t.Errorf("%q, want %q", got, c.flags)
		}
	}
	if got := message.Words(errors.New("no disk"), flag); got != "no disk" {
		t.Errorf("%q", got)
	}
}
