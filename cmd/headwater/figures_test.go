package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render/figure"
)

// A figure and a table become files with their origin, a page has both, and a second run gives
// equal bytes.
func TestFigures(t *testing.T) {
	var runs [2]map[string][]byte
	for k := range runs {
		dir := filepath.Join(t.TempDir(), "new", "figures")
		status, stdout, stderr := execute(t, "", "figures", "-o", dir, "s0-mass", "s3-published")
		if status != 0 || !strings.Contains(stdout, "2 figures and tables with 9 claims") {
			t.Fatalf("status %d, stdout %q, stderr %q", status, stdout, stderr)
		}
		runs[k] = map[string][]byte{}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			runs[k][e.Name()] = read(t, filepath.Join(dir, e.Name()))
		}
	}
	for _, name := range []string{
		"s0-mass.svg", "s0-mass.pdf", "s3-published.csv", "s3-published.md", "index.html",
	} {
		if len(runs[0][name]) == 0 || !bytes.Equal(runs[0][name], runs[1][name]) {
			t.Errorf("%s is missing, or two runs differ", name)
		}
	}
	if n := len(runs[0]); n != 5 {
		t.Errorf("%d files, want 5", n)
	}
	about, _, err := figure.About(runs[0]["s0-mass.svg"])
	if err != nil || !strings.Contains(about, `"figure":"s0-mass"`) ||
		!strings.Contains(about, `"remake":"headwater figures s0-mass"`) {
		t.Errorf("the origin is %q, error %v", about, err)
	}
}

// What is checked has one line for each claim; a model without a part leaves a figure out.
func TestCheckFigures(t *testing.T) {
	status, stdout, _ := execute(t, "", "figures", "--check", "s0-filter")
	if status != 0 || strings.Count(stdout, "\n") != 2 ||
		!strings.Contains(stdout, "s0-filter/bias: differs (as recorded)") {
		t.Errorf("status %d, stdout %q", status, stdout)
	}
	dir := t.TempDir()
	status, _, stderr := execute(t, "", "figures", "-o", dir, "--model", "planted-relay", "s3-fig3")
	if status != 0 || !strings.Contains(stderr, "s3-fig3 is left out: it needs ALiBi positions") {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

func TestFiguresRefusals(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"s1-fig22"}, "did you mean s1-fig2?"},
		{[]string{"--check", "--model", "tiny"}, "leave --model out"},
	} {
		status, _, stderr := execute(t, "", append([]string{"figures"}, c.args...)...)
		if status != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d, stderr %q", c.args, status, stderr)
		}
	}
}
