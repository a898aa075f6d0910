//go:build unix && !solaris && !aix

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// terminalWidth returns the columns of a terminal, 0 for one that does not tell; ok is whether f is
// one.
func terminalWidth(f *os.File) (width int, ok bool) {
	var size struct{ rows, columns, x, y uint16 }
	address := uintptr(unsafe.Pointer(&size)) //nolint:gosec // the call takes an address
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, address)
	return int(size.columns), errno == 0
}
