package explain

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/models"
)

// Attention that is recorded from the embedded model and read from a file gives the numbers that
// explain computes with the model.
func TestShow(t *testing.T) {
	e := headwater.Explained(t, "--methods", "rollout,flow", "--max-tokens", "3", clitest.Prompt)
	path := recorded(t, e)
	dir := t.TempDir()
	got := clitest.ParseExplanation(t,
		[]byte(headwater.Output(t, "show", "--methods", "rollout,flow",
			"--format", "json", "-o", "-", "-o", filepath.Join(dir, "a.svg"), path)))
	if got.Model.Name != "another" || len(got.Steps) != 3 || got.Steps[2].Text != e.Steps[2].Text {
		t.Errorf("model %q, steps %v", got.Model.Name, got.Steps)
	}
	const tol = 1e-5 // float32 of two runs, one of them on the cache; worst seen 3e-7
	for step := range 3 {
		for j := range e.Prompt.Texts {
			for _, method := range []string{"rollout", "flow"} {
				a, b := e.Methods[method], got.Methods[method]
				x, y := a.At(step, j, a.Top()), b.At(step, j, b.Top())
				if math.Abs(x-y) > tol {
					t.Errorf("%s M[%d,%d] is %v from the file, want %v", method, step, j, y, x)
				}
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "a.svg")); err != nil {
		t.Error(err)
	}
	for view, args := range map[string][]string{
		"heads": nil, "flow": nil, "layers": {"--methods", "rollout"},
		"compare": {"--methods", "raw@1,rollout@3"}, "maps": {"--methods", "rollout"},
	} {
		file := filepath.Join(dir, view+".svg")
		headwater.Output(t, append([]string{
			"show", "--view", view, "-o", file, path,
		}, args...)...)
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("--view %s: %v", view, err)
		}
		const want = "is not in it; run headwater show with that recording again"
		status, _, said := headwater.Execute(t, "", "reproduce", file)
		if status != cli.StatusUsage || !strings.Contains(said, want) {
			t.Errorf("reproduce: status %d, %q; want %q", status, said, want)
		}
	}
}

// recorded records the attention over an explained text and returns the file of another program.
func recorded(t *testing.T, e *attribution.Explanation) (path string) {
	t.Helper()
	m, err := models.Open("", models.Options{Backend: "go"})
	must(t, err)
	ids, texts := slices.Clone(e.Prompt.IDs), slices.Clone(e.Prompt.Texts)
	for _, s := range e.Steps {
		ids, texts = append(ids, s.ID), append(texts, s.Text)
	}
	tensors, err := m.Trace(t.Context(), ids, []trace.Tap{trace.Attention})
	must(t, err)
	tokens, err := json.Marshal(texts)
	must(t, err)
	path = filepath.Join(t.TempDir(), "a.safetensors")
	err = checkpoint.WriteFile(path, []checkpoint.Tensor{{
		Name: "attention", Shape: tensors[0].Shape, Data: tensors[0].Data,
	}}, map[string]string{
		"tokens": string(tokens), "generated": strconv.Itoa(len(e.Steps)), "model": "another",
	})
	must(t, err)
	return path
}

// The views of a file say what those of the model say: the same heads, flows and layers. Only what
// is known of the model, of its logits, of its heads and of its control tokens differs: heads are
// listed by what they wrote, where that is known, and by what they look at in a file.
func TestShowViews(t *testing.T) {
	path := recorded(t, headwater.Explained(t, "--methods", "raw", "--max-tokens", "3",
		clitest.Prompt))
	unlike := regexp.MustCompile(
		`(?m)^(prompt|model) .*$| · toy grammar model|( · probability)? +[0-9.]+ %$`)
	alike := func(text string) string {
		return strings.TrimSpace(unlike.ReplaceAllString(text, ""))
	}
	for _, c := range []struct {
		has  string // in both; "" if both are equal but for what is unlike
		args []string
	}{
		{"“the” (1) 81.2 %", []string{"--view", "heads"}},
		{"", []string{"--view", "flow"}},
		{"", []string{"--view", "flow", "--source", "2"}},
		{"at most 0.783 flows from “keys” (2) to “are” (generated 1)", []string{
			"--view", "flow", "--token", "1", "--source", "2",
		}},
		{"", []string{"--view", "maps", "--methods", "rollout", "--layer", "3"}},
		{"layer 5 · raw, share of attention", []string{
			"--view", "maps", "--methods", "raw", "--layer", "5",
		}},
		{"“are” (generated 1) ", []string{"--view", "layers", "--methods", "rollout"}},
		{"▸ up to layer 5  “the” (1) 14.", []string{"--view", "layers", "--methods", "rollout"}},
		{"A − B  keys +", []string{"--view", "compare", "--methods", "raw,rollout"}},
	} {
		model := headwater.Output(t, append([]string{
			"explain", "--backend", "go", "--max-tokens", "3", clitest.Prompt,
		}, c.args...)...)
		file := headwater.Output(t, append([]string{"show", path}, c.args...)...)
		want, got := alike(model), alike(file)
		if diff := cmp.Diff(want, got); c.has == "" && diff != "" {
			t.Errorf("%q (-model +file):\n%s", c.args, diff)
		}
		if !strings.Contains(model, c.has) || !strings.Contains(file, c.has) {
			t.Errorf("%q: want %q in both:\n%s\n%s", c.args, c.has, model, file)
		}
	}
}

// The views of a file in which nothing was generated show the row of the last token. A mean over
// heads has a flow too.
func TestShowViewsOfPrompt(t *testing.T) {
	dir := t.TempDir()
	path, mean := filepath.Join(dir, "run.safetensors"), filepath.Join(dir, "mean.safetensors")
	headwater.Output(t, "trace", "--text", clitest.Prompt, "--taps", "attention", "-o", path)
	writeRows := func(name string, shape []int, data []float32) {
		err := checkpoint.WriteFile(name, []checkpoint.Tensor{{
			Name: "attention", Shape: shape, Data: data,
		}}, map[string]string{"tokens": `["a"," b"," c"]`})
		must(t, err)
	}
	writeRows(mean, []int{1, 3, 3}, []float32{1, 0, 0, .5, .5, 0, .25, .5, .25})
	for _, c := range []struct {
		want string
		args []string
	}{
		{"“keys” (2) 100 %", []string{"--view", "heads", path}},
		{"The widest path to … comes from the by way of keys", []string{"--view", "flow", path}},
		{"which predicts “…”", []string{"--view", "flow", "--format", "html", path}},
		{`text/plain`, []string{"--view", "heads", "--format", "html", path}},
		{"▸ up to layer 5", []string{"--view", "layers", path}},
		{"“b” (1) → “c” (2) 0.250", []string{"--view", "flow", mean}},
	} {
		if text := headwater.Output(t, append([]string{"show"}, c.args...)...); !strings.Contains(
			text, c.want) {
			t.Errorf("%q: %.3000s\nwant %q", c.args, text, c.want)
		}
	}
	encoder := filepath.Join(dir, "encoder.safetensors")
	writeRows(encoder, []int{1, 1, 3, 3}, []float32{.2, .8, 0, 0, .1, .9, .1, .9, 0})
	for _, view := range []string{"heads", "flow"} {
		text := headwater.Output(t, "show", "--view", view, encoder)
		if !strings.Contains(text, "“c” (2)") {
			t.Errorf("--view %s for an encoder: %s", view, text)
		}
	}
}

// A recording gives the attention over the first tokens, with rows that sum to 1.
func TestRecording(t *testing.T) {
	in := attribution.InMemory([]trace.Tensor{{
		Name: "attention", Shape: []int{1, 2, 3, 3},
		Data: []float32{
			1, 0, 0, .249, .747, 0, .2, .3, .5,
			.998, 0, 0, .5, .5, 0, 1, 0, 0,
		},
	}})
	for ids, want := range map[int][]float32{
		2: {1, 0, .25, .75, 1, 0, .5, .5},
		4: {1, 0, 0, .25, .75, 0, .2, .3, .5, 1, 0, 0, .5, .5, 0, 1, 0, 0},
	} {
		got, err := recording{in: in}.Trace(t.Context(), make([]int, ids), nil)
		must(t, err)
		n := min(ids, 3)
		if diff := cmp.Diff([]int{1, 2, n, n}, got[0].Shape); diff != "" {
			t.Errorf("shape (-want +got):\n%s", diff)
		}
		near := cmpopts.EquateApprox(0, 1e-6) // float32
		if diff := cmp.Diff(want, got[0].Data, near); diff != "" {
			t.Errorf("%d ids (-want +got):\n%s", ids, diff)
		}
	}
	in.Memory = trace.Memory{Left: 40, Limit: 100}
	_, err := recording{in: in}.Trace(t.Context(), make([]int, 3), nil)
	var memory *trace.MemoryError
	if !errors.As(err, &memory) || memory.Need != 4*(18+9) {
		t.Errorf("error %v, want one of memory", err)
	}
}

// What headwater trace writes is shown: the row of the last token, with the numbers that headwater
// attribute makes of the same file.
func TestShowTraced(t *testing.T) {
	dir := t.TempDir()
	path, rows := filepath.Join(dir, "run.safetensors"), filepath.Join(dir, "rows.safetensors")
	headwater.Output(t, "trace", "--text", clitest.Prompt, "--taps",
		"attention,value-zeroing", "-o", path)
	methods := []string{"rollout", "value-zeroing"}
	headwater.Output(t, "attribute", "--input", path, "--methods",
		strings.Join(methods, ","), "-o", rows)
	got := clitest.ParseExplanation(t, []byte(headwater.Output(t, "show", "--methods",
		strings.Join(methods, ","), "--format", "json", path)))
	if got.Model.Name != "tiny" || len(got.Steps) != 1 || got.Prompt.Texts[2] != " keys" {
		t.Errorf("model %q, steps %v, tokens %q", got.Model.Name, got.Steps, got.Prompt.Texts)
	}
	T := len(got.Prompt.Texts)
	for _, method := range methods {
		all := clitest.Floats(t, clitest.OpenFile(t, rows), method) // [L,T,T]
		r := got.Methods[method]
		for j, want := range all[len(all)-T:] {
			if x := r.At(0, j, r.Top()); x != want {
				t.Errorf("%s M[0,%d] is %v, want %v", method, j, x, want)
			}
		}
	}
	if text := headwater.Output(t, "show", path); !strings.Contains(text, "cabinet") {
		t.Errorf("it shows %q, want the text", text)
	}
}

// A file that does not fit is an error that names the tensor or the metadata, and what is needed.
func TestShowRefusals(t *testing.T) {
	dir := t.TempDir()
	square := []float32{1, 0, .5, .5}
	for _, c := range []struct {
		want  string
		name  string
		shape []int
		about map[string]string
		args  []string
	}{
		{"its metadata has no tokens", "attention", []int{1, 2, 2}, nil, nil},
		{"want a JSON list", "attention", []int{1, 2, 2}, map[string]string{"tokens": "a b"}, nil},
		{
			`tokens in its metadata: \udc00 at byte 8 is the second half of a character`, "attention",
			[]int{1, 2, 2},
			map[string]string{"tokens": `["a","b\udc00"]`},
			nil,
		},
		{
			`tensor "attention" has shape [1 2 2]; want [L,H,3,3] or [L,3,3] for its 3 tokens`,
			"attention",
			[]int{1, 2, 2},
			map[string]string{"tokens": `["a","b","c"]`},
			nil,
		},
		{
			`tensor "attention" has shape [1 1 1 2 2]`, "attention",
			[]int{1, 1, 1, 2, 2},
			map[string]string{"tokens": `["a","b"]`},
			nil,
		},
		{
			`has no tensor "attention", which method rollout needs; it has "pattern"`, "pattern",
			[]int{1, 2, 2},
			map[string]string{"tokens": `["a","b"]`},
			nil,
		},
		{
			"generated in its metadata is \"2\"; want how many of the last tokens were generated, " +
				"0 to 1",
			"attention",
			[]int{1, 2, 2},
			map[string]string{"tokens": `["a","b"]`, "generated": "2"},
			nil,
		},
		{
			`tensor "attention" has shape [2 1 2], rows of 1 of the 2 tokens; the rows of all`,
			"attention",
			[]int{2, 1, 2},
			map[string]string{"tokens": `["a","b"]`},
			nil,
		},
		{
			`tensor "attention" has shape [1 2 2], rows of all heads together; --view heads needs ` +
				"[L,H,2,2]",
			"attention",
			[]int{1, 2, 2},
			map[string]string{"tokens": `["a","b"]`},
			[]string{"--view", "heads"},
		},
		{
			"--token 3; the only one of the generated tokens is 0", "attention",
			[]int{1, 2, 2},
			map[string]string{"tokens": `["a","b"]`},
			[]string{"--view", "flow", "--token", "3"},
		},
		{
			"--source 2; the prompt tokens are 0 to 1", "attention",
			[]int{1, 2, 2},
			map[string]string{"tokens": `["a","b"]`},
			[]string{"--view", "flow", "--source", "2"},
		},
		{
			"--view compare compares two methods, for example --methods raw,rollout", "attention",
			[]int{1, 2, 2},
			nil,
			[]string{"--view", "compare", "--methods", "raw"},
		},
		{
			"--view does nothing here (json of the view flow): it is for -o a.txt, a.html, a.svg", "attention",
			[]int{1, 2, 2},
			nil,
			[]string{"--view", "flow", "--format", "json"},
		},
		{
			`--view "graph" is unknown`, "attention",
			[]int{1, 2, 2},
			nil,
			[]string{"--view", "graph"},
		},
		{
			"asks the model again", "attention",
			[]int{1, 2, 2},
			nil,
			[]string{"--methods", "direct"},
		},
		{
			"--view lens asks the model again", "attention",
			[]int{1, 2, 2},
			nil,
			[]string{"--view", "lens"},
		},
		{
			"--view patch asks the model again", "attention",
			[]int{1, 2, 2},
			nil,
			[]string{"--view", "patch"},
		},
	} {
		path := filepath.Join(dir, "a.safetensors")
		err := checkpoint.WriteFile(path, []checkpoint.Tensor{{
			Name: c.name, Shape: c.shape, Data: square,
		}}, c.about)
		must(t, err)
		status, _, said := headwater.Execute(t, "", append([]string{"show", path}, c.args...)...)
		if status == cli.StatusOK || !strings.Contains(said, c.want) {
			t.Errorf("status %d, %q; want %q", status, said, c.want)
		}
	}
}

// A file says the family of its model and not its sizes, so the page says only the family.
func TestShowKnownSizes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	about := map[string]string{"tokens": `["the"," keys"]`, "model": "a", "family": "llama"}
	tensor := checkpoint.Tensor{
		Name: "attention", Shape: []int{1, 1, 2, 2}, Data: []float32{1, 0, 0.5, 0.5},
	}
	must(t, checkpoint.WriteFile(path, []checkpoint.Tensor{tensor}, about))
	for _, format := range []string{"text", "html"} {
		out := headwater.Output(t, "show", "--format", format, path)
		if !strings.Contains(out, "a · llama") || strings.Contains(out, " 0 layers") ||
			strings.Contains(out, "width 0") {
			t.Errorf("%s: the sizes of the model are not known, in\n%s", format, out)
		}
	}
}
