package family

import (
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() {
	Register(granite)
	Register(graniteMoE)
	Register(graniteMoeHybrid)
}

// granite is Granite: Llama with factors for embeddings, scores, residual and logits.
var granite = namedAsLlama(Family{
	Name:          "granite",
	Architectures: []string{"GraniteForCausalLM", "GraniteModel"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := graniteSpec(c, llamaLike{name: "granite"})
		s.MLPBias = c.Bool("mlp_bias", false)
		return s, nil
	},
	Weights: llamaWeights,
})

// graniteMoE is Granite with experts.
var graniteMoE = namedAsLlama(Family{
	Name:          "granitemoe",
	Architectures: []string{"GraniteMoeForCausalLM", "GraniteMoeModel"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := graniteSpec(c, llamaLike{name: "granitemoe"})
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
})

// graniteMoeHybrid is Granite 4.0 as far as it is Granite: its models that have attention in all
// layers and no experts.
var graniteMoeHybrid = namedAsLlama(Family{
	Name:          "granitemoehybrid",
	Architectures: []string{"GraniteMoeHybridForCausalLM", "GraniteMoeHybridModel"},
	Spec: func(c *Config) (*spec.Spec, error) {
		if !c.Has("num_local_experts") {
			c.failMissing("0, for a model without experts", "num_local_experts")
		} else if n := c.AtLeast(0, 8, "num_local_experts"); n > 0 {
			c.fail("num_local_experts is %d; 0 alone is supported: a model without experts", n)
		}
		kinds := c.Strings("layer_types")
		for l, kind := range kinds {
			if kind != "attention" && kind != fullAttention {
				c.fail("layer_types[%d] is %s; it must be attention: layers of Mamba are not "+
					"supported", l, shown(kind))
				break
			}
		}
		for key := range c.values { // of layers and experts that this model does not have
			if slices.ContainsFunc([]string{
				"mamba_", "time_step_", "num_experts_per_tok", "router_", "output_router_",
				"intermediate_size",
			}, func(begin string) bool { return strings.HasPrefix(key, begin) }) {
				c.read[key] = true
			}
		}
		s := graniteSpec(c, llamaLike{
			name: "granitemoehybrid", widthKey: "shared_intermediate_size",
		})
		s.MLPBias = c.Bool("mlp_bias", false)
		c.AllowNull("position_embedding_type")
		if c.String("position_embedding_type", "") != "rope" {
			s.Unturned = unturned(s, func(int) bool { return true })
		}
		if len(kinds) != s.Layers {
			c.fail("layer_types has %d entries; it must have one for each of the layers, %s: a "+
				"layer without one is one of Mamba", len(kinds), c.keyOf("Layers"))
		}
		return s, c.firstErr()
	},
	Weights: replaced(renamed(llamaWeights, "mlp.down_proj", "shared_mlp.output_linear"),
		Weight{"blocks.%d.gate.weight", "layers.%d.shared_mlp.input_linear.weight", GateRows},
		Weight{"blocks.%d.up.weight", "layers.%d.shared_mlp.input_linear.weight", UpRows},
	),
})

// graniteSpec reads what they have in common.
func graniteSpec(c *Config, like llamaLike) *spec.Spec {
	s := llamaSpec(c, like)
	attentionBiases(c, s, false)
	s.EmbeddingScale = c.Above(0, spec.MaxScale, "embedding_multiplier", 1)
	s.ScoreScale = c.Above(0, spec.MaxScale, "attention_multiplier", 1)
	s.ResidualScale = c.Above(0, spec.MaxScale, "residual_multiplier", 1)
	s.LogitScale = 1 / c.Above(0, spec.MaxScale, "logits_scaling", 1)
	rotate(c, s, 10000, 0)
	return s
}
