package models

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// TestLimitMemory: more than a control group allows cannot be chosen.
func TestLimitMemory(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"proc/meminfo":                   "MemTotal: 8192 kB\nMemAvailable: 6144 kB\n",
		"proc/self/cgroup":               "0::/a\n",
		"proc/self/mountinfo":            "9 8 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
		"sys/fs/cgroup/a/memory.max":     "1000000\n",
		"sys/fs/cgroup/memory.max":       "max\n",
		"sys/fs/cgroup/a/memory.stat":    "inactive_file 0\n",
		"sys/fs/cgroup/a/memory.current": "200000\n",
	} {
		path = filepath.Join(root, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for chosen, want := range map[int64]int64{
		0: 720000, 300000: 300000, 1000000: 1000000, 1000001: 720000,
	} {
		m := limitMemory(root, chosen)
		if m.Limit != want || m.Chosen != (want == chosen) || m.Chosen != (m.LimitedBy == "") {
			t.Errorf("limit %d by %q (chosen: %v) for %d, want %d", m.Limit, m.LimitedBy, m.Chosen,
				chosen, want)
		}
	}
}
