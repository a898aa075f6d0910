package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// childArgs has the command line of a process that [TestPeakMemory] starts, a line for each
// argument.
const childArgs = "HEADWATER_PEAK_ARGS"

// TestPeakMemory runs commands, each in a process of its own, with the least --max-memory that is
// not refused, and asks the system for the most memory that the process ever had.
func TestPeakMemory(t *testing.T) {
	if args := os.Getenv(childArgs); args != "" {
		status := cli.Run(t.Context(), headwater, strings.Split(args, "\n"), os.Stdin, os.Stdout,
			os.Stderr)
		data, err := os.ReadFile("/proc/self/status")
		must(t, err)
		fmt.Printf("status %d\n%s", status, data)
		return
	}
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("reads /proc of Linux, for some seconds")
	}
	ids := strings.TrimSuffix(strings.Repeat("1,2,3,4,5,", 120), ",")
	out := filepath.Join(t.TempDir(), "out")
	heads := make([]float32, 0, 2*32*512*512)
	for _, x := range clitest.Uniform(2, 32, 512) {
		heads = append(heads, float32(x))
	}
	many := clitest.Safetensors(t, checkpoint.Tensor{Name: "attention", Shape: []int{2, 32, 512, 512}, Data: heads})
	for name, args := range map[string][]string{
		"trace":     {"trace", "--backend", "go", "--ids", ids, "--taps", "attention,hidden", "-o", out},
		"explain":   {"explain", "--backend", "go", "--methods", "rollout,flow", "--max-tokens", "1", "-o", out, strings.Repeat("the keys ", 150)},
		"attribute": {"attribute", "--input", many, "--methods", "rollout", "-o", out},
		"focus":     {"focus", "--input", many, "--layer", "0", "--head", "0", "--json", "-o", out},
	} {
		t.Run(name, func(t *testing.T) {
			limit := leastLimit(t, args)
			peak, output := childPeak(t, append(args, "--max-memory", strconv.Itoa(limit)))
			t.Logf("limit %.0f MB, peak %.0f MB", float64(limit)/1e6, float64(peak)/1e6)
			if !strings.Contains(output, "status 0\n") {
				t.Errorf("within %d bytes: %s", limit, output)
			}
			if peak > limit {
				t.Errorf("peak of %.0f MB, want at most %.0f", float64(peak)/1e6,
					float64(limit)/1e6)
			}
		})
	}
}

// leastLimit returns the least limit that a command is not refused with, in steps of 15 MB,
// starting with what the program itself needs.
func leastLimit(t *testing.T, args []string) int {
	t.Helper()
	const step, most = 15_000_000, 1_000_000_000
	for limit := 80_000_000; limit < most; limit += step {
		var stderr bytes.Buffer
		status := cli.Run(t.Context(), headwater, append(args, "--max-memory", strconv.Itoa(limit)),
			nil, &bytes.Buffer{}, &stderr)
		if status == cli.StatusOK {
			return limit
		}
		if !strings.Contains(stderr.String(), "(--max-memory)") ||
			!strings.Contains(stderr.String(), "(given)") {
			t.Fatalf("with %d bytes: status %d, %s; want a refusal that names limit and flag",
				limit, status, &stderr)
		}
	}
	t.Fatalf("refused with %d bytes", most)
	return 0
}

var highWater = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// childPeak runs a command in a process of its own and returns the most memory that it had, in
// bytes, and what it printed.
func childPeak(t *testing.T, args []string) (peak int, output string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPeakMemory$", "-test.v")
	cmd.Env = append(os.Environ(), childArgs+"="+strings.Join(args, "\n"))
	data, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	found := highWater.FindSubmatch(data)
	if found == nil {
		t.Fatalf("no peak in %s", data)
	}
	kB, err := strconv.Atoi(string(found[1]))
	must(t, err)
	return kB * 1024, string(data)
}
