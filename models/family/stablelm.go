package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(stableLM) }

// stableLM is StableLM: Llama with means in norms and a quarter of each head rotated. Some models
// have parallel blocks with one norm, and norms of queries and keys with gains for each head
// (StableLM 2 12B).
var stableLM = namedAsLlama(Family{
	Name:          "stablelm",
	Architectures: []string{"StableLmForCausalLM", "StableLmModel"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{
			name: "stablelm", groups: 32, epsilonKey: "layer_norm_eps", epsilon: 1e-5, means: true,
		})
		s.ProjectionBias = c.Bool("use_qkv_bias", false)
		if c.Bool("use_parallel_residual", false) {
			s.Order, s.SharedNorm = spec.Parallel, true
		}
		s.QueryKeyNorm = c.Bool("qk_layernorm", false)
		s.QueryKeyGains = s.QueryKeyNorm
		rotate(c, s, 10000, 0.25)
		return s, nil
	},
	Weights: replaced(llamaWeights,
		Weight{
			"blocks.%d.query-norm.%d.gain", "layers.%d.self_attn.q_layernorm.norms.%d.weight", AsIs,
		},
		Weight{
			"blocks.%d.key-norm.%d.gain", "layers.%d.self_attn.k_layernorm.norms.%d.weight", AsIs,
		},
	),
})
