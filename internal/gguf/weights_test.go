package gguf_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/gguf"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
)

// Any part of a tensor, wherever its blocks begin, has the numbers that the whole has there.
func TestParts(t *testing.T) {
	text, err := os.ReadFile("testdata/blocks.json")
	must(t, err)
	var all struct {
		Types map[string]struct {
			Type uint32
			Raw  []byte
		}
	}
	must(t, json.Unmarshal(text, &all))
	const n = 1024
	for name, c := range all.Types {
		file := gguftest.File{Tensors: []gguftest.Tensor{
			{Name: "before", Shape: []int{32}, Type: 0, Data: make([]byte, 128)},
			{Name: "x", Shape: []int{2, 2, n / 4}, Type: c.Type, Data: c.Raw},
		}}
		f, err := gguf.FromBytes(name, file.Bytes())
		must(t, err)
		if shape, err := f.Shape("x"); err != nil || !slices.Equal(shape, []int{2, 2, n / 4}) {
			t.Errorf("%s: shape %v: %v", name, shape, err)
		}
		whole := make([]float32, n)
		must(t, f.Float32At(whole, "x", 0))
		for first := 0; first <= n; first += 37 {
			for _, length := range []int{0, 1, 31, 32, 33, 255, 256, 257, n - first} {
				if first+length > n {
					continue
				}
				part := make([]float32, length)
				must(t, f.Float32At(part, "x", first))
				if !slices.Equal(part, whole[first:first+length]) {
					t.Fatalf("%s: numbers %d to %d differ", name, first, first+length)
				}
			}
		}
		for _, wrong := range [][2]int{{-1, 1}, {n, 1}, {0, n + 1}, {math.MaxInt, 1}} {
			if err := f.Float32At(make([]float32, wrong[1]), "x", wrong[0]); err == nil {
				t.Errorf("%s: %d numbers from %d on: no error", name, wrong[1], wrong[0])
			}
		}
	}
}

// A head that is the embedding byte for byte is tied to it, whether the file has it or not. Another
// head is a head of its own.
func TestTiedHead(t *testing.T) {
	small := gguftest.Small()
	for name, c := range map[string]struct {
		head []byte
		tied bool
	}{
		"none":      {nil, true},
		"the same":  {make([]byte, 32*18), true},
		"different": {bytes.Repeat([]byte{1}, 32*18), false},
	} {
		file := small
		if c.head != nil {
			file.Tensors = append(slices.Clone(small.Tensors), gguftest.Tensor{
				Name: "output.weight", Shape: []int{32, 32}, Type: 2, Data: c.head,
			})
		}
		m := open(t, file)
		_, s, err := m.Read()
		must(t, err)
		listed := slices.Contains(m.Weights.Names(), "output.weight")
		if s.TiedHead != c.tied || listed == c.tied {
			t.Errorf("%s: tied %v, listed %v, want tied %v", name, s.TiedHead, listed, c.tied)
		}
		if err := use(file.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file of version 2 is read as one of version 3.
func TestVersion2(t *testing.T) {
	file := gguftest.Small()
	file.Version = 2
	if err := use(file.Bytes()); err != nil {
		t.Error(err)
	}
}

// A file may have chat templates with names beside the default one; llama.cpp lists the names in a
// key of its own.
func TestChatTemplates(t *testing.T) {
	const key = "tokenizer.chat_template"
	m := open(t, gguftest.Small().With(gguftest.Key{Name: key, Value: "D"},
		gguftest.Key{Name: key + ".tool_use", Value: "U"},
		gguftest.Key{Name: key + "s", Value: []string{"tool_use"}}))
	got, err := m.ChatTemplates()
	if err != nil || len(got) != 2 || got["default"] != "D" || got["tool_use"] != "U" {
		t.Errorf("templates %q, %v", got, err)
	}
	if got := m.ChatTemplateSource("tool_use"); !strings.HasSuffix(got, ": "+key+".tool_use") {
		t.Errorf("source %q", got)
	}
}

// What a program asks of a file without a tokenizer.
func TestNoTokenizer(t *testing.T) {
	m := open(t, gguftest.Small().With(gguftest.Key{Name: "tokenizer.ggml.model"}))
	if _, err := m.TokenizerJSON(); m.HasTokenizer() || err == nil ||
		!strings.Contains(err.Error(), "key tokenizer.ggml.model is missing") {
		t.Errorf("error %v", err)
	}
	if templates, err := m.ChatTemplates(); len(templates) != 0 || err != nil {
		t.Errorf("templates %q: %v", templates, err)
	}
}
