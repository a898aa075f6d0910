package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// shape is the size of a model with random weights: a Llama, whose rotary positions need no table,
// so that its context can be any number.
type shape struct {
	name                                             string
	layers, heads, groups, width, feedForward, vocab int
}

// The shapes whose growth is measured on long prompts.
var shapes = []shape{
	{"small", 4, 4, 4, 64, 128, 512},
	{"smollm2", 30, 9, 3, 576, 1536, 512}, // SmolLM2-135M with a short vocabulary
}

// longContext is the context of the random models: room for the longest prompt and what follows.
const longContext = 32768 + 64

// shapeNamed returns the shape of that name.
func shapeNamed(name string) (shape, error) {
	var known []string
	for _, s := range shapes {
		if s.name == name {
			return s, nil
		}
		known = append(known, s.name)
	}
	return shape{}, fmt.Errorf("shape %q is unknown; known are %v", name, known)
}

// write writes the model as a checkpoint into a folder. The same shape gives the same bytes.
func (s shape) write(dir string) error {
	files := map[string]any{"config.json": s.config(), "tokenizer.json": s.tokenizer()}
	for name, content := range files {
		text, err := json.Marshal(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return checkpoint.WriteFile(filepath.Join(dir, "model.safetensors"), s.tensors(), nil)
}

func (s shape) config() any {
	return map[string]any{
		"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama",
		"vocab_size": s.vocab, "hidden_size": s.width, "intermediate_size": s.feedForward,
		"num_hidden_layers": s.layers, "num_attention_heads": s.heads,
		"num_key_value_heads": s.groups, "max_position_embeddings": longContext,
		"rms_norm_eps": 1e-5, "rope_theta": 100000, "hidden_act": "silu",
		"tie_word_embeddings": true, "bos_token_id": 0, "eos_token_id": nil,
	}
}

// tokenizer returns the content of tokenizer.json: words w1, w2, … separated by spaces.
func (s shape) tokenizer() any {
	type object = map[string]any
	bytewise := object{
		"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false,
	}
	vocab := object{}
	for i := range s.vocab {
		vocab[fmt.Sprintf("w%d", i)] = i
	}
	return object{
		"version": "1.0", "added_tokens": []object{},
		"pre_tokenizer": object{"type": "WhitespaceSplit"}, "decoder": bytewise,
		"model": object{"type": "WordLevel", "vocab": vocab, "unk_token": "w0"},
	}
}

// tensors returns random weights. Scores of attention then differ by some units, so that attention
// is neither uniform nor at one source.
func (s shape) tensors() []checkpoint.Tensor {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same weights every time
	matrix := func(name string, out, in int, size float64) checkpoint.Tensor {
		data := make([]float32, out*in)
		for i := range data {
			data[i] = float32(random.NormFloat64() * size / math.Sqrt(float64(in)))
		}
		return checkpoint.Tensor{Name: name, Shape: []int{out, in}, Data: data}
	}
	ones := func(name string) checkpoint.Tensor {
		data := slices.Repeat([]float32{1}, s.width)
		return checkpoint.Tensor{Name: name, Shape: []int{s.width}, Data: data}
	}
	width := s.width / s.heads
	all := []checkpoint.Tensor{
		matrix("model.embed_tokens.weight", s.vocab, s.width, 1), ones("model.norm.weight"),
	}
	for l := range s.layers {
		p := fmt.Sprintf("model.layers.%d.", l)
		all = append(all,
			ones(p+"input_layernorm.weight"), ones(p+"post_attention_layernorm.weight"),
			matrix(p+"self_attn.q_proj.weight", s.heads*width, s.width, 1.5),
			matrix(p+"self_attn.k_proj.weight", s.groups*width, s.width, 1.5),
			matrix(p+"self_attn.v_proj.weight", s.groups*width, s.width, 1),
			matrix(p+"self_attn.o_proj.weight", s.width, s.heads*width, 0.5),
			matrix(p+"mlp.gate_proj.weight", s.feedForward, s.width, 1),
			matrix(p+"mlp.up_proj.weight", s.feedForward, s.width, 1),
			matrix(p+"mlp.down_proj.weight", s.width, s.feedForward, 0.5))
	}
	return all
}
