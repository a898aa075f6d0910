package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPlugin builds the module of testdata/plugin, which stands for one in another repository,
// offline: its mixing, aggregation and scorer keep their contracts, and a program that imports it
// blank has them by name.
func TestPlugin(t *testing.T) {
	if testing.Short() {
		t.Skip("links the models into a program and into tests")
	}
	inPlugin(t, "vet", "./...")
	inPlugin(t, "test", "./...")
	out := inPlugin(t, "run", "./demo")
	for _, name := range []string{"average", "neighbor"} {
		if !strings.Contains("\n"+out, "\n"+name+": most of ") {
			t.Errorf("the program says nothing by method %s:\n%s", name, out)
		}
	}
}

// inPlugin runs the go command in the plugin's module and returns what it prints.
func inPlugin(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = "testdata/plugin"
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s in %s: %v\n%s\nif this repository's go.mod has changed, run go mod tidy "+
			"there", strings.Join(args, " "), cmd.Dir, err, out)
	}
	return string(out)
}
