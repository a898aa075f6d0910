//go:build unix

package gonbext_test

import "syscall"

// mkfifo makes a FIFO that its owner alone can open.
func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }
