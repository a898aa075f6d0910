// Package notebook runs cells in the real kernel of Go notebooks. It costs about three minutes on
// two cores: every cell is compiled and linked with the models, and each changed plugin starts an
// engine.
package notebook

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/internal/e2e/command"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// cell is a cell of a notebook and what is wanted of it.
type cell struct {
	Source    string `json:"source"`
	Interrupt string `json:"interrupt,omitempty"`
	Restart   bool   `json:"restart,omitempty"`
	Tab       bool   `json:"tab,omitempty"` // is completed at its end, and not run
	// want must be in what it shows; fails is whether its status is an error.
	want  string
	fails bool
}

// answer is what a cell showed.
type answer struct{ Text, Status string }

// inKernel runs cells of a notebook in an empty folder in the kernel of this checkout and returns
// what they showed; it skips where there is none.
func inKernel(t *testing.T, cells []cell) []answer {
	t.Helper()
	needKernel(t)
	dir := shortDir(t)
	return run(t, "gonb", dir, cells, "TMPDIR="+dir)
}

// needKernel skips a test where the kernel of this checkout is not installed.
func needKernel(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a kernel that links the models for every cell")
	}
	const find = "import jupyter_client; jupyter_client.kernelspec.get_kernel_spec('gonb')"
	if err := exec.Command("python", "-c", find).Run(); err != nil {
		t.Skip("no kernel of Go notebooks here; make test sets it up:", err)
	}
}

var shortDir = testhelp.ShortDir // a temporary folder for sockets

// run runs cells of a notebook in a folder and returns what they showed.
func run(t *testing.T, kernel, folder string, cells []cell, env ...string) []answer {
	t.Helper()
	in, err := json.Marshal(cells)
	must(t, err)
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "python", "testdata/kernel.py", folder, kernel)
	// No server of notebooks, and no continuous integration: both change the status of a cell.
	cmd.Env = append(append(os.Environ(), "CI=", "JPY_SESSION_NAME="), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("kernel.py: %v\n%s", err, log.String())
	}
	var answers []answer
	if err := json.Unmarshal(out.Bytes(), &answers); err != nil || len(answers) != len(cells) {
		t.Fatalf("%d answers to %d cells, %v", len(answers), len(cells), err)
	}
	return answers
}

const declarations = `import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"gonum.org/v1/gonum/floats"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext"
	"github.com/headwater-ml/headwater/gonbext/local"
	"github.com/headwater-ml/headwater/models/transformer"
)

type mine struct{}

func (mine) Mix(b *transformer.Block, _ trace.Heads) *graph.Node { return graph.ReduceMax(b.Attention, 1) }
func (mine) Check(trace.Heads) error { return nil }
func (mine) PerPair() bool { return false }

func init_mine() { local.RegisterMixing("mine", attribution.MixingInfo{Unit: "attention", Sums: true}, mine{}) }

func near(x, y []float64) bool { return floats.EqualApprox(x, y, 1e-5) }

// same explains by two methods and reports whether their numbers are the same within float32
// rounding over six layers, and which process computed them.
func same(a, b string, heads trace.Fusion) {
	e, err := gonbext.TryExplain("the keys to the cabinet", gonbext.Options{
		Methods: []string{a, b}, MaxTokens: 2, Heads: trace.Heads{Fusion: heads},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := exec.Command(HEADWATER, "engine", "list").Output()
	if err != nil {
		panic(err)
	}
	process := "process "
	for line := range strings.Lines(string(list)) { // those of this kernel, which has a TMPDIR of its own
		process += strings.Fields(line)[0] + ","
	}
	fmt.Println("same:", slices.EqualFunc(e.Methods[a].Rows, e.Methods[b].Rows, near), process)
}
`

// TestPluginInNotebook declares, uses, changes and breaks plugins in cells.
func TestPluginInNotebook(t *testing.T) {
	module := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module example.com/own\n\ngo 1.26\n",
		"factor.go": "package own\n\n// Factor scales rows.\nconst Factor = 1\n",
	} {
		must(t, os.WriteFile(filepath.Join(module, name), []byte(text), 0o600))
	}
	mix := func(body string) string {
		return "func (mine) Mix(b *transformer.Block, _ trace.Heads) *graph.Node { " + body + " }\n"
	}
	againstMax := "%%\nsame(\"mine+rollout\", \"attention+rollout\", trace.MaxHeads)"
	againstMean := "%%\nsame(\"mine+rollout\", \"rollout\", trace.MeanHeads)"
	mean := mix("return graph.ReduceMean(b.Attention, 1)")
	// The model would end a text of its own after some tokens, before an interrupt arrives.
	long := "%%\ngonbext.Explain(\"the keys\", gonbext.Options{Methods: []string{\"mine+flow\"}, Continuation: \"" +
		strings.Repeat(" to the cabinet are", 100) + "\"})"
	cells := []cell{
		{Source: "%noautoget\n!*go work use " + module},
		{Source: strings.ReplaceAll(declarations, "HEADWATER", strconv.Quote(command.Path(t)))},
		{Source: againstMax, want: "same: true"},
		{Source: "const later = \"of no plugin\"\n\n" + againstMean, want: "same: false"},
		{Source: mean + againstMean, want: "same: true"},
		{Source: "func main() { same(\"mine+rollout\", \"rollout\", trace.MeanHeads) }", want: "same: true"},
		{Source: `
type other struct{ aggregation.Aggregation }

func init_other() {
	rollout, _ := aggregation.Lookup("rollout")
	aggregation.Register("other", other{rollout})
}

%%
same("mine+other", "rollout", trace.MeanHeads)`, want: "same: true"},
		{Source: mix("return b.Attention") + againstMean, want: "mixing mine: Mix returns (Float32)[1, 8, 6, 6], want (Float32)[1, 6, 6]"},
		{Source: mix("return graph.Neg(graph.ReduceMax(b.Attention, 1))") + againstMean, want: "rows of mine: layer 0 target 0 source 0 is -1"},
		{Source: mix("go func() { panic(\"from afar\") }(); select {}") + againstMean, want: "panic: from afar"},
		{Source: againstMean, want: "panic: from afar"},
		{Source: mean + long, Interrupt: " tokens so far", want: "Interrupted after", fails: true},
		{Source: "%test\nfunc TestMine(t *testing.T) { same(\"mine+rollout\", \"rollout\", trace.MeanHeads) }", want: "same: true"},
		{Source: "import \"example.com/own\"\n\n" + mix("return graph.MulScalar(graph.ReduceMean(b.Attention, 1), own.Factor)") + againstMean, want: "same: true"},
		{Source: "!sed -i 's/= 1/= -1/' " + filepath.Join(module, "factor.go")},
		{Source: againstMean, want: "rows of mine: layer 0 target 0 source 0 is -1"},
		{Source: "import \"github.com/headwater-ml/headwater/gonbext\"\n\n%%\ngonbext.Explain(\"a\", gonbext.Options{Methods: []string{\"mine+rollout\"}})", Restart: true, want: `unknown mixing "mine"; known are`},
	}
	begin := time.Now()
	answers := inKernel(t, cells)
	t.Logf("%d cells in %v", len(cells), time.Since(begin).Round(time.Second))
	for i, c := range cells {
		if got := answers[i]; !strings.Contains(got.Text, c.want) ||
			(got.Status == "error") != c.fails {
			t.Errorf("cell %d:\n%.500s\nhas status %s and shows at the end:\n%s\nwant %q", i,
				c.Source, got.Status, got.Text[max(0, len(got.Text)-1000):], c.want)
		}
	}
	process := func(i int) string {
		_, pid, _ := strings.Cut(answers[i].Text, "process ")
		return strings.Fields(pid + " none")[0]
	}
	for i, kept := range map[int]bool{3: true, 4: false, 5: true, 6: false} {
		if (process(i) == process(i-1)) != kept {
			t.Errorf("cell %d is answered by process %s, the one before by %s; want the same: %v",
				i, process(i), process(i-1), kept)
		}
	}
}
