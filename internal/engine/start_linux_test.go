package engine_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/engine"
)

func init() {
	limitFiles = func(n uint64) error {
		return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n})
	}
}

// engineProcess starts the test's binary as an engine and returns a client and its process.
func engineProcess(t *testing.T) (engine.Client, int) {
	t.Helper()
	t.Setenv("HEADWATER_ENGINE", os.Args[0])
	c, err := engine.Start{PID: kernel(t)}.Connect(t.Context())
	must(t, err)
	s, err := c.Info(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = syscall.Kill(s.PID, syscall.SIGKILL) })
	return c, s.PID
}

// TestStoppedEngine checks that the error about a stopped engine names its process after a bounded
// time, whether the engine was idle or at work, and that the engine continues normally afterwards.
func TestStoppedEngine(t *testing.T) {
	t.Setenv("HEADWATER_TEST_SLOW", "3s")
	c, pid := engineProcess(t)
	hasty := engine.Client{Socket: c.Socket, Patience: time.Second}
	want := fmt.Sprintf("the engine, process %d, has not answered for 1s: it is stopped or hangs; "+
		"run headwater engine stop --force %[1]d, or end that process, and run the cell again", pid)
	ask := func() error {
		_, err := hasty.Explain(t.Context(), engine.Model{}, "a", attribution.Options{})
		return err
	}
	signal := func(s syscall.Signal) {
		t.Helper()
		must(t, syscall.Kill(pid, s))
	}
	const later = 1500 * time.Millisecond // than its patience
	time.AfterFunc(later, func() { signal(syscall.SIGSTOP) })
	began := time.Now()
	var silent *engine.SilentError
	if err := ask(); !errors.As(err, &silent) || silent.PID != pid ||
		err.Error() != "engine: "+want {
		t.Errorf("stopped while it works: error %v, want %q", err, want)
	}
	if took := time.Since(began); took < later {
		t.Errorf("the engine is given up after %v, before it was stopped", took)
	}
	if _, err := hasty.Info(t.Context()); !errors.As(err, &silent) || silent.PID != pid {
		t.Errorf("stopped while it is idle: error %v, want %q", err, want)
	}
	signal(syscall.SIGCONT)
	eventually(t, func() bool { _, err := hasty.Info(t.Context()); return err == nil })
	// It answers again after three times the patience of a client.
	if err := ask(); err == nil || err.Error() != "no models here" {
		t.Errorf("a request that takes long: error %v, want the opener's", err)
	}
}

// TestKilledEngine kills an engine while it works: the cell gets one line that tells what to do,
// its next request starts another engine, and the engine of another notebook is untouched.
func TestKilledEngine(t *testing.T) {
	t.Setenv("HEADWATER_TEST_SLOW", "1m")
	c, pid := engineProcess(t)
	other, err := engine.Start{PID: os.Getpid()}.Connect(t.Context())
	must(t, err)
	defer stopped(t, other)
	before, err := other.Info(t.Context())
	if err != nil || before.PID == pid {
		t.Fatalf("the engine of another notebook: %+v, %v, want a process of its own", before, err)
	}
	alive := engine.Alive(pid)
	time.AfterFunc(200*time.Millisecond, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	_, err = c.Explain(t.Context(), engine.Model{}, "a", attribution.Options{})
	want := "engine: the engine ended in the middle of \"explain\": run the cell again, which starts " +
		"another one; its log does not say why"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	eventually(t, func() bool { return !alive() })
	owner, _ := strconv.Atoi(strings.SplitN(filepath.Base(c.Socket), "-", 2)[0])
	again, err := engine.Start{PID: owner}.Connect(t.Context())
	must(t, err)
	defer stopped(t, again)
	if s, err := again.Info(t.Context()); err != nil || s.PID == pid || s.PID == before.PID {
		t.Errorf("afterwards: %+v, %v, want another process than %d and %d", s, err, pid,
			before.PID)
	}
	if s, err := other.Info(t.Context()); err != nil || s.PID != before.PID {
		t.Errorf("the other notebook's engine: %+v, %v, want process %d", s, err, before.PID)
	}
}

// TestTooManyFiles checks that an engine without free file descriptors does not end, and serves
// again when some are free.
func TestTooManyFiles(t *testing.T) {
	t.Setenv("HEADWATER_TEST_FILES", "24")
	c, pid := engineProcess(t)
	var open []net.Conn
	for range 40 {
		conn, err := net.Dial("unix", c.Socket)
		must(t, err)
		open = append(open, conn)
	}
	log := strings.TrimSuffix(c.Socket, ".sock") + ".log"
	eventually(t, func() bool {
		text, _ := os.ReadFile(log)
		return strings.Contains(string(text), "too many open files; trying again")
	})
	time.Sleep(1200 * time.Millisecond) // it looks at its kernel meanwhile, which takes a file
	for _, conn := range open {
		conn.Close()
	}
	s, err := c.Info(t.Context())
	if err != nil || s.PID != pid {
		t.Errorf("afterwards: %+v, %v, want process %d", s, err, pid)
	}
	if text, _ := os.ReadFile(log); strings.Count(string(text), "trying again") > 3 {
		t.Errorf("the log has a line for every attempt:\n%s", text)
	}
}

// TestRemovedSocket checks that an engine ends if its socket is removed or replaced, and leaves the
// replacement alone.
func TestRemovedSocket(t *testing.T) {
	c, first := engineProcess(t)
	pids, lives := []int{first}, []func() bool{engine.Alive(first)}
	for range 3 {
		must(t, os.Remove(c.Socket))
		pid, _ := strconv.Atoi(strings.SplitN(filepath.Base(c.Socket), "-", 2)[0])
		again, err := engine.Start{PID: pid}.Connect(t.Context())
		must(t, err)
		s, err := again.Info(t.Context())
		must(t, err)
		pids = append(pids, s.PID)
		lives = append(lives, engine.Alive(s.PID))
		t.Cleanup(func() { _ = syscall.Kill(s.PID, syscall.SIGKILL) })
	}
	last := pids[len(pids)-1]
	eventually(t, func() bool {
		return !slices.ContainsFunc(lives[:len(lives)-1],
			func(alive func() bool) bool { return alive() })
	})
	if s, err := c.Info(t.Context()); err != nil || s.PID != last {
		t.Errorf("the last engine: %+v, %v, want process %d", s, err, last)
	}
}
