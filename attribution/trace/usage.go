package trace

import (
	"errors"
	"fmt"
)

// ErrUsage is wrapped by every error that the caller can avoid by asking for something else: an
// unknown method, an option out of range, an empty prompt. Test for it with errors.Is. Other errors
// come from the model, the data or the machine.
var ErrUsage = errors.New("wrong usage")

// UsageError is an error in what the caller asked for; see [ErrUsage].
type UsageError struct {
	// Package is the name of the package that Error puts before the reason; empty means
	// "attribution".
	Package string
	// Reason names the value, the limit and what to do.
	Reason string
	// Option is the name of the option of package attribution that is wrong, empty if the error is
	// about something else.
	Option string
}

// Error returns the reason, after the package's name.
func (e *UsageError) Error() string {
	name := e.Package
	if name == "" {
		name = "attribution"
	}
	return name + ": " + e.Reason
}

// Is makes errors.Is(err, ErrUsage) true.
func (e *UsageError) Is(target error) bool { return target == ErrUsage }

// Usagef returns a [UsageError] of package attribution with a formatted reason.
func Usagef(format string, args ...any) error {
	return &UsageError{Reason: fmt.Sprintf(format, args...)}
}
