package local

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models/transformer"
)

// The test's binary is its own engine, because it imports this package and has a plugin.
func init() {
	attention, err := transformer.LookupMixing("attention")
	if err != nil {
		panic(err)
	}
	info, err := attribution.LookupMixing("attention")
	if err != nil {
		panic(err)
	}
	RegisterMixing("again", info, again{attention})
}

// again wraps an existing mixing under a new name.
type again struct{ transformer.Mixing }

// inCell makes this program act as a cell with that source.
func inCell(t *testing.T, source string) {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	path := filepath.Join(filepath.Dir(program), "main.go")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Skip("the folder of the test's binary is not writable:", err)
	}
	t.Cleanup(func() { os.Remove(path) })
	t.Setenv("GONB_TMP_DIR", filepath.Dir(program))
}

// connect returns a client of an engine and the number of its process.
func connect(t *testing.T) (engine.Client, int) {
	t.Helper()
	c, err := engine.Start{}.Connect(t.Context())
	must(t, err)
	s, err := c.Info(t.Context())
	must(t, err)
	return c, s.PID
}

// shortTemp makes the directory for temporary files a short path, on which a socket can be opened.
func shortTemp(t *testing.T) {
	t.Setenv("TMPDIR", testhelp.ShortDir(t))
}

// stop ends an engine and waits until its process is gone.
func stop(t *testing.T, c engine.Client, pid int) {
	t.Helper()
	alive := engine.Alive(pid)
	_ = c.Stop(context.Background())
	gone(t, pid, alive)
}

func gone(t *testing.T, pid int, alive func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); alive(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d does not end", pid)
		}
	}
}

// A program that imports this package starts itself as the engine, with its plugins.
func TestOwnEngine(t *testing.T) {
	shortTemp(t)
	t.Setenv("GONB_TMP_DIR", "")
	c, pid := connect(t)
	defer stop(t, c, pid)
	if pid == os.Getpid() || !strings.Contains(c.Socket, "headwater-") {
		t.Errorf("the engine is process %d at %s", pid, c.Socket)
	}
	e, err := c.Explain(t.Context(), engine.Model{}, "the keys to the cabinet", attribution.Options{
		Methods: []string{"attention+layer", "again+layer"}, MaxTokens: 1,
	})
	must(t, err)
	first, second := e.Methods["attention+layer"].Rows, e.Methods["again+layer"].Rows
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the plugin's numbers (-attention +plugin):\n%s", diff)
	}
	if second, same := connect(t); second.Socket != c.Socket || same != pid {
		t.Errorf("asked again: %v of process %d, want %v of %d", second, same, c, pid)
	}
}

// Cells share an engine until their plugins change. Then the old one ends and leaves no files.
func TestEngineOfCells(t *testing.T) {
	shortTemp(t)
	source := "package main\n\nfunc init() { register(1) }\n\n" +
		"func register(int) {}\n\nfunc main() {}\n"
	inCell(t, source)
	first, pid := connect(t)
	alive := engine.Alive(pid)
	inCell(t, strings.Replace(source, "func main() {}", "func main() { register(2) }", 1))
	if c, same := connect(t); c.Socket != first.Socket || same != pid {
		t.Errorf("another body: engine %v of process %d, want %v of %d", c, same, first, pid)
	}
	inCell(t, strings.Replace(source, "register(1)", "register(3)", 1))
	second, other := connect(t)
	defer stop(t, second, other)
	if second.Socket == first.Socket || other == pid {
		t.Fatalf("changed plugins are served by the same engine %v", second)
	}
	gone(t, pid, alive)
	left, err := filepath.Glob(strings.TrimSuffix(first.Socket, ".sock") + ".*")
	if err != nil || len(left) > 0 {
		t.Errorf("the first engine leaves %v, %v", left, err)
	}
}

// A cell's engine belongs to the kernel, its parent process. Another program owns its engine
// itself.
func TestEngineBelongsTo(t *testing.T) {
	key, err := cellKey()
	if err != nil || key != "" {
		t.Errorf("no cell: key %q, %v", key, err)
	}
	t.Setenv("GONB_TMP_DIR", t.TempDir())
	if key, err := cellKey(); err != nil || key != "" {
		t.Errorf("a program beside a cell: key %q, %v", key, err)
	}
	inCell(t, "package main\n")
	if key, err := cellKey(); err != nil || len(key) != 8 {
		t.Errorf("a cell: key %q, %v; want eight letters", key, err)
	}
	inCell(t, "package")
	if _, err := (engine.Start{}).Connect(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "local: the source of the cell") {
		t.Errorf("a cell that cannot be: error %v", err)
	}
}

func TestParseEngine(t *testing.T) {
	got, err := parseEngine("12,2h0m0s,/tmp/a,b.sock")
	if err != nil || got.Watch != 12 || got.Idle != 2*time.Hour || got.Socket != "/tmp/a,b.sock" {
		t.Errorf("%+v, %v", got, err)
	}
	for value, want := range map[string]string{
		"":             "want PID,TIME,SOCKET",
		"1,2h,":        "want PID,TIME,SOCKET",
		"x,2h,/tmp/a":  `"x" is not the number of a process`,
		"-1,2h,/tmp/a": `"-1" is not the number of a process`,
		"1,2,/tmp/a":   `"2" is not a time of 0 or more`,
		"1,-2h,/tmp/a": `"-2h" is not a time of 0 or more`,
	} {
		if _, err := parseEngine(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", value, err, want)
		}
	}
}

// An engine that cannot listen says so and ends before the rest of its program runs.
func TestEngineCannotListen(t *testing.T) {
	program, err := os.Executable()
	must(t, err)
	for argument, want := range map[string]string{
		engineArguments("/nowhere/e.sock", os.Getpid(), time.Second)[0]: "server: listen unix /nowhere/e.sock",
		"-" + engineFlag + "=1": "want PID,TIME,SOCKET",
	} {
		out, err := exec.Command(program, argument).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), want) ||
			strings.Contains(string(out), "PASS") {
			t.Errorf("%s: %v, output %q; want status 1 and %q alone", argument, err, out, want)
		}
	}
}

func TestRegisterMixing(t *testing.T) {
	info, err := attribution.LookupMixing("again")
	m, other := transformer.LookupMixing("again")
	if _, ok := m.(again); err != nil || other != nil || !ok || info.Unit != "attention" {
		t.Errorf("again is %v, %v and %v, %v", info, err, m, other)
	}
}
