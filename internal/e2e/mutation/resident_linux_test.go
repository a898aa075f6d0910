package mutation

import (
	"os"
	"syscall"
)

// residentBytes returns the largest resident memory of a process that has ended.
func residentBytes(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}
