package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(granite) }

// granite is Granite: Llama with factors for embeddings, scores, residual and logits.
var granite = &Family{
	Name:          "granite",
	Architectures: []string{"GraniteForCausalLM", "GraniteModel"},
	Prefixes:      []string{"model.", ""},
	Buffers:       []string{".rotary_emb.inv_freq"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s, err := llamaSpec(c, llamaLike{name: "granite"})
		if err != nil {
			return nil, err
		}
		s.ProjectionBias, s.MLPBias = c.Bool("attention_bias", false), c.Bool("mlp_bias", false)
		s.OutputBias = s.ProjectionBias
		s.EmbeddingScale = c.Above(0, spec.MaxScale, "embedding_multiplier", 1)
		s.ScoreScale = c.Above(0, spec.MaxScale, "attention_multiplier", 1)
		s.ResidualScale = c.Above(0, spec.MaxScale, "residual_multiplier", 1)
		s.LogitScale = 1 / c.Above(0, spec.MaxScale, "logits_scaling", 1)
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: llamaWeights,
}
