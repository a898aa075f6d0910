//go:build !(darwin || dragonfly || freebsd || linux || netbsd)

package checkpoint

import (
	"errors"
	"os"
)

// mapFile returns an error, because this system has no mapping here; files are read instead.
func mapFile(*os.File, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

// The other functions are never called, because nothing is mapped.
func unmapFile([]byte) error                  { return nil }
func releasePages([]byte, int64, int64) error { return nil }
func within([]byte, uintptr) bool             { return false }
