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

// maxSocketPath is how long the path of a unix socket may be on every system: macOS has the lowest
// limit, 104 bytes with the final zero.
const maxSocketPath = 103

// SocketFor returns the socket of the engine that belongs to a process. It stays the same while
// that process runs, and a later process with the same pid has another one. SocketFor makes the
// directory with mode 0700 if it is missing, and returns an error if other users can enter it.
func SocketFor(pid int) (string, error) { return socketFor(pid, "") }

// socketFor is SocketFor for an engine whose code has that key; see [Own].
func socketFor(pid int, key string) (string, error) {
	if !supported {
		return "", pkg.Errorf("notebooks need Linux, macOS, or WSL on Windows, "+
			"and this is %s: the command headwater works here without them", runtime.GOOS)
	}
	dir := runtimeDir()
	if err := privateDir(dir); err != nil {
		return "", err
	}
	h := fnv.New32a()
	start, _ := startOf(pid)
	h.Write([]byte(start))
	name := fmt.Sprintf("%d-%08x", pid, h.Sum32())
	if key != "" {
		name += "-" + key
	}
	path := filepath.Join(dir, name+".sock")
	if len(path) > maxSocketPath {
		return "", pkg.Errorf("the socket %s is %d bytes long, limit %d: "+
			"set TMPDIR to a shorter directory", path, len(path), maxSocketPath)
	}
	return path, nil
}

// runtimeDir is where the sockets of this user's engines are. It is absolute, because an engine
// runs there.
func runtimeDir() string {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("headwater-%d", os.Getuid()))
	if absolute, err := filepath.Abs(dir); err == nil {
		return absolute
	}
	return dir
}

// privateDir makes a directory that only this user can enter and checks that it is one.
func privateDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return pkg.Errorf("%w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return pkg.Errorf("%w", err)
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ownedByUser(info) {
		return pkg.Errorf("%s must be a directory of user %d with mode 0700, "+
			"it is %v: remove it", dir, os.Getuid(), info.Mode())
	}
	return nil
}

// Alive returns a function that reports whether the process that now has this pid still runs. A
// later process with the same pid does not count. The function returns true if the system does not
// say, for example because no more files can be opened.
func Alive(pid int) func() bool {
	began, _ := startOf(pid)
	return func() bool {
		now, err := startOf(pid)
		return err != nil || now != "" && now == began
	}
}

// startOf returns when a process began, in a form that depends on the system. It is empty if there
// is no such process, or only a zombie. The error says that the system could not be asked.
func startOf(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		return startInStat(string(stat)), nil
	}
	if _, statErr := os.Stat("/proc/self/stat"); statErr == nil { // the system has these files
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

// startInStat returns field 22 of a line as in proc(5), and the empty string for a zombie. The
// name, field 2, is in parentheses and may contain spaces and parentheses.
func startInStat(stat string) string {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const state, start = 0, 19 // fields 3 and 22, counted after the name
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return ""
	}
	return fields[start]
}

// owner returns the beginning of a socket's name that all engines of the same process share.
func owner(socket string) string {
	parts := strings.SplitN(strings.TrimSuffix(filepath.Base(socket), ".sock"), "-", 3)
	return strings.Join(parts[:min(len(parts), 2)], "-")
}

// logFile and lockFile return the files that belong to the engine of a socket.
func logFile(socket string) string  { return strings.TrimSuffix(socket, ".sock") + ".log" }
func lockFile(socket string) string { return strings.TrimSuffix(socket, ".sock") + ".lock" }

// Files returns the files next to the socket that belong to its engine.
func Files(socket string) []string { return []string{logFile(socket), lockFile(socket)} }
