//go:build unix

package xlaplugin

import (
	"os"
	"syscall"
)

// owned reports whether only this user and root can change a file. Native code found by walking up
// from the working directory, which may be anyone's, is not loaded otherwise.
func owned(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Getuid()) && info.Mode().Perm()&0o022 == 0
}
