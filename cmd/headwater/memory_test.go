package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// sparseAttention writes a sparse file that claims to hold attention of that shape, and returns its
// path.
func sparseAttention(t *testing.T, shape ...int) string {
	t.Helper()
	bytes := 4
	for _, n := range shape {
		bytes *= n
	}
	header, err := json.Marshal(map[string]any{"attention": map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{0, bytes}}})
	must(t, err)
	path := filepath.Join(t.TempDir(), "sparse.safetensors")
	begin := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	must(t, os.WriteFile(path, begin, 0o600))
	if err := os.Truncate(path, int64(len(begin)+bytes)); err != nil {
		t.Skipf("no file of %d bytes here: %v", bytes, err)
	}
	return path
}

// A sparse file of 40 GB is refused for every shape, with the memory that it needs and the limit. A
// method that needs only single rows reads it one head at a time.
func TestAttributeSparse(t *testing.T) {
	output := filepath.Join(t.TempDir(), "out.safetensors")
	for _, c := range []struct {
		name  string
		shape []int
		say   []string
	}{
		{"a long text", []int{1, 1, 100_000, 100_000}, []string{"rollout of 100000 tokens in 1 layers needs about 32", "the limit is 1.0 GB (given), of which 933 MB are left for it", "(--max-memory)"}},
		{"many layers", []int{10_000_000_000, 1, 1, 1}, []string{"what the methods keep of 1 tokens in 10000000000 layers needs about", "(--max-memory)"}},
		{"many heads", []int{10, 1_000_000, 31, 31}, []string{`tensor "attention": layer 0 head 0 row 0 sums to 0; want 1`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			input := sparseAttention(t, c.shape...)
			status, _, stderr := headwater.Execute(t, "", "attribute", "--input", input,
				"--methods", "rollout", "--max-memory", "1GB", "-o", output)
			if status != cli.StatusError {
				t.Errorf("status %d, want %d", status, cli.StatusError)
			}
			for _, say := range append(c.say, input) {
				if !strings.Contains(stderr, say) {
					t.Errorf("stderr %q lacks %q", stderr, say)
				}
			}
			status, _, stderr = headwater.Execute(t, "", "attribute", "--input", input, "--cut",
				"0:0", "--max-memory", "1GB")
			if status != cli.StatusError || !strings.Contains(stderr, c.say[len(c.say)-1]) {
				t.Errorf("--cut: status %d, stderr %q", status, stderr)
			}
		})
	}
}

// nanModel writes the golden GPT-2 with one weight that is NaN and returns its folder.
func nanModel(t *testing.T) string {
	t.Helper()
	from, dir := filepath.Join(clitest.Goldens, "gpt2"), t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		must(t, err)
		if name == "model.safetensors" {
			f := clitest.OpenFile(t, filepath.Join(from, name))
			data = withNaN(t, f, data)
		}
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return dir
}

// withNaN sets the first number of the first layer's attention weights to NaN.
func withNaN(t *testing.T, f *checkpoint.File, data []byte) []byte {
	t.Helper()
	for _, name := range f.Names() {
		if !strings.HasSuffix(name, "h.0.attn.c_attn.weight") {
			continue
		}
		var header map[string]struct {
			Offsets []int `json:"data_offsets"`
		}
		length := int(binary.LittleEndian.Uint64(data))
		must(t, json.NewDecoder(bytes.NewReader(data[8:8+length])).Decode(&header))
		at := 8 + length + header[name].Offsets[0]
		binary.LittleEndian.PutUint32(data[at:], math.Float32bits(float32(math.NaN())))
		return data
	}
	t.Fatal("no such weights")
	return nil
}

// Every command refuses a model with a NaN weight and names the weight. Only trace continues, if a
// flag allows it, and says so.
func TestNaNWeight(t *testing.T) {
	dir, out := nanModel(t), filepath.Join(t.TempDir(), "out.safetensors")
	weight := fmt.Sprintf(`%s: tensor "transformer.h.0.attn.c_attn.weight": element [0,0] is NaN`,
		filepath.Join(dir, "model.safetensors"))
	trace := []string{"trace", "--model", dir, "--backend", "go", "--ids", "1,2,3", "--taps", "hidden,attention", "-o", out}
	for _, args := range [][]string{
		trace,
		{"certify", "--model", dir, "--backend", "go", "--ids", "1,2,3"},
		{"certify", "--model", dir, "--backend", "go", "--ids", "1,2,3", "--record", out},
		{"explain", "--model", dir, "--backend", "go", "a"},
	} {
		status, stdout, stderr := headwater.Execute(t, "", args...)
		if status != cli.StatusError || stdout != "" || !strings.Contains(stderr, weight) {
			t.Errorf("%s: status %d, stdout %q, stderr %q; want the weight", args[0], status,
				stdout, stderr)
		}
		if flag := strings.Contains(stderr, "--allow-nan"); flag != (args[0] == "trace") {
			t.Errorf("%s names the flag: %v: %q", args[0], flag, stderr)
		}
		if _, err := os.Stat(out); err == nil {
			t.Fatalf("%s wrote %s", args[0], out)
		}
	}
	status, _, stderr := headwater.Execute(t, "", append(trace, "--allow-nan")...)
	const tap = "tap attention in layer 0: element [0,0,0,0] of [L,H,T,S] is NaN"
	if status != cli.StatusOK || !strings.Contains(stderr, "note: "+weight) ||
		!strings.Contains(stderr, tap) {
		t.Errorf("with --allow-nan: status %d, stderr %q", status, stderr)
	}
	if hidden := clitest.Floats(t, clitest.OpenFile(t, out),
		"hidden"); !math.IsNaN(hidden[len(hidden)-1]) {
		t.Errorf("the last hidden state is %v, want NaN", hidden[len(hidden)-1])
	}
}
