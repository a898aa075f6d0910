package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
			_, err = edits.Edits(trace.Info{}, trace.Memory{Left: c.left})
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s with %d bytes left: error %v, want %q", c.text, c.left, err, c.want)
		}
	}
}

// TestActivationsOfOtherPlaces: a tensor whose name stands for another place in a model is refused,
// and the one that holds the tap is taken.
func TestActivationsOfOtherPlaces(t *testing.T) {
	bloom, gemma := trace.Info{Name: "m", Family: "bloom"}, trace.Info{Name: "m", NormsAfter: true}
	for _, c := range []struct {
		tap   trace.Tap
		name  string
		info  trace.Info
		wrong string // "" if it is taken
	}{
		{trace.FeedForwardOutput, "transformer.h.0.mlp", bloom, "adds the residual stream"},
		{trace.FeedForwardOutput, "transformer.h.0.mlp.dense_4h_to_h", bloom, ""},
		{trace.FeedForwardOutput, "transformer.h.0.mlp", trace.Info{Family: "falcon"}, ""},
		{trace.AttentionOutput, "transformer.h.0.self_attention.dense", bloom, ""},
		{trace.AttentionOutput, "blocks.0.hook_attn_out", gemma, "after the norm"},
		{trace.FeedForwardOutput, "blocks.0.hook_mlp_out", gemma, "after the norm"},
		{trace.FeedForwardOutput, "blocks.0.hook_mlp_out", bloom, ""},
		{trace.AttentionOutput, "model.layers.0.self_attn", gemma, ""},
		{trace.HiddenAfterAttention, "blocks.0.hook_resid_mid", gemma, ""},
	} {
		folder := t.TempDir()
		other := []checkpoint.Tensor{{Name: c.name, Shape: []int{1, 2}, Data: []float32{3, 4}}}
		must(t, checkpoint.WriteFile(filepath.Join(folder, "other.safetensors"), other, nil))
		file := filepath.Join(folder, "edits.json")
		must(t, os.WriteFile(file, fmt.Appendf(nil, `[{"tap": %q, "layers": [0], "change": "value",
			"from": "other.safetensors"}]`, c.tap), 0o600))
		read, err := (&Kit{}).ReadEdits(t.Context(), file)
		must(t, err)
		edits, err := read.Edits(c.info, trace.Memory{Left: 1 << 30})
		switch {
		case c.wrong == "" && (err != nil || !slices.Equal(edits[0].Value, []float32{3, 4})):
			t.Errorf("%s of %s: %v, %v", c.name, c.info.Family, edits, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s of %s: error %v, want %q", c.name, c.info.Family, err, c.wrong)
		}
	}
}
