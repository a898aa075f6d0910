package clitest

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// Root is the folder of the module.
var Root = moduleRoot()

// Goldens are checkpoints of random weights without a tokenizer; see models/testdata.
var Goldens = filepath.Join(Root, "models/testdata/goldens")

// moduleRoot looks for go.mod in the folder where the test runs and in those above it; "" if there
// is none.
func moduleRoot() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			break
		}
		dir = above
	}
	return ""
}

// Spellable is a tokenizer of six characters for a golden, whose vocabulary of 96 has no room for
// 256 bytes.
const Spellable = `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
"post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,
"fuse_unk":false,"byte_fallback":false,"vocab":{"a":3,"b":4,"Ġ":5,"<":6,">":7,"s":8},"merges":[]}}`

// CopyModel copies a golden into a directory, with the tokenizer Spellable and with config.json
// changed by edit, which may be nil. It returns the path.
func CopyModel(t *testing.T, golden string, edit func(config map[string]any)) string {
	t.Helper()
	dir := t.TempDir()
	var config map[string]any
	text := Read(t, filepath.Join(Goldens, golden, "config.json"))
	Must(t, json.Unmarshal(text, &config))
	if edit != nil {
		edit(config)
	}
	data, err := json.Marshal(config)
	Must(t, err)
	Write(t, filepath.Join(dir, "config.json"), data)
	Write(t, filepath.Join(dir, "model.safetensors"),
		Read(t, filepath.Join(Goldens, golden, "model.safetensors")))
	Write(t, filepath.Join(dir, "tokenizer.json"), []byte(Spellable))
	return dir
}

// Mixture writes a model of random weights with experts into a directory: a golden such as olmoe
// with the words of the embedded model. It returns the path.
func Mixture(t *testing.T, golden string) string {
	t.Helper()
	const words = 929
	dir := CopyModel(t, golden, func(config map[string]any) {
		config["vocab_size"], config["bos_token_id"], config["eos_token_id"] = words, 0, 1
	})
	Write(t, filepath.Join(dir, "tokenizer.json"),
		Read(t, filepath.Join(Root, "internal/tiny/data/tokenizer.json")))
	random := rand.New(rand.NewPCG(1, 1))
	var all []checkpoint.Tensor
	f := OpenFile(t, filepath.Join(Goldens, golden, "model.safetensors"))
	for _, name := range f.Names() {
		shape, err := f.Shape(name)
		Must(t, err)
		data, err := f.Float32(name)
		Must(t, err)
		if name == "lm_head.weight" || name == "model.embed_tokens.weight" {
			shape, data = []int{words, shape[1]}, make([]float32, words*shape[1])
			for i := range data {
				data[i] = float32(random.NormFloat64())
			}
		}
		all = append(all, checkpoint.Tensor{Name: name, Shape: shape, Data: data})
	}
	Must(t, checkpoint.WriteFile(filepath.Join(dir, "model.safetensors"), all,
		map[string]string{"format": "pt"}))
	return dir
}

// Read returns the bytes of a file.
func Read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	Must(t, err)
	return data
}

// Write writes a file.
func Write(t *testing.T, path string, data []byte) {
	t.Helper()
	Must(t, os.WriteFile(path, data, 0o600))
}

// Names returns the names of the files in a folder.
func Names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	Must(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// ParseExplanation reads the JSON of an explanation.
func ParseExplanation(t *testing.T, data []byte) *attribution.Explanation {
	t.Helper()
	var e attribution.Explanation
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return &e
}

// RoundTrip returns an explanation as its JSON has it.
func RoundTrip(t *testing.T, e *attribution.Explanation) *attribution.Explanation {
	t.Helper()
	return ParseExplanation(t, JSON(t, e))
}

// JSON returns a value as JSON.
func JSON(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	Must(t, err)
	return data
}

// OpenFile opens a safetensors file until the test ends.
func OpenFile(t *testing.T, path string) *checkpoint.File {
	t.Helper()
	f, err := checkpoint.Open(path)
	Must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// Floats returns the numbers of a tensor.
func Floats(t *testing.T, f *checkpoint.File, name string) []float64 {
	t.Helper()
	data, err := f.Float64(name)
	Must(t, err)
	return data
}

// Safetensors writes tensors to a file and returns its path.
func Safetensors(t *testing.T, tensors ...checkpoint.Tensor) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.safetensors")
	Must(t, checkpoint.WriteFile(path, tensors, nil))
	return path
}

// Uniform returns causal uniform attention, [L,H,T,T]: row t is 1/(t+1) up to column t.
func Uniform(layers, heads, tokens int) []float64 {
	var data []float64
	for range layers * heads {
		for t := range tokens {
			for s := range tokens {
				x := 0.0
				if s <= t {
					x = 1 / float64(t+1)
				}
				data = append(data, x)
			}
		}
	}
	return data
}

// Must ends a test at an error.
var Must = testhelp.Must
