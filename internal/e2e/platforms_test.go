package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlatforms builds the command for systems without cgo: it is complete there but for XLA and,
// on Windows, notebooks.
func TestPlatforms(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles everything once for each system")
	}
	for _, platform := range []string{"windows/amd64", "darwin/arm64"} {
		t.Run(platform, func(t *testing.T) {
			system, machine, _ := strings.Cut(platform, "/")
			cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o",
				filepath.Join(t.TempDir(), "headwater"), "../../cmd/headwater")
			cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+machine, "CGO_ENABLED=0",
				"GOEXPERIMENT=")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
