package engine

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Found is an engine of this user.
type Found struct {
	Socket string
	// PID is the process that listens on the socket; 0 if the system does not say.
	PID int
	// Owner is the process that started it, such as the kernel of a notebook, and OwnerAlive
	// reports whether that still runs.
	Owner      int
	OwnerAlive bool
	// Status is what the engine says; nil if Err says why it says nothing.
	Status *Status
	Err    error
}

// listPatience is how long [List] waits for an engine that is silent.
const listPatience = 2 * time.Second

// List returns the engines of this user that notebooks and programs started, in the order of their
// sockets. It removes the sockets and files of engines that have ended. Engines that were started
// with a socket in another folder are not found.
func List(ctx context.Context) ([]Found, error) {
	if !supported {
		return nil, nil
	}
	dir := runtimeDir()
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := privateDir(dir); err != nil {
		return nil, err
	}
	sockets, err := filesIn(dir, "", ".sock")
	if err != nil {
		return nil, err
	}
	all := make([]*Found, len(sockets))
	var group sync.WaitGroup
	for i, socket := range sockets {
		group.Go(func() { all[i] = inspect(ctx, socket) })
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, pkg.Errorf("listing engines: %w", context.Cause(ctx))
	}
	var found []Found
	for _, f := range all {
		if f != nil {
			found = append(found, *f)
		}
	}
	removeLeftFiles(dir)
	return found, nil
}

// filesIn returns the paths of the files in a folder whose names begin with prefix and end with
// suffix, sorted. The name of the folder may have *, ? and [, which filepath.Glob takes for a
// pattern.
func filesIn(dir, prefix, suffix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	var paths []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), suffix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

// inspect asks what listens on a socket; nil if nothing does.
func inspect(ctx context.Context, socket string) *Found {
	f := &Found{Socket: socket, Owner: ownerOf(socket)}
	f.OwnerAlive = runs(f.Owner)
	f.PID = listener(ctx, socket)
	status, err := Client{Socket: socket, Patience: listPatience}.Info(ctx)
	switch {
	case err == nil:
		f.Status = &status
	case errors.Is(err, syscall.ECONNREFUSED):
		removeStale(socket)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		f.Err = err
	}
	return f
}

// listener returns the process that listens on a socket, or 0.
func listener(ctx context.Context, socket string) int {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return 0
	}
	defer conn.Close()
	return peer(conn)
}

// ownerOf returns the process in the name of a socket, or 0.
func ownerOf(socket string) int {
	number, _, _ := strings.Cut(filepath.Base(socket), "-")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return pid
}

// runs reports whether a process runs, or might.
func runs(pid int) bool {
	start, err := startOf(pid)
	return pid > 0 && (start != "" || err != nil)
}

// removeStale removes the socket on which nothing listens, and its files, unless a program is
// starting an engine there at this moment.
func removeStale(socket string) {
	lock, err := os.OpenFile(lockFile(socket), os.O_RDWR, 0)
	if err == nil {
		defer lock.Close()
		if locked, err := tryLock(lock); err != nil || !locked {
			return
		}
	}
	for _, file := range append(Files(socket), socket) {
		_ = os.Remove(file)
	}
}

// removeLeftFiles removes files without a socket that belong to processes that have ended.
func removeLeftFiles(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		base := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		_, err := os.Lstat(filepath.Join(dir, base+".sock"))
		if pid := ownerOf(e.Name()); pid > 0 && !runs(pid) && errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// stopPatience is how long an engine may take to end.
const stopPatience = 10 * time.Second

// Stop ends the engine and waits until it has. force kills the process if it does not answer, as
// one that is stopped (SIGSTOP) does not, or answers as no engine does.
func (f Found) Stop(ctx context.Context, force bool) error {
	err := Client{Socket: f.Socket, Patience: listPatience}.Stop(ctx)
	switch {
	case err == nil:
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist):
		// It ended meanwhile.
	case force && f.PID > 0 && ctx.Err() == nil:
		if err := kill(f.PID); err != nil {
			return pkg.Errorf("killing process %d: %w", f.PID, err)
		}
	default:
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	for f.answers(ctx) {
		if err := pause(ctx); err != nil {
			return pkg.Errorf("process %d was told to end and still listens at %s", f.PID, f.Socket)
		}
	}
	removeStale(f.Socket)
	return nil
}

// kill ends a process, unless it has ended.
func kill(pid int) error {
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Kill()
	}
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// answers reports whether something listens on the socket.
func (f Found) answers(ctx context.Context) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", f.Socket)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
