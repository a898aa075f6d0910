package gguftest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// Convertible are the goldens of models/testdata that GGUF can express. The others have windows, an
// order of parts or a rotation that llama.cpp's conversion drops, or a family that is not
// supported.
var Convertible = []string{
	"apertus", "bert_bare", "bloom", "bloom_h6", "cohere", "cohere2", "exaone4", "falcon7",
	"falcon_new", "gemma", "gemma2", "gemma3", "gemma3_global", "glm4", "gpt2", "gpt_bigcode",
	"gpt_neox", "gpt_neox_seq", "granite", "granitemoe", "llama", "llama3_rope", "llama_bias",
	"llama_linear", "llama_yarn", "ministral3", "mixtral", "mpt", "nemotron", "olmo", "olmo2",
	"olmo3", "olmoe", "phi", "phi3", "phi3_cross", "phi3_long", "qwen2", "qwen2_5_vl",
	"qwen2_moe_all", "qwen3", "qwen3_moe", "qwen3_tied", "qwen3_vl", "seed_oss", "stablelm",
	"stablelm_parallel",
}

// Changed are goldens that GGUF can express with these values in config.json, so that they are
// other models: without the windows of StarCoder2, with the layers without rotation that llama.cpp
// assumes for SmolLM3 and the limit inside the experts of GPT-OSS, without the head of ModernBERT,
// and with the distances of T5 that llama.cpp assumes.
var Changed = map[string]map[string]any{
	"gpt_oss":    {"swiglu_limit": json.Number("7")},
	"starcoder2": {"sliding_window": nil},
	"smollm3": {
		"no_rope_layer_interval": json.Number("4"), "no_rope_layers": nil, "layer_types": nil,
	},
	"modernbert": {"architectures": []any{"ModernBertModel"}},
	"t5":         {"relative_attention_max_distance": json.Number("128")},
	"t5_encoder": {"relative_attention_max_distance": json.Number("128")},
	"t5_v1_1":    {"relative_attention_max_distance": json.Number("128")},
}

// Convert returns a checkpoint of Hugging Face as convert_hf_to_gguf.py of llama.cpp writes it with
// --outtype f32, without a tokenizer. It returns an error for a model type that it does not know.
func Convert(dir *checkpoint.Dir) (File, error) {
	c := &converter{config: dir.Config}
	if text, ok := dir.Config["text_config"].(map[string]any); ok {
		c.config = text
	}
	model, _ := c.config["model_type"].(string)
	how, ok := conversions[model]
	if !ok {
		return File{}, pkg.Errorf("no conversion of model_type %q", model)
	}
	if c.config["is_encoder_decoder"] == false && how.arch == "t5" {
		how.arch = "t5encoder"
	}
	c.arch = how.arch
	c.key("general.architecture", how.arch)
	c.key("general.type", "model")
	how.keys(c)
	for _, hf := range dir.Weights.Names() {
		if slices.ContainsFunc(dropped, func(part string) bool {
			return strings.Contains(hf, part)
		}) {
			continue
		}
		if c.experts(hf, dir) {
			continue
		}
		if _, key, ok := strings.Cut(hf, "act_fn."); ok { // in the order of the layers
			c.scalar("xielu."+key, hf, dir)
			continue
		}
		named := hf
		if strings.HasSuffix(hf, ".sinks") {
			named += ".weight"
		}
		name, ok := ggufName(how.names, named)
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

// scalar adds the number of a layer to a list in the metadata.
func (c *converter) scalar(key, hf string, dir *checkpoint.Dir) {
	values, err := dir.Weights.Float32(hf)
	if err != nil {
		c.err = err
		return
	}
	for i, k := range c.file.Keys {
		if list, ok := k.Value.([]float32); ok && k.Name == key {
			c.file.Keys[i].Value = append(list, values...)
			return
		}
	}
	c.key(key, values)
}

// dropped are parts of the names of tensors that the conversion drops.
var dropped = []string{
	"pooler.", "position_ids", "visual.", "attention.bias", "masked_bias", "inv_freq",
	"head.dense.", "head.norm.", "decoder.weight", "decoder.bias",
}

type converter struct {
	config map[string]any
	arch   string
	file   File
	err    error
}

func (c *converter) key(name string, value any) {
	c.file.Keys = append(c.file.Keys, Key{name, value})
}

// number returns a number of config.json, 0 if it is missing or null.
func (c *converter) number(keys ...string) float64 {
	for _, key := range keys {
		if n, ok := c.config[key].(json.Number); ok {
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
	object, _ := c.config["rope_parameters"].(map[string]any)
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
	"qwen3_moe":   {"qwen3moe", expertKeys, llamaNames, nil},
	"olmoe":       {"olmoe", expertKeys, llamaNames, nil},
	"mixtral":     {"llama", expertKeys, mixtralNames, permuteLlama},
	"qwen2_moe":   {"qwen2moe", expertKeys, sharedNames, nil},
	"granitemoe":  {"granitemoe", graniteMoEKeys, graniteMoENames, permuteLlama},
	"gpt_oss":     {"gpt-oss", gptOSSKeys, gptOSSNames, nil},
	"gemma2":      {"gemma2", gemmaKeys, gemmaNames, addOne},
	"gemma3_text": {"gemma3", gemmaKeys, gemmaNames, addOne},
	"phi3":        {"phi3", phi3Keys, phi3Names, nil},
	"gpt2":        {"gpt2", gpt2Keys, gpt2Names, transposeGPT2},
	"bloom":       {"bloom", bloomKeys, bloomNames, unfuseBloom},
	"falcon":      {"falcon", falconKeys, falconNames, unfuseFalcon},
	"bert":        {"bert", bertKeys, bertNames, nil},

	"apertus":         {"apertus", llamaKeys, apertusNames, nil},
	"gpt_bigcode":     {"starcoder", bigCodeKeys, gpt2Names, nil},
	"gemma":           {"gemma", llamaKeys, llamaNames, addOne},
	"phi":             {"phi2", partKeys, phiNames, nil},
	"stablelm":        {"stablelm", partKeys, llamaNames, nil},
	"starcoder2":      {"starcoder2", llamaKeys, starcoderNames, nil},
	"olmo":            {"olmo", olmoKeys, llamaNames, permuteLlama},
	"olmo2":           {"olmo2", llamaKeys, afterNames, nil},
	"olmo3":           {"olmo2", windowKeys, afterNames, nil},
	"granite":         {"granite", graniteKeys, llamaNames, permuteLlama},
	"smollm3":         {"smollm3", llamaKeys, llamaNames, permuteLlama},
	"cohere":          {"command-r", cohereKeys, llamaNames, nil},
	"cohere2":         {"cohere2", cohereKeys, llamaNames, nil},
	"nemotron":        {"nemotron", partKeys, llamaNames, addOne},
	"glm4":            {"glm4", partKeys, glmNames, nil},
	"exaone4":         {"exaone4", windowKeys, afterNames, nil},
	"seed_oss":        {"seed_oss", llamaKeys, afterNames, nil},
	"ministral3":      {"mistral3", ministralKeys, llamaNames, permuteLlama},
	"gpt_neox":        {"gptneox", neoxKeys, neoxNames, unfuseBloom},
	"mpt":             {"mpt", mptKeys, mptNames, nil},
	"qwen2_5_vl_text": {"qwen2vl", visionKeys, llamaNames, nil},
	"qwen3_vl_text":   {"qwen3vl", visionKeys, llamaNames, nil},
	"modernbert":      {"modern-bert", modernKeys, modernNames, nil},
	"t5":              {"t5", t5Keys, t5Names, nil},
}

// ggufName returns the name of a tensor in GGUF.
func ggufName(names map[string]string, hf string) (string, bool) {
	for _, prefix := range []string{
		"model.", "language_model.", "transformer.", "gpt_neox.", "bert.", "encoder.",
	} {
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
	if x := c.number("layer_norm_eps", "norm_epsilon", "norm_eps"); x > 0 {
		c.float("attention.layer_norm_epsilon", x)
	}
	if x := c.number("rms_norm_eps"); x > 0 {
		c.float("attention.layer_norm_rms_epsilon", x)
	}
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

// partKeys also writes how much of a head positions turn.
func partKeys(c *converter) {
	llamaKeys(c)
	part := c.ropeNumber("partial_rotary_factor")
	for i, key := range c.file.Keys {
		if width, ok := key.Value.(uint32); ok && key.Name == c.arch+".rope.dimension_count" {
			c.file.Keys[i].Value = uint32(part * float64(width))
		}
	}
}

func olmoKeys(c *converter) {
	llamaKeys(c)
	c.float("attention.layer_norm_epsilon", 1e-5)
	c.float("attention.clamp_kqv", c.number("clip_qkv"))
}

func graniteKeys(c *converter) {
	llamaKeys(c)
	c.float("attention.scale", c.number("attention_multiplier"))
	c.float("embedding_scale", c.number("embedding_multiplier"))
	c.float("residual_scale", c.number("residual_multiplier"))
	c.float("logit_scale", c.number("logits_scaling"))
}

func cohereKeys(c *converter) {
	llamaKeys(c)
	c.float("logit_scale", c.number("logit_scale"))
	c.key(c.arch+".rope.scaling.type", "none")
	if c.arch == "cohere2" {
		c.size("attention.sliding_window", c.int("sliding_window"))
		c.pattern()
	}
}

func windowKeys(c *converter) {
	llamaKeys(c)
	c.size("attention.sliding_window", c.int("sliding_window"))
	c.pattern()
}

func ministralKeys(c *converter) {
	llamaKeys(c)
	c.float("rope.scaling.yarn_log_multiplier", c.ropeNumber("mscale_all_dim"))
	c.float("attention.temperature_scale", c.ropeNumber("llama_4_scaling_beta"))
}

func visionKeys(c *converter) {
	llamaKeys(c)
	c.key(c.arch+".rope.dimension_sections", []int32{1, 1, 0, 0})
}

func neoxKeys(c *converter) {
	heads := c.int("num_attention_heads")
	c.size("context_length", c.int("max_position_embeddings"))
	c.size("embedding_length", c.int("hidden_size"))
	c.size("block_count", c.int("num_hidden_layers"))
	c.size("feed_forward_length", c.int("intermediate_size"))
	c.size("rope.dimension_count",
		int(c.ropeNumber("partial_rotary_factor")*float64(c.int("hidden_size")/heads)))
	c.size("attention.head_count", heads)
	c.key("gptneox.use_parallel_residual", c.config["use_parallel_residual"])
	c.float("attention.layer_norm_epsilon", c.number("layer_norm_eps"))
}

func mptKeys(c *converter) {
	c.size("context_length", c.int("max_seq_len"))
	c.size("embedding_length", c.int("d_model"))
	c.size("block_count", c.int("n_layers"))
	c.size("feed_forward_length", 4*c.int("d_model"))
	c.size("attention.head_count", c.int("n_heads"))
	c.float("attention.layer_norm_epsilon", 1e-5)
	attention, _ := c.config["attn_config"].(map[string]any)
	c.config = attention
	c.float("attention.clamp_kqv", c.number("clip_qkv"))
	c.float("attention.max_alibi_bias", c.number("alibi_bias_max"))
}

func modernKeys(c *converter) {
	bertKeys(c)
	c.size("attention.sliding_window", c.int("local_attention"))
	c.size("attention.sliding_window_pattern", c.int("global_attn_every_n_layers"))
	c.float("rope.freq_base", c.ropeNumber("rope_theta"))
	full, _ := c.config["rope_parameters"].(map[string]any)
	c.config = map[string]any{"rope_parameters": full["sliding_attention"]}
	c.float("rope.freq_base_swa", c.ropeNumber("rope_theta"))
	c.key("modern-bert.rope.scaling.type", "none")
}

func t5Keys(c *converter) {
	c.size("context_length", 512)
	c.size("embedding_length", c.int("d_model"))
	c.size("feed_forward_length", c.int("d_ff"))
	c.size("block_count", c.int("num_layers"))
	if c.arch == "t5" {
		c.size("decoder_block_count", c.int("num_decoder_layers"))
		c.size("decoder_start_token_id", c.int("decoder_start_token_id"))
	}
	c.size("attention.head_count", c.int("num_heads"))
	c.size("attention.key_length", c.int("d_kv"))
	c.size("attention.value_length", c.int("d_kv"))
	c.float("attention.layer_norm_epsilon", c.number("layer_norm_epsilon"))
	c.size("attention.relative_buckets_count", c.int("relative_attention_num_buckets"))
	c.float("attention.layer_norm_rms_epsilon", c.number("layer_norm_epsilon"))
}

// pattern writes which layers have a window.
func (c *converter) pattern() {
	var pattern []bool
	types, _ := c.config["layer_types"].([]any)
	for _, t := range types {
		pattern = append(pattern, t == "sliding_attention")
	}
	c.key(c.arch+".attention.sliding_window_pattern", pattern)
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
	if c.arch == "gemma3" {
		c.pattern()
	}
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

func bigCodeKeys(c *converter) {
	gpt2Keys(c)
	c.size("attention.head_count_kv", 1)
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
	if grouped, _ := c.config["new_decoder_architecture"].(bool); grouped {
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
	c.float("attention.layer_norm_epsilon", c.number("layer_norm_eps", "norm_eps"))
	c.key(c.arch+".attention.causal", false)
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

// unfuseBloom is modify_tensors of BloomModel and GPTNeoXModel: [H, 3, E, in] becomes all queries,
// all keys, all values.
func unfuseBloom(c *converter, name string, shape []int, x []float32) ([]int, []float32) {
	if !strings.Contains(name, "attn_qkv") {
		return shape, x
	}
	heads := c.int("n_head", "num_attention_heads")
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
