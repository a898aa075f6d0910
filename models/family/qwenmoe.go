package family

import (
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() {
	Register(qwen2moe)
	Register(qwen3moe)
}

// qwen2moe is Qwen1.5-MoE and Qwen2-MoE: Qwen2 with experts, one of which every token passes. The
// lower layers may have a window, one of two.
var qwen2moe = namedAsLlama(Family{
	Name:          "qwen2_moe",
	Architectures: []string{"Qwen2MoeForCausalLM", "Qwen2MoeModel"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "qwen2_moe", groups: 16})
		s.ProjectionBias = c.Bool("qkv_bias", true)
		s.Windows = qwenWindows(c, s.Layers, func(l, most int) bool { return l%2 == 0 && l < most })
		readMixture(c, s)
		s.Mixture.Shared = c.Size("SharedWidth", "shared_expert_intermediate_size")
		s.Mixture.SharedGate = true
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: slices.Concat(llamaWeights, expertWeights,
		renamed(sharedExperts, "shared_experts", "shared_expert"), []Weight{
			{"blocks.%d.shared-gate.weight", "layers.%d.mlp.shared_expert_gate.weight", Transposed},
		}),
})

// qwen3moe is Qwen3-MoE: Qwen3 with experts. If there is a window, all layers have it.
var qwen3moe = namedAsLlama(Family{
	Name:          "qwen3_moe",
	Architectures: []string{"Qwen3MoeForCausalLM", "Qwen3MoeModel"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "qwen3_moe", groups: 4})
		s.QueryKeyNorm = true
		attentionBiases(c, s, false)
		window := slidingWindow(c, 4096)
		if !c.Bool("use_sliding_window", false) {
			window = 0
		}
		s.Windows = windows(s.Layers, window, sameInAll(c, s.Layers, window))
		readMixture(c, s)
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: slices.Concat(llamaWeights, expertWeights),
})

// readMixture reads the experts of Qwen, and which layers have them.
func readMixture(c *Config, s *spec.Spec) {
	s.Mixture = mixture(c, "num_experts", "num_local_experts")
	s.Mixture.Width = c.Size("ExpertWidth", "moe_intermediate_size")
	s.Mixture.Renormalize = c.Bool("norm_topk_prob", false)
	step, only := c.AtLeast(1, 1, "decoder_sparse_step"), c.ints("mlp_only_layers")
	for l := range min(max(s.Layers, 0), spec.MaxSize("Layers")) {
		s.Mixture.Dense = append(s.Mixture.Dense, (l+1)%step != 0 || slices.Contains(only, l))
	}
	if !slices.Contains(s.Mixture.Dense, true) {
		s.Mixture.Dense = nil
	}
}
