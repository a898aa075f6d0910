//go:build unix

package kernel

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fullDisk names the folder in which the process of the test installs the kernel.
const fullDisk = "HEADWATER_TEST_FULL_DISK"

// TestInstallOnAFullDisk checks that no folder with a part of the kernel stays. In place of a full
// disk, a process of its own has a limit on the size of files, which the logo keeps and kernel.json
// does not.
func TestInstallOnAFullDisk(t *testing.T) {
	if dataDir := os.Getenv(fullDisk); dataDir != "" {
		signal.Ignore(syscall.SIGXFSZ)
		limit := syscall.Rlimit{Cur: 2000, Max: 2000}
		must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
		o := options(dataDir)
		o.Keep = []string{"LONG"}
		_, err := Install(o)
		t.Fatal(err)
	}
	dataDir := t.TempDir()
	install := exec.Command(os.Args[0], "-test.run=^TestInstallOnAFullDisk$")
	install.Env = append(os.Environ(), fullDisk+"="+dataDir, "LONG=/"+strings.Repeat("x", 3000))
	out, err := install.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "kernel.json") {
		t.Fatalf("Install: %v\n%s\nwant an error about kernel.json", err, out)
	}
	kernel := filepath.Join(dataDir, "kernels", Name)
	if left, err := os.ReadDir(kernel); err == nil {
		t.Errorf("%s stays with %v", kernel, left)
	}
}
