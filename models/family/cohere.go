package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() {
	Register(cohere)
	Register(cohere2)
}

// cohere is Command R and Aya 23: parallel blocks with one norm that has no bias, neighbours that
// turn together, and a factor for logits.
var cohere = namedAsLlama(Family{
	Name:          "cohere",
	Architectures: []string{"CohereForCausalLM", "CohereModel"},
	Padding:       []int{0},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := cohereSpec(c, "cohere", 500000)
		s.QueryKeyNorm = c.Bool("use_qk_norm", false)
		s.QueryKeyGains = s.QueryKeyNorm
		return s, nil
	},
	Weights: replaced(llamaWeights,
		Weight{"blocks.%d.query-norm.%d.gain", "layers.%d.self_attn.q_norm.weight[%d]", AsIs},
		Weight{"blocks.%d.key-norm.%d.gain", "layers.%d.self_attn.k_norm.weight[%d]", AsIs},
	),
})

// cohere2 is Command R7B and Command A: Cohere with a window in three layers of four, and no
// rotation in the fourth.
var cohere2 = namedAsLlama(Family{
	Name:          "cohere2",
	Architectures: []string{"Cohere2ForCausalLM", "Cohere2Model"},
	Padding:       []int{0},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := cohereSpec(c, "cohere2", 10000)
		s.Windows = gemmaWindows(c, s.Layers, butEvery(c, 4))
		s.Unturned = unturned(s, func(l int) bool { return s.Window(l) == 0 })
		return s, nil
	},
	Weights: llamaWeights,
})

// cohereSpec reads what both have in common.
func cohereSpec(c *Config, name string, theta float64) *spec.Spec {
	s := llamaSpec(c, llamaLike{
		name: name, epsilonKey: "layer_norm_eps", epsilon: 1e-5, tied: true, means: true,
	})
	s.Order, s.SharedNorm, s.NoNormBias = spec.Parallel, true, true
	attentionBiases(c, s, false)
	s.LogitScale = c.Above(0, spec.MaxScale, "logit_scale", 0.0625)
	rotate(c, s, theta, 0)
	neighbours(s)
	return s
}
