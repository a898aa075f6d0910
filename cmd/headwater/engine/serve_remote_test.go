package engine

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// TestServeRemote serves a notebook of another machine until its input ends, in a folder that it
// makes and removes. It says once that it listens, with its versions.
func TestServeRemote(t *testing.T) {
	dir := testhelp.ShortDir(t)
	socket := filepath.Join(dir, "new", "s")
	input, close := io.Pipe()
	output, stdout := io.Pipe()
	var stderr bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- cli.Run(t.Context(), headwater, []string{"serve", "--remote", "--socket", socket}, input, stdout,
			&stderr)
	}()
	line, err := bufio.NewReader(output).ReadString('\n')
	if want := engine.ReadyLine(cli.Release()) + "\n"; err != nil || line != want {
		t.Fatalf("it says %q, %v; want %q", line, err, want)
	}
	status, err := engine.Client{Socket: socket}.Info(t.Context())
	if err != nil || status.Build != cli.Release() {
		t.Errorf("status %+v, %v", status, err)
	}
	if info, err := os.Stat(filepath.Dir(socket)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the socket: %v, %v", info, err)
	}
	close.Close()
	if status := <-done; status != cli.StatusOK ||
		!strings.Contains(stderr.String(), errInputEnded.Error()) {
		t.Errorf("status %d, log %s", status, stderr.String())
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left are %v, %v", entries, err)
	}
	headwater.CheckRefusals(t, []clitest.Refusal{{
		"folder exists",
		[]string{"serve", "--remote", "--socket", filepath.Join(dir, "s")},
		"", 1,
		"serve: mkdir " + dir + ": file exists",
	}})
}

// TestServeRemoteUnread ends properly when ssh and with it the reader of the log are gone.
func TestServeRemoteUnread(t *testing.T) {
	dir := testhelp.ShortDir(t)
	cmd := exec.Command(os.Args[0], "serve", "--remote", "--socket", filepath.Join(dir, "new", "s"))
	cmd.Env = append(os.Environ(), clitest.AsProgram+"=1")
	input, err := cmd.StdinPipe()
	must(t, err)
	r, w, err := os.Pipe()
	must(t, err)
	cmd.Stdout, cmd.Stderr = w, w
	must(t, cmd.Start())
	w.Close()
	read := bufio.NewScanner(r)
	for read.Scan() && !strings.Contains(read.Text(), "ready") {
	}
	r.Close()
	input.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left are %v, %v", entries, err)
	}
}

// TestWatchInput ends with an input that ends or is silent, and not with one that has news.
func TestWatchInput(t *testing.T) {
	const silence = 300 * time.Millisecond
	if err := watchInput(t.Context(), strings.NewReader("\n\n"), time.Hour); err != errInputEnded {
		t.Errorf("an input that ends: %v", err)
	}
	r, w := io.Pipe()
	defer w.Close()
	began := time.Now()
	go func() {
		out := bufio.NewWriterSize(w, 1)
		for range 4 {
			fmt.Fprintln(out)
			time.Sleep(silence / 3)
		}
	}()
	if err := watchInput(t.Context(), r, silence); err != errInputSilent ||
		time.Since(began) < silence*4/3 {
		t.Errorf("a silent input: %v after %v", err, time.Since(began))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := watchInput(ctx, r, time.Hour); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}
