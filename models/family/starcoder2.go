package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(starCoder2) }

// starCoder2 is StarCoder2: Llama with means in norms, biases everywhere and no gate.
var starCoder2 = namedAsLlama(Family{
	Name:          "starcoder2",
	Architectures: []string{"Starcoder2ForCausalLM", "Starcoder2Model"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{
			name: "starcoder2", groups: 2, epsilonKey: "norm_epsilon", epsilon: 1e-5,
			activation: "gelu_pytorch_tanh", tied: true, means: true, ungated: true,
		})
		s.ProjectionBias = c.Bool("use_bias", true)
		s.OutputBias, s.MLPBias = s.ProjectionBias, s.ProjectionBias
		window := slidingWindow(c, 0)
		s.Windows = windows(s.Layers, window, sameInAll(c, s.Layers, window))
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: renamed(llamaWeights, "up_proj", "c_fc", "down_proj", "c_proj"),
})
