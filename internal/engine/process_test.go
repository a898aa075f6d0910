package engine

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

// TestStartInStat reads lines as proc(5) has them. A name with spaces and parentheses does not
// shift the fields, and a zombie counts as gone.
func TestStartInStat(t *testing.T) {
	rest := strings.Repeat("0 ", 18) + "4711 0 0"
	for in, want := range map[string]string{
		"12 (gonb) S " + rest:     "4711",
		"12 (a b) (c)) R " + rest: "4711",
		"12 (gone) Z " + rest:     "",
		"12 (dead) X " + rest:     "",
		"12 (cut) S 1 2":          "",
		"":                        "",
	} {
		if got := startInStat(in); got != want {
			t.Errorf("startInStat(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestNames checks that the engines of one process, and of no other, share the beginning of their
// names, and that every file of an engine is next to its socket.
func TestNames(t *testing.T) {
	for socket, want := range map[string]string{
		"/t/12-00ff.sock":      "12-00ff",
		"/t/12-00ff-abcd.sock": "12-00ff",
		"/t/123-00ff.sock":     "123-00ff",
		"/t/odd.sock":          "odd",
	} {
		if got := owner(socket); got != want {
			t.Errorf("owner(%q) = %q, want %q", socket, got, want)
		}
	}
	want := []string{"/t/12-00ff.log", "/t/12-00ff.lock"}
	if diff := cmp.Diff(want, Files("/t/12-00ff.sock")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	t.Setenv("TMPDIR", ShortDir(t))
	plain, err := socketFor(os.Getpid(), "")
	must(t, err)
	keyed, err := socketFor(os.Getpid(), "abcd")
	must(t, err)
	if keyed != strings.TrimSuffix(plain, ".sock")+"-abcd.sock" || owner(plain) != owner(keyed) {
		t.Errorf("sockets %q and %q of one process", plain, keyed)
	}
}

// TestEnvironment checks that relative paths name for the engine, which runs in another folder,
// what they name for the notebook.
func TestEnvironment(t *testing.T) {
	dir := ShortDir(t)
	t.Chdir(dir)
	dir, err := os.Getwd()
	must(t, err)
	got := environment([]string{
		"HEADWATER_XLA=./x.so", "HEADWATER_CUDA=/c.so", "HEADWATER_MODELS=m",
		"HEADWATER_COMPILE_CACHE=off", "HF_HOME=~/hf", "HF_HUB_CACHE=$HOME/hub", "OLLAMA_MODELS=",
		"TMPDIR=.", "PATH=bin", "GONB_PIPE=/pipe",
	})
	want := []string{
		"HEADWATER_XLA=" + dir + "/x.so", "HEADWATER_CUDA=/c.so", "HEADWATER_MODELS=" + dir + "/m",
		"HEADWATER_COMPILE_CACHE=off", "HF_HOME=~/hf", "HF_HUB_CACHE=$HOME/hub", "OLLAMA_MODELS=",
		"TMPDIR=" + dir, "PATH=bin",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"": "", "go": "go", "xla": "xla", "xla:x.so": "xla:" + dir + "/x.so", "cuda:/c.so": "cuda:/c.so",
		"xla:": "xla:", "tpu:x": "tpu:x",
	} {
		if got := absoluteBackend(name); got != want {
			t.Errorf("backend %q is sent as %q, want %q", name, got, want)
		}
	}
}

// TestPrivateDir checks that an existing directory must belong to the user alone.
func TestPrivateDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	for range 2 { // the first call makes it, the second finds it
		must(t, privateDir(dir))
	}
	link := filepath.Join(filepath.Dir(dir), "link")
	must(t, os.Symlink(dir, link))
	file := filepath.Join(filepath.Dir(dir), "file")
	must(t, os.WriteFile(file, nil, 0o700))
	for _, path := range []string{link, file} {
		if err := privateDir(path); err == nil || !strings.Contains(err.Error(), "with mode 0700") {
			t.Errorf("%s: error %v, want a refusal", filepath.Base(path), err)
		}
	}
	for _, mode := range []os.FileMode{0o750, 0o701, 0o770, 0o500} {
		must(t, os.Chmod(dir, mode))
		if err := privateDir(dir); err == nil || !strings.Contains(err.Error(), "it is d") {
			t.Errorf("mode %v: error %v, want a refusal", mode, err)
		}
	}
	if err := privateDir(filepath.Join(dir, "a", "b")); err == nil ||
		!errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory without a parent: error %v", err)
	}
}

// TestLastLines checks that an error shows the last panic of a log, or else its last ten lines, up
// to a limit.
func TestLastLines(t *testing.T) {
	numbers := strings.Repeat("x\n", 5) + "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for name, c := range map[string]struct{ log, want string }{
		"empty":      {" \n", "; its log is empty"},
		"short":      {"one\ntwo\n", "; its log ends:\none\ntwo"},
		"long":       {numbers, "; its log ends:\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9"},
		"a panic":    {"one\npanic: first\npanic: a\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "; its log ends:\npanic: a\n1\n2\n3\n4\n5\n6\n7\n8\n9"},
		"panic only": {"panic: a", "; its log ends:\npanic: a"},
		"a long one": {"a" + strings.Repeat("b", 5000), "; its log ends:\n" + strings.Repeat("b", 2000)},
	} {
		socket := filepath.Join(t.TempDir(), "e.sock")
		must(t, os.WriteFile(logFile(socket), []byte(c.log), 0o600))
		if got := strings.ReplaceAll(lastLines(socket), "\n\n", "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := lastLines(filepath.Join(t.TempDir(), "e.sock")); got != "; its log is empty" {
		t.Errorf("no log: %q", got)
	}
}

// TestWithout checks that the engine gets the environment without the pipes of the kernel.
func TestWithout(t *testing.T) {
	environ := []string{"A=GONB_PIPE", "GONB_PIPE=/p", "GONB_PIPE_BACK=/q", "GONB_DIR=/d"}
	want := []string{"A=GONB_PIPE", "GONB_DIR=/d"}
	if diff := cmp.Diff(want, without(environ, "GONB_PIPE")); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

// TestSweep removes the files of processes that have ended and no others.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	mine := socketName(t, os.Getpid())
	for _, name := range []string{mine + ".sock", mine + ".log", "999999999-0.lock", "999999999-0-ab.log", "notes.txt", "x-1.log"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	sweep(dir)
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{mine + ".log", mine + ".sock", "notes.txt", "x-1.log"}
	slices.Sort(want)
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("files left (-want +got):\n%s", diff)
	}
}

// socketName returns the name of a process's socket without its directory and extension.
func socketName(t *testing.T, pid int) string {
	t.Helper()
	t.Setenv("TMPDIR", ShortDir(t))
	socket, err := SocketFor(pid)
	must(t, err)
	return owner(socket)
}

// TestStopOthers asks every other engine of the same process to stop, and leaves the engines of
// other processes alone. The files of an engine that is stopped and does not answer stay.
func TestStopOthers(t *testing.T) {
	dir := ShortDir(t)
	var mu sync.Mutex
	var asked []string
	listen := func(name string, answers bool) {
		t.Helper()
		socket := filepath.Join(dir, name+".sock")
		for _, file := range Files(socket) {
			must(t, os.WriteFile(file, nil, 0o600))
		}
		listener, err := net.Listen("unix", socket)
		must(t, err)
		t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				if !answers {
					defer conn.Close() // when the test ends
					continue
				}
				if r, err := ReadRequest(conn); err == nil {
					mu.Lock()
					asked = append(asked, name+" "+string(r.Kind))
					mu.Unlock()
				}
				conn.Close()
			}
		}()
	}
	listen("12-00ff-new", true)
	listen("12-00ff-old", true)
	listen("12-00ff-frozen", false)
	listen("13-00ff", true)
	stopOthers(t.Context(), filepath.Join(dir, "12-00ff-new.sock"))
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"12-00ff-old stop"}, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for name, stays := range map[string]bool{
		"12-00ff-new": true, "12-00ff-old": false, "12-00ff-frozen": true, "13-00ff": true,
	} {
		for _, file := range Files(filepath.Join(dir, name+".sock")) {
			if _, err := os.Stat(file); (err == nil) != stays {
				t.Errorf("%s is there: %v, want %v", filepath.Base(file), err == nil, stays)
			}
		}
	}
}

// TestLock checks that a second caller reports that it waits, can be interrupted, and gets the lock
// when the first one releases it.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.lock")
	unlock, err := Start{}.lock(t.Context(), path, "")
	must(t, err)
	why := errors.New("the user pressed stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	var stages []string
	_, err = Start{OnStage: func(stage string) {
		stages = append(stages, stage)
		cancel(why)
	}}.lock(ctx, path, "waiting for another cell")
	if !errors.Is(err, why) {
		t.Errorf("interrupted: error %v, want %v", err, why)
	}
	if diff := cmp.Diff([]string{"waiting for another cell"}, stages); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	time.AfterFunc(50*time.Millisecond, unlock)
	second, err := Start{}.lock(t.Context(), path, "")
	must(t, err)
	second()
	if _, err := (Start{}).lock(t.Context(), filepath.Join(path, "x"), ""); err == nil ||
		!strings.HasPrefix(err.Error(), "engine: ") {
		t.Errorf("no place for a lock: error %v", err)
	}
}

// TestBinary checks that the program in the environment variable is started, and that an error of
// the go command has its output.
func TestBinary(t *testing.T) {
	program, err := os.Executable()
	must(t, err)
	t.Setenv(binaryVariable, program)
	for want, s := range map[string]Start{"/a": {Binary: "/a"}, program: {}} {
		if got, _, err := s.binary(t.Context()); got != want || err != nil {
			t.Errorf("binary of %+v is %q, %v; want %q", s, got, err, want)
		}
	}
	data := filepath.Join(t.TempDir(), "data")
	must(t, os.WriteFile(data, nil, 0o600))
	t.Setenv(binaryVariable, data)
	if _, _, err := (Start{}).binary(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "is not a program (-rw-------)") {
		t.Errorf("a file that is not executable: error %v", err)
	}
	_, err = goTool(t.Context(), t.TempDir(), os.Environ(), "nonsense")
	if err == nil ||
		!strings.Contains(err.Error(), "go nonsense: exit status 2: go nonsense: unknown command") {
		t.Errorf("a command that go does not know: error %v", err)
	}
	why := errors.New("the user pressed stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := goTool(ctx, t.TempDir(), os.Environ(), "version"); err != why {
		t.Errorf("interrupted: error %v, want %v", err, why)
	}
}

// TestArguments checks the command line that headwater serve understands.
func TestArguments(t *testing.T) {
	want := []string{"serve", "--socket", "/t/e.sock", "--watch", "12", "--idle", "2h0m0s"}
	if diff := cmp.Diff(want, serveArguments("/t/e.sock", 12, 2*time.Hour)); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

var must = testhelp.Must // ends a test at an error
