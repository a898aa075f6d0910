package notebook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/e2e/command"
)

// firstCell is the first cell that the documents show, in every folder.
const firstCell = `import "github.com/headwater-ml/headwater/gonbext"

%%
gonbext.Explain("the keys to the cabinet", gonbext.Options{MaxTokens: 1})`

// TestInstalledKernel installs the kernel as a user does and runs the same first cell in a blank
// folder, in a clone, and in a project that uses a clone. No network is needed in any of them.
func TestInstalledKernel(t *testing.T) {
	needKernel(t)
	headwater, data := command.Path(t), shortDir(t)
	env := []string{
		"JUPYTER_DATA_DIR=" + data, "GOPROXY=off", "GOFLAGS=", "GOWORK=",
		"HEADWATER_ENGINE=" + headwater, // which package engine tests how to build
	}
	install := exec.Command(headwater, "install")
	install.Env = append(os.Environ(), env...)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	clone, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	project := shortDir(t)
	sums, err := os.ReadFile(filepath.Join(clone, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/own\n\ngo 1.26.5\n\n" +
			"require github.com/headwater-ml/headwater v0.0.0-00010101000000-000000000000\n\n" +
			"replace github.com/headwater-ml/headwater => " + clone + "\n",
		"go.sum":        string(sums),
		"words/word.go": "package words\n\n// First is a word.\nconst First = \"cabinet\"\n",
	} {
		path := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		folder string
		second cell
	}{
		"blank folder": {shortDir(t), cell{
			Source: "import (\n\t\"fmt\"\n\t\"gonum.org/v1/gonum/floats\"\n)\n%%\n" +
				"fmt.Println(\"sum\", floats.Sum([]float64{1, 2}))",
			want: "sum 3",
		}},
		"clone": {filepath.Join(clone, "notebooks"), cell{
			Source: "import \"fmt\"\nimport \"github.com/headwater-ml/headwater/attribution\"\n" +
				"%%\nfmt.Println(attribution.Options{MaxTokens: 2}.MaxTokens)",
			want: "2",
		}},
		"project": {project, cell{
			Source: "import \"fmt\"\nimport \"example.com/own/words\"\n%%\nfmt.Println(words.First)",
			want:   "cabinet",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cells := []cell{{Source: firstCell, want: "toy grammar model"}, c.second}
			answers := run(t, "headwater", c.folder, cells, append(env, "TMPDIR="+shortDir(t))...)
			for i, want := range cells {
				if got := answers[i]; got.Status != "ok" || !strings.Contains(got.Text, want.want) {
					t.Errorf("cell %d has status %s and shows %.500q, want %q", i, got.Status,
						got.Text, want.want)
				}
			}
		})
	}
}
