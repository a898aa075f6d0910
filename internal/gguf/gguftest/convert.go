package gguftest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// Convertible are the goldens of models/testdata that GGUF can express. The others have windows, an
// order of parts or a rotation that llama.cpp's conversion drops, or a family that is not
// supported.
var Convertible = []string{
	"bert_bare", "bloom", "bloom_h6", "falcon7", "falcon_new", "gemma2", "gemma3", "gemma3_global",
	"gpt2", "llama", "llama3_rope", "llama_bias", "llama_linear", "llama_yarn", "phi3",
	"phi3_cross", "phi3_long", "qwen2", "qwen3", "qwen3_tied",
}

// Convert returns a checkpoint of Hugging Face as convert_hf_to_gguf.py of llama.cpp writes it with
// --outtype f32, without a tokenizer. It returns an error for a model type that it does not know.
func Convert(dir *checkpoint.Dir) (File, error) {
	c := &converter{dir: dir}
	model, _ := dir.Config["model_type"].(string)
	how, ok := conversions[model]
	if !ok {
		return File{}, pkg.Errorf("no conversion of model_type %q", model)
	}
	c.arch = how.arch
	c.key("general.architecture", how.arch)
	c.key("general.type", "model")
	how.keys(c)
	for _, hf := range dir.Weights.Names() {
		if strings.Contains(hf, "pooler.") || strings.HasSuffix(hf, "position_ids") {
			continue // the conversion drops them
		}
		name, ok := ggufName(how.names, hf)
		if !ok {
			return File{}, pkg.Errorf("tensor %s has no name in GGUF", hf)
		}
		shape, err := dir.Weights.Shape(hf)
		if err != nil {
			return File{}, err
		}
		values, err := dir.Weights.Float32(hf)
		if err != nil {
			return File{}, err
		}
		if how.change != nil {
			shape, values = how.change(c, name, shape, values)
		}
		c.file.Tensors = append(c.file.Tensors, Float32(name, shape, values))
	}
	return c.file, c.err
}

type converter struct {
	dir  *checkpoint.Dir
	arch string
	file File
	err  error
}

func (c *converter) key(name string, value any) {
	c.file.Keys = append(c.file.Keys, Key{name, value})
}

// number returns a number of config.json, 0 if it is missing or null.
func (c *converter) number(keys ...string) float64 {
	for _, key := range keys {
		if n, ok := c.dir.Config[key].(json.Number); ok {
			x, err := n.Float64()
			if err != nil {
				c.err = err
			}
			return x
		}
	}
	return 0
}

func (c *converter) int(keys ...string) int { return int(c.number(keys...)) }

// size writes a size as the file has it.
func (c *converter) size(key string, n int) { c.key(c.arch+"."+key, uint32(n)) }

func (c *converter) float(key string, x float64) { c.key(c.arch+"."+key, float32(x)) }

// rope returns the object with the rotation.
func (c *converter) rope() map[string]any {
	object, _ := c.dir.Config["rope_parameters"].(map[string]any)
	if full, ok := object["full_attention"].(map[string]any); ok {
		return full
	}
	return object
}

func (c *converter) ropeNumber(key string) float64 {
	n, _ := c.rope()[key].(json.Number)
	x, _ := n.Float64()
	return x
}

// conversion is how one model type is converted.
type conversion struct {
	arch   string
	keys   func(c *converter)
	names  map[string]string // by the name in Hugging Face, with %d for the layer
	change func(c *converter, name string, shape []int, x []float32) ([]int, []float32)
}

var conversions = map[string]conversion{
	"llama":       {"llama", llamaKeys, llamaNames, permuteLlama},
	"qwen2":       {"qwen2", llamaKeys, llamaNames, nil},
	"qwen3":       {"qwen3", llamaKeys, llamaNames, nil},
	"gemma2":      {"gemma2", gemmaKeys, gemmaNames, addOne},
	"gemma3_text": {"gemma3", gemmaKeys, gemmaNames, addOne},
	"phi3":        {"phi3", phi3Keys, phi3Names, nil},
	"gpt2":        {"gpt2", gpt2Keys, gpt2Names, transposeGPT2},
	"bloom":       {"bloom", bloomKeys, bloomNames, unfuseBloom},
	"falcon":      {"falcon", falconKeys, falconNames, unfuseFalcon},
	"bert":        {"bert", bertKeys, bertNames, nil},
}

// ggufName returns the name of a tensor in GGUF.
func ggufName(names map[string]string, hf string) (string, bool) {
	for _, prefix := range []string{"model.", "transformer.", "bert.", "encoder.", ""} {
		hf = strings.TrimPrefix(hf, prefix)
	}
	parts := strings.Split(hf, ".")
	for i, p := range parts {
		layer := 0
		if _, err := fmt.Sscanf(p, "%d", &layer); err == nil {
			parts[i] = "%d"
			name, ok := names[strings.TrimSuffix(strings.TrimSuffix(strings.Join(parts, "."),
				".weight"), ".bias")]
			return fmt.Sprintf(name, layer) + hf[strings.LastIndex(hf, "."):], ok
		}
	}
	end := strings.LastIndex(hf, ".")
	name, ok := names[hf[:end]]
	return name + hf[end:], ok
}

var llamaNames = map[string]string{
	"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output",
	"layers.%d.input_layernorm":          "blk.%d.attn_norm",
	"layers.%d.self_attn.q_proj":         "blk.%d.attn_q",
	"layers.%d.self_attn.k_proj":         "blk.%d.attn_k",
	"layers.%d.self_attn.v_proj":         "blk.%d.attn_v",
	"layers.%d.self_attn.o_proj":         "blk.%d.attn_output",
	"layers.%d.self_attn.q_norm":         "blk.%d.attn_q_norm",
	"layers.%d.self_attn.k_norm":         "blk.%d.attn_k_norm",
	"layers.%d.post_attention_layernorm": "blk.%d.ffn_norm",
	"layers.%d.mlp.gate_proj":            "blk.%d.ffn_gate",
	"layers.%d.mlp.up_proj":              "blk.%d.ffn_up",
	"layers.%d.mlp.down_proj":            "blk.%d.ffn_down",
}

var gemmaNames = merged(llamaNames, map[string]string{
	"layers.%d.post_attention_layernorm":   "blk.%d.post_attention_norm",
	"layers.%d.pre_feedforward_layernorm":  "blk.%d.ffn_norm",
	"layers.%d.post_feedforward_layernorm": "blk.%d.post_ffw_norm",
})

var phi3Names = merged(llamaNames, map[string]string{
	"layers.%d.self_attn.qkv_proj": "blk.%d.attn_qkv",
	"layers.%d.mlp.gate_up_proj":   "blk.%d.ffn_up",
})

var gpt2Names = map[string]string{
	"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "lm_head": "output",
	"h.%d.ln_1": "blk.%d.attn_norm", "h.%d.attn.c_attn": "blk.%d.attn_qkv",
	"h.%d.attn.c_proj": "blk.%d.attn_output", "h.%d.ln_2": "blk.%d.ffn_norm",
	"h.%d.mlp.c_fc": "blk.%d.ffn_up", "h.%d.mlp.c_proj": "blk.%d.ffn_down",
}

var bloomNames = map[string]string{
	"word_embeddings": "token_embd", "word_embeddings_layernorm": "token_embd_norm",
	"ln_f": "output_norm", "lm_head": "output",
	"h.%d.input_layernorm":                "blk.%d.attn_norm",
	"h.%d.self_attention.query_key_value": "blk.%d.attn_qkv",
	"h.%d.self_attention.dense":           "blk.%d.attn_output",
	"h.%d.post_attention_layernorm":       "blk.%d.ffn_norm",
	"h.%d.mlp.dense_h_to_4h":              "blk.%d.ffn_up",
	"h.%d.mlp.dense_4h_to_h":              "blk.%d.ffn_down",
}

var falconNames = merged(bloomNames, map[string]string{
	"h.%d.ln_mlp": "blk.%d.attn_norm", "h.%d.ln_attn": "blk.%d.attn_norm_2",
})

var bertNames = map[string]string{
	"embeddings.word_embeddings":          "token_embd",
	"embeddings.position_embeddings":      "position_embd",
	"embeddings.token_type_embeddings":    "token_types",
	"embeddings.LayerNorm":                "token_embd_norm",
	"layer.%d.attention.self.query":       "blk.%d.attn_q",
	"layer.%d.attention.self.key":         "blk.%d.attn_k",
	"layer.%d.attention.self.value":       "blk.%d.attn_v",
	"layer.%d.attention.output.dense":     "blk.%d.attn_output",
	"layer.%d.attention.output.LayerNorm": "blk.%d.attn_output_norm",
	"layer.%d.intermediate.dense":         "blk.%d.ffn_up",
	"layer.%d.output.dense":               "blk.%d.ffn_down",
	"layer.%d.output.LayerNorm":           "blk.%d.layer_output_norm",
}

func merged(a, b map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range []map[string]string{a, b} {
		for key, value := range m {
			all[key] = value
		}
	}
	return all
}

func llamaKeys(c *converter) {
	heads := c.int("num_attention_heads")
	width := c.int("head_dim")
	if width == 0 {
		width = c.int("hidden_size") / heads
	}
	c.size("block_count", c.int("num_hidden_layers"))
	c.size("context_length", c.int("max_position_embeddings"))
	c.size("embedding_length", c.int("hidden_size"))
	c.size("feed_forward_length", c.int("intermediate_size"))
	c.size("attention.head_count", heads)
	c.size("attention.head_count_kv", c.int("num_key_value_heads"))
	c.size("attention.key_length", width)
	c.size("attention.value_length", width)
	c.size("rope.dimension_count", width)
	c.float("attention.layer_norm_rms_epsilon", c.number("rms_norm_eps"))
	c.float("rope.freq_base", c.ropeNumber("rope_theta"))
	switch kind := c.rope()["rope_type"]; kind {
	case "linear", "yarn":
		c.key(c.arch+".rope.scaling.type", kind)
		c.float("rope.scaling.factor", c.ropeNumber("factor"))
		if n := c.ropeNumber("original_max_position_embeddings"); n > 0 {
			c.size("rope.scaling.original_context_length", int(n))
		}
	case "llama3":
		c.llama3(width)
	}
}

// llama3 writes the factors by which frequencies are divided.
func (c *converter) llama3(width int) {
	base, factor := c.ropeNumber("rope_theta"), c.ropeNumber("factor")
	low, high := c.ropeNumber("low_freq_factor"), c.ropeNumber("high_freq_factor")
	n := c.ropeNumber("original_max_position_embeddings")
	var factors []float32
	for i := 0; i < width; i += 2 {
		wavelength := 2 * math.Pi * math.Pow(base, float64(i)/float64(width))
		switch {
		case wavelength < n/high:
			factors = append(factors, 1)
		case wavelength > n/low:
			factors = append(factors, float32(factor))
		default:
			smooth := (n/wavelength - low) / (high - low)
			factors = append(factors, float32(1/((1-smooth)/factor+smooth)))
		}
	}
	c.file.Tensors = append(c.file.Tensors,
		Float32("rope_freqs.weight", []int{len(factors)}, factors))
}

func gemmaKeys(c *converter) {
	llamaKeys(c)
	c.size("attention.sliding_window", c.int("sliding_window"))
	for _, key := range []string{"attn_logit_softcapping", "final_logit_softcapping"} {
		if x := c.number(key); x != 0 {
			c.float(key, x)
		}
	}
	if c.arch != "gemma3" {
		return
	}
	var pattern []bool
	types, _ := c.dir.Config["layer_types"].([]any)
	for _, t := range types {
		pattern = append(pattern, t == "sliding_attention")
	}
	c.key("gemma3.attention.sliding_window_pattern", pattern)
}

func phi3Keys(c *converter) {
	llamaKeys(c)
	original := c.int("original_max_position_embeddings")
	c.size("rope.scaling.original_context_length", original)
	c.size("attention.sliding_window", c.int("sliding_window"))
	if c.rope()["rope_type"] != "longrope" {
		return
	}
	scale := c.number("max_position_embeddings") / float64(original)
	attention := 1.0
	if scale > 1 {
		attention = math.Sqrt(1 + math.Log(scale)/math.Log(float64(original)))
	}
	c.float("rope.scaling.attn_factor", attention)
	for _, which := range []string{"long", "short"} {
		list, _ := c.rope()[which+"_factor"].([]any)
		var factors []float32
		for _, v := range list {
			n, _ := v.(json.Number)
			x, _ := n.Float64()
			factors = append(factors, float32(x))
		}
		c.file.Tensors = append(c.file.Tensors, Float32("rope_factors_"+which+".weight",
			[]int{len(factors)}, factors))
	}
}

func gpt2Keys(c *converter) {
	c.size("block_count", c.int("n_layer"))
	c.size("context_length", c.int("n_positions"))
	c.size("embedding_length", c.int("n_embd"))
	c.size("feed_forward_length", 4*c.int("n_embd"))
	c.size("attention.head_count", c.int("n_head"))
	c.float("attention.layer_norm_epsilon", c.number("layer_norm_epsilon"))
}

func bloomKeys(c *converter) {
	c.size("context_length", 2048)
	c.size("embedding_length", c.int("hidden_size"))
	c.size("feed_forward_length", 4*c.int("hidden_size"))
	c.size("block_count", c.int("n_layer"))
	c.size("attention.head_count", c.int("n_head"))
	c.size("attention.head_count_kv", c.int("n_head"))
	c.float("attention.layer_norm_epsilon", c.number("layer_norm_epsilon"))
}

// falconGroups returns how many heads have keys and values.
func (c *converter) falconGroups() int {
	if grouped, _ := c.dir.Config["new_decoder_architecture"].(bool); grouped {
		return c.int("num_kv_heads")
	}
	return 1
}

func falconKeys(c *converter) {
	c.size("context_length", 2048)
	c.key("falcon.tensor_data_layout", "jploski")
	c.size("embedding_length", c.int("hidden_size"))
	c.size("feed_forward_length", 4*c.int("hidden_size"))
	c.size("block_count", c.int("num_hidden_layers"))
	c.size("attention.head_count", c.int("num_attention_heads"))
	c.size("attention.head_count_kv", c.falconGroups())
	c.float("attention.layer_norm_epsilon", c.number("layer_norm_epsilon"))
}

func bertKeys(c *converter) {
	c.size("block_count", c.int("num_hidden_layers"))
	c.size("context_length", c.int("max_position_embeddings"))
	c.size("embedding_length", c.int("hidden_size"))
	c.size("feed_forward_length", c.int("intermediate_size"))
	c.size("attention.head_count", c.int("num_attention_heads"))
	c.float("attention.layer_norm_epsilon", c.number("layer_norm_eps"))
	c.key("bert.attention.causal", false)
}

// permuteLlama is LlamaModel.permute: reshape to [H, 2, E/2, in] and swap axes 1 and 2.
func permuteLlama(c *converter, name string, shape []int, x []float32) ([]int, []float32) {
	heads := 0
	switch {
	case strings.Contains(name, ".attn_q."):
		heads = c.int("num_attention_heads")
	case strings.Contains(name, ".attn_k."):
		heads = c.int("num_key_value_heads")
	default:
		return shape, x
	}
	in := len(x) / shape[0]
	half := shape[0] / heads / 2
	out := make([]float32, 0, len(x))
	for h := range heads {
		for i := range half {
			for j := range 2 {
				row := (h*2+j)*half + i
				out = append(out, x[row*in:(row+1)*in]...)
			}
		}
	}
	return shape, out
}

// addOne is what Gemma's models do to the gains of norms.
func addOne(_ *converter, name string, shape []int, x []float32) ([]int, []float32) {
	if strings.HasSuffix(name, "norm.weight") {
		for i := range x {
			x[i]++
		}
	}
	return shape, x
}

// transposeGPT2 turns the projections, which are [in,out].
func transposeGPT2(_ *converter, name string, shape []int, x []float32) ([]int, []float32) {
	if len(shape) != 2 || !strings.HasPrefix(name, "blk.") {
		return shape, x
	}
	out := make([]float32, len(x))
	for i := range shape[0] {
		for j := range shape[1] {
			out[j*shape[0]+i] = x[i*shape[1]+j]
		}
	}
	return []int{shape[1], shape[0]}, out
}

// unfuseBloom is BloomModel.modify_tensors: [H, 3, E, in] becomes all queries, all keys, all
// values.
func unfuseBloom(c *converter, name string, shape []int, x []float32) ([]int, []float32) {
	if !strings.Contains(name, "attn_qkv") {
		return shape, x
	}
	heads := c.int("n_head")
	block := len(x) / heads / 3
	out := make([]float32, 0, len(x))
	for part := range 3 {
		for h := range heads {
			out = append(out, x[(h*3+part)*block:][:block]...)
		}
	}
	return shape, out
}

// unfuseFalcon is FalconModel.modify_tensors: [G, H/G+2, E, in] becomes all queries, all keys, all
// values.
func unfuseFalcon(c *converter, name string, shape []int, x []float32) ([]int, []float32) {
	if !strings.Contains(name, "attn_qkv") {
		return shape, x
	}
	groups, heads := c.falconGroups(), c.int("num_attention_heads")
	each := heads/groups + 2
	block := len(x) / groups / each
	var queries, keys, values []float32
	for g := range groups {
		for i := range each {
			rows := x[(g*each+i)*block:][:block]
			switch i {
			case each - 2:
				keys = append(keys, rows...)
			case each - 1:
				values = append(values, rows...)
			default:
				queries = append(queries, rows...)
			}
		}
	}
	return shape, append(append(queries, keys...), values...)
}
