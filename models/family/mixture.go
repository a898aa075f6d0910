package family

import (
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() {
	Register(mixtral)
	Register(olmoe)
}

// mixtral is Mixtral: Mistral with experts.
var mixtral = namedAsLlama(Family{
	Name:          "mixtral",
	Architectures: []string{"MixtralForCausalLM", "MixtralModel"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "mixtral", groups: 8, epsilon: 1e-5})
		window := slidingWindow(c, 0)
		s.Windows = windows(s.Layers, window, sameInAll(c, s.Layers, window))
		s.Mixture = mixture(c, "num_local_experts", "num_experts")
		s.Mixture.Width, s.Mixture.Renormalize = s.FeedForward, true
		rotate(c, s, 1000000, 0)
		return s, nil
	},
	Weights: slices.Concat(llamaWeights, stackedExperts, []Weight{
		{"blocks.%d.router.weight", "layers.%d.block_sparse_moe.gate.weight", Transposed},
		{
			"blocks.%d.experts.%d.gate.weight",
			"layers.%d.block_sparse_moe.experts.%d.w1.weight", Transposed,
		},
		{
			"blocks.%d.experts.%d.up.weight",
			"layers.%d.block_sparse_moe.experts.%d.w3.weight", Transposed,
		},
		{
			"blocks.%d.experts.%d.down.weight",
			"layers.%d.block_sparse_moe.experts.%d.w2.weight", Transposed,
		},
	}),
})

// olmoe is OLMoE: Llama with experts and norms of all queries and all keys.
var olmoe = namedAsLlama(Family{
	Name:          "olmoe",
	Architectures: []string{"OlmoeForCausalLM", "OlmoeModel"},
	Padding:       []int{1},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "olmoe", epsilon: 1e-5})
		s.QueryKeyNorm, s.JointQueryKeyNorm = true, true
		attentionBiases(c, s, false)
		c.AllowNull("clip_qkv")
		if c.Above(0, spec.MaxScale, "clip_qkv", 0) > 0 {
			c.fail("clip_qkv limits queries and keys after their norms, which is not supported")
		}
		s.Mixture = mixture(c, "num_experts", "num_local_experts")
		s.Mixture.Width, s.Mixture.Renormalize = s.FeedForward, c.Bool("norm_topk_prob", false)
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: slices.Concat(llamaWeights, expertWeights),
})

// mixture reads how many experts there are, under one of the keys, and how many a token passes.
func mixture(c *Config, experts ...string) *spec.Mixture {
	return &spec.Mixture{
		Experts: c.Size("Experts", experts...),
		Chosen:  c.Size("Chosen", "num_experts_per_tok"),
	}
}

// stackedExperts are the tensors of all experts together, as transformers 5 has them in memory.
var stackedExperts = []Weight{
	{"blocks.%d.router.weight", "layers.%d.mlp.gate.weight", Transposed},
	{"blocks.%d.experts.%d.gate.weight", "layers.%d.mlp.experts.gate_up_proj[%d]", GateRows},
	{"blocks.%d.experts.%d.up.weight", "layers.%d.mlp.experts.gate_up_proj[%d]", UpRows},
	{"blocks.%d.experts.%d.down.weight", "layers.%d.mlp.experts.down_proj[%d]", Transposed},
}

// expertWeights are the tensors of experts, each on its own or all together.
var expertWeights = slices.Concat(stackedExperts, []Weight{
	{
		"blocks.%d.experts.%d.gate.weight", "layers.%d.mlp.experts.%d.gate_proj.weight",
		Transposed,
	},
	{"blocks.%d.experts.%d.up.weight", "layers.%d.mlp.experts.%d.up_proj.weight", Transposed},
	{
		"blocks.%d.experts.%d.down.weight", "layers.%d.mlp.experts.%d.down_proj.weight",
		Transposed,
	},
})
