package gguf

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/headwater-ml/headwater/models/family"
)

// expertTensors are those of Llama with a tensor of all experts in place of each matrix.
var expertTensors = slices.Concat(llamaTensors, []row{
	{"blocks.%d.router.weight", "blk.%d.ffn_gate_inp.weight", family.Transposed},
	{"blocks.%d.experts.%d.gate.weight", "blk.%d.ffn_gate_exps.weight[%d]", family.Transposed},
	{"blocks.%d.experts.%d.up.weight", "blk.%d.ffn_up_exps.weight[%d]", family.Transposed},
	{"blocks.%d.experts.%d.down.weight", "blk.%d.ffn_down_exps.weight[%d]", family.Transposed},
})

// mixtralTensors: files of before April 2024 have each expert in a tensor of its own.
var mixtralTensors = slices.Concat(expertTensors, []row{
	{"blocks.%d.experts.%d.gate.weight", "blk.%d.ffn_gate.%d.weight", family.Transposed},
	{"blocks.%d.experts.%d.up.weight", "blk.%d.ffn_up.%d.weight", family.Transposed},
	{"blocks.%d.experts.%d.down.weight", "blk.%d.ffn_down.%d.weight", family.Transposed},
})

// sharedGate is the end of the name of a row of numbers that has one axis or two.
const sharedGate = ".ffn_gate_inp_shexp.weight"

// sharedTensors: every token passes one more expert.
var sharedTensors = slices.Concat(expertTensors, []row{
	{"blocks.%d.shared.gate.weight", "blk.%d.ffn_gate_shexp.weight", family.Transposed},
	{"blocks.%d.shared.up.weight", "blk.%d.ffn_up_shexp.weight", family.Transposed},
	{"blocks.%d.shared.down.weight", "blk.%d.ffn_down_shexp.weight", family.Transposed},
	{"blocks.%d.shared-gate.weight", "blk.%d" + sharedGate, family.Transposed},
})

// gptOSSTensors: router and experts have biases, and the norm before the feed-forward part has the
// name of one after attention.
var gptOSSTensors = slices.Concat(without(expertTensors, "mlp-norm"), []row{
	{"blocks.%d.mlp-norm.gain", "blk.%d.post_attention_norm.weight", family.AsIs},
	{"blocks.%d.sinks", "blk.%d.attn_sinks.weight", family.AsIs},
	{"blocks.%d.router.bias", "blk.%d.ffn_gate_inp.bias", family.AsIs},
	{"blocks.%d.experts.%d.gate.bias", "blk.%d.ffn_gate_exps.bias[%d]", family.AsIs},
	{"blocks.%d.experts.%d.up.bias", "blk.%d.ffn_up_exps.bias[%d]", family.AsIs},
	{"blocks.%d.experts.%d.down.bias", "blk.%d.ffn_down_exps.bias[%d]", family.AsIs},
})

// expertSettings reads what a mixture of experts has, and no width of a head and no base of the
// rotation that is a default of its family.
func expertSettings(s *settings) {
	s.config["rope_theta"] = json.Number("10000") // of llama.cpp
	wideSettings(s)
}

// weightSettings is expertSettings for a family that may divide the weights of the chosen experts
// by their sum. The file does not say it, and llama.cpp goes by the architecture.
func weightSettings(s *settings) {
	expertSettings(s)
	s.config["norm_topk_prob"] = s.arch == "qwen3moe"
	if s.arch == "qwen3moe" {
		s.size("moe_intermediate_size", "expert_feed_forward_length")
	}
}

// mixtralSettings reads Llama, and Mixtral, which is a file of Llama with experts.
func mixtralSettings(s *settings) {
	if n, _ := s.whole("expert_count"); n == 0 {
		llamaSettings(s)
		return
	}
	s.config["architectures"], s.config["model_type"] = []any{"MixtralForCausalLM"}, "mixtral"
	s.form.experts, s.form.present, s.tensors = "num_local_experts", nil, mixtralTensors
	expertSettings(s)
}

// qwen2MoESettings reads Qwen2-MoE. A file that does not say how wide an expert is has the widths
// that llama.cpp takes.
func qwen2MoESettings(s *settings) {
	weightSettings(s)
	width := s.configInt("intermediate_size")
	each := width / max(1, s.configInt("num_experts_per_tok"))
	s.config["moe_intermediate_size"] = json.Number(strconv.FormatInt(each, 10))
	s.sizeIfAny("moe_intermediate_size", "expert_feed_forward_length")
	s.config["shared_expert_intermediate_size"] = s.config["intermediate_size"]
	s.sizeIfAny("shared_expert_intermediate_size", "expert_shared_feed_forward_length")
}

// gptOSSSettings reads GPT-OSS. That the ramp of YaRN has no whole ends is in no file; llama.cpp
// rounds them, and the published models were trained without.
func gptOSSSettings(s *settings) {
	expertSettings(s)
	s.size("intermediate_size", "expert_feed_forward_length")
	s.required("sliding_window", "attention.sliding_window")
	if yarn, _ := s.config["rope_scaling"].(map[string]any); yarn["rope_type"] == "yarn" {
		yarn["truncate"] = false
	}
}
