package models

import "testing"

// What the tests outside the package see.
var OpenCompileTimes = openCompileTimes

type CompileTimes = compileTimes

// SetPlugins registers plugins for a test.
func SetPlugins(t *testing.T, p Plugins) {
	t.Helper()
	RegisterXLA(p)
	t.Cleanup(func() {
		backends.Lock()
		backends.plugins = nil
		backends.Unlock()
	})
}
