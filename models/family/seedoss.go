package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(seedOSS) }

// seedOSS is Seed-OSS: Llama with biases on query, key and value.
var seedOSS = namedAsLlama(Family{
	Name:          "seed_oss",
	Architectures: []string{"SeedOssForCausalLM", "SeedOssModel"},
	Padding:       []int{1},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "seed_oss", groups: 8, headWidth: 128})
		s.ProjectionBias, s.MLPBias = c.Bool("attention_bias", true), c.Bool("mlp_bias", false)
		s.OutputBias = c.Bool("attention_out_bias", false)
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: llamaWeights,
})
