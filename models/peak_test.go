package models_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/models"
)

// maxPeak is the largest amount of memory that opening a model may take, in units of the weights in
// the chosen type. It includes the program itself, about 40 MB. With 632 MB of weights, 1.07 was
// seen; in bfloat16, which takes half of that, 1.14.
const maxPeak = 1.2

// TestPeakMemory opens a model in a process of its own and asks the system for the largest amount
// of memory that the process had.
func TestPeakMemory(t *testing.T) {
	if dtype := os.Getenv("MODELS_PEAK"); dtype != "" {
		openForPeak(t, os.Getenv("MODELS_DIR"), dtype)
		return
	}
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("reads /proc of Linux, for some seconds")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "model.gguf")
	count, quantised := sparseModel(t, dir), quantisedModel(t, file)
	for _, c := range []struct {
		name, path, dtype string
		bytes             int // of the weights
	}{
		{"float32", dir, "float32", 4 * count},
		{"bfloat16", dir, "bfloat16", 2 * count},
		{"GGUF in codes", file, "float32", quantised}, // of 4.5 bits, and the program
		{"GGUF in bfloat16", file, "bfloat16", 2 * quantised},
	} {
		t.Run(c.name, func(t *testing.T) {
			limit := maxPeak * float64(c.bytes)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPeakMemory$",
				"-test.v")
			cmd.Env = append(os.Environ(), "MODELS_PEAK="+c.dtype, "MODELS_DIR="+c.path)
			out, err := cmd.CombinedOutput()
			_, rest, ok := strings.Cut(string(out), "VmHWM:")
			if err != nil || !ok {
				t.Fatalf("%v\n%s", err, out)
			}
			kB, err := strconv.Atoi(strings.Fields(rest)[0])
			must(t, err)
			peak := float64(kB) * 1024
			t.Logf("peak %.0f MB, %.2f of the weights", peak/1e6, peak/limit*maxPeak)
			if peak > limit {
				t.Errorf("peak of %.0f MB, want at most %.0f", peak/1e6, limit/1e6)
			}
		})
	}
}

// openForPeak opens a model, keeps it and prints what /proc says.
func openForPeak(t *testing.T, dir, dtype string) {
	m, err := models.Open(dir,
		models.Options{Backend: "go", DType: dtype, MaxMemory: math.MaxInt64})
	must(t, err)
	status, err := os.ReadFile("/proc/self/status")
	must(t, err)
	fmt.Println(string(status))
	runtime.KeepAlive(m)
}

// tableRows makes a table over the vocabulary of a power of two of bytes. The backend takes memory
// by powers of two and by halves of them between; whether the rest of a table of another size was
// touched when Go's collector reused memory is chance, and a tenth of the weights.
const tableRows = 1 << 16

// sparseModel writes a GPT-2 with weights of 0, in a sparse file that takes no room on disk, and
// returns the number of weights.
func sparseModel(t *testing.T, dir string) (count int) {
	t.Helper()
	const L, D, V, T = 6, 1024, tableRows, 64
	shapes := map[string][]int{"wte.weight": {V, D}, "wpe.weight": {T, D}, "ln_f.weight": {D}, "ln_f.bias": {D}}
	for l := range L {
		for name, shape := range map[string][]int{
			"ln_1": {D}, "attn.c_attn": {D, 3 * D}, "attn.c_proj": {D, D}, "ln_2": {D}, "mlp.c_fc": {D, 4 * D}, "mlp.c_proj": {4 * D, D},
		} {
			shapes[fmt.Sprintf("h.%d.%s.weight", l, name)] = shape
			shapes[fmt.Sprintf("h.%d.%s.bias", l, name)] = shape[len(shape)-1:]
		}
	}
	header := map[string]any{}
	for name, shape := range shapes {
		begin := 4 * count
		size := 1
		for _, d := range shape {
			size *= d
		}
		count += size
		header[name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{begin, 4 * count}}
	}
	text, err := json.Marshal(header)
	must(t, err)
	prefix := []byte{byte(len(text)), byte(len(text) >> 8), byte(len(text) >> 16), 0, 0, 0, 0, 0}
	path := filepath.Join(dir, "model.safetensors")
	write(t, path, append(prefix, text...))
	must(t, os.Truncate(path, int64(8+len(text)+4*count)))
	write(t, filepath.Join(dir, "config.json"), fmt.Appendf(nil, `{"architectures":["GPT2LMHeadModel"],"model_type":"gpt2",
		"n_layer":%d,"n_head":16,"n_embd":%d,"vocab_size":%d,"n_positions":%d}`, L, D, V, T))
	return count
}

// quantisedModel writes a Llama in Q4_0, whose weights are 0, and returns the number of weights.
func quantisedModel(t *testing.T, path string) (count int) {
	t.Helper()
	const L, D, F, V = 6, 1024, 4096, tableRows
	file := gguftest.Small()
	var keys []gguftest.Key
	for _, k := range file.Keys {
		if !strings.HasPrefix(k.Name, "tokenizer.") {
			keys = append(keys, k)
		}
	}
	file.Keys = keys
	file = file.With(gguftest.Key{Name: "llama.block_count", Value: uint32(L)},
		gguftest.Key{Name: "llama.embedding_length", Value: uint32(D)},
		gguftest.Key{Name: "llama.feed_forward_length", Value: uint32(F)},
		gguftest.Key{Name: "llama.attention.head_count", Value: uint32(16)},
		gguftest.Key{Name: "llama.attention.head_count_kv", Value: uint32(16)},
		gguftest.Key{Name: "llama.rope.dimension_count", Value: uint32(D / 16)})
	file.Tensors = nil
	zeros := make([]byte, V*D/32*18)
	matrix := func(name string, out, in int) {
		count += out * in
		file.Tensors = append(file.Tensors, gguftest.Tensor{
			Name: name + ".weight", Shape: []int{out, in}, Type: 2, Data: zeros[:out*in/32*18],
		})
	}
	gain := func(name string) {
		count += D
		file.Tensors = append(file.Tensors,
			gguftest.Float32(name+".weight", []int{D}, make([]float32, D)))
	}
	matrix("token_embd", V, D)
	gain("output_norm")
	for l := range L {
		b := fmt.Sprintf("blk.%d.", l)
		gain(b + "attn_norm")
		gain(b + "ffn_norm")
		for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			matrix(b+name, D, D)
		}
		matrix(b+"ffn_gate", F, D)
		matrix(b+"ffn_up", F, D)
		matrix(b+"ffn_down", D, F)
	}
	write(t, path, file.Bytes())
	return count
}
