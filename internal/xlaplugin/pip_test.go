package xlaplugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// onlyPip writes a shell script that stands for python3, and returns a folder to work in.
func onlyPip(t *testing.T, script string) (work string) {
	t.Helper()
	bin := t.TempDir()
	script = "#!/bin/sh\nPATH=/usr/bin:/bin\n" + script + "\n"
	must(t, os.WriteFile(filepath.Join(bin, python), []byte(script), 0o755))
	t.Setenv("PATH", bin)
	return t.TempDir()
}

// intoWheel sets $folder to the folder of --dest, which is beside the file of requirements.
const intoWheel = `for last; do :; done; folder="${last%/*}/wheel"; mkdir -p "$folder"; `

func TestPip(t *testing.T) {
	work := onlyPip(t, intoWheel+`
case "$*" in "-m pip download "*" --no-deps "*" --require-hashes --dest $folder "*) ;; *) echo "arguments: $*" >&2; exit 2;; esac
[ "$(cat "$last")" = "a==1 --hash=sha256:00" ] || { echo "requirements: $(cat "$last")" >&2; exit 2; }
[ "$TMPDIR" = "${last%/*}" ] || { echo "TMPDIR: $TMPDIR" >&2; exit 2; }
printf 12345 >"$TMPDIR/part"; sleep 0.3
printf 12345678 >"$folder/a.whl"`)
	var seen []int64
	path, err := pipDownload(t.Context(), "a==1", "00", work, func(n int64) {
		seen = append(seen, n)
	})
	must(t, err)
	if want := filepath.Join(work, "wheel", "a.whl"); path != want {
		t.Errorf("pipDownload returns %s, want %s", path, want)
	}
	// requirements.txt has 22 bytes, more than the wheel of this test.
	if len(seen) == 0 || seen[0] < 5 {
		t.Errorf("progress %v, want at least the 5 bytes that came first", seen)
	}
}

func TestPipErrors(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"pip fails":      {`echo "WARNING: a" >&2; echo "ERROR: no matching distribution" >&2; exit 1`, "pip: exit status 1: ERROR: no matching distribution"},
		"no pip":         {`echo "/usr/bin/python3: No module named pip" >&2; exit 1`, "No module named pip"},
		"a long line":    {`printf "x%1000sx" >&2; exit 1`, "…"},
		"no wheel":       {`exit 0`, "pip left 0 wheels, want 1"},
		"another file":   {intoWheel + `echo >"$folder/a.tar.gz"`, "pip left 0 wheels, want 1"},
		"several wheels": {intoWheel + `echo >"$folder/a.whl"; echo >"$folder/b.whl"`, "pip left 2 wheels, want 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pipDownload(t.Context(), "a==1", "00", onlyPip(t, c.script), func(int64) {})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	t.Setenv("PATH", t.TempDir())
	_, err := pipDownload(t.Context(), "a==1", "00", t.TempDir(), func(int64) {})
	if err == nil || !strings.Contains(err.Error(), "python3 with pip is needed") {
		t.Errorf("error %v without Python", err)
	}
}

// When the context ends, so do pip and the processes that it has started.
func TestPipCanceled(t *testing.T) {
	work := onlyPip(t, `sleep 600 & echo $! >"$TMPDIR/child.tmp"; mv "$TMPDIR/child.tmp" "$TMPDIR/child"; wait`)
	ctx, cancel := context.WithCancel(t.Context())
	child := filepath.Join(work, "child")
	begun := time.Now()
	_, err := pipDownload(ctx, "a==1", "00", work, func(int64) {
		if _, err := os.Stat(child); err == nil {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("pipDownload returned after %v, although pip was to be ended", took)
	}
	text, err := os.ReadFile(child)
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	for alive(pid) {
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("process %d, which pip started, still runs", pid)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// alive returns whether a process runs. One that has ended and that nobody waits for does not.
func alive(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(text), ") Z ")
}
