package models_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/models"
)

// TestMXFP4: a model whose experts are in MXFP4 gives the logits that the reference implementation
// gives, and its numbers are counted by what they stand for.
func TestMXFP4(t *testing.T) {
	const dir = "testdata/mxfp4"
	f, err := checkpoint.Open(dir + "/golden.safetensors")
	must(t, err)
	defer f.Close()
	numbers, err := f.Int32("input_ids")
	must(t, err)
	want, err := f.Float32("logits")
	must(t, err)
	var ids []int
	for _, id := range numbers {
		ids = append(ids, int(id))
	}
	m, err := models.Open(dir, models.Options{Backend: "go"})
	must(t, err)
	got, err := m.Trace(t.Context(), ids, []trace.Tap{trace.Logits})
	must(t, err)
	for i, x := range got[0].Data {
		if d := math.Abs(float64(x - want[i])); !(d <= 2e-5) {
			t.Fatalf("logit %d is %v, want %v", i, x, want[i])
		}
	}
	_, needs, err := models.Examine(t.Context(), dir, models.Options{Backend: "go"})
	must(t, err)
	const experts, all = 2 * 4 * 3 * 64 * 32, 82128 // counted in the reference implementation
	bits := float64(experts*17*8/32+(all-experts)*32) / all
	if needs.Parameters != all || math.Abs(needs.Bits-bits) > 1e-9 {
		t.Errorf("%d parameters of %v bits, want %d of %v", needs.Parameters, needs.Bits, all, bits)
	}
}

// TestMXFP4Damaged: blocks whose scales are missing are refused by name.
func TestMXFP4Damaged(t *testing.T) {
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("testdata/mxfp4")))
	path := filepath.Join(dir, "model.safetensors")
	data, err := os.ReadFile(path)
	must(t, err)
	data = bytes.Replace(data, []byte("down_proj_scales"), []byte("down_proj_scalex"), 1)
	must(t, os.WriteFile(path, data, 0o600))
	_, err = models.Open(dir, models.Options{Backend: "go"})
	if err == nil || !strings.Contains(err.Error(), "mlp.experts.down_proj") {
		t.Errorf("opened with %v, want an error about down_proj", err)
	}
}
