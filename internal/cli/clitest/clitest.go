// Package clitest runs command lines in tests, and has the models and files that the tests of
// several families of commands share.
package clitest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/cli"
)

// Prompt is a text that every embedded model takes.
const Prompt = "the keys to the cabinet"

// Program has the families whose commands a test runs.
type Program []cli.Family

// Execute runs a command line as the program would.
func (p Program) Execute(t *testing.T, stdin string, args ...string) (
	status int, stdout, stderr string,
) {
	t.Helper()
	var out, err bytes.Buffer
	status = cli.Run(t.Context(), p, args, strings.NewReader(stdin), &out, &err)
	return status, out.String(), err.String()
}

// Output runs a command line without input that must succeed and returns its standard output.
func (p Program) Output(t *testing.T, args ...string) string {
	t.Helper()
	return p.MustExecute(t, "", args...)
}

// MustExecute runs a command line that must succeed and returns its standard output.
func (p Program) MustExecute(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	status, stdout, stderr := p.Execute(t, stdin, args...)
	if status != cli.StatusOK {
		t.Fatalf("headwater %q: status %d, %s", args, status, stderr)
	}
	return stdout
}

// Explained runs headwater explain on the embedded model in pure Go and returns its JSON.
func (p Program) Explained(t *testing.T, args ...string) *attribution.Explanation {
	t.Helper()
	args = append([]string{"explain", "--backend", "go", "--format", "json"}, args...)
	return ParseExplanation(t, []byte(p.Output(t, args...)))
}

// AsProgram is the environment variable that makes the test's binary act as the command.
const AsProgram = "HEADWATER_TEST_AS_PROGRAM"

// Main runs the tests of a package, or the program in a process that a test started. before is
// called ahead of the program, unless it is nil.
func (p Program) Main(m *testing.M, before func()) {
	if os.Getenv(AsProgram) == "" {
		os.Exit(m.Run())
	}
	if before != nil {
		before()
	}
	os.Exit(cli.Run(context.Background(), p, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Refusal is a command line that must fail with one line of error and nothing written. It has no
// type of its own, so that a table needs no names of fields.
type Refusal = struct {
	Name  string
	Args  []string
	Stdin string
	// Status is 1 or 2; Want is a part of the error.
	Status int
	Want   string
}

// CheckRefusals runs command lines that must fail. OUT in an argument stands for a file; afterwards
// its folder must be empty.
func (p Program) CheckRefusals(t *testing.T, cases []Refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			dir := t.TempDir()
			var args []string
			for _, a := range c.Args {
				args = append(args, strings.ReplaceAll(a, "OUT", filepath.Join(dir, "out")))
			}
			status, stdout, stderr := p.Execute(t, c.Stdin, args...)
			stderr = withoutBackend(stderr)
			if status != c.Status || !strings.Contains(stderr, c.Want) {
				t.Errorf("headwater %q: status %d, error %q; want %d, %q", args, status, stderr,
					c.Status, c.Want)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "headwater: ") ||
				strings.Contains(stderr, "goroutine") {
				t.Errorf("error %q; want one line that begins with headwater:", stderr)
			}
			checkWords(t, stderr)
			long := regexp.MustCompile(`[^ ]{400}`).FindString(stderr)
			if long != "" || strings.Contains(stderr, "unmarshal") ||
				strings.Contains(stderr, "Go struct") {
				t.Errorf("error %q; want no long word and no word of Go", stderr)
			}
			if stdout != "" {
				t.Errorf("standard output %q; want none", stdout)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("files %v, %v; want none", left, err)
			}
		})
	}
}

// packages finds the name of a package where an error, or a part of it, begins.
var packages = regexp.MustCompile(`(^|[:;?] |\()(attribution|bucket|chart|chat|checkpoint|corpus|` +
	`engine|evaluate|export|family|figure|focus|gguf|hub|kernel|local|maxflow|models|ollama|` +
	`planted|render|report|scorer|server|sources|spec|tasks|tiny|tokenizer|trace|transformer): `)

// checkWords checks that an error has no name of a package and no field of a struct of Go, which
// mean nothing to a user of the command.
func checkWords(t *testing.T, stderr string) {
	t.Helper()
	text := strings.TrimPrefix(stderr, "headwater: ")
	unquoted := regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`).ReplaceAllString(text, "")
	if packages.MatchString(unquoted) {
		t.Errorf("error %q names a package", text)
	}
	for _, row := range attribution.OptionTable() {
		for _, field := range strings.Split(row.Field, " and ") {
			if strings.ToLower(field[1:]) != field[1:] && strings.Contains(unquoted, field) {
				t.Errorf("error %q names %s, a field of Go", text, field)
			}
		}
	}
}

// withoutBackend removes the lines that name the backend and say why XLA is not used.
func withoutBackend(stderr string) string {
	for _, begins := range []string{"headwater: xla is not used: ", "headwater: backend "} {
		line, rest, ok := strings.Cut(stderr, "\n")
		if ok && rest != "" && strings.HasPrefix(line, begins) {
			stderr = rest
		}
	}
	return stderr
}
