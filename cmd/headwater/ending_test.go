//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// command runs this test's binary as the program, so that signals and limits are real.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(stop)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), clitest.AsProgram+"=1")
	return cmd
}

// actAsProgram does what main does before it runs the program. It also applies the limits that a
// test sets through the environment.
func actAsProgram() {
	ignoreFileLimit()
	if limit, err := strconv.ParseUint(os.Getenv(fileLimit), 10, 64); err == nil {
		limitFiles(limit)
	}
	if path := os.Getenv(stuck); path != "" {
		runStuck(path)
	}
}

// promptLines are n lines of --input.
func promptLines(n int) string {
	return strings.Repeat(`{"prompt":"the keys to the cabinet"}`+"\n", n)
}

// results returns the explanations of a file, each of which must be whole.
func results(t *testing.T, path string) (all []*attribution.Explanation) {
	t.Helper()
	text := string(clitest.Read(t, path))
	if text != "" && !strings.HasSuffix(text, "\n") {
		t.Errorf("%s ends in the middle of a line", path)
	}
	for l := range strings.Lines(text) {
		all = append(all, clitest.ParseExplanation(t, []byte(l)))
	}
	return all
}

// A signal in the middle of a file of prompts leaves two files: the complete results under the name
// of a partial file, and the unchanged file of an earlier run. A second signal ends a program that
// does not stop by itself, here because it waits for its next line.
func TestSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			if signal.Ignored(s) {
				t.Skip("that signal is ignored, as under nohup or in the background of a script")
			}
			dir := t.TempDir()
			out := filepath.Join(dir, "results.jsonl")
			clitest.Write(t, out, []byte("complete\n"))
			cmd := command(t, "explain", "--backend", "go", "--max-tokens", "1", "--input", "-",
				"-o", out)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			stdin, err := cmd.StdinPipe()
			must(t, err)
			must(t, cmd.Start())
			if _, err := io.WriteString(stdin, promptLines(3)); err != nil {
				t.Fatal(err)
			}
			waitForLines(t, dir, 3)
			must(t, cmd.Process.Signal(s))
			err = cmd.Wait()
			if cmd.ProcessState.ExitCode() != cli.StatusError {
				t.Errorf("it ended with %v, %s", err, stderr.String())
			}
			if got := len(results(t, out+".partial")); got != 3 {
				t.Errorf("%d results in the part, want 3", got)
			}
			if got := clitest.Names(t, dir); !slices.Equal(got, []string{"results.jsonl", "results.jsonl.partial"}) || string(clitest.Read(t, out)) != "complete\n" {
				t.Errorf("left are %v", got)
			}
			want := "interrupted; what was complete, 3 results, is in " + out + ".partial, and " +
				out + " is as it was\n"
			if !strings.HasSuffix(stderr.String(), want) {
				t.Errorf("error %q; want %q", stderr.String(), want)
			}
		})
	}
}

// waitForLines waits until the unfinished file in a folder has n lines.
func waitForLines(t *testing.T, dir string, n int) {
	t.Helper()
	end := time.Now().Add(50 * time.Second)
	for ; time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, name := range clitest.Names(t, dir) {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && strings.HasSuffix(name, ".tmp") &&
				bytes.Count(data, []byte("\n")) >= n {
				return
			}
		}
	}
	t.Fatalf("no %d lines in %v", n, clitest.Names(t, dir))
}

// One signal ends a command that waits for the other end of a named pipe, or for what comes through
// it.
func TestSignalsAtPipes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	for _, c := range []struct {
		name, open string // what this test opens: "" for nothing
		args       []string
	}{
		{"input that nobody writes", "", []string{"explain", "--backend", "go", "-i", pipe}},
		{"input without an end", pipe, []string{"explain", "--backend", "go", "-i", pipe}},
		{"edits that nobody writes", "", []string{
			"trace", "--text", "a", "--taps", "hidden", "-o", pipe + ".out", "--edit", pipe,
		}},
		{"output that nobody reads", "", []string{"explain", "-o", pipe, clitest.Prompt}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.open != "" {
				// For reading too, so that this does not wait.
				f, err := os.OpenFile(c.open, os.O_RDWR, 0)
				must(t, err)
				defer f.Close()
			}
			cmd := command(t, c.args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			must(t, cmd.Start())
			late := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			time.Sleep(time.Second) // until it waits
			must(t, cmd.Process.Signal(syscall.SIGTERM))
			err := cmd.Wait()
			if !late.Stop() || cmd.ProcessState.ExitCode() != cli.StatusError ||
				!strings.Contains(stderr.String(), "interrupted") {
				t.Errorf("it ended with %v, %q", err, stderr.String())
			}
		})
	}
	status, _, said := headwater.Execute(t, "", "reproduce", pipe)
	if status != cli.StatusError ||
		!strings.Contains(said, "pipe: it is not a regular file (p---------)") {
		t.Errorf("reproduce: status %d, %q", status, said)
	}
}

// stuck is the environment variable that makes the program wait forever after the first signal.
const stuck = "HEADWATER_TEST_STUCK"

// runStuck writes two and a half results, and then waits forever.
func runStuck(path string) {
	k := &cli.Kit{}
	out, err := k.Create(context.Background(), path)
	if err != nil {
		panic(err)
	}
	_, stop := cli.Interruptible(context.Background())
	defer stop()
	fmt.Fprint(out, "one\ntwo\n")
	if err := out.Keep("2 results"); err != nil {
		panic(err)
	}
	fmt.Fprint(out, "thr")
	out.Flush()
	fmt.Fprintln(os.Stdout, "ready")
	time.Sleep(time.Minute)
}

// The second signal ends the program at once. Only the file with the complete results is left.
func TestSecondSignal(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	cmd := command(t)
	cmd.Env = append(cmd.Env, stuck+"="+path)
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if _, err := io.ReadFull(stdout, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	// The system may deliver two signals as one.
	for cmd.ProcessState == nil && time.Since(begin) < 50*time.Second {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		time.Sleep(50 * time.Millisecond)
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil || ended(cmd.Process.Pid) {
			break
		}
	}
	_ = cmd.Wait()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v, want the signal", cmd.ProcessState)
	}
	if got := clitest.Names(t, dir); !slices.Equal(got, []string{"out.partial"}) || string(clitest.Read(t, path+".partial")) != "one\ntwo\n" {
		t.Errorf("left are %v", got)
	}
}

// ended returns whether a child has ended and has not been waited for.
func ended(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(data), ") Z ")
}

// A closed standard error does not end a program that writes a file.
func TestBrokenStandardError(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "page.html")
	cmd := command(t, "explain", "--backend", "go", "--max-tokens", "1", "--format", "html",
		"-o", out, clitest.Prompt)
	r, w, err := os.Pipe()
	must(t, err)
	r.Close()
	cmd.Stderr = w
	if err := cmd.Run(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	w.Close()
	if got := clitest.Names(t, dir); !slices.Equal(got, []string{"page.html"}) {
		t.Errorf("left are %v", got)
	}
}

// fileLimit is the environment variable with the largest size of a file, in bytes.
const fileLimit = "HEADWATER_TEST_FILE_LIMIT"

// limitFiles sets the limit, as ulimit -f does.
func limitFiles(bytes uint64) {
	limit := syscall.Rlimit{Cur: bytes, Max: bytes}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
}

// If a file cannot grow, the complete results stay, and the message names their file and number.
func TestFileTooLarge(t *testing.T) {
	dir := t.TempDir()
	whole, out := filepath.Join(dir, "whole.jsonl"), filepath.Join(dir, "results.jsonl")
	args := []string{"explain", "--backend", "go", "--max-tokens", "1", "--input", "-", "-o"}
	headwater.MustExecute(t, promptLines(5), append(args, whole)...)
	limit := len(clitest.Read(t, whole)) * 7 / 10 // three lines and a half
	clitest.Write(t, out, []byte("complete\n"))
	cmd := command(t, append(args, out)...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", fileLimit, limit))
	cmd.Stdin = strings.NewReader(promptLines(5))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() != cli.StatusError {
		t.Errorf("it ended with %v", err)
	}
	want := "headwater: output " + out + ": file too large; what was complete, 3 results, is in " +
		out + ".partial, and " + out + " is as it was\n"
	if !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("error %q; want %q", stderr.String(), want)
	}
	if got := len(results(t, out+".partial")); got != 3 {
		t.Errorf("%d results in the part, want 3", got)
	}
	if got := clitest.Names(t, dir); !slices.Equal(got, []string{"results.jsonl", "results.jsonl.partial", "whole.jsonl"}) || string(clitest.Read(t, out)) != "complete\n" {
		t.Errorf("left are %v", got)
	}

	// The other formats write one result, so there is no file without it.
	for _, args := range [][]string{
		{"explain", "--backend", "go", "--max-tokens", "1", "--format", "html", clitest.Prompt},
		{"trace", "--backend", "go", "--ids", "1,2,3", "--taps", "hidden,logits"},
		{"certify", "--backend", "go", "--json"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "out")
		cmd := command(t, append(args, "-o", path)...)
		cmd.Env = append(cmd.Env, fileLimit+"=1000")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() != cli.StatusError ||
			!strings.Contains(stderr.String(), "output "+path+": file too large\n") {
			t.Errorf("%s: %v, %s", args[0], err, stderr.String())
		}
		if got := clitest.Names(t, dir); len(got) > 0 {
			t.Errorf("%s leaves %v", args[0], got)
		}
	}
}

// The error names a full device, or standard output.
func TestDiskFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	const advice = ": no space left on device; free some space, or write to another disk\n"
	_, _, stderr := headwater.Execute(t, "", "explain", "--backend", "go", "--max-tokens", "1",
		"-o", "/dev/full", clitest.Prompt)
	if !strings.HasSuffix(stderr, "headwater: output /dev/full"+advice) {
		t.Errorf("error %q", stderr)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must(t, err)
	defer full.Close()
	for _, input := range []string{"", promptLines(3)} {
		args := []string{"explain", "--backend", "go", "--max-tokens", "1"}
		if input == "" {
			args = append(args, clitest.Prompt)
		} else {
			args = append(args, "--input", "-")
		}
		var stderr bytes.Buffer
		status := cli.Run(t.Context(), headwater, args, strings.NewReader(input), full, &stderr)
		if status != cli.StatusError ||
			!strings.HasSuffix(stderr.String(), "headwater: standard output"+advice) {
			t.Errorf("%q: status %d, error %q", args, status, stderr.String())
		}
	}
}
