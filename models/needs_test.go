package models_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/models"
)

// What a model takes is known from the headers of its files, and is what it then takes.
func TestExamine(t *testing.T) {
	beams := t.TempDir() // a remark of a file beside the weights
	must(t, os.CopyFS(beams, os.DirFS("testdata/goldens/gpt2")))
	write(t, filepath.Join(beams, "generation_config.json"), []byte(`{"num_beams": 4}`))
	file := filepath.Join(t.TempDir(), "model.gguf")
	write(t, file, ggufGolden(t, "llama").Bytes())
	for _, c := range []struct {
		ref, dtype string
		writes     bool
	}{
		{"", "", true},
		{"testdata/goldens/gpt2", "", true},
		{"testdata/goldens/gpt2", "bfloat16", true},
		{"testdata/goldens/bert", "", false},
		{file, "", true},
		{beams, "", true},
	} {
		t.Run(filepath.Base(c.ref)+c.dtype, func(t *testing.T) {
			opts := models.Options{Backend: "go", DType: c.dtype}
			info, needs, err := models.Examine(t.Context(), c.ref, opts)
			must(t, err)
			m, err := models.Open(c.ref, opts)
			must(t, err)
			want := m.Info()
			if c.ref != "" {
				want.Hash = "" // of all bytes of the files
			}
			if diff := cmp.Diff(want, info); diff != "" {
				t.Errorf("it is (-want +got):\n%s", diff)
			}
			memory := m.Memory()
			if p := needs.Memory; p.Layers+p.Tables != memory.Weights ||
				p.Program != memory.Program || p.Graphs != 0 ||
				p.Total() != memory.Program+memory.Weights+p.Passes || !(p.Passes > 0) {
				t.Errorf("it needs %+v, and has %+v", p, memory)
			}
			if needs.DType != m.DType() || needs.Codes || needs.Bits != 32 && c.ref != "" ||
				c.writes != (needs.TokensPerSecond > 0) || needs.Limit < needs.Memory.Total() {
				t.Errorf("%+v", needs)
			}
			if numbers := needs.Parameters; c.dtype == "" && memory.Weights != 4*numbers {
				t.Errorf("%d parameters are %d bytes", numbers, memory.Weights)
			}
		})
	}
}

// A model whose weights are damaged is examined: they are not read. One that does not fit is no
// error.
func TestExamineReadsNoWeights(t *testing.T) {
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("testdata/goldens/gpt2")))
	path := filepath.Join(dir, "model.safetensors")
	data, err := os.ReadFile(path)
	must(t, err)
	for i := len(data) - 400; i < len(data); i += 4 {
		copy(data[i:], "\xff\xff\xff\x7f") // NaN
	}
	write(t, path, data)
	opts := models.Options{Backend: "go", MaxMemory: 1000}
	_, needs, err := models.Examine(t.Context(), dir, opts)
	if err != nil || needs.Limit != 1000 || needs.Memory.Total() < 1<<20 {
		t.Errorf("%+v, %v", needs, err)
	}
	if _, err := models.Open(dir, models.Options{Backend: "go"}); err == nil {
		t.Error("it opens")
	}
}
