package family

import (
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() {
	Register(glm)
	Register(glm4)
	Register(glm4moe)
}

// glm is GLM-4 9B in the classes of transformers: Llama with neighbours that turn together, in half
// of each head, and gate and up in one tensor.
var glm = namedAsLlama(Family{
	Name:          "glm",
	Architectures: []string{"GlmForCausalLM", "GlmModel"},
	Padding:       []int{151329},
	Spec: func(c *Config) (*spec.Spec, error) {
		return glmSpec(c, "glm"), nil
	},
	Weights: glmWeights,
})

// glm4 is GLM-4 0414: GLM with norms after both parts as well.
var glm4 = namedAsLlama(Family{
	Name:          "glm4",
	Architectures: []string{"Glm4ForCausalLM", "Glm4Model"},
	Padding:       []int{151329},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := glmSpec(c, "glm4")
		s.NormAfter = true
		return s, nil
	},
	Weights: replaced(glmWeights,
		Weight{
			"blocks.%d.attention-after-norm.gain", "layers.%d.post_self_attn_layernorm.weight",
			AsIs,
		},
		Weight{"blocks.%d.mlp-after-norm.gain", "layers.%d.post_mlp_layernorm.weight", AsIs},
	),
})

// glm4moe is GLM-4.5 to 4.7: Llama with half of each head rotated, and the experts of DeepSeek V3.
var glm4moe = namedAsLlama(Family{
	Name:          "glm4_moe",
	Architectures: []string{"Glm4MoeForCausalLM", "Glm4MoeModel"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "glm4_moe", groups: 8, epsilon: 1e-5})
		s.ProjectionBias = c.Bool("attention_bias", false)
		s.QueryKeyNorm = c.Bool("use_qk_norm", false)
		routed(c, s, 1, 1)
		sigmoidGroups(c, s, 1, 1)
		rotate(c, s, 10000, 0.5)
		return s, c.firstErr()
	},
	Weights: slices.Concat(llamaWeights, expertWeights, sharedExperts, []Weight{balance}),
	Unused:  beyondLayers,
})

// glmWeights are the tensors of Llama with gate and up in one.
var glmWeights = replaced(llamaWeights,
	Weight{"blocks.%d.gate.weight", "layers.%d.mlp.gate_up_proj.weight", GateRows},
	Weight{"blocks.%d.up.weight", "layers.%d.mlp.gate_up_proj.weight", UpRows},
)

// glmSpec reads what both have in common.
func glmSpec(c *Config, name string) *spec.Spec {
	s := llamaSpec(c, llamaLike{
		name: name, groups: 2, headWidth: 128, epsilon: 0.00000015625,
	})
	s.ProjectionBias = c.Bool("attention_bias", true)
	rotate(c, s, 10000, 0.5)
	neighbours(s)
	return s
}
