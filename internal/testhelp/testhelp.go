// Package testhelp has what the tests of many packages need.
package testhelp

import (
	"os"
	"testing"
	"time"
)

// Must ends a test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until happened returns true, 10 seconds at most.
func Eventually(t testing.TB, happened func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for ; !happened(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the expected state was not reached in 10 s")
		}
	}
}

// ShortDir returns a temporary folder with a short path; that of t.TempDir may be too long for a
// socket.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hw")
	Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
