package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/e2e/command"
)

// root is the folder of the repository.
const root = "../../"

// documents returns the paths of the documents that a reader starts from, from root.
func documents(t *testing.T) []string {
	t.Helper()
	docs := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	for _, folder := range []string{"docs/", "docs/measured/"} {
		pages, err := filepath.Glob(root + folder + "*.md")
		if err != nil || len(pages) == 0 {
			t.Fatalf("no documents in %s: %v", folder, err)
		}
		for _, page := range pages {
			docs = append(docs, folder+filepath.Base(page))
		}
	}
	return docs
}

var (
	goBlock   = regexp.MustCompile("(?s)```go\n(.*?)```")
	shellLine = regexp.MustCompile(`(?m)^headwater .*$`)
	printed   = regexp.MustCompile(`(?m)^// Output: (.*)$`)
)

// TestReadmePrograms compiles and runs every Go program of the documents. What it prints must be
// what its last comment says.
func TestReadmePrograms(t *testing.T) {
	ran := 0
	for _, doc := range documents(t) {
		for _, block := range goBlock.FindAllStringSubmatch(read(t, root+doc), -1) {
			ran++
			program := block[1]
			want := printed.FindStringSubmatch(program)
			if want == nil {
				t.Errorf("%s: no line begins with \"// Output: \" in:\n%s", doc, program)
				continue
			}
			got, err := runProgram(t, program)
			if err != nil || got != want[1]+"\n" {
				t.Errorf("%s: the program prints %q, want %q; error %v", doc, got, want[1], err)
			}
		}
	}
	if ran == 0 {
		t.Error("no document has a Go program")
	}
}

// runProgram returns what a program of one file prints.
func runProgram(t *testing.T, source string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "main.go")
	must(t, os.WriteFile(path, []byte(source), 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "run", "-buildvcs=false", path)
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, &stderr)
	}
	return string(out), err
}

// readmeLines is the longest README that fits on three screens.
const readmeLines = 130

// TestReadmeLength keeps the README short: what explains more belongs in docs.
func TestReadmeLength(t *testing.T) {
	if n := strings.Count(read(t, root+"README.md"), "\n"); n > readmeLines {
		t.Errorf("README.md has %d lines, want at most %d", n, readmeLines)
	}
}

// TestReadmeCell checks that the cell of the README is in the first notebook, which is executed, as
// it stands: the kernel of make lab needs no line before it.
func TestReadmeCell(t *testing.T) {
	const heading = "In a notebook cell, after `make lab`:\n"
	_, rest, found := strings.Cut(read(t, root+"README.md"), heading)
	_, rest, opened := strings.Cut(rest, "```\n")
	cell, _, closed := strings.Cut(rest, "```\n")
	if !found || !opened || !closed {
		t.Fatalf("the README has no notebook cell below %q", heading)
	}
	var notebook struct {
		Cells []struct{ Source []string }
	}
	data := read(t, root+"notebooks/00-quickstart.ipynb")
	must(t, json.Unmarshal([]byte(data), &notebook))
	for _, c := range notebook.Cells {
		if strings.Join(c.Source, "") == strings.TrimSpace(cell) {
			return
		}
	}
	t.Errorf("notebooks/00-quickstart.ipynb has no such cell:\n%s", cell)
}

// prompts is the input of the commands that read prompts.jsonl.
const prompts = `{"prompt":"the keys to the cabinet"}
{"prompt":"the keys to the cabinet","continuation":" is"}
`

// TestReadmeCommands runs the commands of the documents, one after the other in an empty folder.
// Commands that name a model of the reader's, of the Hub or of Ollama are left out, and those with
// SmolLM2 where it is not downloaded.
func TestReadmeCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("links the command and runs it often")
	}
	dir := t.TempDir()
	binary := command.Path(t)
	input := filepath.Join(dir, "prompts.jsonl")
	must(t, os.WriteFile(input, []byte(prompts), 0o600))
	t.Setenv("JUPYTER_DATA_DIR", t.TempDir()) // where headwater install writes
	elsewhere := []string{"path/to", "openai-community/", "ollama:"}
	if folder, found := smolLM2(t); found {
		t.Setenv("HEADWATER_MODELS", folder)
	} else {
		elsewhere = append(elsewhere, "smollm2")
	}
	ran := map[string]int{}
	for _, doc := range documents(t) {
		for _, m := range shellLine.FindAllString(read(t, root+doc), -1) {
			line, _, _ := strings.Cut(m, "  #")
			named := func(s string) bool { return strings.Contains(line, s) }
			if slices.ContainsFunc(elsewhere, named) {
				continue
			}
			ran[doc]++
			script := `headwater() { "$0" "$@"; }; ` + line
			cmd := exec.CommandContext(t.Context(), "sh", "-c", script, binary)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %s: %v\n%s", doc, line, err, out)
			}
		}
	}
	for _, doc := range []string{"README.md", "docs/methods.md"} {
		if ran[doc] < 5 {
			t.Errorf("%s has %d commands that run, want 5 or more", doc, ran[doc])
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

var (
	link    = regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]+))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linked  = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	dropped = regexp.MustCompile(`[^\pL\pN_ -]`)
)

// TestLinks follows the links of the documents to files of the repository and to headings.
func TestLinks(t *testing.T) {
	for _, doc := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, root+doc), -1) {
			if strings.HasPrefix(m[1], "https://") {
				continue
			}
			target := filepath.Join(root, filepath.Dir(doc), m[1])
			if m[1] == "" {
				target = root + doc
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", doc, err)
			} else if m[2] != "" && !slices.Contains(anchors(read(t, target)), m[2]) {
				t.Errorf("%s: %s has no heading #%s", doc, target, m[2])
			}
		}
	}
}

// anchors returns the names by which links reach the headings of a page, as GitHub makes them.
func anchors(page string) []string {
	var names []string
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		text := dropped.ReplaceAllString(linked.ReplaceAllString(m[1], "$1"), "")
		names = append(names, strings.ReplaceAll(strings.ToLower(text), " ", "-"))
	}
	return names
}
