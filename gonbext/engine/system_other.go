//go:build !unix || solaris || aix

package engine

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// supported is whether there are engines on this system: none knows here that a socket is the user's own.
const supported = false

func tryLock(*os.File) (held bool, err error) { return false, errors.ErrUnsupported }

func ownSession() *syscall.SysProcAttr { return nil }

func ownedByUser(fs.FileInfo) bool { return false }
