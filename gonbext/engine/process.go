package engine

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// maxSocketPath is how long the path of a unix socket may be on every system (104 bytes with the final zero on macOS).
const maxSocketPath = 103

// SocketFor returns the socket of the engine that belongs to a process: equal for as long as that process lives, and
// not shared with a later one of the same pid. It makes the directory, for the user alone, if need be, and returns an
// error if another user could write to it.
func SocketFor(pid int) (string, error) { return socketFor(pid, "") }

// socketFor is SocketFor for an engine of its own code, which key names.
func socketFor(pid int, key string) (string, error) {
	if !supported {
		return "", fmt.Errorf("engine: notebooks need Unix (Linux, macOS, or WSL on Windows), and this is %s: the command headwater works here without them", runtime.GOOS)
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("headwater-%d", os.Getuid()))
	if err := privateDir(dir); err != nil {
		return "", err
	}
	h := fnv.New32a()
	h.Write([]byte(StartOf(pid)))
	name := fmt.Sprintf("%d-%08x", pid, h.Sum32())
	if key != "" {
		name += "-" + key
	}
	path := filepath.Join(dir, name+".sock")
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("engine: the socket %s is %d bytes long, limit %d: set TMPDIR to a shorter directory",
			path, len(path), maxSocketPath)
	}
	return path, nil
}

// privateDir makes a directory that only this user can enter and checks that it is one.
func privateDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("engine: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ownedByUser(info) {
		return fmt.Errorf("engine: %s must be a directory of user %d with mode 0700, it is %v: remove it",
			dir, os.Getuid(), info.Mode())
	}
	return nil
}

// StartOf names when a process began, so that a pid that is used again can be told apart; empty if there is no such
// process (or it is a zombie, which does nothing any more).
func StartOf(pid int) string {
	start, _ := startOf(pid)
	return start
}

// Lives reports whether the process is there that began at start, which [StartOf] has returned. It is
// true if that cannot be found out, for want of a file descriptor, say.
func Lives(pid int, start string) bool {
	now, err := startOf(pid)
	return err != nil || now != "" && now == start
}

// startOf is StartOf, with an error if it cannot be found out.
func startOf(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		return startInStat(string(stat)), nil
	}
	if _, there := os.Stat("/proc/self/stat"); there == nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			return "", nil
		}
		return "", err
	}
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) { // there is no such process
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// startInStat returns field 22 of a line as in proc(5). The name, field 2, is in parentheses and may hold spaces and
// parentheses.
func startInStat(stat string) string {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const state, start = 0, 19 // fields 3 and 22, counted behind the name
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return ""
	}
	return fields[start]
}

// owner returns what the names of all sockets of engines begin with that belong to the same process.
func owner(socket string) string {
	parts := strings.SplitN(strings.TrimSuffix(filepath.Base(socket), ".sock"), "-", 3)
	return strings.Join(parts[:min(len(parts), 2)], "-")
}

// logFile and lockFile belong to the engine of a socket.
func logFile(socket string) string  { return strings.TrimSuffix(socket, ".sock") + ".log" }
func lockFile(socket string) string { return strings.TrimSuffix(socket, ".sock") + ".lock" }

// Files returns the files beside the socket that belong to its engine.
func Files(socket string) []string { return []string{logFile(socket), lockFile(socket)} }
