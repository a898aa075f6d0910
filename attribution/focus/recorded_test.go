package focus_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/models"
)

// recordedTol is float32 rounding in two programs; the worst seen is 2e-6.
const recordedTol = 1e-5

// TestRecorded compares a small BLOOM model with what PyTorch alone recorded of it: terms, values,
// weights and hidden states, by testdata/record_bloom.py.
func TestRecorded(t *testing.T) {
	file, err := checkpoint.Open(filepath.Join("testdata", "bloom.safetensors"))
	must(t, err)
	defer file.Close()
	var recorded struct{ IDs []int }
	must(t, json.Unmarshal([]byte(file.Metadata()["recorded"]), &recorded))
	var tensors []trace.Tensor
	for _, name := range file.Names() {
		shape, err := file.Shape(name)
		must(t, err)
		data, err := file.Float32(name)
		must(t, err)
		tensors = append(tensors, trace.Tensor{Name: name, Shape: shape, Data: data})
	}
	theirs, err := focus.New(tensors, focus.Options{})
	must(t, err)
	m, err := models.Open(filepath.Join("..", "..", "models", "testdata", "goldens", "bloom"),
		models.Options{Backend: "go"})
	must(t, err)
	ours, err := focus.Record(context.Background(), m, recorded.IDs, focus.Scores,
		focus.Updates, focus.Effects)
	must(t, err)
	for l := range theirs.Layers {
		for h := range theirs.Heads {
			a, b := head(t, ours, l, h), head(t, theirs, l, h)
			for i, x := range b.Terms {
				far(t, "term", a.Terms[i], x, recordedTol)
			}
			for i, x := range b.Probability {
				far(t, "probability", a.Probability[i], x, recordedTol)
			}
		}
	}
	sameUpdates(t, ours, theirs)
}
