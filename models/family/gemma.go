package family

import (
	"math"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(gemma) }

// gemma is Gemma 1: Llama with 1 added to the gains of norms and embeddings times √D.
var gemma = namedAsLlama(Family{
	Name:          "gemma",
	Architectures: []string{"GemmaForCausalLM", "GemmaModel"},
	Padding:       []int{0},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{
			name: "gemma", headWidth: 256, activation: "gelu_pytorch_tanh", tied: true,
		})
		if s.Activation == spec.GELU { // what the first files say and the reference corrects
			s.Activation = spec.GELUTanh
		}
		s.NormOffset, s.EmbeddingScale = 1, math.Sqrt(float64(s.Width))
		attentionBiases(c, s, false)
		c.Only("use_bidirectional_attention", false)
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: llamaWeights,
})
