//go:build !unix || solaris || aix

package engine

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// supported reports whether engines work on this system. They do not, because nothing here checks
// that a socket belongs to the user.
const supported = false

func tryLock(*os.File) (locked bool, err error) { return false, errors.ErrUnsupported }

func ownSession() *syscall.SysProcAttr { return nil }

func ownedByUser(fs.FileInfo) bool { return false }
