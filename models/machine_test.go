package models

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestGroupMemory(t *testing.T) {
	for _, c := range []struct {
		name, max, current, stat string
		limit, used              int64
	}{
		{"limited", "1073741824\n", "1048576\n", "", 1 << 30, 1 << 20},
		{"not limited", "max\n", "1048576\n", "", 0, 1 << 20},
		{"with cached files", "1000\n", "900\n", "anon 300\nfile 650\ninactive_file 400\nactive_file 200\nshmem 50\n", 1000, 300},
		{"more cached than used", "1000\n", "90\n", "inactive_file 400\n", 1000, 0},
		{"no control group", "", "", "", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"memory.max": c.max, "memory.current": c.current, "memory.stat": c.stat} {
				if text == "" {
					continue
				}
				must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			if limit, used := groupMemory(dir); limit != c.limit || used != c.used {
				t.Errorf("groupMemory = %d, %d, want %d, %d", limit, used, c.limit, c.used)
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

func TestMachineMemory(t *testing.T) {
	total, available := MachineMemory()
	if runtime.GOOS == "linux" && total == 0 || available < 0 || available > total {
		t.Errorf("MachineMemory = %d, %d", total, available)
	}
}
