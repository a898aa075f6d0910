package hostmemory

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// TestRead reads trees of files as Linux has them: /proc, and the control groups of
// version 1 and 2 where they are mounted.
func TestRead(t *testing.T) {
	const (
		v1 = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
			"36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
		v2   = "41 31 0:38 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		soft = "Limit   Soft Limit  Hard Limit  Units\nMax data size  unlimited  unlimited  bytes\n"
	)
	type files map[string]string
	for name, c := range map[string]struct {
		files            files
		total, available int64
		limitedBy        string
	}{
		"no groups": {files{}, 8 << 20, 6 << 20, ""},
		"version 2, max": {files{
			"proc/self/cgroup": "0::/job\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/job/memory.max": "max\n", "sys/fs/cgroup/job/memory.current": "9\n",
		}, 8 << 20, 6 << 20, ""},
		"version 2, below": {files{
			"proc/self/cgroup": "0::/a/job:1\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/job:1/memory.max":     "1000000\n",
			"sys/fs/cgroup/a/job:1/memory.current": "900000\n",
			"sys/fs/cgroup/a/job:1/memory.stat":    "inactive_file 400000\nactive_file 200000\n",
		}, 1000000, 700000, "job:1 (memory.max)"},
		"version 2, an ancestor has less left": {files{
			"proc/self/cgroup": "0::/a/b/c\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/b/c/memory.max": "1000000\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
			"sys/fs/cgroup/a/memory.max":     "2000000\n",
			"sys/fs/cgroup/a/memory.current": "1500000\n",
		}, 1000000, 500000, "cgroup/a (memory.max)"},
		"version 2, throttled": {files{
			"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.high": "500000\n",
		}, 500000, 500000, "cgroup/a (memory.high)"},
		"version 2, a container": {files{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/memory.max": "700000\n", "sys/fs/cgroup/memory.current": "800000\n",
		}, 700000, 0, "cgroup (memory.max)"},
		"version 2, another root": {files{
			"proc/self/cgroup": "0::/../../job\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/memory.max": "700000\n",
		}, 700000, 700000, "cgroup (memory.max)"},
		"version 1": {files{
			"proc/self/cgroup":                                 "4:cpu:/x\n3:a,memory:/slurm/job\n",
			"proc/self/mountinfo":                              v1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes":       "9223372036854771712\n",
			"sys/fs/cgroup/memory/slurm/memory.limit_in_bytes": "800000\n",
			"sys/fs/cgroup/memory/slurm/memory.usage_in_bytes": "500000\n",
			"sys/fs/cgroup/memory/slurm/memory.stat":           "total_inactive_file 100000\n",
			"sys/fs/cgroup/cpu/x/memory.limit_in_bytes":        "1\n",
		}, 800000, 400000, "memory/slurm (memory.limit_in_bytes)"},
		"version 1, bound into a container": {files{
			"proc/self/cgroup": "3:memory:/docker/a\\x2d b/job\n",
			"proc/self/mountinfo": "9 8 0:1 /docker/a\\134x2d\\040b /sys/fs/cgroup/memory ro - cgroup cgroup " +
				"rw,memory\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "600000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "900000\n",
			"sys/fs/cgroup/memory/memory.stat":               "hierarchical_memory_limit 500000\n",
		}, 500000, 500000, "memory (memory.limit_in_bytes of groups above)"},
		"hybrid": {files{
			"proc/self/cgroup": "3:memory:/a\n0::/a\n",
			"proc/self/mountinfo": v1 +
				strings.ReplaceAll(v2, "cgroup rw,nosuid", "cgroup/unified rw"),
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "900000\n",
			"sys/fs/cgroup/unified/a/cgroup.procs":         "1\n",
		}, 900000, 900000, "memory/a (memory.limit_in_bytes)"},
		"address space": {files{
			"proc/self/limits": soft + "Max address space   2048000000   unlimited   bytes\n",
			"proc/self/status": "Name:\theadwater\nVmSize:\t    1999000 kB\n",
		}, 8 << 20, 512000, "the address space of this process (ulimit -v)"},
		"data": {files{"proc/self/limits": "Max data size  302000000  unlimited  bytes\n"},
			8 << 20, 1000000, "the data segment of this process (ulimit -d)"},
		"not text": {files{
			"proc/self/cgroup":    "::\n0:\n\x00",
			"proc/self/mountinfo": " - \n - cgroup2 a\n1 2 3 4 - cgroup2 a b\n",
			"proc/self/limits":    "Max address space", "proc/self/status": "VmSize:\n",
		}, 8 << 20, 6 << 20, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			c.files["proc/meminfo"] = "MemTotal:        8192 kB\nMemAvailable:    6144 kB\n"
			for path, text := range c.files {
				path = filepath.Join(root, path)
				must(t, os.MkdirAll(filepath.Dir(path), 0o700))
				must(t, os.WriteFile(path, []byte(text), 0o600))
			}
			total, available, limitedBy := Read(root)
			if total != c.total || available != c.available ||
				!strings.HasSuffix(limitedBy, c.limitedBy) ||
				(limitedBy == "") != (c.limitedBy == "") {
				t.Errorf("Read = %d, %d, %q, want %d, %d, %q", total, available, limitedBy,
					c.total, c.available, c.limitedBy)
			}
		})
	}
}

func TestKilobytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meminfo")
	const text = "MemTotal:        2048 kB\nMemAvailable:     512 kB\nHugePages_Total:       x\n"
	must(t, os.WriteFile(path, []byte(text), 0o600))
	if got := kilobytes(path); len(got) != 2 || got["MemTotal"] != 2<<20 ||
		got["MemAvailable"] != 512<<10 {
		t.Errorf("kilobytes = %v, want 2 MiB in all and 512 KiB available", got)
	}
}

func TestReadHere(t *testing.T) {
	total, available, _ := Read("/")
	if runtime.GOOS == "linux" && total == 0 || available < 0 || available > total {
		t.Errorf("Read = %d, %d", total, available)
	}
}
