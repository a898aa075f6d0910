//go:build unix && !solaris && !aix

package engine

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// supported reports whether engines work on this system.
const supported = true

// tryLock locks a file, at most until the process ends. It returns false if another process has the
// lock. Package flock would add 100 KB to every cell.
func tryLock(f *os.File) (locked bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// ownSession returns the attribute of a process that does not end with the terminal or the kernel's
// process group.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// ownedByUser reports whether a file belongs to the user of this process.
func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
