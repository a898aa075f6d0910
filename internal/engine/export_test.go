package engine

import (
	"os"
	"testing"
)

// ShortDir returns a directory for sockets, because the path of t.TempDir may be too long for one.
// Its name has a bracket, because TMPDIR may have one. It is exported for the external tests of
// this package.
func ShortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hw[")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
