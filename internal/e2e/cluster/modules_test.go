package cluster

import (
	"os"
	"os/exec"
	"testing"
)

// TestModules tests the modules beside this folder, offline. They are modules of their own, so that
// nobody who uses Headwater depends on a server of buckets or on Kubernetes, and nothing downloads
// them but run.sh.
func TestModules(t *testing.T) {
	bin := headwater(t)
	for _, name := range []string{"storage", "kubernetes"} {
		t.Run(name, func(t *testing.T) {
			if out, err := inModule(name, bin, "list", "-deps", "-test", "."); err != nil {
				t.Skipf("run internal/e2e/cluster/run.sh, which downloads the modules: %s", out)
			}
			// Most of the time the tests wait for a client that tries again.
			out, err := inModule(name, bin, "test", "-vet=all", "-parallel", "8",
				"-timeout", "30m", ".")
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// inModule runs the go command in a module beside this folder and returns what it prints.
func inModule(name, bin string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = "../" + name
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly", "GOWORK=off",
		"HEADWATER_BIN="+bin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
