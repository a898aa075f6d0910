package gonbext

import (
	"errors"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
	"github.com/headwater-ml/headwater/internal/message"
)

// wordedError is an error in the words of a cell.
type wordedError struct {
	text string
	err  error
}

// Error implements error.
func (e *wordedError) Error() string { return e.text }

// Unwrap returns the error that is worded.
func (e *wordedError) Unwrap() error { return e.err }

// worded returns an error in the words of a cell in Go: it begins with gonbext and names no other
// package, and an option is called by its field. An error that is worded already stays, and so does
// nil.
func worded(err error) error {
	return wordedAs(err, func(row attribution.Option) string { return row.Field }, nil)
}

// wordedAsFlags is worded for a %exec line, in which options are written as flags.
func wordedAsFlags(err error) error {
	flags := map[string]string{
		"Layer": "--layer", "Token": "--token", "MaxMemory": "--max-memory", "DType": "--dtype",
	}
	for _, row := range attribution.OptionTable() {
		for _, field := range strings.Split(row.Field, " and ") {
			if row.Flag != "" {
				flags[field] = "--" + row.Flag
			}
		}
	}
	return wordedAs(err, func(row attribution.Option) string {
		if row.Flag == "" {
			return row.Field
		}
		return "--" + row.Flag
	}, flags)
}

// wordedAs returns an error without the names of packages but gonbext, with an option called as
// name says, and then with words renamed.
func wordedAs(
	err error, name func(attribution.Option) string, renamed map[string]string,
) error {
	if err == nil || errors.As(err, new(*wordedError)) {
		return err
	}
	text := message.WithoutPackages(err.Error())
	if renamed != nil {
		text = strings.ReplaceAll(text, " of gonbext.Model", "")
	}
	if option, reason := wrongOption(err); option != "" {
		if row, ok := attribution.FindOption(option); ok {
			reason = message.WithoutPackages(reason)
			text = strings.Replace(text, reason, row.Called(reason, name(row)), 1)
		}
	}
	return &wordedError{"gonbext: " + message.Rename(text, renamed), err}
}

// wrongOption returns the option that an error is about and what it says of it, both empty if it is
// about something else.
func wrongOption(err error) (option, reason string) {
	usage, failure := (*trace.UsageError)(nil), (*engine.Error)(nil)
	switch {
	case errors.As(err, &usage):
		return usage.Option, usage.Reason
	case errors.As(err, &failure):
		return failure.Option, failure.Message
	}
	return "", ""
}
