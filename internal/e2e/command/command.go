// Package command gives end-to-end tests the headwater command. Linking it takes many seconds, so
// make test links it once for all packages.
package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// variable names the path of a headwater command that was built from these sources.
const variable = "HEADWATER_BIN"

// Path returns the path of the headwater command: the value of HEADWATER_BIN, or else a command
// that is built here and removed after the test.
func Path(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		// The go command sees this call and runs the test again after the file has changed.
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
		return path
	}
	path := filepath.Join(t.TempDir(), "headwater")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path,
		"github.com/headwater-ml/headwater/cmd/headwater")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v\n%s", err, out)
	}
	return path
}
