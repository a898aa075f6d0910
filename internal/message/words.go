package message

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"
)

// Package is the name that errors of a package begin with: "gguf: tensor 3: ...". It leads a
// developer to the code and means nothing to a user, whom [Words] spares it.
type Package string

// Errorf is [fmt.Errorf] after the name of the package.
func (p Package) Errorf(format string, args ...any) error {
	e := packageError{p, fmt.Errorf(format, args...)}
	if several, ok := e.err.(interface{ Unwrap() []error }); ok {
		return &packageErrors{e, several.Unwrap()}
	}
	return &e
}

// packageError is an error that wraps at most one other.
type packageError struct {
	name Package
	err  error // what fmt.Errorf returned
}

// Error implements error.
func (e *packageError) Error() string { return string(e.name) + ": " + e.err.Error() }

// Unwrap returns the error of %w, nil if there is none.
func (e *packageError) Unwrap() error { return errors.Unwrap(e.err) }

// Text implements what [Words] looks for.
func (e *packageError) Text(option func(name string) string) string { return Words(e.err, option) }

// packageErrors is an error that wraps several.
type packageErrors struct {
	packageError
	wrapped []error
}

// Unwrap returns the errors of %w.
func (e *packageErrors) Unwrap() []error { return e.wrapped }

// Words returns the text of an error for a user: no name of a package of this project begins it or
// an error that it wraps, and options are called as option says, "--max-tokens" for "max tokens",
// or as the library calls them if option is nil or returns ""; see [trace.Called]. An error whose
// words depend on the reader has a method Text that returns them.
//
// [trace.Called]: https://pkg.go.dev/github.com/headwater-ml/headwater/attribution/trace#Called
func Words(err error, option func(name string) string) string {
	if option == nil {
		option = func(string) string { return "" }
	}
	var wrapped []error
	switch e := err.(type) {
	case interface {
		Text(option func(name string) string) string
	}:
		return e.Text(option)
	case interface{ Unwrap() error }:
		wrapped = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		wrapped = e.Unwrap()
	}
	text := err.Error()
	for _, w := range wrapped {
		if w != nil {
			text = strings.Replace(text, w.Error(), Words(w, option), 1)
		}
	}
	return strings.TrimPrefix(text, packageOf(err)+": ")
}

// Sprintf is [fmt.Sprintf] with the [Words] of errors, for a sentence that quotes them.
func Sprintf(format string, args ...any) string {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = Words(err, nil)
		}
	}
	return fmt.Sprintf(format, args...)
}

// packageOf returns the name of the package of an error's type, if it is one of this project: the
// text of the error begins with it.
func packageOf(err error) string {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !strings.HasPrefix(t.PkgPath(), "github.com/headwater-ml/headwater/") {
		return "\x00"
	}
	return path.Base(t.PkgPath())
}
