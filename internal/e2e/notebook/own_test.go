package notebook

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/e2e/command"
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
		{"blank folder", shortDir(t), byNetwork, published(t, clone)},
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

// published returns an environment in which this checkout is published: a proxy has the packages
// that a cell needs, and the modules that they need come from what this machine has downloaded.
func published(t *testing.T, clone string) []string {
	t.Helper()
	proxy, modules := shortDir(t), shortDir(t)
	versions := filepath.Join(proxy, modulePath, "@v")
	const version = "v0.0.1"
	mod, err := os.ReadFile(filepath.Join(clone, "go.mod"))
	must(t, err)
	write(t, filepath.Join(versions, "list"), version+"\n")
	write(t, filepath.Join(versions, version+".mod"), string(mod))
	write(t, filepath.Join(versions, version+".info"),
		fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version))
	archive, err := os.Create(filepath.Join(versions, version+".zip"))
	must(t, err)
	defer archive.Close()
	w := zip.NewWriter(archive)
	list := exec.Command("go", "list", "-deps", "-f",
		`{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}`, "./gonbext")
	list.Dir = clone
	folders, err := list.Output()
	must(t, err)
	files := []string{filepath.Join(clone, "go.mod")}
	for _, folder := range strings.Fields(string(folders)) {
		files = append(files, plainFiles(t, folder)...)
	}
	for _, file := range files {
		name, err := filepath.Rel(clone, file)
		must(t, err)
		text, err := os.ReadFile(file)
		must(t, err)
		f, err := w.Create(modulePath + "@" + version + "/" + filepath.ToSlash(name))
		must(t, err)
		if _, err := f.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	must(t, w.Close())
	downloaded, err := exec.Command("go", "env", "GOMODCACHE").Output()
	must(t, err)
	// Without the paths of the folder, the next run finds the packages compiled.
	return []string{
		"GOPROXY=file://" + proxy + ",file://" + strings.TrimSpace(string(downloaded)) +
			"/cache/download,off",
		"GOSUMDB=off", "GOMODCACHE=" + modules, "GOFLAGS=-modcacherw -trimpath",
	}
}

// plainFiles returns the files of a folder, without those in folders below it.
func plainFiles(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	must(t, err)
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasSuffix(e.Name(), "_test.go") {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	return files
}

// write writes a file, and the folders that it is in.
func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o750))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// must ends a test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
