package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// TestMostEdits: all values of a file of edits fit the memory together, and a file cannot have so
// many edits that they alone would fill it.
func TestMostEdits(t *testing.T) {
	folder := t.TempDir()
	clean := filepath.Join(folder, "clean.safetensors")
	must(t, checkpoint.WriteFile(clean, []checkpoint.Tensor{
		{Name: "hidden", Shape: []int{7, 2, 192}, Data: make([]float32, 7*2*192)},
		{Name: "blocks.0.hook_attn_out", Shape: []int{14, 192}, Data: make([]float32, 14*192)},
		{Name: "blocks.1.hook_attn_out", Shape: []int{14, 192}, Data: make([]float32, 14*192)},
	}, nil))
	const one = `{"tap": "hidden", "change": "value", "from": "clean.safetensors"}`
	const other = `{"tap": "attention-output", "change": "value", "from": "clean.safetensors"}`
	const size = int64(4 * 7 * 2 * 192)
	for _, c := range []struct {
		text string
		left int64
		want string // "" is no error
	}{
		{"[" + one + "]", 2 * size, ""},
		{"[" + one + "]", 2*size - 1, "edit 0: "},
		{"[" + one + "," + one + "]", 3 * size, ""},
		{
			"[" + one + "," + one + "]", 3*size - 1,
			`edit 1: attribution: the tensor "hidden" beside 10.8 kB of values before it`,
		},
		{"[" + other + "]", 4 * size, ""},
		{"[" + other + "]", 4*size - 1, "edit 0: "},
		{"[" + other + "," + one + "]", 4*size - 1, "edit 0: "},
		{"[" + strings.Repeat("{},", mostEdits) + "{}]", 1 << 40, "has 65537 edits; at most 65536"},
	} {
		file := filepath.Join(folder, "edits.json")
		must(t, os.WriteFile(file, []byte(c.text), 0o600))
		edits, err := (&Kit{}).ReadEdits(t.Context(), file)
		if err == nil {
			_, err = edits.Edits(trace.Memory{Left: c.left})
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s with %d bytes left: error %v, want %q", c.text, c.left, err, c.want)
		}
	}
}
