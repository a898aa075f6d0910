package family

import (
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() {
	Register(granite)
	Register(graniteMoE)
}

// granite is Granite: Llama with factors for embeddings, scores, residual and logits.
var granite = &Family{
	Name:          "granite",
	Architectures: []string{"GraniteForCausalLM", "GraniteModel"},
	Prefixes:      []string{"model.", ""},
	Buffers:       []string{".rotary_emb.inv_freq"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s, err := graniteSpec(c, "granite")
		if err != nil {
			return nil, err
		}
		s.MLPBias = c.Bool("mlp_bias", false)
		return s, nil
	},
	Weights: llamaWeights,
}

// graniteMoE is Granite with experts.
var graniteMoE = &Family{
	Name:          "granitemoe",
	Architectures: []string{"GraniteMoeForCausalLM", "GraniteMoeModel"},
	Prefixes:      []string{"model.", ""},
	Buffers:       []string{".rotary_emb.inv_freq"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s, err := graniteSpec(c, "granitemoe")
		if err != nil {
			return nil, err
		}
		s.Mixture = mixture(c, "num_local_experts")
		s.Mixture.Width, s.Mixture.Renormalize = s.FeedForward, true
		return s, nil
	},
	Weights: slices.Concat(llamaWeights, []Weight{
		{"blocks.%d.router.weight", "layers.%d.block_sparse_moe.router.layer.weight", Transposed},
		{
			"blocks.%d.experts.%d.gate.weight",
			"layers.%d.block_sparse_moe.input_linear.weight[%d]", GateRows,
		},
		{
			"blocks.%d.experts.%d.up.weight",
			"layers.%d.block_sparse_moe.input_linear.weight[%d]", UpRows,
		},
		{
			"blocks.%d.experts.%d.down.weight",
			"layers.%d.block_sparse_moe.output_linear.weight[%d]", Transposed,
		},
	}),
}

// graniteSpec reads what Granite has with experts and without.
func graniteSpec(c *Config, name string) (*spec.Spec, error) {
	s, err := llamaSpec(c, llamaLike{name: name})
	if err != nil {
		return nil, err
	}
	s.ProjectionBias = c.Bool("attention_bias", false)
	s.OutputBias = s.ProjectionBias
	s.EmbeddingScale = c.Above(0, spec.MaxScale, "embedding_multiplier", 1)
	s.ScoreScale = c.Above(0, spec.MaxScale, "attention_multiplier", 1)
	s.ResidualScale = c.Above(0, spec.MaxScale, "residual_multiplier", 1)
	s.LogitScale = 1 / c.Above(0, spec.MaxScale, "logits_scaling", 1)
	rotate(c, s, 10000, 0)
	return s, nil
}
