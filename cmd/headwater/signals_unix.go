//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreFileLimit lets a write beyond the size that a file may have (ulimit -f) fail like one to a
// full disk. The signal would end the program in the middle of a file.
func ignoreFileLimit() { signal.Ignore(syscall.SIGXFSZ) }
