package notebook

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/e2e/command"
	"github.com/headwater-ml/headwater/internal/e2e/published"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

const modulePath = "github.com/headwater-ml/headwater"

// TestOwnGoNB runs the lines that the documents show for GoNB's own kernel, which knows nothing of
// Headwater: in a clone and in a project without the network, and in a blank folder with a proxy
// that has this checkout as the latest version.
func TestOwnGoNB(t *testing.T) {
	needKernel(t)
	gonb, err := exec.LookPath("gonb")
	if err != nil {
		t.Skip("no GoNB here; make test sets it up:", err)
	}
	clone, err := filepath.Abs("../../..")
	must(t, err)
	data := shortDir(t)
	spec, err := json.Marshal(map[string]any{ // what gonb --install writes
		"argv":         []string{gonb, "--kernel", "{connection_file}", "-raw_error"},
		"display_name": "Go (gonb)", "language": "go", "env": map[string]string{},
	})
	must(t, err)
	write(t, filepath.Join(data, "kernels", "plain", "kernel.json"), string(spec))
	project := shortDir(t)
	sums, err := os.ReadFile(filepath.Join(clone, "go.sum"))
	must(t, err)
	write(t, filepath.Join(project, "go.sum"), string(sums))
	write(t, filepath.Join(project, "go.mod"), "module example.com/own\n\ngo 1.26.5\n\n"+
		"require "+modulePath+" v0.0.0-00010101000000-000000000000\n\n"+
		"replace "+modulePath+" => "+clone+"\n")
	byNetwork, byModule := documentedLines(t, clone)
	env := []string{
		"JUPYTER_DATA_DIR=" + data, "GOFLAGS=", "GOWORK=", "HF_HUB_OFFLINE=1",
		"HEADWATER_ENGINE=" + command.Path(t), // which package engine tests how to build
	}
	for _, c := range []struct {
		name, folder, lines string
		env                 []string
	}{
		{"clone", filepath.Join(clone, "notebooks"), byModule, []string{"GOPROXY=off"}},
		{"project", project, byModule, []string{"GOPROXY=off"}},
		{"blank folder", shortDir(t), byNetwork, published.New(t, clone).Env},
	} {
		t.Run(c.name, func(t *testing.T) {
			cells := []cell{
				{Source: c.lines + "\n" + firstCell, want: "toy grammar model"},
				{
					Source: "import \"fmt\"\n%%\nfmt.Println(\"again\", len(gonbext.Last().Steps))",
					want:   "again 1",
				},
			}
			own := append(append([]string{"TMPDIR=" + shortDir(t)}, env...), c.env...)
			for i, got := range run(t, "plain", c.folder, cells, own...) {
				if got.Status != "ok" || !strings.Contains(got.Text, cells[i].want) {
					t.Errorf("cell %d has status %s and shows %.500q, want %q", i, got.Status,
						got.Text, cells[i].want)
				}
			}
		})
	}
}

// documentedLines returns the lines that the documents show for GoNB's own kernel: those for a
// folder without a go.mod, and those for one with it.
func documentedLines(t *testing.T, clone string) (byNetwork, byModule string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(clone, "docs", "notebooks.md"))
	must(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Your own GoNB\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var blocks []string
	for part := range strings.SplitSeq(section, "\n\n") {
		if code, ok := strings.CutPrefix("\n"+part, "\n    "); ok {
			blocks = append(blocks, strings.ReplaceAll(code, "\n    ", "\n"))
		}
	}
	if len(blocks) != 2 || !strings.Contains(blocks[0], "go get "+modulePath) ||
		!strings.Contains(blocks[1], "go work init") {
		t.Fatalf("the section shows %q; want a cell with go get and one with go work init", blocks)
	}
	return blocks[0], blocks[1]
}

// write writes a file, and the folders that it is in.
func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o750))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

var must = testhelp.Must // ends a test at an error
