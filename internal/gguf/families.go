package gguf

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/headwater-ml/headwater/models/spec"
)

// gemmaSettings reads what Gemma 2 and 3 have in common.
func gemmaSettings(s *settings) {
	wideSettings(s)
	s.required("sliding_window", "attention.sliding_window")
	s.number("attn_logit_softcapping", "attn_logit_softcapping")
	s.number("final_logit_softcapping", "final_logit_softcapping")
}

// scoreWidth sets what scores are divided by the root of. The file does not say it; it is the width
// of a head, but for the 27B models, which llama.cpp knows by their number of layers.
func (s *settings) scoreWidth(layersOf27B int64) {
	width := s.headWidth()
	if s.configInt("num_hidden_layers") == layersOf27B {
		width = s.configInt("hidden_size") / max(1, s.configInt("num_attention_heads"))
	}
	s.config["query_pre_attn_scalar"] = json.Number(strconv.FormatInt(width, 10))
}

func gemma2Settings(s *settings) {
	gemmaSettings(s)
	s.scoreWidth(46)
}

func gemma3Settings(s *settings) {
	if s.ofOllama() {
		ollamaSettings(s)
	} else {
		gemmaSettings(s)
	}
	s.scoreWidth(62)
	s.number("rope_local_base_freq", "rope.freq_base_swa")
	s.pattern()
}

// pattern reads which layers have a window: a truth value for each layer, or every how many layers
// one has none.
func (s *settings) pattern() {
	const key = "attention.sliding_window_pattern"
	v := s.file.metadata[s.arch+"."+key]
	if v.array == nil || v.array.element != boolValue {
		s.sizeIfAny("sliding_window_pattern", key)
		return
	}
	s.read[s.arch+"."+key] = true
	if layers := s.configInt("num_hidden_layers"); int64(v.array.count) != layers {
		s.fail("%s.%s is %v; it must have one value for each of the %d layers", s.arch, key, v,
			layers)
		return
	}
	types := make([]any, v.array.count)
	for i := range types {
		types[i] = "full_attention"
		if window, _ := v.At(i).Bool(); window {
			types[i] = "sliding_attention"
		}
	}
	s.set("layer_types", key, types)
}

func phi3Settings(s *settings) {
	llamaSettings(s)
	s.window()
}

// window reads how many tokens the window of attention has; 0 is none.
func (s *settings) window() {
	if n, ok := s.whole("attention.sliding_window"); ok && n > 0 {
		s.set("sliding_window", "attention.sliding_window", json.Number(strconv.FormatInt(n, 10)))
	}
}

// normSettings reads sizes under the names that config.json has for them in architectures that are
// older than Llama.
func normSettings(s *settings, layers, width, heads, feedForward string) {
	s.size(layers, "block_count")
	s.size(width, "embedding_length")
	s.size(heads, "attention.head_count")
	s.size(feedForward, "feed_forward_length")
	s.epsilon()
	s.truth("attention.causal", true)
	if s.arch == "falcon" || s.arch == "starcoder" {
		return // heads may share keys
	}
	if n, ok := s.whole("attention.head_count_kv"); ok && n != s.configInt(heads) {
		s.fail("%s.attention.head_count_kv is %d; it must be %s.attention.head_count, %d", s.arch,
			n, s.arch, s.configInt(heads))
	}
}

func gpt2Settings(s *settings) {
	normSettings(s, "n_layer", "n_embd", "n_head", "n_inner")
	s.size("n_positions", "context_length")
}

// starCoderSettings reads GPTBigCode, whose heads share one key and value, or none.
func starCoderSettings(s *settings) {
	gpt2Settings(s)
	groups, ok := s.whole("attention.head_count_kv")
	s.config["multi_query"] = ok && groups == 1
	if all := s.configInt("n_head"); ok && groups != 1 && groups != all {
		s.fail("starcoder.attention.head_count_kv is %d; it must be 1 or %d", groups, all)
	}
}

func bloomSettings(s *settings) {
	normSettings(s, "n_layer", "hidden_size", "n_head", "n_inner")
	s.whole("context_length") // how long the texts of the training were; positions have no end
	s.only("attention.max_alibi_bias", "8")
}

// falconSettings reads Falcon. The kind of its blocks follows from the tensors and from the number
// of heads with keys and values.
func falconSettings(s *settings) {
	normSettings(s, "num_hidden_layers", "hidden_size", "num_attention_heads", "ffn_hidden_size")
	s.size("max_position_embeddings", "context_length")
	s.number("rope_theta", "rope.freq_base")
	s.turned()
	groups, ok := s.whole("attention.head_count_kv")
	if !ok {
		groups = s.configInt("num_attention_heads")
	}
	s.config["alibi"], s.config["bias"], s.config["parallel_attn"] = false, false, true
	s.config["multi_query"] = groups == 1
	s.config["new_decoder_architecture"] = groups != 1
	if groups == 1 {
		return
	}
	s.set("num_kv_heads", "attention.head_count_kv", json.Number(strconv.FormatInt(groups, 10)))
	norms := "1"
	if s.file.Has("blk.0.attn_norm_2.weight") {
		norms, s.tensors = "2", twoNorms
	}
	s.config["num_ln_in_parallel_attn"] = json.Number(norms)
}

// bertSettings reads what BERT and ModernBERT have in common, and the token types.
func bertSettings(s *settings) {
	encoderSettings(s)
	s.countRows("type_vocab_size", "token_types.weight")
}

func encoderSettings(s *settings) {
	s.size("num_hidden_layers", "block_count")
	s.size("hidden_size", "embedding_length")
	s.size("num_attention_heads", "attention.head_count")
	s.size("intermediate_size", "feed_forward_length")
	s.size("max_position_embeddings", "context_length")
	s.epsilon()
	s.truth("attention.causal", false)
}

func modernBERTSettings(s *settings) {
	encoderSettings(s)
	s.size("local_attention", "attention.sliding_window")
	s.sizeIfAny("global_attn_every_n_layers", "attention.sliding_window_pattern")
	s.number("global_rope_theta", "rope.freq_base")
	s.number("local_rope_theta", "rope.freq_base_swa")
	s.scaling()
}

// windowSettings reads an architecture whose files have a window, and the layers that have it, if
// any layer has one.
func windowSettings(s *settings) {
	llamaSettings(s)
	s.config["sliding_window"] = nil
	s.window()
	s.pattern()
}

// phi2Settings reads Phi-2, whose query, key and value may be in one tensor.
func phi2Settings(s *settings) {
	llamaSettings(s)
	if s.file.Has("blk.0.attn_qkv.weight") {
		s.tensors = slices.Concat(fusedTensors, without(s.tensors, "query", "key", "value"))
	}
}

// The ends of the names that the weights of Apertus's activation get, and their keys.
const (
	positiveAlpha = "xielu.alpha_p"
	negativeAlpha = "xielu.alpha_n"
)

// apertusSettings reads Apertus. The activation of each layer has two weights and two numbers that
// are the same in all models, in the metadata.
func apertusSettings(s *settings) {
	llamaSettings(s)
	s.scalars = map[string]float32{}
	for _, key := range []string{positiveAlpha, negativeAlpha} {
		for l, x := range s.eachLayer(key) {
			s.scalars["blk."+strconv.Itoa(l)+"."+key] = float32(x)
		}
	}
	same := func(key string, want float64) {
		for l, x := range s.eachLayer(key) {
			if math.Abs(x-want) > 1e-8 { // it was in bfloat16
				s.fail("%s is %v in layer %d; only %v is supported", key, x, l, want)
			}
		}
	}
	same("xielu.beta", 0.5)
	same("xielu.eps", -1e-6)
}

// eachLayer returns a key's number for each layer. A single number counts for all layers.
func (s *settings) eachLayer(key string) []float64 {
	layers := int(min(s.configInt("num_hidden_layers"), int64(spec.MaxSize("Layers"))))
	v, there := s.file.metadata[key]
	if !there {
		s.fail("key %s is missing; it must be a number for each of the %d layers", key, layers)
		return nil
	}
	numbers := make([]float64, layers)
	count, isArray := v.Len()
	for l := range numbers {
		at := v
		if isArray && count == layers {
			at = v.At(l)
		}
		x, ok := at.Float()
		if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
			s.wrong(key, v, "a finite number for each of the "+strconv.Itoa(layers)+" layers")
			return nil
		}
		numbers[l] = x
	}
	return numbers
}

func stableLMSettings(s *settings) {
	llamaSettings(s)
	s.config["use_parallel_residual"] = !s.file.Has("blk.0.ffn_norm.weight")
}

func olmoSettings(s *settings) {
	llamaSettings(s)
	s.number("clip_qkv", "attention.clamp_kqv")
}

// olmo2Settings reads OLMo 2, and OLMo 3, which has windows and scales no position there.
func olmo2Settings(s *settings) {
	if !s.has("attention.sliding_window") {
		llamaSettings(s)
		return
	}
	windowSettings(s)
	s.config["architectures"], s.config["model_type"] = []any{"Olmo3ForCausalLM"}, "olmo3"
}

func graniteSettings(s *settings) {
	llamaSettings(s)
	s.required("attention_multiplier", "attention.scale")
	s.required("logits_scaling", "logit_scale")
	s.number("embedding_multiplier", "embedding_scale")
	s.number("residual_multiplier", "residual_scale")
	s.only("expert_shared_feed_forward_length", "0")
}

func cohereSettings(s *settings) {
	llamaSettings(s)
	s.required("logit_scale", "logit_scale")
	if s.arch == "cohere2" {
		s.size("sliding_window", "attention.sliding_window")
		s.pattern()
	}
}

// mistral3Settings reads Ministral 3, whose queries grow with their position, and Mistral 3.
func mistral3Settings(s *settings) {
	wideSettings(s)
	object, _ := s.config["rope_scaling"].(map[string]any)
	scale := func(key, of string) {
		if x, ok := s.decimal(of); ok && object != nil {
			s.setIn(object, key, of, x)
		} else if ok {
			s.fail("%s.%s is there without %s.rope.scaling.type, by which it counts", s.arch, of,
				s.arch)
		}
	}
	scale("mscale_all_dim", "rope.scaling.yarn_log_multiplier")
	scale("llama_4_scaling_beta", "attention.temperature_scale")
	if object["mscale_all_dim"] != nil {
		object["mscale"] = json.Number("1")
	}
}

// gptNeoXSettings reads GPT-NeoX and Pythia.
func gptNeoXSettings(s *settings) {
	normSettings(s, "num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")
	s.size("max_position_embeddings", "context_length")
	s.number("rotary_emb_base", "rope.freq_base")
	name, v, ok := s.value("use_parallel_residual")
	if parallel, isBool := v.Bool(); isBool {
		s.config["use_parallel_residual"] = parallel
	} else if ok {
		s.wrong(name, v, "true or false")
	}
	s.turned()
}

// mptSettings reads MPT, whose positions are slopes. The text of the training had context_length
// tokens, and positions have no end.
func mptSettings(s *settings) {
	normSettings(s, "n_layers", "d_model", "n_heads", "intermediate_size")
	if ff, d := s.configInt("intermediate_size"), s.configInt("d_model"); ff != 4*d {
		s.fail("mpt.feed_forward_length is %d; it must be 4 times mpt.embedding_length, %d", ff, d)
	}
	delete(s.config, "intermediate_size")
	s.whole("context_length")
	s.only("attention.max_alibi_bias", "8")
	attention := map[string]any{}
	if x, ok := s.decimal("attention.clamp_kqv"); ok {
		s.setIn(attention, "clip_qkv", "attention.clamp_kqv", x)
	}
	s.config["attn_config"] = attention
}
