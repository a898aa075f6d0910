package trace

import (
	"cmp"
	"errors"
	"strings"

	"github.com/headwater-ml/headwater/internal/message"
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
	// Reason names the value, the limit and what to do. It may have options by [Called].
	Reason string
	// Option is the name of the option that is wrong, empty if the error is about something else.
	Option string
	// Unknown reports whether nothing is registered by the name: a method, mixing, aggregation or
	// scorer.
	Unknown bool
}

// Error returns the reason, after the package's name.
func (e *UsageError) Error() string {
	return cmp.Or(e.Package, "attribution") + ": " + e.Text(func(string) string { return "" })
}

// Control characters around an option in a reason, and between its name and its words.
const optionMark, wordsMark = "\x1a", "\x1b"

// Called returns words for an option, by default its name, as the reason of a [UsageError] holds
// them, so that [UsageError.Text] can put in their place what a user calls the option.
func Called(option string, words ...string) string {
	return optionMark + option + wordsMark + cmp.Or(append(words, option)...) + optionMark
}

// Text returns the reason with options as a user calls them: name returns "--max-tokens" for "max
// tokens", or "" for an option that it does not know. If the reason does not have the option that
// is wrong, it stands at the end, in brackets.
func (e *UsageError) Text(name func(option string) string) string {
	var b strings.Builder
	missing := e.Option != ""
	for i, part := range strings.Split(e.Reason, optionMark) {
		if option, words, ok := strings.Cut(part, wordsMark); ok && i%2 == 1 {
			part = cmp.Or(name(option), words)
			missing = missing && option != e.Option
		}
		b.WriteString(part)
	}
	if called := name(e.Option); missing && called != "" {
		b.WriteString(" (" + called + ")")
	}
	return b.String()
}

// Is makes errors.Is(err, ErrUsage) true.
func (e *UsageError) Is(target error) bool { return target == ErrUsage }

// Usagef returns a [UsageError] of package attribution with a formatted reason.
func Usagef(format string, args ...any) error {
	return &UsageError{Reason: message.Sprintf(format, args...)}
}
