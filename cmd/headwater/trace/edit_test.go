package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		"layer":    {`[{"tap": "hidden", "change": "zero", "layers": [99]}]`, "edits.json: edit of hidden of layer 99: layer 99 is not in 0..6"},
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
