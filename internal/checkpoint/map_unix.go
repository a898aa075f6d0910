//go:build darwin || dragonfly || freebsd || linux || netbsd

package checkpoint

import (
	"errors"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapFile maps the first size bytes of a file for reading. Where the address space is limited it
// returns an error: the file would take of it what the program needs.
func mapFile(f *os.File, size int64) ([]byte, error) {
	var space unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_AS, &space)
	if size <= 0 || size > math.MaxInt || err == nil && space.Cur < 1<<62 {
		return nil, errors.New("cannot be mapped")
	}
	return unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
}

func unmapFile(data []byte) error { return unix.Munmap(data) }

// releasePages takes the pages of data[begin:end] out of the memory of this program. The system may
// keep them in its cache; a reader that needs a page again gets it again.
func releasePages(data []byte, begin, end int64) error {
	// The system wants the address of a page.
	begin -= begin % int64(os.Getpagesize())
	return unix.Madvise(data[begin:end], unix.MADV_DONTNEED)
}

// within returns whether an address lies in data.
func within(data []byte, addr uintptr) bool {
	first := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	return addr >= first && addr-first < uintptr(len(data))
}
