package explain

import (
	"bytes"
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/models"
)

// Data frames write whole numbers with a point where a column has a gap.
func TestPositionsWithAPoint(t *testing.T) {
	l, err := readPromptLine([]byte(`{"prompt":"a","positions":[1.0,2]}`))
	if err != nil || !slices.Equal(l.Positions, []int{1, 2}) {
		t.Errorf("positions %v, %v", l.Positions, err)
	}
}

// Every line of a file is explained as it would be alone.
func TestExplainInput(t *testing.T) {
	lines := `{"prompt":"the keys to the cabinet"}` + "\r\n\n" +
		`  {"continuation":" are here","prompt":"the dogs"}`
	args := []string{"explain", "--backend", "go", "--max-tokens", "2", "--input"}
	want := headwater.Output(t, "explain", "--backend", "go", "--prove=off", "--max-tokens", "2",
		"--format", "json", clitest.Prompt) +
		headwater.Output(t, "explain", "--backend", "go", "--prove=off", "--continuation",
			" are here", "--format", "json", "the dogs")
	if got := headwater.MustExecute(t, lines, append(args, "-")...); got != want {
		t.Errorf("--input - writes %s, want %s", got, want)
	}
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	clitest.Write(t, path, []byte(lines))
	out := filepath.Join(t.TempDir(), "out.jsonl")
	headwater.Output(t, append(args, path, "-o", out)...)
	if got := string(clitest.Read(t, out)); got != want {
		t.Errorf("-o writes %s, want %s", got, want)
	}
	status, got, stderr := headwater.Execute(t, "\n", append(args, "-")...)
	if note := "note: standard input has no prompt"; status != cli.StatusOK || got != "" ||
		!strings.Contains(stderr, note) {
		t.Errorf("no lines give status %d, %q, and say %q; want %q", status, got, stderr, note)
	}
}

// A bad line ends the run; the results before it stay.
func TestExplainInputBadLine(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.jsonl")
	lines := `{"prompt":"the keys"}` + "\n" + `{"prompt":"the dogs"}` + "\n" + `{"prompt":` + "\n" +
		`{"prompt":"the cats"}`
	args := []string{"explain", "--backend", "go", "--max-tokens", "1", "--input", "-"}
	clitest.Write(t, out, []byte("complete"))
	for _, args := range [][]string{args, append(args, "-o", out)} {
		status, stdout, stderr := headwater.Execute(t, lines, args...)
		if status != cli.StatusError || !strings.Contains(stderr, "standard input line 3: ") {
			t.Errorf("%v: status %d, %s", args, status, stderr)
		}
		if len(args) > 7 {
			stdout = string(clitest.Read(t, out+".partial"))
			want := "; what was complete, 2 results, is in " + out + ".partial, and " + out +
				" is as it was\n"
			if !strings.HasSuffix(stderr, want) || string(clitest.Read(t, out)) != "complete" {
				t.Errorf("error %q does not say %q, or the file is another", stderr, want)
			}
		}
		results := strings.Split(strings.TrimSpace(stdout), "\n")
		if len(results) != 2 ||
			clitest.ParseExplanation(t, []byte(results[1])).Prompt.Text != "the dogs" {
			t.Errorf("%v: results %q", args, results)
		}
	}
}

// interrupting is a model during whose third step the user presses Ctrl-C.
type interrupting struct {
	trace.Model
	cancel context.CancelFunc
}

func (m interrupting) Steps(
	ctx context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		steps := 0
		for step, err := range m.Model.Steps(ctx, ids, ask) {
			if steps++; steps == 3 {
				m.cancel()
			}
			if !yield(step, err) {
				return
			}
		}
	}
}

func TestExplainInterrupted(t *testing.T) {
	tiny, err := models.Open("", models.Options{Backend: "go"})
	must(t, err)
	for _, format := range []string{"json", "text", "html"} {
		t.Run(format, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var b, stderr bytes.Buffer
			k := &cli.Kit{Stdout: &b, Stderr: &stderr}
			files := outputFlags{format: format}
			must(t, files.check())
			outs, err := createOutputs(t.Context(), k, files)
			must(t, err)
			err = explainTo(ctx, k, outs, interrupting{tiny, cancel},
				explainFlags{outputFlags: files, opts: attribution.Options{MaxTokens: 12}},
				clitest.Prompt)
			if err == nil || ctx.Err() == nil {
				t.Errorf("explainTo returned %v", err)
			}
			if !strings.Contains(b.String(), "Stopped after ") {
				t.Errorf("what there was is %q", b.String())
			}
			if format != "json" {
				return
			}
			if e := clitest.ParseExplanation(t, b.Bytes()); len(e.Steps) < 2 || len(e.Steps) > 3 {
				t.Errorf("%d steps", len(e.Steps))
			}
		})
	}
}
