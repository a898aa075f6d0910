package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeCode holds the Go code of the README to the example of package models, which is run there.
func TestReadmeCode(t *testing.T) {
	readme, example := read(t, "../../README.md"), read(t, "../../models/example_test.go")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme, -1)
	if len(blocks) == 0 {
		t.Fatal("the README has no Go code")
	}
	for _, b := range blocks {
		if !strings.Contains(squeezed(example), squeezed(b[1])) {
			t.Errorf("not in models/example_test.go:\n%s", b[1])
		}
	}
}

// TestReadmeCommands runs the commands of the README, one after the other in an empty folder. Those that name somebody's checkpoint are
// left out.
func TestReadmeCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command and runs it often")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "headwater")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "../../cmd/headwater").CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v\n%s", err, out)
	}
	prompts := `{"prompt":"the keys to the cabinet"}` + "\n" + `{"prompt":"the keys to the cabinet","continuation":" is"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "prompts.jsonl"), []byte(prompts), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, m := range regexp.MustCompile(`(?m)^headwater .*$`).FindAllString(read(t, "../../README.md"), -1) {
		line, _, _ := strings.Cut(m, "  #")
		if strings.Contains(line, "path/to") || strings.Contains(line, "openai-community/") {
			continue
		}
		ran++
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `headwater() { "$0" "$@"; }; `+line, binary)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands were found", ran)
	}
}

// squeezed is code without indentation.
func squeezed(code string) string { return regexp.MustCompile(`(?m)^\s+`).ReplaceAllString(code, "") }

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var link = regexp.MustCompile(`\]\(([^)#]+)\)`)

// TestLinks follows the links of the documents to files of the repository.
func TestLinks(t *testing.T) {
	for _, doc := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/reading-the-picture.md"} {
		for _, m := range link.FindAllStringSubmatch(read(t, "../../"+doc), -1) {
			if strings.HasPrefix(m[1], "https://") {
				continue
			}
			if _, err := os.Stat("../../" + m[1]); err != nil {
				t.Errorf("%s: %v", doc, err)
			}
		}
	}
}
