package gguf_test

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/gguf"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
)

const goldensDir = "../../models/testdata/goldens"

// converted returns a golden, open as a directory, and the same model as GGUF.
func converted(t testing.TB, name string) (*checkpoint.Dir, gguftest.File) {
	t.Helper()
	dir, err := checkpoint.OpenDir(filepath.Join(goldensDir, name))
	must(t, err)
	t.Cleanup(func() { dir.Close() })
	maps.Copy(dir.Config, gguftest.Changed[name])
	file, err := gguftest.Convert(dir)
	must(t, err)
	return dir, file
}

// open opens a GGUF file in memory as a model.
func open(t testing.TB, file gguftest.File) *gguf.Model {
	t.Helper()
	m, err := openBytes(file.Bytes())
	must(t, err)
	return m
}

func openBytes(b []byte) (*gguf.Model, error) {
	f, err := gguf.FromBytes("model.gguf", b)
	if err != nil {
		return nil, err
	}
	return gguf.NewModel(f)
}

// A model that was converted to GGUF as llama.cpp does it has the same spec and, bit for bit, the
// same parameters. A test of package models checks what it computes.
func TestConverted(t *testing.T) {
	for _, name := range append(slices.Sorted(maps.Keys(gguftest.Changed)),
		gguftest.Convertible...) {
		t.Run(name, func(t *testing.T) {
			dir, file := converted(t, name)
			checkModel(t, dir, file)
		})
	}
}

// checkModel compares a file with the checkpoint that it was converted from.
func checkModel(t *testing.T, dir *checkpoint.Dir, file gguftest.File) {
	t.Helper()
	known, want, err := family.Read(family.NewConfig("config.json", dir.Config))
	must(t, err)
	fromDir, err := known.Loader("model.safetensors", dir.Weights, want)
	must(t, err)
	m := open(t, file)
	f, got, err := m.Read()
	must(t, err)
	if _, images := dir.Config["text_config"]; images || want.RelativeBuckets > 0 {
		want.Remarks = nil // it reads images, too, or has keys that no conversion reads
	}
	checkSpec(t, got, want)
	load, err := f.Loader(m.File.Name(), m.Weights, got)
	must(t, err)
	for _, p := range want.Params() {
		checkParam(t, p, read(t, load, p), read(t, fromDir, p))
	}
}

// TestExpertsOfOldFiles: a file may have a tensor for each expert, the gate of a shared expert as a
// row of numbers, and no widths of experts where these are what llama.cpp takes.
func TestExpertsOfOldFiles(t *testing.T) {
	t.Run("each expert", func(t *testing.T) {
		dir, file := converted(t, "mixtral")
		var tensors []gguftest.Tensor
		for _, all := range file.Tensors {
			name, stacked := strings.CutSuffix(all.Name, "_exps.weight")
			if !stacked {
				tensors = append(tensors, all)
				continue
			}
			size := len(all.Data) / all.Shape[0]
			for e := range all.Shape[0] {
				tensors = append(tensors, gguftest.Tensor{
					Name: fmt.Sprintf("%s.%d.weight", name, e), Shape: all.Shape[1:],
					Type: all.Type, Data: all.Data[e*size:][:size],
				})
			}
		}
		file.Tensors = tensors
		checkModel(t, dir, file)
	})
	t.Run("shared gate", func(t *testing.T) {
		dir, file := converted(t, "qwen2_moe_all")
		for i := range file.Tensors {
			if of := &file.Tensors[i]; strings.HasSuffix(of.Name, "_inp_shexp.weight") {
				of.Shape = of.Shape[1:]
			}
		}
		checkModel(t, dir, file)
	})
	t.Run("widths", func(t *testing.T) {
		_, file := converted(t, "qwen2_moe_all")
		for i, k := range file.Keys {
			if strings.HasSuffix(k.Name, "feed_forward_length") {
				file.Keys[i].Name = strings.ReplaceAll(k.Name, "expert_", "old_")
			}
		}
		_, s, err := open(t, file).Read()
		must(t, err)
		if m := s.Mixture; m.Width != 32/2 || m.Shared != 32 {
			t.Errorf("experts are %d and %d wide, want 16 and 32", m.Width, m.Shared)
		}
	})
}

// read returns a parameter.
func read(t *testing.T, load spec.Loader, p spec.Param) []float32 {
	t.Helper()
	values := make([]float32, p.Size())
	err := load(p, func(first int, piece []float32) { copy(values[first:], piece) })
	must(t, err)
	return values
}

// checkSpec compares two specs. The file has no tokenizer, so it does not say which tokens begin
// and end a text. Numbers are in float32 in the file.
func checkSpec(t *testing.T, got, want *spec.Spec) {
	t.Helper()
	g, w := *got, *want
	g.BOS, g.EOS = w.BOS, w.EOS
	near := func(a, b *spec.Rotary) bool {
		if a == nil || b == nil {
			return a == b
		}
		return slices.EqualFunc(a.Frequencies, b.Frequencies, func(x, y float32) bool {
			return math.Abs(float64(x-y)) <= 2e-7*math.Abs(float64(y))
		}) && math.Abs(max(a.Scale, 1)-max(b.Scale, 1)) <= 1e-7 // 0 is 1
	}
	if !near(g.Rotary, w.Rotary) || !near(g.LocalRotary, w.LocalRotary) {
		t.Errorf("rotation %+v and %+v, want %+v and %+v", g.Rotary, g.LocalRotary, w.Rotary,
			w.LocalRotary)
	}
	g.Rotary, g.LocalRotary = w.Rotary, w.LocalRotary
	if !reflect.DeepEqual(g, w) {
		t.Errorf("spec %+v, want %+v", g, w)
	}
}

// checkParam compares a parameter bit for bit. 1 was added to the gains of norms of Gemma, which
// rounds them.
func checkParam(t *testing.T, p spec.Param, got, want []float32) {
	t.Helper()
	for i, x := range got {
		if math.Float32bits(x) != math.Float32bits(want[i]) &&
			!(len(p.Shape) == 1 && math.Abs(float64(x-want[i])) <= 1.2e-7) {
			t.Errorf("%s: number %d is %v, want %v", p.Name, i, x, want[i])
			return
		}
	}
}

// TestNoDefaults: what llama.cpp takes for a key that the file does not have counts, and not the
// default of the family: as many heads of keys as heads, and no token that begins or ends a text.
func TestNoDefaults(t *testing.T) {
	for _, name := range []string{"llama", "qwen2", "gemma2"} {
		_, file := converted(t, name)
		file.Keys = slices.DeleteFunc(slices.Clone(file.Keys), func(k gguftest.Key) bool {
			return strings.HasSuffix(k.Name, "head_count_kv") ||
				strings.HasPrefix(k.Name, "tokenizer")
		})
		_, s, err := open(t, file).Read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if s.Groups() != s.Heads || s.BOS != -1 || s.EOS != nil || s.Remarks != nil {
			t.Errorf("%s: %d of %d heads have keys, a text begins with %d and ends with %v, %q", name,
				s.Groups(), s.Heads, s.BOS, s.EOS, s.Remarks)
		}
	}
}

// TestHeadOfT5: a head of its own is read, and logits are scaled where there is no gate, whether or
// not the embedding is written a second time as the head. A bias that nothing adds is no weight.
func TestHeadOfT5(t *testing.T) {
	for name, scale := range map[string]float64{"t5": 1 / math.Sqrt(16), "t5_v1_1": 0} {
		_, file := converted(t, name)
		at := slices.IndexFunc(file.Tensors, func(x gguftest.Tensor) bool {
			return x.Name == "token_embd.weight"
		})
		same := file.Tensors[at]
		same.Name = "output.weight"
		own := gguftest.Float32("output.weight", same.Shape, slices.Repeat([]float32{3}, 48*16))
		for what, tensors := range map[string][]gguftest.Tensor{
			"tied": nil, "written twice": {same}, "its own": {own},
		} {
			with := file
			with.Tensors = slices.Concat(file.Tensors, tensors, []gguftest.Tensor{
				gguftest.Float32("dec.blk.0.cross_attn_rel_b.weight", []int{8, 4},
					make([]float32, 32)),
			})
			m := open(t, with)
			f, s, err := m.Read()
			must(t, err)
			if s.TiedHead != (what != "its own") || s.LogitScale != scale {
				t.Errorf("%s, %s: tied %v, logits × %v, want × %v", name, what, s.TiedHead,
					s.LogitScale, scale)
			}
			load, err := f.Loader(m.File.Name(), m.Weights, s)
			must(t, err)
			for _, p := range s.Params() {
				if values := read(t, load, p); p.Name == "head" && values[0] != 3 {
					t.Errorf("%s: the head begins with %v", name, values[0])
				}
			}
		}
	}
	_, file := converted(t, "t5")
	for _, c := range []struct {
		key   string
		value uint32
		want  string
	}{
		{"t5.attention.value_length", 8, "t5.attention.value_length is 8, but t5.attention.key_length"},
		{"t5.decoder_start_token_id", 49, "decoder_start_token_id"},
	} {
		m, err := openBytes(file.With(gguftest.Key{Name: c.key, Value: c.value}).Bytes())
		if err == nil {
			_, _, err = m.Read()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %d: error %v, want %q", c.key, c.value, err, c.want)
		}
	}
	// Biases in each block are of another model (UMT5).
	_, err := openBytes(gguftest.File{Keys: file.Keys, Tensors: append(file.Tensors,
		gguftest.Float32("enc.blk.1.attn_rel_b.weight", []int{8, 4}, make([]float32, 32)))}.Bytes())
	if err == nil || !strings.Contains(err.Error(), "enc.blk.1.attn_rel_b.weight") {
		t.Errorf("biases in block 1: %v", err)
	}
}
