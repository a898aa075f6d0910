package models

import (
	"fmt"
	"io/fs"

	"github.com/headwater-ml/headwater/internal/errorkind"
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
func (e *CacheError) Kind() errorkind.Kind { return errorkind.Cache }

// backendError is an error of the backend: the files of the model have no part in it.
type backendError struct{ error }

// Unwrap returns what is wrong.
func (e backendError) Unwrap() error { return e.error }

// kindError is an error with what a user can do about it.
type kindError struct {
	error
	kind errorkind.Kind
}

// Unwrap returns what is wrong.
func (e *kindError) Unwrap() error { return e.error }

// Kind returns what a user can do.
func (e *kindError) Kind() errorkind.Kind { return e.kind }

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
