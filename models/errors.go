package models

import (
	"fmt"
	"io/fs"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// CacheError says that a model that was downloaded from the Hub cannot be opened. One of its files
// may be damaged.
type CacheError struct {
	// Ref is the name by which the model was downloaded, and Dir is its folder.
	Ref, Dir string
	// Err is what is wrong.
	Err error
}

// Error implements error.
func (e *CacheError) Error() string {
	return fmt.Sprintf("%v (%s was downloaded and may be damaged)", e.Err, e.Dir)
}

// Unwrap returns what is wrong.
func (e *CacheError) Unwrap() error { return e.Err }

// Kind says that downloading the model again may help.
func (e *CacheError) Kind() trace.ErrorKind { return trace.CacheKind }

// backendError is an error of the backend: the files of the model have no part in it.
type backendError struct{ error }

// Unwrap returns what is wrong.
func (e backendError) Unwrap() error { return e.error }

// noTokenizerError says that a model has no tokenizer, so that it takes token ids and no text.
type noTokenizerError struct {
	// Model is the name of the model.
	Model string
	// Err is what is missing.
	Err error
}

// Error implements error.
func (e *noTokenizerError) Error() string {
	return fmt.Sprintf("models: %s takes token ids and no text: %v", e.Model, e.Err)
}

// Unwrap returns what is missing.
func (e *noTokenizerError) Unwrap() error { return e.Err }

// Kind says that the model takes token ids.
func (e *noTokenizerError) Kind() trace.ErrorKind { return trace.TokenizerKind }

// missing is [fs.ErrNotExist] at the end of a message that has said already what does not exist.
type missing struct{}

// Error implements error.
func (missing) Error() string { return "" }

// Unwrap returns [fs.ErrNotExist].
func (missing) Unwrap() error { return fs.ErrNotExist }

// NotHereError says that a model is not on this machine, and that [Options.NoDownload] forbids to
// download it.
type NotHereError struct {
	// Ref is the name of the model on the Hub.
	Ref string
}

// Error implements error.
func (e *NotHereError) Error() string {
	return fmt.Sprintf("models: %s is not on this machine, and it is not downloaded, because a "+
		"file named it", e.Ref)
}

// unknownModelError says that no model has the name that was given.
type unknownModelError struct {
	// Err says where it was looked for, and which name was perhaps meant.
	Err error
}

// Error implements error.
func (e *unknownModelError) Error() string { return e.Err.Error() }

// Unwrap returns what says where it was looked for.
func (e *unknownModelError) Unwrap() error { return e.Err }

// Kind says that another name may help.
func (e *unknownModelError) Kind() trace.ErrorKind { return trace.ModelKind }
