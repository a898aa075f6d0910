package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(nemotron) }

// nemotron is Nemotron 3 and 4 and Minitron: Llama without a gate, with squares of ReLU, and with
// means in norms, to whose gains 1 is added. Half of each head is rotated.
var nemotron = namedAsLlama(Family{
	Name:          "nemotron",
	Architectures: []string{"NemotronForCausalLM", "NemotronModel"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{
			name: "nemotron", epsilonKey: "norm_eps", epsilon: 1e-5, activation: "relu2",
			means: true, ungated: true,
		})
		s.NormOffset = 1
		attentionBiases(c, s, false)
		s.MLPBias = c.Bool("mlp_bias", false)
		rotate(c, s, 10000, 0.5)
		return s, nil
	},
	Weights: llamaWeights,
})
