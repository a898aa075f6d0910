package models_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/transformer"
)

// brokenModel copies the golden checkpoint of GPT-2 and returns the folder of the copy. change may
// change each tensor, and more are additional tensors.
func brokenModel(t *testing.T, change func(x *checkpoint.Tensor),
	more ...checkpoint.Tensor,
) string {
	t.Helper()
	from, dir := "testdata/goldens/gpt2", t.TempDir()
	config, err := os.ReadFile(filepath.Join(from, "config.json"))
	must(t, err)
	write(t, filepath.Join(dir, "config.json"), config)
	f, err := checkpoint.Open(filepath.Join(from, "model.safetensors"))
	must(t, err)
	defer f.Close()
	all := more
	for _, name := range f.Names() {
		data, err := f.Float32(name)
		must(t, err)
		shape, err := f.Shape(name)
		must(t, err)
		x := checkpoint.Tensor{Name: name, Shape: shape, Data: data}
		change(&x)
		all = append(all, x)
	}
	must(t, checkpoint.WriteFile(filepath.Join(dir, "model.safetensors"), all, nil))
	return dir
}

// at returns a change that sets element i of the tensor whose name ends with suffix.
func at(suffix string, i int, v float32) func(*checkpoint.Tensor) {
	return func(x *checkpoint.Tensor) {
		if strings.HasSuffix(x.Name, suffix) {
			x.Data.([]float32)[i] = v
		}
	}
}

// A model with a weight that is not finite cannot be opened. The error names the place in the file.
func TestNonFiniteWeights(t *testing.T) {
	const wide = 96 // columns of c_attn.weight, [32,96]
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	asFloat64 := func(x *checkpoint.Tensor) {
		if strings.HasSuffix(x.Name, "h.1.mlp.c_fc.bias") {
			data := make([]float64, len(x.Data.([]float32)))
			data[7] = -1e300
			x.Data = data
		}
	}
	for _, c := range []struct {
		name, dtype, tensor string
		change              func(*checkpoint.Tensor)
		index               []int
		say                 string
	}{
		{"NaN", "", "h.0.attn.c_attn.weight", at("h.0.attn.c_attn.weight", 3*wide+5, nan), []int{3, 5}, "element [3,5] is NaN"},
		{"infinity", "", "ln_f.weight", at("ln_f.weight", 31, inf), []int{31}, "element [31] is +Inf"},
		{"minus infinity in bfloat16", "bfloat16", "ln_f.bias", at("ln_f.bias", 0, -inf), []int{0}, "element [0] is -Inf"},
		{"too large for float32", "", "h.1.mlp.c_fc.bias", asFloat64, []int{7}, "element [7] is -1e+300, which is infinite in float32"},
		{
			"too large for bfloat16", "bfloat16", "wte.weight",
			at("wte.weight", 0, math.MaxFloat32),
			[]int{0, 0},
			"element [0,0] is 3.4028234663852886e+38, which is infinite in bfloat16",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := brokenModel(t, c.change)
			opts := models.Options{Backend: "go", DType: c.dtype}
			_, err := models.Open(dir, opts)
			var broken *models.WeightError
			if !errors.As(err, &broken) {
				t.Fatalf("Open: error %v, want a WeightError", err)
			}
			if !strings.HasSuffix(broken.Tensor, c.tensor) || !slices.Equal(broken.Index, c.index) {
				t.Errorf("%s %v, want %s %v", broken.Tensor, broken.Index, c.tensor, c.index)
			}
			if broken.File != filepath.Join(dir, "model.safetensors") ||
				!strings.Contains(err.Error(), c.say) {
				t.Errorf("error %v, want the file and %q", err, c.say)
			}
			opts.AllowNaN = true
			m, err := models.Open(dir, opts)
			if err != nil {
				t.Fatalf("with AllowNaN: %v", err)
			}
			if found := m.NonFinite(); len(found) != 1 || found[0].Error() != broken.Error() {
				t.Errorf("NonFinite = %v, want %v alone", found, broken)
			}
			if _, err := m.Trace(context.Background(), []int{0, 1, 2}, []trace.Tap{trace.Logits}); err != nil {
				t.Errorf("Trace with AllowNaN: %v", err)
			}
		})
	}
}

// The largest number of a type is allowed, and so is any number in a tensor that is not read.
func TestFiniteWeights(t *testing.T) {
	largest := math.Float32frombits(0x7f7f_7fff) // rounds to the largest bfloat16
	for name, c := range map[string]struct {
		dtype  string
		change func(*checkpoint.Tensor)
	}{
		"largest of float32":  {"", at("wte.weight", 0, math.MaxFloat32)},
		"largest of bfloat16": {"bfloat16", at("wte.weight", 0, largest)},
		"bias in bfloat16":    {"bfloat16", at("ln_f.bias", 0, math.MaxFloat32)}, // it stays float32
	} {
		t.Run(name, func(t *testing.T) {
			opts := models.Options{Backend: "go", DType: c.dtype}
			if _, err := models.Open(brokenModel(t, c.change), opts); err != nil {
				t.Errorf("Open: %v", err)
			}
		})
	}
	mask := checkpoint.Tensor{Name: "transformer.h.0.attn.masked_bias", Shape: []int{1}, Data: []float32{float32(math.Inf(-1))}}
	dir := brokenModel(t, func(*checkpoint.Tensor) {}, mask)
	if _, err := models.Open(dir, models.Options{Backend: "go"}); err != nil {
		t.Errorf("a mask that is infinite: %v", err)
	}
}

// Finite weights can still give results that are not finite. The error names the first tap and
// layer.
func TestNonFiniteResults(t *testing.T) {
	dir := brokenModel(t, func(x *checkpoint.Tensor) {
		if strings.HasSuffix(x.Name, "h.1.mlp.c_proj.weight") {
			for i := range x.Data.([]float32) {
				x.Data.([]float32)[i] = 3e38
			}
		}
	})
	m, err := models.Open(dir, models.Options{Backend: "go"})
	must(t, err)
	taps := []trace.Tap{trace.Logits, trace.Hidden, trace.Attention}
	_, err = m.Trace(context.Background(), []int{0, 1, 2}, taps)
	var wrong *models.ResultError
	if !errors.As(err, &wrong) {
		t.Fatalf("Trace: error %v, want a ResultError", err)
	}
	// Layer 1 returns hidden state 2. Its own attention comes before it, and that of layer 2 after.
	if wrong.Tap != trace.Hidden || len(wrong.Index) != 3 || wrong.Index[0] != 2 ||
		!strings.Contains(err.Error(), "tap hidden in layer 2: element [2,0,") {
		t.Errorf("error %v, want hidden state 2", err)
	}
	if _, err := m.Forward(context.Background(), transformer.Batch{IDs: [][]int{{0, 1, 2}}}, taps); !errors.As(err, &wrong) {
		t.Errorf("Forward: error %v, want a ResultError", err)
	}
}

// Where results overflow, the largest weight is named with its file and its tensor, in every way to
// run a model.
func TestLargestWeight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge.gguf")
	f := gguftest.Small()
	for i, x := range f.Tensors {
		values := make([]float32, x.Shape[0]*x.Shape[len(x.Shape)-1])
		for j := range values {
			values[j] = float32(j%13-6) / 10
		}
		if len(x.Shape) == 1 {
			values = slices.Repeat([]float32{1}, x.Shape[0])
		}
		switch x.Name {
		case "blk.0.ffn_up.weight":
			values[3], values[37], values[900] = 3e37, -3e38, 1e38
		case "blk.0.ffn_gate.weight":
			values[5] = 2e30
		}
		f.Tensors[i] = gguftest.Float32(x.Name, x.Shape, values)
	}
	write(t, path, f.Bytes())
	m, err := models.Open(path, models.Options{Backend: "go"})
	must(t, err)
	ids := []int{30, 3}
	ask := trace.Ask{MaxTokens: 2}
	_, traced := m.Trace(t.Context(), ids, []trace.Tap{trace.Logits})
	var stepped, batched error
	for _, err := range m.Steps(t.Context(), ids, ask) {
		stepped = errors.Join(stepped, err)
	}
	for steps, err := range m.Batch(t.Context(), []trace.BatchText{{IDs: ids, Ask: ask}}, 1) {
		batched = errors.Join(batched, err)
		for _, step := range steps {
			batched = errors.Join(batched, step.Err)
		}
	}
	for name, err := range map[string]error{"Trace": traced, "Steps": stepped, "Batch": batched} {
		want := `the largest weight is -3e+38, element [1,5] of tensor "blk.0.ffn_up.weight" in ` + path
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}

// TestResultErrorCause: infinity comes from numbers that are too large, and NaN from a division of
// 0 by 0, too.
func TestResultErrorCause(t *testing.T) {
	for value, want := range map[float32]string{
		float32(math.Inf(1)):  "is +Inf; the numbers of the pass grow too large for float32",
		float32(math.NaN()):   "is NaN; the pass divides 0 by 0, as where all weights of the experts",
		float32(math.Inf(-1)): "is -Inf; the numbers of the pass grow too large for float32",
	} {
		e := &models.ResultError{Model: "m", Tap: "hidden", Index: []int{1, 0}, Axes: "LD", Value: value}
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%v: %q, want %q", value, e, want)
		}
	}
}
