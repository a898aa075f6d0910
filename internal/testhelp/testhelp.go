// Package testhelp has what the tests of many packages need.
package testhelp

import "testing"

// Must ends a test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
