package engine_test

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headwater-ml/headwater/internal/engine"
)

// TestList finds an engine, ends it, and removes what an engine left behind whose process was
// killed.
func TestList(t *testing.T) {
	c, pid := engineProcess(t)
	dir := filepath.Dir(c.Socket)
	killed := filepath.Join(dir, "12-00ff.sock") // nothing listens on it any more
	listener, err := net.Listen("unix", killed)
	must(t, err)
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	listener.Close()
	other := filepath.Join(dir, "13-00ff.sock") // an engine of another version
	answer(t, other, func(r engine.Request, events *gob.Encoder) {
		_ = events.Encode(failure("I speak protocol 1"))
	})
	left := filepath.Join(dir, "999999999-0.log") // no process has this number
	for _, file := range append(engine.Files(killed), left) {
		must(t, os.WriteFile(file, nil, 0o600))
	}
	found, err := engine.List(t.Context())
	if err != nil || len(found) != 2 {
		t.Fatalf("found %+v, %v; want two engines", found, err)
	}
	if found[0].Socket != other {
		found[0], found[1] = found[1], found[0]
	}
	if f := found[0]; f.Err == nil || f.Err.Error() != "I speak protocol 1" || f.Status != nil {
		t.Errorf("the engine of another version: %+v", f)
	}
	f := found[1]
	if f.Status == nil || f.PID != pid || f.Status.PID != pid || !f.OwnerAlive ||
		f.Status.Watch != f.Owner || f.Socket != c.Socket {
		t.Errorf("the engine %d: %+v", pid, f)
	}
	for _, file := range append(engine.Files(killed), killed, left) {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s stays: %v", filepath.Base(file), err)
		}
	}
	if err := f.Stop(t.Context(), false); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket of an engine that was ended stays: %v", err)
	}
	if err := f.Stop(t.Context(), false); err != nil {
		t.Errorf("ending an engine that has ended: %v", err)
	}
}

// TestStopByForce ends an engine that does not answer only if asked to.
func TestStopByForce(t *testing.T) {
	c, pid := engineProcess(t)
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	eventually(t, func() bool { // every thread of it must have stopped
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	})
	found, err := engine.List(t.Context())
	if err != nil || len(found) != 1 || found[0].PID != pid || found[0].Err == nil ||
		!strings.Contains(found[0].Err.Error(), "has not answered for 2s") {
		t.Fatalf("found %+v, %v; want an engine that is silent", found, err)
	}
	var silent *engine.SilentError
	if err := found[0].Stop(t.Context(), false); !errors.As(err, &silent) {
		t.Errorf("error %v, want that it is silent", err)
	}
	if err := found[0].Stop(t.Context(), true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
}

// TestStopBabbler ends a process that listens in the place of an engine and is none, if asked to.
func TestStopBabbler(t *testing.T) {
	socket, err := engine.SocketFor(kernel(t))
	must(t, err)
	babbler := exec.Command(os.Args[0], "babble", socket)
	must(t, babbler.Start())
	go func() { _ = babbler.Wait() }()
	t.Cleanup(func() { _ = babbler.Process.Kill() })
	// The file of a socket is there a moment before anything listens on it.
	eventually(t, func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	found, err := engine.List(t.Context())
	if err != nil || len(found) != 1 || found[0].PID != babbler.Process.Pid || found[0].Err == nil {
		t.Fatalf("found %+v, %v; want process %d with an error", found, err, babbler.Process.Pid)
	}
	if err := found[0].Stop(t.Context(), false); err == nil {
		t.Error("it ends though nobody asked for force")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := found[0].Stop(ended, true); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: error %v", err)
	}
	if err := found[0].Stop(t.Context(), true); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
}

// TestListNothing makes no folder where no engine was ever started, and does not trust a folder
// that others can enter.
func TestListNothing(t *testing.T) {
	dir := engine.ShortDir(t)
	t.Setenv("TMPDIR", dir)
	if found, err := engine.List(t.Context()); err != nil || found != nil {
		t.Errorf("found %v, %v; want nothing", found, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("listing made %v", entries)
	}
	socket, err := engine.SocketFor(os.Getpid())
	must(t, err)
	must(t, os.Chmod(filepath.Dir(socket), 0o755))
	if _, err := engine.List(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "mode 0700") {
		t.Errorf("error %v about a folder that others can enter", err)
	}
}
