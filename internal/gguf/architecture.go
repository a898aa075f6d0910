package gguf

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/models/family"
)

// architecture says how the metadata and the tensors of one general.architecture become those of a
// family. What llama.cpp's convert_hf_to_gguf.py does to tensors is undone here.
type architecture struct {
	// class and model are what config.json has under architectures and model_type.
	class, model string
	// settings reads what the metadata says.
	settings func(s *settings)
	// epsilon is the key of config.json for attention.layer_norm_epsilon; empty means that norms
	// have no mean, and their key is rms_norm_eps.
	epsilon string
	// partial is the key of config.json for the part of a head that positions turn; empty means
	// that they turn all of it.
	partial string
	// present is, by key of config.json, the tensor whose presence makes that key true.
	present map[string]string
	// experts is the key of config.json for the number of experts, if there are any.
	experts string
	// tensors are the names and layouts of the tensors.
	tensors []row
	// paired says that the rows of query and key are stored so that the two components that a
	// position turns together are neighbours; see [Weights].
	paired bool
	// gainsPlusOne says that 1 was added to the gains of norms.
	gainsPlusOne bool
	// headless says that the file has no head.
	headless bool
}

// The tensors whose presence tells a setting.
const (
	queryBias  = "blk.0.attn_q.bias"
	outputBias = "blk.0.attn_output.bias"
	upBias     = "blk.0.ffn_up.bias"
	queryNorm  = "blk.0.attn_q_norm.weight"
)

var architectures = map[string]architecture{
	"llama": {
		class: "LlamaForCausalLM", model: "llama", settings: mixtralSettings, tensors: llamaTensors,
		present: map[string]string{"attention_bias": queryBias, "mlp_bias": upBias}, paired: true,
	},
	"qwen2": {
		class: "Qwen2ForCausalLM", model: "qwen2", settings: llamaSettings, tensors: llamaTensors,
	},
	"qwen2vl": {
		class: "Qwen2ForCausalLM", model: "qwen2", settings: llamaSettings, tensors: llamaTensors,
	},
	"qwen3": {
		class: "Qwen3ForCausalLM", model: "qwen3", settings: wideSettings, tensors: llamaTensors,
		present: map[string]string{"attention_bias": queryBias},
	},
	"qwen3vl": {
		class: "Qwen3ForCausalLM", model: "qwen3", settings: wideSettings, tensors: llamaTensors,
		present: map[string]string{"attention_bias": queryBias},
	},
	"qwen3moe": {
		class: "Qwen3MoeForCausalLM", model: "qwen3_moe", settings: weightSettings,
		tensors: expertTensors, experts: "num_experts",
		present: map[string]string{"attention_bias": queryBias},
	},
	"olmoe": {
		class: "OlmoeForCausalLM", model: "olmoe", settings: weightSettings,
		tensors: expertTensors, experts: "num_experts",
	},
	"qwen2moe": {
		class: "Qwen2MoeForCausalLM", model: "qwen2_moe", settings: qwen2MoESettings,
		tensors: sharedTensors, experts: "num_experts",
		present: map[string]string{"qkv_bias": queryBias},
	},
	"granitemoe": {
		class: "GraniteMoeForCausalLM", model: "granitemoe", settings: graniteSettings,
		tensors: expertTensors, experts: "num_local_experts", paired: true,
		present: map[string]string{"attention_bias": queryBias},
	},
	"gpt-oss": {
		class: "GptOssForCausalLM", model: "gpt_oss", settings: gptOSSSettings,
		tensors: gptOSSTensors, experts: "num_local_experts",
		present: map[string]string{"attention_bias": queryBias},
	},
	"gemma": {
		class: "GemmaForCausalLM", model: "gemma", settings: wideSettings, tensors: llamaTensors,
		gainsPlusOne: true,
	},
	"gemma2": {
		class: "Gemma2ForCausalLM", model: "gemma2", settings: gemma2Settings,
		tensors: gemmaTensors, gainsPlusOne: true,
	},
	"gemma3": {
		class: "Gemma3ForCausalLM", model: "gemma3_text", settings: gemma3Settings,
		tensors: gemmaTensors, gainsPlusOne: true,
	},
	"phi2": {
		class: "PhiForCausalLM", model: "phi", settings: phi2Settings, epsilon: "layer_norm_eps",
		partial: "partial_rotary_factor", tensors: phi2Tensors,
	},
	"phi3": {
		class: "Phi3ForCausalLM", model: "phi3", settings: phi3Settings,
		partial: "partial_rotary_factor", tensors: phi3Tensors,
	},
	"stablelm": {
		class: "StableLmForCausalLM", model: "stablelm", settings: stableLMSettings,
		epsilon: "layer_norm_eps", partial: "partial_rotary_factor", tensors: llamaTensors,
		present: map[string]string{"use_qkv_bias": queryBias, "qk_layernorm": queryNorm},
	},
	"starcoder2": {
		class: "Starcoder2ForCausalLM", model: "starcoder2", settings: llamaSettings,
		epsilon: "norm_epsilon", tensors: llamaTensors,
		present: map[string]string{"use_bias": queryBias},
	},
	"olmo": {
		class: "OlmoForCausalLM", model: "olmo", settings: olmoSettings, tensors: llamaTensors,
		epsilon: "rms_norm_eps", paired: true,
	},
	"olmo2": {
		class: "Olmo2ForCausalLM", model: "olmo2", settings: olmo2Settings, tensors: gemmaTensors,
	},
	"granite": {
		class: "GraniteForCausalLM", model: "granite", settings: graniteSettings,
		tensors: llamaTensors, paired: true,
		present: map[string]string{"attention_bias": queryBias, "mlp_bias": upBias},
	},
	"smollm3": {
		class: "SmolLM3ForCausalLM", model: "smollm3", settings: llamaSettings,
		tensors: llamaTensors, paired: true,
		present: map[string]string{"attention_bias": queryBias, "mlp_bias": upBias},
	},
	"command-r": {
		class: "CohereForCausalLM", model: "cohere", settings: cohereSettings,
		epsilon: "layer_norm_eps", tensors: llamaTensors,
		present: map[string]string{"attention_bias": queryBias, "use_qk_norm": queryNorm},
	},
	"cohere2": {
		class: "Cohere2ForCausalLM", model: "cohere2", settings: cohereSettings,
		epsilon: "layer_norm_eps", tensors: llamaTensors,
		present: map[string]string{"attention_bias": queryBias},
	},
	"nemotron": {
		class: "NemotronForCausalLM", model: "nemotron", settings: llamaSettings,
		epsilon: "norm_eps", partial: "partial_rotary_factor", tensors: llamaTensors,
		present:      map[string]string{"attention_bias": queryBias, "mlp_bias": upBias},
		gainsPlusOne: true,
	},
	"glm4": {
		class: "Glm4ForCausalLM", model: "glm4", settings: wideSettings, tensors: glm4Tensors,
		partial: "partial_rotary_factor", present: map[string]string{"attention_bias": queryBias},
	},
	"exaone4": {
		class: "Exaone4ForCausalLM", model: "exaone4", settings: windowSettings,
		tensors: gemmaTensors,
	},
	"seed_oss": {
		class: "SeedOssForCausalLM", model: "seed_oss", settings: wideSettings,
		tensors: seedTensors, present: map[string]string{
			"attention_bias": queryBias, "attention_out_bias": outputBias, "mlp_bias": upBias,
		},
	},
	"mistral3": {
		class: "Ministral3ForCausalLM", model: "ministral3", settings: mistral3Settings,
		tensors: llamaTensors, paired: true,
	},
	"gptneox": {
		class: "GPTNeoXForCausalLM", model: "gpt_neox", settings: gptNeoXSettings,
		epsilon: "layer_norm_eps", partial: "rotary_pct",
		tensors: slices.Concat(fusedTensors, bodyTensors),
	},
	"mpt": {
		class: "MptForCausalLM", model: "mpt", settings: mptSettings,
		epsilon: "layer_norm_epsilon", tensors: slices.Concat(fusedTensors, bodyTensors),
	},
	"apertus": {
		class: "ApertusForCausalLM", model: "apertus", settings: apertusSettings,
		tensors: apertusTensors,
	},
	"starcoder": {
		class: "GPTBigCodeForCausalLM", model: "gpt_bigcode", settings: starCoderSettings,
		epsilon: "layer_norm_epsilon", tensors: slices.Concat(fusedTensors, bodyTensors),
	},
	"gpt2": {
		class: "GPT2LMHeadModel", model: "gpt2", settings: gpt2Settings,
		epsilon: "layer_norm_epsilon", tensors: slices.Concat(fusedTensors, bodyTensors),
	},
	"falcon": {
		class: "FalconForCausalLM", model: "falcon", settings: falconSettings,
		epsilon: "layer_norm_epsilon", tensors: falconTensors,
	},
	"bloom": {
		class: "BloomForCausalLM", model: "bloom", settings: bloomSettings,
		epsilon: "layer_norm_epsilon", tensors: slices.Concat(fusedTensors, bodyTensors),
	},
	"t5": {
		class: "T5ForConditionalGeneration", model: "t5", settings: t5Settings, tensors: t5Tensors,
	},
	"t5encoder": {
		class: "T5EncoderModel", model: "t5", settings: t5Settings,
		tensors: encoderTensors(t5Tensors), headless: true,
	},
	"bert": {
		class: "BertModel", model: "bert", settings: bertSettings, epsilon: "layer_norm_eps",
		tensors: bertTensors, headless: true,
	},
	"modern-bert": {
		class: "ModernBertModel", model: "modernbert", settings: modernBERTSettings,
		epsilon: "norm_eps", tensors: modernTensors, headless: true,
	},
}

// Architectures returns the values of general.architecture that are supported, sorted.
func Architectures() []string { return slices.Sorted(maps.Keys(architectures)) }

// row is the tensor that a parameter comes from, with %d for the layer, as [family.Weight] does.
type row struct {
	param, tensor string
	layout        family.Layout
}

// bodyTensors are the tensors that mean the same in every architecture that has them.
var bodyTensors = []row{
	{"embedding", "token_embd.weight", family.AsIs},
	{"embedding-norm.gain", "token_embd_norm.weight", family.AsIs},
	{"embedding-norm.bias", "token_embd_norm.bias", family.AsIs},
	{"positions", "position_embd.weight", family.AsIs},
	{"blocks.%d.attention-norm.gain", "blk.%d.attn_norm.weight", family.AsIs},
	{"blocks.%d.attention-norm.bias", "blk.%d.attn_norm.bias", family.AsIs},
	{"blocks.%d.output.weight", "blk.%d.attn_output.weight", family.Transposed},
	{"blocks.%d.output.bias", "blk.%d.attn_output.bias", family.AsIs},
	{"blocks.%d.mlp-norm.gain", "blk.%d.ffn_norm.weight", family.AsIs},
	{"blocks.%d.mlp-norm.bias", "blk.%d.ffn_norm.bias", family.AsIs},
	{"blocks.%d.up.weight", "blk.%d.ffn_up.weight", family.Transposed},
	{"blocks.%d.up.bias", "blk.%d.ffn_up.bias", family.AsIs},
	{"blocks.%d.down.weight", "blk.%d.ffn_down.weight", family.Transposed},
	{"blocks.%d.down.bias", "blk.%d.ffn_down.bias", family.AsIs},
	{"final-norm.gain", "output_norm.weight", family.AsIs},
	{"final-norm.bias", "output_norm.bias", family.AsIs},
	{"head", "output.weight", family.AsIs},
}

// separateTensors are query, key and value in tensors of their own.
var separateTensors = []row{
	{"blocks.%d.query.weight", "blk.%d.attn_q.weight", family.Transposed},
	{"blocks.%d.query.bias", "blk.%d.attn_q.bias", family.AsIs},
	{"blocks.%d.key.weight", "blk.%d.attn_k.weight", family.Transposed},
	{"blocks.%d.key.bias", "blk.%d.attn_k.bias", family.AsIs},
	{"blocks.%d.value.weight", "blk.%d.attn_v.weight", family.Transposed},
	{"blocks.%d.value.bias", "blk.%d.attn_v.bias", family.AsIs},
}

// fusedTensors are query, key and value in one tensor, one after the other, whatever their order
// was before the conversion.
var fusedTensors = []row{
	{"blocks.%d.query.weight", "blk.%d.attn_qkv.weight", family.QueryRows},
	{"blocks.%d.query.bias", "blk.%d.attn_qkv.bias", family.QueryRows},
	{"blocks.%d.key.weight", "blk.%d.attn_qkv.weight", family.KeyRows},
	{"blocks.%d.key.bias", "blk.%d.attn_qkv.bias", family.KeyRows},
	{"blocks.%d.value.weight", "blk.%d.attn_qkv.weight", family.ValueRows},
	{"blocks.%d.value.bias", "blk.%d.attn_qkv.bias", family.ValueRows},
}

var llamaTensors = slices.Concat(separateTensors, bodyTensors, []row{
	{"blocks.%d.query-norm.gain", "blk.%d.attn_q_norm.weight", family.AsIs},
	{"blocks.%d.query-norm.%d.gain", "blk.%d.attn_q_norm.weight[%d]", family.AsIs},
	{"blocks.%d.key-norm.gain", "blk.%d.attn_k_norm.weight", family.AsIs},
	{"blocks.%d.key-norm.%d.gain", "blk.%d.attn_k_norm.weight[%d]", family.AsIs},
	{"blocks.%d.gate.weight", "blk.%d.ffn_gate.weight", family.Transposed},
	{"blocks.%d.gate.bias", "blk.%d.ffn_gate.bias", family.AsIs},
})

var gemmaTensors = slices.Concat(llamaTensors, []row{
	{"blocks.%d.attention-after-norm.gain", "blk.%d.post_attention_norm.weight", family.AsIs},
	{"blocks.%d.mlp-after-norm.gain", "blk.%d.post_ffw_norm.weight", family.AsIs},
})

// gateAndUp are both in one tensor.
var gateAndUp = []row{
	{"blocks.%d.gate.weight", "blk.%d.ffn_up.weight", family.GateRows},
	{"blocks.%d.up.weight", "blk.%d.ffn_up.weight", family.UpRows},
}

var phi3Tensors = slices.Concat(fusedTensors, without(bodyTensors, "up.weight"), gateAndUp)

// modernTensors: the norm of the embedding and all others have no bias.
var modernTensors = without(phi3Tensors, "head")

var glm4Tensors = slices.Concat(without(gemmaTensors, "up.weight", "gate"), gateAndUp)

// phi2Tensors: the head has a bias.
var phi2Tensors = append(slices.Clone(llamaTensors), row{"head-bias", "output.bias", family.AsIs})

// apertusTensors: the weights of the activation are in the metadata; see [apertusSettings].
var apertusTensors = append(slices.Clone(llamaTensors),
	row{"blocks.%d.activation.positive", "blk.%d." + positiveAlpha, family.AsIs},
	row{"blocks.%d.activation.negative", "blk.%d." + negativeAlpha, family.AsIs},
)

// seedTensors: the norm before the feed-forward part has the name of one after attention.
var seedTensors = append(without(llamaTensors, "mlp-norm"), row{
	"blocks.%d.mlp-norm.gain", "blk.%d.post_attention_norm.weight", family.AsIs,
})

// falconTensors: the models with two norms in a block have the norm before attention as
// attn_norm_2, and the one before the feed-forward part as attn_norm.
var falconTensors = slices.Concat(fusedTensors, without(bodyTensors, "mlp-norm"))

var twoNorms = slices.Concat(fusedTensors, without(bodyTensors, "mlp-norm", "attention-norm"),
	[]row{
		{"blocks.%d.attention-norm.gain", "blk.%d.attn_norm_2.weight", family.AsIs},
		{"blocks.%d.attention-norm.bias", "blk.%d.attn_norm_2.bias", family.AsIs},
		{"blocks.%d.mlp-norm.gain", "blk.%d.attn_norm.weight", family.AsIs},
		{"blocks.%d.mlp-norm.bias", "blk.%d.attn_norm.bias", family.AsIs},
	})

// bertTensors: norms come after the residual.
var bertTensors = slices.Concat(separateTensors,
	without(bodyTensors, "mlp-norm", "attention-norm", "final-norm", "head"), []row{
		{"token-types", "token_types.weight", family.AsIs},
		{"blocks.%d.attention-norm.gain", "blk.%d.attn_output_norm.weight", family.AsIs},
		{"blocks.%d.attention-norm.bias", "blk.%d.attn_output_norm.bias", family.AsIs},
		{"blocks.%d.mlp-norm.gain", "blk.%d.layer_output_norm.weight", family.AsIs},
		{"blocks.%d.mlp-norm.bias", "blk.%d.layer_output_norm.bias", family.AsIs},
	})

// without returns a table without the parameters whose names have one of the parts.
func without(table []row, parts ...string) []row {
	return slices.DeleteFunc(slices.Clone(table), func(r row) bool {
		has := func(part string) bool { return strings.Contains(r.param, part) }
		return slices.ContainsFunc(parts, has)
	})
}

// llamaSettings reads what llama.cpp writes for Llama and similar architectures.
func llamaSettings(s *settings) {
	s.size("num_hidden_layers", "block_count")
	s.size("hidden_size", "embedding_length")
	s.size("intermediate_size", "feed_forward_length")
	s.size("num_attention_heads", "attention.head_count")
	s.config["num_key_value_heads"] = nil // as many as heads, whatever the default of the family
	s.sizeIfAny("num_key_value_heads", "attention.head_count_kv")
	s.size("max_position_embeddings", "context_length")
	s.epsilon()
	s.number("rope_theta", "rope.freq_base")
	s.sizeIfAny("head_dim", "attention.key_length")
	if n, ok := s.whole("attention.value_length"); ok {
		s.same("attention.value_length", n, s.headWidth())
	}
	for key, tensor := range s.form.present {
		s.config[key] = s.file.Has(tensor)
	}
	s.truth("attention.causal", true)
	if s.form.experts != "" {
		s.size(s.form.experts, "expert_count")
		s.size("num_experts_per_tok", "expert_used_count")
	} else {
		s.only("expert_count", "0")
		s.only("expert_used_count", "0")
	}
	s.turned()
	s.scaling()
}

// epsilon reads what norms add to the variance.
func (s *settings) epsilon() {
	if key := s.form.epsilon; key != "" {
		s.required(key, "attention.layer_norm_epsilon")
		return
	}
	s.required("rms_norm_eps", "attention.layer_norm_rms_epsilon")
}

// wideSettings is llamaSettings for a family whose heads have a default width.
func wideSettings(s *settings) {
	llamaSettings(s)
	if s.config["head_dim"] == nil {
		s.config["head_dim"] = json.Number(strconv.FormatInt(s.headWidth(), 10))
	}
}

// configInt returns a whole number of config.json, or 0 if it is missing.
func (s *settings) configInt(key string) int64 {
	n, _ := s.config[key].(json.Number)
	i, _ := n.Int64()
	return i
}

// headWidth returns the width of a head.
func (s *settings) headWidth() int64 {
	if w := s.configInt("head_dim"); w > 0 {
		return w
	}
	return s.configInt("hidden_size") / max(1, s.configInt("num_attention_heads"))
}

// same sets an error if two numbers that must be equal differ.
func (s *settings) same(key string, got, want int64) {
	if got != want {
		s.fail("%s.%s is %d; it must be the width of a head, %d: others are not supported", s.arch,
			key, got, want)
	}
}

// turned reads how many components of a head a position turns: all of them, or a part.
func (s *settings) turned() {
	n, ok := s.whole("rope.dimension_count")
	width := s.headWidth()
	switch {
	case s.form.partial != "" && width > 0:
		if !ok {
			n = width
		}
		s.set(s.form.partial, "rope.dimension_count",
			json.Number(strconv.FormatFloat(float64(n)/float64(width), 'g', -1, 64)))
	case ok:
		s.same("rope.dimension_count", n, width)
	}
}

// ropeFactors is a tensor with a number for each pair of components, by which its frequency is
// divided (Llama 3.1).
const ropeFactors = "rope_freqs.weight"

// scaling reads how a long context changes the rotation.
func (s *settings) scaling() {
	kind := s.text("rope.scaling.type")
	if x, ok := s.decimal("rope.scale_linear"); ok { // of older files
		old := map[string]any{"rope_type": "linear"}
		s.setIn(old, "factor", "rope.scale_linear", x)
		s.set("rope_scaling", "rope.scale_linear", old)
	}
	object := map[string]any{}
	if x, ok := s.decimal("rope.scaling.factor"); ok {
		s.setIn(object, "factor", "rope.scaling.factor", x)
		if kind == "" { // as llama.cpp reads it
			kind = "linear"
		}
	}
	const original = "rope.scaling.original_context_length"
	if n, ok := s.whole(original); ok {
		s.setIn(object, "original_max_position_embeddings", original,
			json.Number(strconv.FormatInt(n, 10)))
	}
	for _, key := range []string{"beta_fast", "beta_slow"} {
		if x, ok := s.decimal("rope.scaling.yarn_" + key); ok {
			s.setIn(object, key, "rope.scaling.yarn_"+key, x)
		}
	}
	// Of Phi-3 it is the factor itself, of YaRN one by which the usual factor is multiplied.
	if x, ok := s.decimal("rope.scaling.attn_factor"); ok {
		switch {
		case s.arch == "phi3":
			s.setIn(object, "attention_factor", "rope.scaling.attn_factor", x)
		case x != "1":
			s.fail("%s.rope.scaling.attn_factor is %s, which changes the arithmetic and is not "+
				"supported; only 1 is", s.arch, x)
		}
	}
	s.truth("rope.scaling.finetuned", true)
	switch kind {
	case "", "none":
	case "linear", "yarn":
		object["rope_type"] = kind
		s.set("rope_scaling", "rope.scaling.type", object)
	case "longrope":
		if s.arch != "phi3" {
			s.fail("%s.rope.scaling.type is %q, which is supported for phi3 only", s.arch, kind)
		}
	default:
		s.fail("%s.rope.scaling.type is %s; supported are linear, longrope, none, yarn", s.arch,
			quoted(kind))
	}
	if s.file.Has(ropeFactors) {
		s.freqs(ropeFactors)
	}
	if s.arch == "phi3" {
		s.longFactors(object)
	}
}

// freqs reads the factors of frequencies. They hold for every length of text, which config.json can
// say with two equal lists.
func (s *settings) freqs(tensor string) {
	if _, twice := s.config["rope_scaling"]; twice {
		s.fail("tensor %s and %s.rope.scaling.type are both there; one of the two would be ignored",
			tensor, s.arch)
	}
	list := s.floats(tensor)
	s.origin["short_factor"], s.origin["long_factor"] = tensor, tensor
	s.config["rope_scaling"] = map[string]any{
		"rope_type": "longrope", "short_factor": list, "long_factor": list,
		"attention_factor":                 json.Number("1"),
		"original_max_position_embeddings": s.config["max_position_embeddings"],
	}
}

// The tensors with the factors of Phi-3, for texts up to the original context and for longer ones.
const (
	shortFactors = "rope_factors_short.weight"
	longFactors  = "rope_factors_long.weight"
)

// longFactors reads the factors of Phi-3.
func (s *settings) longFactors(object map[string]any) {
	n, ok := object["original_max_position_embeddings"]
	if ok {
		s.set("original_max_position_embeddings", "rope.scaling.original_context_length", n)
	}
	if !s.file.Has(longFactors) && !s.file.Has(shortFactors) {
		return
	}
	object["rope_type"] = "longrope"
	object["short_factor"], object["long_factor"] = s.floats(shortFactors), s.floats(longFactors)
	s.origin["short_factor"], s.origin["long_factor"] = shortFactors, longFactors
	s.config["rope_scaling"] = object
}
