//go:build !unix

package gonbext_test

import "errors"

// mkfifo fails: there are no FIFOs here, and notebooks do not run.
func mkfifo(string) error { return errors.ErrUnsupported }
