package engine_test

import (
	"context"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// TestMain lets the test's binary act as an engine if it is started as one, in place of the command
// headwater.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "babble" {
		os.Exit(babble(os.Args[2]))
	}
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(command(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// limitFiles limits how many files this process may have open, if a test asks for it.
var limitFiles = func(uint64) error { return errors.ErrUnsupported }

// command runs an engine with one model, fake. HEADWATER_TEST_BROKEN makes it fail,
// HEADWATER_TEST_FILES limits its open files, and HEADWATER_TEST_SLOW is how long it takes to open
// a model.
func command(args []string) int {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	socket := flags.String("socket", "", "")
	watch := flags.Int("watch", 0, "")
	idle := flags.Duration("idle", 0, "")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if os.Getenv("HEADWATER_TEST_BROKEN") != "" {
		fmt.Println("no such backend")
		return 3
	}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "GONB_PIPE") {
			fmt.Println("it holds the kernel's pipe:", v)
			return 4
		}
	}
	if n, err := strconv.ParseUint(os.Getenv("HEADWATER_TEST_FILES"), 10, 64); err == nil {
		if err := limitFiles(n); err != nil {
			fmt.Println(err)
			return 5
		}
	}
	slow, _ := time.ParseDuration(os.Getenv("HEADWATER_TEST_SLOW"))
	config := server.Config{
		Socket: *socket, Watch: *watch, Idle: *idle, Log: os.Stdout,
		Open: func(
			_ context.Context, which engine.Model, _ func(trace.Progress),
		) (trace.Model, error) {
			time.Sleep(slow)
			switch which.Name {
			case "fake":
				return fakemodel.New(2, fakemodel.Causal), nil
			case "./missing":
				return nil, unknownModel{}
			}
			return nil, errors.New("no models here")
		},
		Encode: func(_ context.Context, f server.File) ([]byte, []string, error) {
			return fmt.Appendf(nil, "%s of %d tokens", f.Name,
				len(f.Explanation.Steps)), nil, nil
		},
	}
	err := server.Serve(context.Background(), config)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// babble listens on a socket and answers as no engine does.
func babble(socket string) int {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return 1
		}
		fmt.Fprintln(conn, "what is an engine?")
		conn.Close()
	}
}

// unknownModel is the error about a model that does not exist.
type unknownModel struct{}

func (unknownModel) Error() string        { return "no such model" }
func (unknownModel) Kind() errorkind.Kind { return errorkind.Model }

// kernel is a process for an engine to belong to, in a temporary directory of its own.
func kernel(t *testing.T) (pid int) {
	t.Helper()
	dir := engine.ShortDir(t)
	t.Setenv("TMPDIR", dir)
	cmd := exec.Command("sleep", "120")
	if err := cmd.Start(); err != nil {
		t.Skip("no sleep command:", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func stopped(t *testing.T, c engine.Client) {
	t.Helper()
	if err := c.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestConnectStartsOneEngine(t *testing.T) {
	t.Setenv("HEADWATER_ENGINE", os.Args[0])
	t.Setenv("GONB_PIPE", "/kernel/pipe")
	pid := kernel(t)
	var mu sync.Mutex
	stages, pids := map[string]int{}, map[int]int{}
	socket, err := engine.SocketFor(pid)
	must(t, err)
	left := filepath.Join(filepath.Dir(socket), "999999999-0.log") // no process has this number
	must(t, os.WriteFile(left, nil, 0o600))
	start := engine.Start{PID: pid, OnStage: func(s string) {
		mu.Lock()
		defer mu.Unlock()
		stages[s]++
	}}
	var all sync.WaitGroup
	for range 4 { // cells of several notebooks that come at once
		all.Go(func() {
			c, err := start.Connect(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			s, err := c.Info(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			pids[s.PID]++
		})
	}
	all.Wait()
	c, err := start.Connect(t.Context())
	must(t, err)
	defer stopped(t, c)
	if len(pids) != 1 || stages["starting the engine"] != 1 {
		t.Errorf("engines by clients %v, stages %v; want one engine started once", pids, stages)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("files of engines that are gone stay: %v", err)
	}
	info, err := os.Stat(filepath.Dir(c.Socket))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory of the socket: %v, %v; want mode 0700", info.Mode(), err)
	}
}

func TestEngineEndsWithTheKernel(t *testing.T) {
	t.Setenv("HEADWATER_ENGINE", os.Args[0])
	pid := kernel(t)
	c, err := engine.Start{PID: pid}.Connect(t.Context())
	must(t, err)
	process, _ := os.FindProcess(pid)
	_ = process.Kill()
	_, _ = process.Wait()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left, _ := os.ReadDir(filepath.Dir(c.Socket))
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the engine leaves %v", left)
		}
	}
}

// TestRelativePaths starts an engine whose program and folder for sockets have relative paths.
func TestRelativePaths(t *testing.T) {
	program, err := filepath.Abs(os.Args[0])
	must(t, err)
	pid := kernel(t)
	t.Chdir(os.Getenv("TMPDIR"))
	must(t, os.Symlink(program, "headwater"))
	t.Setenv("TMPDIR", ".")
	for _, path := range []string{"headwater", "./headwater"} {
		t.Setenv("HEADWATER_ENGINE", path)
		c, err := engine.Start{PID: pid}.Connect(t.Context())
		must(t, err)
		stopped(t, c)
		eventually(t, func() bool { _, err := os.Lstat(c.Socket); return err != nil })
	}
}

func TestConnectFails(t *testing.T) {
	for _, c := range []struct {
		name, binary, broken, want string
	}{
		{"no such program", "/nowhere/headwater", "", "HEADWATER_ENGINE names no program"},
		{"a directory", "/", "", "HEADWATER_ENGINE names /, which is not a program"},
		{"it ends at once", os.Args[0], "1", "ended before it was ready (exit status 3); its log ends:\nno such backend"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("HEADWATER_ENGINE", c.binary)
			t.Setenv("HEADWATER_TEST_BROKEN", c.broken)
			_, err := engine.Start{PID: kernel(t)}.Connect(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}

// TestBuildsAtOnce starts the engines of two notebooks while each builds the same program. A script
// that takes the place of the go command writes it slowly.
func TestBuildsAtOnce(t *testing.T) {
	bin, cache := t.TempDir(), t.TempDir()
	const script = `#!/bin/sh
if [ "$1" = list ]; then pwd; exit; fi
while [ "$1" != -o ]; do shift; done
rm -f "$2"
exec 3>"$2"
chmod 700 "$2"
sleep 0.3
cat "$TEST_PROGRAM" >&3
`
	must(t, os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700))
	program, err := filepath.Abs(os.Args[0])
	must(t, err)
	first, second := kernel(t), kernel(t)
	for name, value := range map[string]string{
		"TEST_PROGRAM": program, "HEADWATER_ENGINE": "", "XDG_CACHE_HOME": cache, "HOME": cache,
		"PATH": bin + string(filepath.ListSeparator) + os.Getenv("PATH"),
	} {
		t.Setenv(name, value)
	}
	var both sync.WaitGroup
	connect := func(pid int) {
		c, err := engine.Start{PID: pid}.Connect(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		stopped(t, c)
	}
	both.Go(func() { connect(first) })
	eventually(t, func() bool {
		found, _ := filepath.Glob(filepath.Join(cache, "*/*/headwater"))
		more, _ := filepath.Glob(filepath.Join(cache, "*/*/*/headwater"))
		return found != nil || more != nil // where the cache is depends on the system
	})
	both.Go(func() { connect(second) })
	both.Wait()
}

func TestNoSource(t *testing.T) {
	pid := kernel(t)
	t.Setenv("HEADWATER_ENGINE", "")
	t.Setenv("GONB_DIR", "")
	t.Setenv("GONB_TMP_DIR", "")
	t.Chdir(t.TempDir())
	_, err := engine.Start{PID: pid}.Connect(t.Context())
	const advice = "run in a module that requires it, or set HEADWATER_ENGINE"
	if err == nil || !strings.Contains(err.Error(), advice) {
		t.Errorf("error = %v", err)
	}
}

func TestConnectIsCancelled(t *testing.T) {
	pid := kernel(t)
	mute := filepath.Join(t.TempDir(), "mute")
	must(t, os.WriteFile(mute, []byte("#!/bin/sh\nexec sleep 5\n"), 0o700))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := engine.Start{PID: pid, Binary: mute, OnStage: func(string) { cancel() }}.Connect(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
	_, err = engine.Start{PID: pid, Binary: mute, Wait: 50 * time.Millisecond}.Connect(t.Context())
	if err == nil ||
		!strings.Contains(err.Error(), "mute did not answer within 50ms; its log is empty") {
		t.Errorf("error = %v", err)
	}
}

// TestEngineThatHangs checks the error if the listener on the socket never answers.
func TestEngineThatHangs(t *testing.T) {
	pid := kernel(t)
	socket, err := engine.SocketFor(pid)
	must(t, err)
	listener, err := net.Listen("unix", socket)
	must(t, err)
	defer listener.Close()
	start := engine.Start{PID: pid, Binary: "/nowhere", Wait: 50 * time.Millisecond}
	_, err = start.Connect(t.Context())
	want := fmt.Sprintf("the engine, process %d, has not answered for 50ms: "+
		"it is stopped or hangs; run headwater engine stop --force %[1]d, or end that process, "+
		"and run the cell again; its log is ",
		os.Getpid())
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
}

// TestOtherVersion checks that an engine of another version is not replaced, and that its error
// reaches the user.
func TestOtherVersion(t *testing.T) {
	pid := kernel(t)
	socket, err := engine.SocketFor(pid)
	must(t, err)
	answer(t, socket, func(r engine.Request, events *gob.Encoder) {
		_ = events.Encode(failure(fmt.Sprintf("I speak protocol 7, not %d", r.Version)))
	})
	c, err := engine.Start{PID: pid, Binary: "/nowhere"}.Connect(t.Context())
	must(t, err)
	_, err = c.Explain(t.Context(), engine.Model{}, "a", attribution.Options{})
	if err == nil || err.Error() != fmt.Sprintf("I speak protocol 7, not %d", engine.Version) {
		t.Errorf("error = %v", err)
	}
}

func TestSocketFor(t *testing.T) {
	pid := kernel(t)
	a, err := engine.SocketFor(pid)
	must(t, err)
	if b, _ := engine.SocketFor(pid); a != b {
		t.Errorf("two sockets for one process: %s, %s", a, b)
	}
	if b, _ := engine.SocketFor(os.Getpid()); a == b {
		t.Errorf("one socket for two processes: %s", a)
	}
	if !engine.Alive(pid)() || engine.Alive(-1)() {
		t.Errorf("process %d lives: %v, no process: %v", pid, engine.Alive(pid)(),
			engine.Alive(-1)())
	}
	must(t, os.Chmod(filepath.Dir(a), 0o755))
	if _, err := engine.SocketFor(pid); err == nil || !strings.Contains(err.Error(), "mode 0700") {
		t.Errorf("a directory that others can read: %v", err)
	}
	t.Setenv("TMPDIR", filepath.Join(os.Getenv("TMPDIR"), strings.Repeat("x", 90)))
	must(t, os.Mkdir(os.Getenv("TMPDIR"), 0o700))
	if _, err := engine.SocketFor(pid); err == nil || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("a long path: %v", err)
	}
}

// TestListenRefuses checks that a second engine does not take a socket in use, and refuses a path
// where other users could put their own socket.
func TestListenRefuses(t *testing.T) {
	refuses := func(socket, want string) {
		t.Helper()
		err := server.Serve(t.Context(), server.Config{Socket: socket})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	dir := engine.ShortDir(t)
	silent, other := filepath.Join(dir, "e.sock"), filepath.Join(dir, "f.sock")
	answer(t, silent, func(engine.Request, *gob.Encoder) {}) // it closes every connection
	answer(t, other, func(_ engine.Request, events *gob.Encoder) {
		_ = events.Encode(failure("I speak protocol 7"))
	})
	refuses(silent, "does not answer like an engine")
	refuses(other, "an engine answers there already: "+other)
	for _, socket := range []string{silent, other} {
		if _, err := os.Lstat(socket); err != nil {
			t.Errorf("the socket was removed: %v", err)
		}
	}
	link := filepath.Join(dir, "link.sock")
	must(t, os.Symlink(silent, link))
	refuses(link, "is not a socket")
	must(t, os.Chmod(dir, 0o777))
	refuses(filepath.Join(dir, "g.sock"), "other users can write to")
}

var eventually = testhelp.Eventually // waits until a function returns true

var must = testhelp.Must // ends a test at an error
