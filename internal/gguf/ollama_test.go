package gguf_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
)

// ofOllama returns a file of Gemma 3 as Ollama's converter writes it, and the same as that of
// llama.cpp does, with a context and the bases of the published models.
func ofOllama(t *testing.T, context uint32) (ollama, plain gguftest.File) {
	_, file := converted(t, "gemma3")
	file = file.With(
		key("gemma3.context_length", context),
		key("gemma3.attention.layer_norm_rms_epsilon", float32(1e-6)),
		key("gemma3.rope.freq_base", float32(1e6)),
		key("gemma3.rope.freq_base_swa", float32(1e4)),
		key("gemma3.final_logit_softcapping", nil),
		key("gemma3.rope.scaling.type", nil), key("gemma3.rope.scaling.factor", nil),
	)
	ollama = file.With(
		key("gemma3.attention.layer_norm_rms_epsilon", nil),
		key("gemma3.rope.freq_base", nil), key("gemma3.rope.freq_base_swa", nil),
		key("gemma3.final_logit_softcapping", float32(30)),
		key("gemma3.vision.block_count", uint32(27)),
		key("gemma3.vision.attention.layer_norm_epsilon", float32(1e-6)),
		key("gemma3.mm.tokens_per_image", uint32(256)),
	)
	ollama.Tensors = append(slices.Clone(ollama.Tensors),
		gguftest.Float32("v.blk.0.attn_q.weight", []int{2, 2}, make([]float32, 4)),
		gguftest.Float32("mm.mm_soft_emb_norm.weight", []int{2}, make([]float32, 2)))
	return ollama, file
}

// TestOllamaGemma3: what Ollama's converter leaves out or names otherwise is that of the published
// models, and the part for images is left alone.
func TestOllamaGemma3(t *testing.T) {
	ollama, plain := ofOllama(t, 1<<15)
	large, stretched := ofOllama(t, 1<<17)
	stretched = stretched.With(key("gemma3.rope.scaling.type", "linear"),
		key("gemma3.rope.scaling.factor", float32(8)))
	bases := []gguftest.Key{
		key("gemma3.rope.global.freq_base", float32(5e5)),
		key("gemma3.rope.local.freq_base", float32(2e4)),
	}
	other := plain.With(key("gemma3.rope.freq_base", float32(5e5)),
		key("gemma3.rope.freq_base_swa", float32(2e4)))
	for name, c := range map[string]struct{ ollama, plain gguftest.File }{
		"left out":  {ollama, plain},
		"stretched": {large, stretched},
		"bases":     {ollama.With(bases...), other},
		"no images": {plain.With(append(bases, key("gemma3.rope.freq_base", nil), key("gemma3.rope.freq_base_swa", nil))...), other},
	} {
		t.Run(name, func(t *testing.T) {
			m := open(t, c.ollama)
			_, got, err := m.Read()
			must(t, err)
			_, want, err := open(t, c.plain).Read()
			must(t, err)
			checkSpec(t, got, want)
			for _, tensor := range m.Weights.Names() {
				if strings.HasPrefix(tensor, "v.") || strings.HasPrefix(tensor, "mm.") {
					t.Errorf("tensor %s is among the weights", tensor)
				}
			}
		})
	}
	ollama = ollama.With(key("gemma3.final_logit_softcapping", float32(20)))
	_, capped, err := open(t, ollama).Read()
	if err != nil || capped.LogitCap != 20 {
		t.Errorf("a cap of 20 is %v, error %v", capped, err)
	}
	_, odd, err := open(t, ollama.With(key("gemma3.unheard.of", uint32(1)))).Read()
	if err != nil || !strings.Contains(strings.Join(odd.Remarks, "\n"), "gemma3.unheard.of") {
		t.Errorf("an unknown key: no remark, error %v", err)
	}
}

// TestOllamaWords: tokens without an embedding are left out, and no space is put in front.
func TestOllamaWords(t *testing.T) {
	file, _ := ofOllama(t, 1<<15)
	const vocab = 96
	tokens, scores := []string{"<pad>", "<bos>", "<eos>", "<unk>"}, make([]float32, 4)
	types := []int32{3, 3, 3, 2}
	for i := len(tokens); i < vocab+1; i++ {
		tokens = append(tokens, string(rune('a'+i)))
		scores, types = append(scores, -1), append(types, 1)
	}
	tokens[vocab], types[vocab] = "<image_soft_token>", 4
	m := open(t, file.With(
		key("tokenizer.ggml.model", "llama"), key("tokenizer.ggml.tokens", tokens),
		key("tokenizer.ggml.scores", scores), key("tokenizer.ggml.token_type", types),
		key("tokenizer.ggml.bos_token_id", uint32(1)),
		key("tokenizer.ggml.eos_token_id", uint32(2)),
		key("tokenizer.ggml.unknown_token_id", uint32(3)),
		key("tokenizer.ggml.add_padding_token", false),
	))
	text, err := m.TokenizerJSON()
	must(t, err)
	if strings.Contains(string(text), "<image_soft_token>") {
		t.Error("the token for images is left")
	}
	if strings.Contains(string(text), `"Prepend"`) || strings.Contains(string(text), "always") {
		t.Error("a space is put in front of a text")
	}
}

func key(name string, value any) gguftest.Key { return gguftest.Key{Name: name, Value: value} }
