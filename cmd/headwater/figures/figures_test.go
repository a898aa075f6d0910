package figures

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/export/figure"
)

// A figure and a table become files with their origin, a page has both, and a second run gives
// equal bytes.
func TestFigures(t *testing.T) {
	var runs [2]map[string][]byte
	for k := range runs {
		dir := filepath.Join(t.TempDir(), "new", "figures")
		status, stdout, stderr := headwater.Execute(t, "", "figures", "-o", dir, "s0-mass",
			"s3-published")
		if status != 0 || !strings.Contains(stdout, "2 figures and tables with 9 claims") {
			t.Fatalf("status %d, stdout %q, stderr %q", status, stdout, stderr)
		}
		runs[k] = map[string][]byte{}
		entries, err := os.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			runs[k][e.Name()] = clitest.Read(t, filepath.Join(dir, e.Name()))
		}
	}
	for _, name := range []string{
		"s0-mass.svg", "s0-mass.pdf", "s3-published.csv", "s3-published.csv.json",
		"s3-published.md", "index.html",
	} {
		if len(runs[0][name]) == 0 || !bytes.Equal(runs[0][name], runs[1][name]) {
			t.Errorf("%s is missing, or two runs differ", name)
		}
	}
	if n := len(runs[0]); n != 6 {
		t.Errorf("%d files, want 6", n)
	}
	var origin struct{ Figure, Model, Remake string }
	beside := runs[0]["s3-published.csv.json"]
	if err := json.Unmarshal(beside, &origin); err != nil || origin.Figure != "s3-published" ||
		origin.Model != "tiny-alibi" || origin.Remake != "headwater figures s3-published" {
		t.Errorf("beside the CSV stands %s, error %v", beside, err)
	}
	if comment := "\n<!-- " + strings.TrimSpace(string(beside)) + " -->\n"; !strings.HasSuffix(
		string(runs[0]["s3-published.md"]), comment) {
		t.Errorf("the table in Markdown does not end with its origin:\n%s",
			runs[0]["s3-published.md"])
	}
	about, _, err := figure.About(runs[0]["s0-mass.svg"])
	if err != nil || !strings.Contains(about, `"figure":"s0-mass"`) ||
		!strings.Contains(about, `"remake":"headwater figures s0-mass"`) {
		t.Errorf("the origin is %q, error %v", about, err)
	}
}

// What is checked has one line for each claim; a model without a part leaves a figure out.
func TestCheckFigures(t *testing.T) {
	status, stdout, _ := headwater.Execute(t, "", "figures", "--check", "s0-filter")
	if status != 0 || strings.Count(stdout, "\n") != 2 ||
		!strings.Contains(stdout, "s0-filter/bias: differs (as recorded)") {
		t.Errorf("status %d, stdout %q", status, stdout)
	}
	dir := t.TempDir()
	status, _, stderr := headwater.Execute(t, "", "figures", "-o", dir, "--model", "planted-relay",
		"s3-fig3")
	if status != 2 || !strings.Contains(stderr, "s3-fig3 is left out: it needs ALiBi positions") ||
		!strings.Contains(stderr, "the figure does not fit the model") {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
	if page := clitest.Read(t, filepath.Join(dir, "index.html")); !bytes.Contains(page,
		[]byte("ALiBi")) {
		t.Error("the page does not say why the figure is left out")
	}
}

// Verdicts on a model that is not the figure's own have no record, so nothing is a regression; what
// does not fit has one line.
func TestCheckFiguresOfAnotherModel(t *testing.T) {
	status, stdout, stderr := headwater.Execute(t, "", "figures", "--check", "--model",
		"planted-relay", "s0-matrix", "s3-published", "s2-grid")
	if status != 0 || strings.Contains(stdout, "REGRESSION") ||
		strings.Contains(stdout, "not made now") {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	for _, want := range []string{
		"s0-matrix is left out: its text has 27 tokens",
		"s3-published/undivided: agrees (not recorded): ",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("stdout has no %q: %q", want, stdout)
		}
	}
}

// Figures that do not fit the model are left out, the others are made, and the page has both.
func TestFiguresLeftOut(t *testing.T) {
	for _, c := range []struct {
		args  []string
		tally string
		out   []string // what the lines of the figures that are left out have
	}{
		{
			[]string{"--model", "tiny-mlm", "s1-fig1", "s1-appendix", "s1-fig2", "s2-grid"},
			"4 figures and tables with ",
			[]string{"s1-fig2 is left out: it needs a head for classes of texts"},
		},
		{
			[]string{"--model", "planted-relay", "s0", "s1-fig1"},
			"7 figures are left out.",
			[]string{"s0-matrix is left out: its text has 27 tokens", "s0-depth is left out"},
		},
		{
			[]string{"--model", "tiny-sentiment", "--reduced", "s1-table1", "s1-table3"},
			"1 figure is left out.",
			[]string{"s1-table1 is left out: its sentences are for a classifier of verb number"},
		},
	} {
		dir := t.TempDir()
		status, stdout, stderr := headwater.Execute(t, "", append([]string{"figures", "-o", dir},
			c.args...)...)
		if status != 0 || !strings.Contains(stdout, c.tally) {
			t.Errorf("%v: status %d, stdout %q, stderr %q", c.args, status, stdout, stderr)
		}
		page := clitest.Read(t, filepath.Join(dir, "index.html"))
		for _, want := range c.out {
			if !strings.Contains(stderr, want) || !bytes.Contains(page, []byte(want)) {
				t.Errorf("%v: %q is not in stderr or not on the page: %q", c.args, want, stderr)
			}
		}
	}
}

// An error ends the command, and the page has the figures that are complete.
func TestFiguresFault(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "s3-published.csv"), 0o755))
	status, _, stderr := headwater.Execute(t, "", "figures", "-o", dir, "s0-mass", "s3-published")
	if status != 1 || !strings.Contains(stderr, "s3-published.csv is a directory") {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
	page := string(clitest.Read(t, filepath.Join(dir, "index.html")))
	if !strings.Contains(page, "s0-mass") || strings.Contains(page, "s3-published") {
		t.Error("the page has not just the figure whose files are there")
	}
}

func TestFiguresRefusals(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"s1-fig22"}, "did you mean s1-fig2?"},
		{[]string{"--check", "--model", "tiny", "s2-cue"}, "the figure does not fit the model"},
	} {
		status, _, stderr := headwater.Execute(t, "", append([]string{"figures"}, c.args...)...)
		if status != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d, stderr %q", c.args, status, stderr)
		}
	}
}
