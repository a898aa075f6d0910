package models

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// MachineMemory returns how many bytes of memory this machine has, and how many of them are
// available, which means that the system does not have to end a process for them. Both are those of
// Linux, or of the control group (container) of this process if it has less. They are 0 on systems
// that do not say.
func MachineMemory() (total, available int64) {
	system := kilobytes("/proc/meminfo")
	total, available = system["MemTotal"], system["MemAvailable"]
	if limit, used := groupMemory("/sys/fs/cgroup"); limit > 0 && (total == 0 || limit < total) {
		total, available = limit, min(available, max(limit-used, 0))
	}
	return total, available
}

// ReleaseMemory returns the memory that this process holds and does not use to the system. A
// program that waits calls it: while models run, the memory of one pass is kept for the next.
func ReleaseMemory() {
	debug.FreeOSMemory()
	releasePlugins()
}

// releasePlugins is [ReleaseMemory] for the plugins of backends alone. It takes milliseconds.
func releasePlugins() {
	backends.Lock()
	p := backends.plugins
	backends.Unlock()
	if p != nil && p.ReleaseMemory != nil {
		p.ReleaseMemory()
	}
}

// gpuMemory returns how many bytes of memory the GPU of a backend has, 0 if that is not known or
// the backend has none.
func gpuMemory(backend string) int64 {
	backends.Lock()
	p := backends.plugins
	backends.Unlock()
	if backend != "cuda" || p == nil || p.GPUMemory == nil {
		return 0
	}
	return p.GPUMemory()
}

// kilobytes reads a file with lines such as "MemTotal: 123 kB". It returns the sizes in bytes.
func kilobytes(path string) map[string]int64 {
	sizes := map[string]int64{}
	for name, value := range fields(path) {
		if n, err := strconv.ParseInt(strings.TrimSuffix(value, " kB"), 10, 64); err == nil {
			sizes[strings.TrimSuffix(name, ":")] = n << 10
		}
	}
	return sizes
}

// groupMemory returns how many bytes a control group may use, or 0 if it has no limit, and how many
// it uses. Cached files do not count, because the system drops them when it needs the memory.
func groupMemory(dir string) (limit, used int64) {
	number := func(text string) int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil { // "max" or empty
			return 0
		}
		return n
	}
	read := func(name string) int64 {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return 0
		}
		return number(string(data))
	}
	stat := fields(filepath.Join(dir, "memory.stat"))
	cached := number(stat["inactive_file"]) + number(stat["active_file"])
	return read("memory.max"), max(read("memory.current")-cached, 0)
}

// fields reads a file whose lines begin with a name and a space. The result is empty if the file
// cannot be read.
func fields(path string) map[string]string {
	values := map[string]string{}
	f, err := os.Open(path)
	if err != nil {
		return values
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		values[name] = strings.TrimSpace(value)
	}
	return values
}
