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

// sourcesCell asks which sentence of a document an answer came from.
const sourcesCell = `import "fmt"

%%
story := "mary has the red key . john has the blue lamp . anna has the old book ."
r := gonbext.Sources("who has the lamp ?", []string{story}, gonbext.SourceOptions{
	Target: "john", Ablations: 8, HeldOut: 8,
})
fmt.Println("strongest:", r.Sources[r.Methods[0].Ranked()[0]].Text)`

// wrongCells ask for what there is not. Each shows one line.
var wrongCells = []cell{
	{
		Source: "%%\ngonbext.Explain(\"a\", gonbext.Options{Methods: []string{\"rolout\"}})",
		want:   `unknown method "rolout"; did you mean rollout?`,
	},
	{
		Source: "%%\ngonbext.Explain(\"a\", gonbext.Model{Name: \"tinny\"})",
		want: "did you mean tiny? tinny is neither a directory nor a GGUF file, nor an embedded " +
			"model (tiny, tiny-verb, tiny-mlm, tiny-sentiment, tiny-alibi, tiny-translation), nor a known one (smollm2)",
	},
	{
		Source: "%%\ngonbext.Explain(\"a\", gonbext.Model{DType: \"flot32\"})",
		want:   `data type "flot32" is unknown; did you mean float32? known are float32, bfloat16`,
	},
	{
		Source: "%%\ngonbext.Explain(\"a\", gonbext.Show{By: \"words\"})",
		want:   "did you mean word? want word, sentence, turn, or bytes",
	},
	{
		Source: "%exec gonbext.ExplainArgs \"a\" --max-tokns 3\n//",
		want:   "unknown option --max-tokns; did you mean --max-tokens?",
	},
	{
		Source: "%%\ngonbext.Sources(\"why ?\", nil)",
		want:   "no document is given; give the text of one or more",
	},
}

// helpedCells are those that the kernel helps with: documentation, Tab, and a line below errors of
// Go. The prompt of the last one is asked of no model.
var helpedCells = []cell{
	{Source: "gonbext.Explain?", want: "func Explain(prompt string, settings ...Setting)"},
	{Source: "gonbext.Show?", want: "AgainstMethod string"},
	{Source: "%help", want: "Package gonbext is what a cell of a Go notebook"},
	{Source: "%%\ngonbext.Show{", Tab: true, want: "Kind Method Against AgainstMethod Token"},
	{
		Source: "%%\ngonbext.Options{Methods: []string{\"flow\", \"val", Tab: true,
		want: "value-zeroing value-zeroing-",
	},
	{Source: "%%\ngonbext.Ex", Tab: true, want: "Explain ExplainArgs Explanation"},
	{Source: "%exec gonbext.ExplainArgs \"the keys\" --max-tokens 1", want: "toy grammar model"},
	{
		Source: "import \"fmt\"\n%%\ngonbext.Compare(gonbext.Last(), gonbext.Last(), " +
			"\"direct\", \"value-zeroing\")\nfmt.Println(\"both\")",
		want: "A − B",
	},
	{Source: "%%\ngonbext.Save(\"circle.svg\")", want: "wrote circle.svg: 6.75 in, comparison of"},
	{Source: "gonbext.Draw(gonbext.Last())", want: "put statements below a line %%\n", fails: true},
	{
		Source: "%%\ngonbext.Explain(\"a\", gonbext.Options{MaxToken: 1})",
		want:   "did you mean MaxTokens?", fails: true,
	},
	{Source: "%%\ngonbext.Explan(\"a\")", want: "did you mean gonbext.Explain?", fails: true},
	{Source: "%%\nprintln(gonbext.Last().Step)", want: "did you mean Steps?", fails: true},
	{
		Source: "%%\ngonbext.Explain(hello)", want: `a text stands in double quotes, "hello"`,
		fails: true,
	},
	{Source: "%%\ngonbext.Explain('a')", want: "MaxTokens: 3})\n", fails: true},
	{Source: "%%\ngonbext.Explain('the keys')", want: "MaxTokens: 3})\n", fails: true},
	{Source: "%%\ngonbext.Explain(the keys)", want: "MaxTokens: 3})\n", fails: true},
}

// TestInstalledKernel installs the kernel as a user does and runs the same first cell in a blank
// folder, in a clone, and in a project that uses a clone. No network is needed in any of them.
func TestInstalledKernel(t *testing.T) {
	needKernel(t)
	headwater, data := command.Path(t), shortDir(t)
	env := []string{
		"JUPYTER_DATA_DIR=" + data, "GOPROXY=off", "GOFLAGS=", "GOWORK=",
		"HF_HUB_OFFLINE=1",
		"HEADWATER_ENGINE=" + headwater, // which package engine tests how to build
	}
	install := exec.Command(headwater, "install")
	install.Env = append(os.Environ(), env...)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	clone, err := filepath.Abs("../../..")
	must(t, err)
	project := shortDir(t)
	sums, err := os.ReadFile(filepath.Join(clone, "go.sum"))
	must(t, err)
	for name, text := range map[string]string{
		"go.mod": "module example.com/own\n\ngo 1.26.5\n\n" +
			"require github.com/headwater-ml/headwater v0.0.0-00010101000000-000000000000\n\n" +
			"replace github.com/headwater-ml/headwater => " + clone + "\n",
		"go.sum":        string(sums),
		"words/word.go": "package words\n\n// First is a word.\nconst First = \"cabinet\"\n",
	} {
		path := filepath.Join(project, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o750))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for name, c := range map[string]struct {
		folder string
		second cell
	}{
		"blank folder": {shortDir(t), cell{
			Source: "import \"fmt\"\n%%\nfmt.Println(\"again\", len(gonbext.Last().Steps))",
			want:   "again 1",
		}},
		"dependency": {shortDir(t), cell{
			Source: "import (\n\t\"fmt\"\n\t\"gonum.org/v1/gonum/floats\"\n)\n%%\n" +
				"fmt.Println(\"sum\", floats.Sum([]float64{1, 2}))",
			want: "sum 3",
		}},
		"documents": {shortDir(t), cell{
			Source: sourcesCell, want: "strongest: john has the blue lamp .",
		}},
		"words": {shortDir(t), cell{
			Source: "%exec gonbext.ExplainArgs --max-tokens 1 \"the keys to the\" --methods rollout\n//",
			want:   "toy grammar model",
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
			if name == "blank folder" {
				cells = append(cells, helpedCells...)
			}
			cells = append(cells, wrongCells...)
			again := cell{Source: firstCell, Restart: true, want: "toy grammar model"}
			cells = append(cells, again)
			temp := shortDir(t)
			answers := run(t, "headwater", c.folder, cells, append(env, "TMPDIR="+temp)...)
			for i, want := range cells {
				if got := answers[i]; (got.Status == "error") != want.fails ||
					!strings.Contains(got.Text, want.want) {
					t.Errorf("cell %d has status %s and shows %.500q, want %q", i, got.Status,
						got.Text, want.want)
				}
				wrong := i >= len(cells)-1-len(wrongCells) && i < len(cells)-1
				if got := answers[i].Text; wrong && (strings.Contains(got, "\n") ||
					strings.Contains(got, "exit status") || strings.Contains(got, "goroutine")) {
					t.Errorf("cell %d shows more than a line:\n%s", i, got)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(temp, "headwater-kernel-*")); left != nil {
				t.Errorf("left are %q", left)
			}
		})
	}
}
