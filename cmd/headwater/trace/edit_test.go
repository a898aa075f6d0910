package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// write writes a file and returns its name.
func write(t *testing.T, name, text string) string {
	t.Helper()
	must(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// TestEditFromAnotherRun: with the stream of another run at its last position, a text predicts what
// that run predicts; the value is found by the name of the tap, or by a key if it has the shape of
// the place.
func TestEditFromAnotherRun(t *testing.T) {
	folder := t.TempDir()
	run := func(name, text string, args ...string) []float64 {
		path := filepath.Join(folder, name)
		headwater.Output(t, append([]string{
			"trace", "--backend", "go", "--text", text, "-o", path, "--taps", "hidden,logits",
		}, args...)...)
		return clitest.Floats(t, clitest.OpenFile(t, path), "logits")
	}
	clean := run("clean.safetensors", "the keys to the")
	corrupt := run("corrupt.safetensors", "the key to the")
	size := len(clean) / 5 // with begin-of-text
	for name, edit := range map[string]string{
		"places": `"layers": [6], "positions": [-1], "from": "clean.safetensors"`,
		"key":    `"from": "clean.safetensors", "key": "hidden"`,
		"scaled": `"layers": [6], "positions": [-1], "change": "scale", "factor": 1`,
	} {
		if !strings.Contains(edit, "change") {
			edit = `"change": "value", ` + edit
		}
		file := write(t, filepath.Join(folder, "edits.json"), `[{"tap": "hidden", `+edit+`}]`)
		got, want := run("patched.safetensors", "the key to the", "--edit", file), clean
		if name == "scaled" {
			want = corrupt
		}
		for i, x := range got[len(got)-size:] {
			if x != want[len(want)-size+i] {
				t.Errorf("%s: logit %d is %v, want %v", name, i, x, want[len(want)-size+i])
				break
			}
		}
	}
}

// TestEditFromActivations: what TransformerLens and hooks on transformers save of a run, a tensor
// for each layer with an axis for the batch and tokens before heads, gives what the taps of that
// run give.
func TestEditFromActivations(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	taps := []string{
		"hidden", "hidden-after-attention", "attention-output", "feed-forward-output", "attention",
		"query", "key", "value", "context", "head-output",
	}
	trace := func(name, text string, args ...string) string {
		headwater.Output(t, append([]string{
			"trace", "--backend", "go", "--text", text, "-o", path(name),
		}, args...)...)
		return path(name)
	}
	clean := clitest.OpenFile(t, trace("clean.safetensors", "the keys to the", "--taps",
		strings.Join(taps, ",")))
	names := map[string]string{
		"hidden": "blocks.%d.hook_resid_pre", "hidden-after-attention": "blocks.%d.hook_resid_mid",
		"attention-output": "transformer.h.%d.attn", "feed-forward-output": "blocks.%d.hook_mlp_out",
		"attention": "blocks.%d.attn.hook_pattern", "query": "blocks.%d.attn.hook_q",
		"key": "blocks.%d.attn.hook_rot_k", "value": "blocks.%d.attn.hook_v",
		"context": "blocks.%d.attn.hook_z", "head-output": "blocks.%d.attn.hook_result",
	}
	var saved []checkpoint.Tensor
	for _, tap := range taps {
		shape, err := clean.Shape(tap)
		must(t, err)
		data := clitest.Floats(t, clean, tap)
		size := len(data) / shape[0]
		for l := range shape[0] {
			own := shape[1:]
			layer := data[l*size : (l+1)*size]
			name := fmt.Sprintf(names[tap], l)
			switch { // every name at some layer
			case tap == "hidden" && l > 1:
				name = fmt.Sprintf([]string{
					"model.layers.%d", "transformer.h.%d", "blocks.%d.hook_resid_post",
				}[l%3], l-1)
			case tap == "attention-output" && l > 2:
				name = fmt.Sprintf("model.layers.%d.self_attn", l)
			case tap == "feed-forward-output" && l > 0:
				name = fmt.Sprintf([]string{
					"model.layers.%d.mlp", "transformer.h.%d.mlp.dense_4h_to_h",
				}[l%2], l)
			}
			if len(own) == 3 && tap != "attention" { // [H,T,E] to [T,H,E]
				H, T, E := own[0], own[1], own[2]
				turned := make([]float64, 0, size)
				for i := range T {
					for h := range H {
						turned = append(turned, layer[(h*T+i)*E:][:E]...)
					}
				}
				own, layer = []int{T, H, E}, turned
			}
			narrow := make([]float32, size)
			for i, x := range layer {
				narrow[i] = float32(x)
			}
			saved = append(saved, checkpoint.Tensor{
				Name: name, Shape: append([]int{1}, own...), Data: narrow,
			})
		}
	}
	out, err := os.Create(path("lens.safetensors"))
	must(t, err)
	must(t, checkpoint.Write(out, saved, nil))
	must(t, out.Close())
	for _, tap := range taps {
		for _, places := range []string{"", `, "layers": [3, 1], "positions": [-1, 2]`} {
			if tap == "attention" && places != "" {
				places += `, "sources": [1]`
			}
			var got [2][]float64
			for i, from := range []string{"clean.safetensors", "lens.safetensors"} {
				file := write(t, path("edits.json"), fmt.Sprintf(
					`[{"tap": %q, "change": "value", "from": %q%s}]`, tap, from, places))
				got[i] = clitest.Floats(t, clitest.OpenFile(t, trace("out.safetensors",
					"the key to the", "--edit", file, "--taps", "logits")), "logits")
			}
			if !slices.Equal(got[0], got[1]) {
				t.Errorf("%s%s: the logits differ", tap, places)
			}
		}
	}
	for edit, want := range map[string]string{
		`"tap": "value", "heads": [1]`:      "leave heads out",
		`"tap": "context", "layers": [9]`:   "blocks.9.attn.hook_z",
		`"tap": "hidden", "layers": [1, 1]`: "layer 1 is named twice",
		`"tap": "router"`:                   "lens.safetensors has no tensor for router of layer 0",
	} {
		file := write(t, path("edits.json"),
			`[{"change": "value", "from": "lens.safetensors", `+edit+`}]`)
		status, _, stderr := headwater.Execute(t, "", "trace", "--backend", "go", "--text",
			"the key", "--edit", file, "--taps", "logits", "-o", path("x.safetensors"))
		if status == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, stderr %q, want %q", edit, status, stderr, want)
		}
	}
}

// TestBadEdits: an error names the file and what is wrong with it.
func TestBadEdits(t *testing.T) {
	folder := t.TempDir()
	clean := filepath.Join(folder, "clean.safetensors")
	command := []string{"trace", "--backend", "go", "--text", "the keys", "--taps"}
	headwater.Output(t, append(command, "hidden,attention-mean", "-o", clean)...)
	for name, c := range map[string]struct{ text, want string }{
		"not json": {`[{"tap": `, "cannot be read"},
		"no list":  {`{"tap": "hidden"}`, "cannot be read"},
		"none":     {`[]`, "no edits"},
		"unknown":  {`[{"tap": "hidden", "change": "zero", "head": [1]}]`, `"head"`},
		"tap":      {`[{"tap": "hiden", "change": "zero"}]`, `"hiden" cannot be edited`},
		"layer":    {`[{"tap": "hidden", "change": "zero", "layers": [99]}]`, "edits.json: edit 0: edit of hidden of layer 99: layer 99 is not in 0..6"},
		"unseen":   {`[{"tap": "attention", "change": "zero", "positions": [0], "sources": [1]}]`, "edits.json: edit 0: edit of attention of position 0, source 1: it would change nothing"},
		"factor":   {`[{"tap": "hidden", "change": "scale"}]`, "scale has no factor"},
		"both":     {`[{"tap": "hidden", "change": "value", "value": [1], "from": "x"}]`, "give one"},
		"key":      {`[{"tap": "hidden", "change": "value", "key": "x"}]`, "without from"},
		"missing":  {`[{"tap": "hidden", "change": "value", "from": "gone.safetensors"}]`, "gone.safetensors"},
		"no name":  {`[{"tap": "context", "change": "value", "from": "clean.safetensors"}]`, "context"},
		"place":    {`[{"tap": "hidden", "change": "value", "from": "clean.safetensors", "positions": [77]}]`, "no place 77"},
		"axes":     {`[{"tap": "hidden", "change": "value", "from": "clean.safetensors", "key": "attention-mean"}]`, "its value has the shape"},
		"zero":     {`[{"tap": "hidden", "change": "zero", "from": "clean.safetensors"}]`, "do not go together"},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, filepath.Join(folder, "edits.json"), c.text)
			out := filepath.Join(folder, "out.safetensors")
			args := append(command, "logits", "-o", out, "--edit", file)
			status, _, stderr := headwater.Execute(t, "", args...)
			if status == 0 || !strings.Contains(stderr, c.want) {
				t.Errorf("status %d, stderr %q, want %q", status, stderr, c.want)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("it wrote a file")
			}
		})
	}
}
