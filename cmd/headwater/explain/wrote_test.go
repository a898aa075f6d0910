package explain

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// Each file that is written is named on standard error, with what it has.
func TestSayWrote(t *testing.T) {
	dir := t.TempDir()
	var args, want []string
	for _, file := range [][2]string{
		{"a.svg", "6.75 in, matrix of direct"},
		{"b.html", "kB, matrix of direct, value-zeroing, flow"},
		{"c.csv", "kB, values of direct, value-zeroing, flow"},
		{"d.inseq.json", "kB, values of direct"},
		{"e.neuronpedia.json", "kB, graph of flow"},
		{"f.txt", "kB, matrix of direct, value-zeroing, flow"},
	} {
		path := filepath.Join(dir, file[0])
		args, want = append(args, "-o", path), append(want, "wrote "+path+": ", file[1])
	}
	explain := []string{"explain", "--backend", "go", "--max-tokens", "1", clitest.Prompt}
	_, out, said := headwater.Execute(t, "", append(explain, args...)...)
	_, wrote, _ := strings.Cut(said, "\n") // below the line of the backend
	lines := strings.Split(strings.TrimSpace(wrote), "\n")
	if len(lines) != len(want)/2 || out != "" {
		t.Fatalf("standard output %q, error\n%s", out, said)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, "headwater: "+want[2*i]) ||
			!strings.HasSuffix(line, want[2*i+1]) {
			t.Errorf("says %q, want %q", line, want[2*i:2*i+2])
		}
	}
	for view, what := range map[string]string{
		"compare": "comparison of direct and value-zeroing", "heads": "attention heads",
		"flow": "graph of flow", "maps": "maps of value-zeroing", "layers": "layers of direct",
		"text": "text of direct",
	} {
		_, _, said := headwater.Execute(t, "", append(explain, "--view", view, "--size", "column",
			"-o", filepath.Join(dir, "view.svg"))...)
		if !strings.HasSuffix(said, "view.svg: 3.25 in, "+what+"\n") {
			t.Errorf("%s: says %q, want %q", view, said, what)
		}
	}
}

// --open gives the files to the opener of the desktop and does not wait for it.
func TestOpenFiles(t *testing.T) {
	opener := map[string]string{"darwin": "open", "windows": "rundll32"}[runtime.GOOS]
	opener = cmp.Or(opener, "xdg-open")
	dir := t.TempDir()
	page, figure := filepath.Join(dir, "a page.html"), filepath.Join(dir, "-a.svg")
	args := []string{
		"explain", "--backend", "go", "--max-tokens", "1", "--open", "-o", page, "-o", figure,
		clitest.Prompt,
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", dir)
	status, _, said := headwater.Execute(t, "", args...)
	missing := "--open: " + opener + " cannot be started"
	if status != cli.StatusError || !strings.Contains(said, missing) ||
		!strings.Contains(said, "open "+page+" yourself") {
		t.Errorf("without an opener: status %d, %s", status, said)
	}
	if _, err := os.Stat(page); err != nil {
		t.Errorf("the page is not there: %v", err)
	}
	if runtime.GOOS == "windows" {
		return // a script is no program there
	}
	// A program that ends only when the test says so.
	clitest.Write(t, filepath.Join(dir, opener), []byte(`#!/bin/sh
for word; do echo "$word" >>"$DIR/opened"; done
while [ ! -e "$DIR/end" ]; do sleep 0.02; done
echo >>"$DIR/ended"
`))
	must(t, os.Chmod(filepath.Join(dir, opener), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+path)
	t.Setenv("DIR", dir)
	if status, _, said := headwater.Execute(t, "", args...); status != cli.StatusOK {
		t.Errorf("status %d, %s", status, said)
	}
	lines := func(name string) int {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		return strings.Count(string(text), "\n")
	}
	if lines("ended") > 0 {
		t.Error("the opener has ended before the test let it")
	}
	for end := time.Now().Add(20 * time.Second); lines("opened") < 2 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	text, err := os.ReadFile(filepath.Join(dir, "opened"))
	if err != nil || !strings.Contains(string(text), page+"\n") ||
		!strings.Contains(string(text), figure+"\n") {
		t.Errorf("opened %q, %v", text, err)
	}
	clitest.Write(t, filepath.Join(dir, "end"), nil)
	for end := time.Now().Add(20 * time.Second); lines("ended") < 2 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond) // so that the folder can be removed
	}
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"nothing to open", []string{"explain", "--open", "a"}, "", 2, "--open opens a file; name"},
	})
}
