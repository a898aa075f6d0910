package message_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/headwater-ml/headwater/internal/message"
)

const hub, models = message.Package("hub"), message.Package("models")

// TestWords composes the words for a user from the errors themselves: a name of a package goes
// where an error begins with it, and what a user wrote stays.
func TestWords(t *testing.T) {
	no := hub.Errorf("no")
	for long, c := range map[string]struct {
		err  error
		want string
	}{
		"models: no disk":           {models.Errorf("no disk"), "no disk"},
		"models: hub: no":           {models.Errorf("%w", no), "no"},
		"models: a/b: hub: no":      {models.Errorf("a/b: %w", no), "a/b: no"},
		"line 2: hub: no (hub: no)": {fmt.Errorf("line 2: %w (%w)", no, no), "line 2: no (no)"},
		"hub: no\nhub: no":          {errors.Join(no, no), "no\nno"},
		"models: hub: no; EOF":      {models.Errorf("%w; %w", no, io.EOF), "no; EOF"},
		"models: models: no config": {models.Errorf("models: no config"), "models: no config"},
		"open hub: no such file":    {errors.New("open hub: no such file"), "open hub: no such file"},
		`hub: "hub: x" is no`:       {hub.Errorf("%q is no", "hub: x"), `"hub: x" is no`},
		"message_test: broken":      {ownError{}, "broken"},
	} {
		if c.err.Error() != long {
			t.Errorf("the error is %q, want %q", c.err, long)
		}
		if got := message.Words(c.err, nil); got != c.want {
			t.Errorf("%q: %q, want %q", long, got, c.want)
		}
	}
}

// ownError is an error type of this package, whose name its text begins with.
type ownError struct{}

func (ownError) Error() string { return "message_test: broken" }

// TestErrorf: what is wrapped is found, as in an error of fmt.Errorf.
func TestErrorf(t *testing.T) {
	one := hub.Errorf("a: %w", &fs.PathError{Op: "open", Path: "b", Err: fs.ErrNotExist})
	both := models.Errorf("%w and %w", io.EOF, one)
	for _, want := range []error{io.EOF, fs.ErrNotExist} {
		if !errors.Is(both, want) {
			t.Errorf("%v is not found in %v", want, both)
		}
	}
	if path := (*fs.PathError)(nil); !errors.As(both, &path) || path.Path != "b" {
		t.Errorf("%v has no path", both)
	}
	if none := hub.Errorf("no"); errors.Unwrap(none) != nil || errors.Is(none, hub.Errorf("no")) {
		t.Errorf("%v wraps an error", none)
	}
}
