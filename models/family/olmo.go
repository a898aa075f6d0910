package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() {
	Register(olmo)
	Register(olmo2)
	Register(olmo3)
}

// olmo is OLMo 1: Llama with norms that have neither gain nor bias.
var olmo = namedAsLlama(Family{
	Name:          "olmo",
	Architectures: []string{"OlmoForCausalLM", "OlmoModel"},
	Padding:       []int{1},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "olmo", epsilon: 1e-5, means: true})
		s.NormEpsilon, s.NoNormGain, s.NoNormBias = 1e-5, true, true
		attentionBiases(c, s, false)
		c.AllowNull("clip_qkv")
		if c.Has("clip_qkv") {
			s.ProjectionClip = c.Above(0, spec.MaxScale, "clip_qkv", 0)
		}
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: llamaWeights,
})

// olmo2 is OLMo 2: norms after both parts and none before, and norms of all queries and all keys.
var olmo2 = namedAsLlama(Family{
	Name:          "olmo2",
	Architectures: []string{"Olmo2ForCausalLM", "Olmo2Model"},
	Padding:       []int{1},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := olmo2Spec(c, "olmo2")
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: afterWeights,
})

// olmo3 is OLMo 3: OLMo 2 with a window in three layers of four, and a rotation of their own there.
var olmo3 = namedAsLlama(Family{
	Name:          "olmo3",
	Architectures: []string{"Olmo3ForCausalLM", "Olmo3Model"},
	Padding:       []int{1},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := olmo2Spec(c, "olmo3")
		s.Windows = gemmaWindows(c, s.Layers, func(l int) bool { return (l+1)%4 != 0 })
		s.Rotary, s.LocalRotary = layerRope(c, s, "rope_theta", 500000, "rope_theta")
		return s, nil
	},
	Weights: afterWeights,
})

// olmo2Spec reads what OLMo 2 and 3 have in common.
func olmo2Spec(c *Config, name string) *spec.Spec {
	s := llamaSpec(c, llamaLike{name: name, epsilon: 1e-5})
	s.NormAfter, s.NoNormBefore = true, true
	s.QueryKeyNorm, s.JointQueryKeyNorm = true, true
	attentionBiases(c, s, false)
	return s
}
