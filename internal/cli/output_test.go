package cli

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// A file appears when it is complete. Until then, and after a failure, the old one stays.
func TestOutput(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	must(t, os.WriteFile(path, []byte("old"), 0o600))
	link := filepath.Join(dir, "link.html")
	must(t, os.Symlink(path, link))
	var said strings.Builder
	k := &Kit{Stderr: &said}
	for _, name := range []string{path, link} {
		out, err := k.Create(t.Context(), name)
		must(t, err)
		if got := names(t, dir); len(got) != 2 {
			t.Errorf("before the first byte there are %v", got)
		}
		if _, err := out.WriteString("half"); err != nil {
			t.Fatal(err)
		}
		must(t, out.Flush())
		if got := string(read(t, path)); got != "old" {
			t.Errorf("before it is complete the file is %q", got)
		}
		out.Abandon()
	}
	if got := names(t, dir); len(got) != 2 || string(read(t, path)) != "old" {
		t.Errorf("after an end without commit there are %v", got)
	}
	out, err := k.Create(t.Context(), link)
	must(t, err)
	if _, err := out.WriteString("new"); err != nil {
		t.Fatal(err)
	}
	must(t, out.Commit())
	out.Abandon() // does nothing any more
	if want := "headwater: wrote " + path + ": 3 bytes\n"; said.String() != want {
		t.Errorf("says %q, want %q", said.String(), want)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 || string(read(t, path)) != "new" {
		t.Errorf("through a link: %v, %v, %q", info, err, read(t, path))
	}
}

// An output without a byte is an empty file, unless it is abandoned.
func TestOutputEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	k := &Kit{Stderr: io.Discard}
	for _, commit := range []bool{false, true} {
		out, err := k.Create(t.Context(), path)
		must(t, err)
		if commit {
			must(t, out.Commit())
		}
		out.Abandon()
		if _, err := os.Stat(path); (err == nil) != commit {
			t.Errorf("commit %v: %v", commit, err)
		}
		out.WriteString("late")
		if out.Flush() == nil {
			t.Errorf("commit %v: what is written after the end is no error", commit)
		}
	}
}

// A device is written, never replaced.
func TestOutputDevice(t *testing.T) {
	before, err := os.Lstat(os.DevNull)
	must(t, err)
	out, err := (&Kit{}).Create(t.Context(), os.DevNull)
	must(t, err)
	if _, err := out.WriteString("gone"); err != nil {
		t.Fatal(err)
	}
	must(t, out.Commit())
	after, err := os.Lstat(os.DevNull)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("%s is another file now: %v", os.DevNull, err)
	}
}

// names returns the names of the files in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}

var must = testhelp.Must // ends a test at an error

// Progress is one line on a terminal, whatever its text, and nothing elsewhere.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	line := &Progress{w: &b, width: 30}
	line.Show("token %d: %s", 1, "a\nb\x1b[2J"+string(bytes.Repeat([]byte("z"), 100)))
	line.Clear()
	line.Clear()
	got := b.String()
	if bytes.Count([]byte(got), []byte("\n")) != 0 ||
		bytes.Contains([]byte(got), []byte("\x1b[2J")) {
		t.Errorf("progress wrote %q", got)
	}
	const want = "\r\x1b[K"
	if got[len(got)-len(want):] != want || bytes.Count([]byte(got), []byte("\r")) != 2 {
		t.Errorf("progress ends with %q", got)
	}
	if k := (&Kit{Stderr: &b}); k.Progress().width != 0 || isTerminal(&b) {
		t.Errorf("a buffer is no terminal")
	}
}

// TestProgressOfLog: what is no terminal has a line when many passes begin, and then one when the
// latest is old.
func TestProgressOfLog(t *testing.T) {
	var b bytes.Buffer
	line := (&Kit{Stderr: &b}).Progress()
	passes := func(done, total int) trace.Progress {
		return trace.Progress{Stage: "occlusion", Unit: "pass", Done: done, Total: total}
	}
	line.Show("reading")
	line.Report(passes(0, 63))
	line.Report(passes(0, 64))
	line.Report(passes(16, 64))
	line.logged = line.logged.Add(-logPeriod)
	line.Report(passes(32, 64))
	line.Report(passes(0, 65))
	line.logged = line.logged.Add(-logPeriod)
	line.Show("a\nb")
	line.Clear()
	const want = "headwater: occlusion, pass 0 of 64\nheadwater: occlusion, pass 32 of 64\n" +
		"headwater: a↵b\n"
	if got := b.String(); got != want {
		t.Errorf("a log has\n%q, want\n%q", got, want)
	}
}

// A line that is removed while others update it does not come back.
func TestProgressUpdate(t *testing.T) {
	line := &Progress{w: io.Discard, width: 30}
	for range 2000 {
		line.Show("one")
		var others sync.WaitGroup
		for range 8 {
			others.Go(func() {
				for range 3 {
					line.update("two")
				}
			})
		}
		line.Clear()
		others.Wait()
		if line.shown {
			t.Fatal("the line is shown after it was removed")
		}
	}
}

func TestColored(t *testing.T) {
	cases := map[string]bool{"always": true, "never": false, "auto": false}
	for choice, want := range cases {
		if got := Colored(choice, &bytes.Buffer{}); got != want {
			t.Errorf("colored(%s) = %v, want %v", choice, got, want)
		}
	}
}
