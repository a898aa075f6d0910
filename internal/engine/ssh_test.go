package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// The variables that say how this program acts when it is called ssh: what it does wrong, and the
// home of the other machine.
const (
	sshFault = "HEADWATER_TEST_SSH"
	sshHome  = "HEADWATER_TEST_SSH_HOME"
)

// actAsSSH acts as ssh: it runs the command in another home and forwards the socket to it. The exit
// status is that of the command, or 255.
func actAsSSH(args []string) int {
	var forward, host, command string
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-L":
			i++
			forward = args[i]
		case "-o", "-S", "-p", "-l":
			i++
		case "--":
			host, command = args[i+1], args[i+2]
			i = len(args)
		}
	}
	home := os.Getenv(sshHome)
	if err := os.WriteFile(filepath.Join(home, "arguments"), []byte(strings.Join(args, "\n")),
		0o600); err != nil {
		return 255
	}
	switch fault := os.Getenv(sshFault); fault {
	case "denied":
		fmt.Fprintf(os.Stderr, "%s: Permission denied (publickey,password).\r\n", host)
		return 255
	case "unknown key":
		fmt.Fprint(os.Stderr, "No ED25519 host key is known.\r\nHost key verification failed.\r\n")
		return 255
	case "no host":
		fmt.Fprintf(os.Stderr, "ssh: Could not resolve hostname %s: Name or service not known\r\n",
			host)
		return 255
	}
	local, there, _ := strings.Cut(forward, ":")
	_ = os.Remove(local) // StreamLocalBindUnlink
	listener, err := net.Listen("unix", local)
	if err != nil {
		return 255
	}
	go forwardAll(listener, there)
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = home, os.Stdin, os.Stdout, os.Stderr
	cmd.Env = []string{
		"HOME=" + home, "PATH=" + filepath.Join(home, "bin") + ":/usr/bin:/bin",
		"TMPDIR=" + filepath.Join(home, "tmp"),
		"HEADWATER_TEST_SLOW=" + os.Getenv("HEADWATER_TEST_SLOW"),
	}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		return 255
	}
	return 0
}

// forwardAll connects everything that comes to a listener with the socket of the other machine.
func forwardAll(listener net.Listener, there string) {
	for n := 2; ; n++ {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if os.Getenv(sshFault) == "no forwarding" {
			fmt.Fprintf(os.Stderr, "channel %d: open failed: connect failed: open failed\r\n", n)
			conn.Close()
			continue
		}
		other, err := net.Dial("unix", there)
		if err != nil {
			fmt.Fprintf(os.Stderr, "channel %d: open failed: connect failed: %v\r\n", n, err)
			conn.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{conn, other}, {other, conn}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].(*net.UnixConn).CloseWrite()
				if pair[0] == conn { // the engine has said all
					conn.Close()
					other.Close()
				}
			}()
		}
	}
}

// otherMachine puts an ssh on PATH that logs in to a home with headwater, and returns that home and
// a process that acts as the kernel.
func otherMachine(t *testing.T, address string) (home string, kernel *exec.Cmd) {
	t.Helper()
	t.Setenv("TMPDIR", engine.ShortDir(t))
	binary, err := os.Executable()
	must(t, err)
	home = t.TempDir()
	here := t.TempDir()
	for _, dir := range []string{"bin", "own", "tmp"} {
		must(t, os.Mkdir(filepath.Join(home, dir), 0o700))
	}
	for _, link := range []string{
		filepath.Join(here, "ssh"), filepath.Join(home, "bin", "headwater"),
		filepath.Join(home, "own", "headwater"),
	} {
		must(t, os.Symlink(binary, link))
	}
	t.Setenv("PATH", here+":/usr/bin:/bin")
	t.Setenv(sshHome, home)
	t.Setenv("HEADWATER_ENGINE", address)
	kernel = exec.Command("sleep", "120")
	if err := kernel.Start(); err != nil {
		t.Skip("no sleep command:", err)
	}
	t.Cleanup(func() {
		_ = kernel.Process.Kill()
		_ = kernel.Wait()
	})
	return home, kernel
}

// TestEngineOnAnotherMachine explains, asks for the latest explanation and saves it with an engine
// that ssh started. The numbers are those of this machine, the paths are of the other one. The
// engine ends with the kernel and leaves nothing on the other machine.
func TestEngineOnAnotherMachine(t *testing.T) {
	home, kernel := otherMachine(t, "ssh://someone@gpu:2222/~/own/headwater")
	var stages []string
	start := engine.Start{PID: kernel.Process.Pid, OnStage: func(s string) {
		stages = append(stages, s)
	}}
	if _, ok, err := start.Running(t.Context()); ok || err != nil {
		t.Fatalf("an engine runs before the first: %v, %v", ok, err)
	}
	client, err := start.Connect(t.Context())
	must(t, err)
	if got := fmt.Sprint(stages); got != "[connecting to someone@gpu]" ||
		client.Remote != "someone@gpu" {
		t.Errorf("stages %s, remote %q", got, client.Remote)
	}
	arguments, err := os.ReadFile(filepath.Join(home, "arguments"))
	must(t, err)
	for _, want := range []string{
		"\n-p\n2222\n", "\n-l\nsomeone\n", "\nBatchMode=yes\n",
		"\n--\ngpu\nexec ~/own/headwater serve --remote --socket /tmp/headwater-",
	} {
		if !strings.Contains(string(arguments), want) {
			t.Errorf("arguments of ssh %q lack %q", arguments, want)
		}
	}
	options := attribution.Options{Methods: []string{"rollout"}, MaxTokens: 2}
	got, err := client.Explain(t.Context(), engine.Model{Name: "fake"}, "w1 w2 w3", options)
	must(t, err)
	direct, err := attribution.Explain(t.Context(), fakemodel.New(2, fakemodel.Causal), "w1 w2 w3",
		options)
	must(t, err)
	want := asJSON(t, direct)
	if diff := cmp.Diff(want, asJSON(t, got)); diff != "" {
		t.Errorf("engine there (-direct +engine):\n%s", diff)
	}
	again, ok, err := start.Running(t.Context()) // a later cell
	if !ok || err != nil {
		t.Fatalf("the engine is not found again: %v", err)
	}
	last, err := again.Last(t.Context())
	must(t, err)
	if diff := cmp.Diff(want, asJSON(t, last)); diff != "" {
		t.Errorf("the latest explanation (-direct +engine):\n%s", diff)
	}
	data, _, err := again.Save(t.Context(), "a.svg", nil, nil)
	if err != nil || string(data) != "a.svg of 2 tokens" {
		t.Errorf("saved %q, %v", data, err)
	}
	_, err = client.Explain(t.Context(), engine.Model{Name: "./missing"}, "w1",
		attribution.Options{MaxTokens: 1})
	const there = "on someone@gpu: no such model; paths and downloaded models are those of someone@gpu"
	if err == nil || err.Error() != there || trace.KindOf(err) != trace.ModelKind {
		t.Errorf("a path of this machine: %v (%s), want %q", err, trace.KindOf(err), there)
	}
	_, err = client.Explain(t.Context(), engine.Model{Name: "fake"}, "w1",
		attribution.Options{Methods: []string{"nonsense"}})
	if err == nil || !strings.HasPrefix(err.Error(), "unknown ") {
		t.Errorf("wrong usage: error %v, want it as of this machine", err)
	}
	socket := regexp.MustCompile(`/tmp/headwater-[0-9a-f]{32}/s`).FindString(string(arguments))
	if _, err := os.Stat(socket); err != nil {
		t.Errorf("the socket on the other machine: %v", err)
	}
	_ = kernel.Process.Kill()
	_ = kernel.Wait()
	eventually(t, func() bool {
		_, err := os.Stat(filepath.Dir(socket))
		return errors.Is(err, os.ErrNotExist)
	})
	if _, err := client.Info(t.Context()); err == nil {
		t.Error("the engine answers after the end of the kernel")
	}
}

// asJSON is the JSON form of an explanation, which leaves out what gob does not tell apart.
func asJSON(t *testing.T, e *attribution.Explanation) string {
	t.Helper()
	data, err := json.Marshal(e)
	must(t, err)
	return string(data)
}

// TestConnectionBreaks ends ssh while a request runs: the error is one line, and the next cell gets
// another engine.
func TestConnectionBreaks(t *testing.T) {
	t.Setenv("HEADWATER_TEST_SLOW", "5s") // the time to open a model
	_, kernel := otherMachine(t, "ssh://gpu")
	start := engine.Start{PID: kernel.Process.Pid}
	client, err := start.Connect(t.Context())
	must(t, err)
	found, err := engine.List(t.Context())
	if err != nil || len(found) != 1 || !found[0].Remote {
		t.Fatalf("engines %+v, %v; want a remote one", found, err)
	}
	ssh, err := os.FindProcess(found[0].PID)
	if err != nil || found[0].PID == found[0].Status.PID {
		t.Fatalf("process %d of ssh, %v", found[0].PID, err)
	}
	time.AfterFunc(300*time.Millisecond, func() { _ = ssh.Kill() })
	_, err = client.Explain(t.Context(), engine.Model{Name: "fake"}, "w1", attribution.Options{})
	line := ""
	if err != nil {
		line, _, _ = strings.Cut(err.Error(), "\n")
	}
	if !strings.HasPrefix(line, `engine: the connection to gpu broke, or the engine there ended, in `+
		`the middle of "explain"`) {
		t.Errorf("error %v", err)
	}
	again, err := start.Connect(t.Context())
	must(t, err)
	if _, err := again.Info(t.Context()); err != nil {
		t.Error(err)
	}
	if err := again.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// program writes a shell script.
func program(t *testing.T, path, script string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
}

// TestSSHFails says in one line why there is no engine on another machine.
func TestSSHFails(t *testing.T) {
	for _, c := range []struct{ name, address, fault, want string }{
		{"login", "ssh://me@gpu", "denied", "engine: ssh cannot log in on me@gpu: gpu: Permission " +
			"denied (publickey,password).: it must work without a password; try ssh me@gpu in a terminal"},
		{"key of the host", "ssh://gpu", "unknown key", "engine: ssh does not know gpu or its key has changed: run ssh gpu once in a terminal"},
		{"host", "ssh://gpu", "no host", "engine: ssh cannot connect to gpu: ssh: Could not resolve hostname gpu: Name or service not known"},
		{"no program", "ssh://gpu/opt/headwater", "", "engine: gpu has no program /opt/headwater ("},
		{"forwarding", "ssh://gpu", "no forwarding", "engine: gpu refuses to forward a socket (channel " +
			"2: open failed: connect failed: open failed): its sshd needs " +
			"AllowStreamLocalForwarding yes"},
		{"older", "ssh://gpu/~/older", "", "engine: headwater on gpu is older than this notebook and " +
			"cannot serve it: install the same version on both"},
		{"other protocol", "ssh://gpu/~/newer", "", "engine: headwater on gpu speaks protocol 999 and this notebook "},
		{"broken", "ssh://gpu/~/broken", "", "engine: headwater on gpu ended before it was ready (exit status 3); its log ends:\nno memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home, kernel := otherMachine(t, c.address)
			t.Setenv(sshFault, c.fault)
			for name, script := range map[string]string{
				"older":  "echo 'headwater: unknown flag: --remote; see headwater serve --help' >&2; exit 2",
				"newer":  "echo 'headwater engine ready, protocol 999, build v9.0.0'; exec cat",
				"broken": "echo 'no memory' >&2; exit 3",
			} {
				program(t, filepath.Join(home, name), script)
			}
			_, err := engine.Start{PID: kernel.Process.Pid}.Connect(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v\nwant %s", err, c.want)
			}
			eventually(t, func() bool { // nothing is left
				found, err := engine.List(t.Context())
				return err == nil && len(found) == 0
			})
		})
	}
	t.Run("no ssh", func(t *testing.T) {
		_, kernel := otherMachine(t, "ssh://gpu")
		t.Setenv("PATH", t.TempDir())
		_, err := engine.Start{PID: kernel.Process.Pid}.Connect(t.Context())
		if err == nil || !strings.Contains(err.Error(), "the program ssh is missing") {
			t.Errorf("error %v", err)
		}
	})
}

// TestConnectingIsInterrupted ends ssh when the cell is interrupted while it connects.
func TestConnectingIsInterrupted(t *testing.T) {
	home, kernel := otherMachine(t, "ssh://gpu/~/slow")
	program(t, filepath.Join(home, "slow"), "exec cat")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel)
	began := time.Now()
	_, err := engine.Start{PID: kernel.Process.Pid}.Connect(ctx)
	if !errors.Is(err, context.Canceled) || time.Since(began) > 3*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// TestColonInFolder checks that a socket is refused that ssh's -L, where a colon divides, cannot
// name. An engine on this machine has no such limit.
func TestColonInFolder(t *testing.T) {
	_, kernel := otherMachine(t, "ssh://gpu")
	dir := filepath.Join(os.Getenv("TMPDIR"), "a:b")
	must(t, os.Mkdir(dir, 0o700))
	t.Setenv("TMPDIR", dir)
	start := engine.Start{PID: kernel.Process.Pid}
	if _, err := start.Connect(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "set TMPDIR to a folder without a colon") {
		t.Errorf("error = %v, want one about TMPDIR", err)
	}
	t.Setenv("HEADWATER_ENGINE", "")
	if _, _, err := start.Running(t.Context()); err != nil {
		t.Errorf("an engine on this machine: %v", err)
	}
}
