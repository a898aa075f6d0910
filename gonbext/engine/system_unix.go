//go:build unix && !solaris && !aix

package engine

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// supported is whether there are engines on this system.
const supported = true

// tryLock takes the lock on a file, which ends with the process at the latest, unless another process holds it.
func tryLock(f *os.File) (held bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// ownSession is the attribute of a process that is not to end with the terminal or the kernel's group.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// ownedByUser reports whether a file belongs to the user of this process.
func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
