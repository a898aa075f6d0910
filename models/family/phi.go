package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(phi) }

// phi is Phi-1, Phi-1.5 and Phi-2: parallel blocks with one norm, half of each head rotated, biases
// everywhere.
var phi = namedAsLlama(Family{
	Name:          "phi",
	Architectures: []string{"PhiForCausalLM", "PhiModel"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{
			name: "phi", epsilonKey: "layer_norm_eps", epsilon: 1e-5, activation: "gelu_new",
			means: true, ungated: true,
		})
		s.Order, s.SharedNorm = spec.Parallel, true
		s.ProjectionBias, s.OutputBias, s.MLPBias = true, true, true
		s.HeadBias = s.HeadBias || s.Head == spec.LanguageHead
		c.Only("qk_layernorm", false)
		rotate(c, s, 10000, 0.5)
		return s, nil
	},
	Weights: replaced(renamed(llamaWeights,
		"o_proj", "dense", "up_proj", "fc1", "down_proj", "fc2",
		"q_norm", "q_layernorm", "k_norm", "k_layernorm",
	),
		Weight{"final-norm.gain", "final_layernorm.weight", AsIs},
		Weight{"final-norm.bias", "final_layernorm.bias", AsIs},
		Weight{"head-bias", "lm_head.bias", AsIs},
	),
})
