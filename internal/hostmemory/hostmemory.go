// Package hostmemory reads how much memory this machine has, and what limits this process to less.
package hostmemory

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Read returns how many bytes of memory this machine has, and how many of them are
// available, which means that the system does not have to end a process for them. Both are those of
// Linux, or of what limits this process to less, which limitedBy names: a control group (of a
// container, a job of Slurm or a service of systemd), or the limits of ulimit -v and -d. The sizes
// are 0 on systems that do not say. root is the folder with the files of the system, "/" but in
// tests.
func Read(root string) (total, available int64, limitedBy string) {
	system := kilobytes(filepath.Join(root, "proc/meminfo"))
	total, available = system["MemTotal"], system["MemAvailable"]
	for _, l := range append(groupLimits(root), processLimits(root)...) {
		left := max(l.bytes-l.used, 0) / l.share
		if total == 0 || left < available {
			available, limitedBy = left, l.name
		}
		if total == 0 || l.bytes < total {
			total = l.bytes
		}
	}
	return total, available, limitedBy
}

// memoryLimit is something that limits the memory of this process.
type memoryLimit struct {
	name        string
	bytes, used int64
	share       int64 // a byte of memory takes so many bytes of it
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

// groupFiles are the files in the folder of a control group, by the type of its file system, and
// which lines of memory.stat count cached files, of the group and of those below it.
var groupFiles = map[string]struct {
	limits []string
	used   string
	cached []string
}{
	"cgroup": {
		[]string{"memory.limit_in_bytes"}, "memory.usage_in_bytes",
		[]string{"total_inactive_file", "total_active_file"},
	},
	"cgroup2": {
		[]string{"memory.max", "memory.high"}, "memory.current",
		[]string{"inactive_file", "active_file"},
	},
}

// groupLimits returns the limits of the control groups of this process, of their version and of
// each group above them that is mounted. A container sees its own group as the root of the mount:
// the paths of /proc/self/cgroup are then those of the machine, or below that root.
func groupLimits(root string) (limits []memoryLimit) {
	groups := map[string]string{} // by the type of the file system
	for _, line := range linesOf(filepath.Join(root, "proc/self/cgroup")) {
		part := strings.SplitN(line, ":", 3) // a number, controllers, a path that may have colons
		switch {
		case len(part) < 3:
		case part[1] == "":
			groups["cgroup2"] = part[2]
		case slices.Contains(strings.Split(part[1], ","), "memory"):
			groups["cgroup"] = part[2]
		}
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for _, line := range linesOf(filepath.Join(root, "proc/self/mountinfo")) {
		mount, system, _ := strings.Cut(line, " - ")
		at, of := strings.Fields(mount), strings.Fields(system)
		if len(at) < 5 || len(of) < 3 || groups[of[0]] == "" || of[0] == "cgroup" &&
			!slices.Contains(strings.Split(of[2], ","), "memory") {
			continue
		}
		group := filepath.Clean("/" + groups[of[0]])
		mounted, top := unescape.Replace(at[3]), unescape.Replace(at[4])
		if below, err := filepath.Rel(mounted, group); err == nil && filepath.IsLocal(below) {
			group = filepath.Join("/", below)
		}
		// A path has at most 4,096 bytes, and each round takes one folder of it.
		for ; ; group = filepath.Dir(group) {
			limits = append(limits, groupLimit(filepath.Join(root, top, group), of[0])...)
			if group == "/" {
				break
			}
		}
	}
	return limits
}

// groupLimit returns the limits of the control group whose folder is dir. Cached files do not count
// as used, because the system drops them when it needs the memory.
func groupLimit(dir, system string) (limits []memoryLimit) {
	files := groupFiles[system]
	read := func(name string) int64 {
		data, _ := os.ReadFile(filepath.Join(dir, name))
		n, _ := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64) // 0 for "max" and no file
		return n
	}
	used, stat := read(files.used), fields(filepath.Join(dir, "memory.stat"))
	for _, name := range files.cached {
		n, _ := strconv.ParseInt(stat[name], 10, 64)
		used -= n
	}
	for _, name := range files.limits {
		if bytes := read(name); bytes > 0 {
			limits = append(limits, memoryLimit{
				"the control group " + dir + " (" + name + ")", bytes, max(used, 0), 1,
			})
		}
	}
	// Version 1 says the least limit of the groups above, which a container may not see.
	if n, _ := strconv.ParseInt(stat["hierarchical_memory_limit"], 10, 64); n > 0 {
		limits = append(limits, memoryLimit{
			"the control group " + dir + " (memory.limit_in_bytes of groups above)", n,
			max(used, 0), 1,
		})
	}
	return limits
}

// processLimits returns the limits of the memory of this process alone. They count what is
// reserved, not what is used.
func processLimits(root string) (limits []memoryLimit) {
	used := kilobytes(filepath.Join(root, "proc/self/status"))
	for _, line := range linesOf(filepath.Join(root, "proc/self/limits")) {
		for _, l := range []struct {
			begin, name, used string
			start             int64 // what the program takes before it opens a model
		}{
			{"Max address space", "the address space of this process (ulimit -v)", "VmSize", 1.5e9},
			{"Max data size", "the data segment of this process (ulimit -d)", "VmData", 0.3e9},
		} {
			rest, ok := strings.CutPrefix(line, l.begin)
			soft, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if bytes, err := strconv.ParseInt(soft, 10, 64); ok && err == nil { // or unlimited
				used := max(used[l.used], l.start) // threads that start later take their part of it
				limits = append(limits, memoryLimit{l.name, bytes, used, addressShare})
			}
		}
	}
	return limits
}

// addressShare is how many bytes of address space a byte of memory takes: 1.4 were seen with models
// in pure Go, whose heap grows by 64 MB at a time, 1.6 to 2.3 with XLA, which maps its plugin.
const addressShare = 2

// fields reads a file whose lines begin with a name and a space or a tab. The result is empty if
// the file cannot be read.
func fields(path string) map[string]string {
	values := map[string]string{}
	for _, line := range linesOf(path) {
		if end := strings.IndexAny(line, " \t"); end > 0 {
			values[line[:end]] = strings.TrimSpace(line[end:])
		}
	}
	return values
}

// linesOf returns the lines of a file of the system, none if it cannot be read.
func linesOf(path string) []string {
	data, _ := os.ReadFile(path)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}
