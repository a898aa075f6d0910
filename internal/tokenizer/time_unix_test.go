//go:build unix

package tokenizer

import (
	"syscall"
	"time"
)

// processTime is the time of all processors for this process, which others do not lengthen.
func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
