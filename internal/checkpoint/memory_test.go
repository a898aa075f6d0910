package checkpoint

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// maxPeak is the most memory that loading may take, in units of the size of the weights. The
// program itself, about 10 MB, is included. Measured with 400 MB: 1.02 as F32; 27 MB in pieces of 4
// MB.
const maxPeak = 1.2

// TestPeakMemory loads 400 MB in another process and asks the system for the peak memory of that
// process.
func TestPeakMemory(t *testing.T) {
	if mode := os.Getenv("CHECKPOINT_PEAK"); mode != "" {
		loadForPeak(t, mode, os.Getenv("CHECKPOINT_FILE"))
		return
	}
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("reads /proc of Linux, for a second")
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	const tensors, rows, columns = 10, 1000, 10000
	sparseFile(t, path, tensors, rows, columns)
	const count = tensors * rows * columns
	for mode, limit := range map[string]float64{
		"F32":    maxPeak * 4 * count,
		"pieces": (maxPeak - 1) * 4 * count, // which are not kept, so this is the program
	} {
		t.Run(mode, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPeakMemory$",
				"-test.v")
			cmd.Env = append(os.Environ(), "CHECKPOINT_PEAK="+mode, "CHECKPOINT_FILE="+path)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			_, rest, _ := strings.Cut(string(out), "VmHWM:")
			kB, err := strconv.Atoi(strings.Fields(rest)[0])
			must(t, err)
			t.Logf("peak %d MB", kB*1024/1_000_000)
			if peak := float64(kB) * 1024; peak > limit {
				t.Errorf("peak of %.0f MB, want at most %.0f", peak/1e6, limit/1e6)
			}
		})
	}
}

// sparseFile writes a file of zeros that takes no room on disk.
func sparseFile(t *testing.T, path string, tensors, rows, columns int) {
	t.Helper()
	var header strings.Builder
	size := 4 * rows * columns
	for i := range tensors {
		sep := ","
		if i == 0 {
			sep = "{"
		}
		fmt.Fprintf(&header, `%s"%d":{"dtype":"F32","shape":[%d,%d],"data_offsets":[%d,%d]}`, sep,
			i, rows, columns, i*size, (i+1)*size)
	}
	b := file(header.String() + "}")
	must(t, os.WriteFile(path, b, 0o600))
	must(t, os.Truncate(path, int64(len(b)+tensors*size)))
}

// loadForPeak loads all tensors of a file, keeps them and prints what /proc says.
func loadForPeak(t *testing.T, mode, path string) {
	f, err := Open(path)
	must(t, err)
	defer f.Close()
	var kept []any
	for _, name := range f.Names() {
		var values any
		switch mode {
		case "F32":
			values, err = f.Float32(name)
		case "pieces":
			piece := make([]float32, 1_000_000)
			for first := 0; first < 10_000_000 && err == nil; first += len(piece) {
				err = f.Float32At(piece, name, first)
			}
		}
		must(t, err)
		kept = append(kept, values)
	}
	status, err := os.ReadFile("/proc/self/status")
	must(t, err)
	fmt.Println(string(status))
	runtime.KeepAlive(kept)
}
