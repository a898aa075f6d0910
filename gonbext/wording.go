package gonbext

import (
	"errors"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/errorkind"
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
func worded(err error) error { return wordedAs(err, fieldOf) }

// wordedAsFlags is worded for a %exec line, in which options are written as flags.
func wordedAsFlags(err error) error { return wordedAs(err, flagOf) }

// fieldOf returns the field of an option, "" for those of a picture, which sentences call so.
func fieldOf(option string) string {
	row := attribution.LookupOption(option)
	return row.Field
}

// flagOf returns an option as it is written in a %exec line, "" if there is none.
func flagOf(option string) string {
	switch option {
	case "layer", "token", "max memory", "dtype":
		return "--" + strings.ReplaceAll(option, " ", "-")
	case "first layer", "last layer":
		option = "layers"
	}
	switch row := attribution.LookupOption(option); {
	case row.Key != "":
		return "--set " + row.Key
	case row.Flag != "":
		return "--" + row.Flag
	}
	return fieldOf(option)
}

// wordedAs returns an error in the words of wordsOf, after gonbext.
func wordedAs(err error, name func(option string) string) error {
	if err == nil || errors.As(err, new(*wordedError)) {
		return err
	}
	return &wordedError{"gonbext: " + wordsOf(err, name), err}
}

// wordsOf returns the text of an error without names of packages, with options called as name says
// and with a hint.
func wordsOf(err error, name func(option string) string) string {
	text := message.Words(err, name)
	if hint := hints[errorkind.Of(err)]; hint != "" {
		text += " (" + (&trace.UsageError{Reason: hint}).Text(name) + ")"
	}
	return text
}
