package family

import (
	"math"
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(gemma2) }

// gemma2 is Gemma 2: norms before and after attention and feed-forward, with 1 added to their
// gains; embeddings times √D; caps on scores and logits; a window in every other layer.
var gemma2 = namedAsLlama(Family{
	Name:          "gemma2",
	Architectures: []string{"Gemma2ForCausalLM", "Gemma2Model"},
	Padding:       []int{0},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := gemmaSpec(c, "gemma2")
		s.ScoreCap = softCap(c, "attn_logit_softcapping", 50)
		s.LogitCap = softCap(c, "final_logit_softcapping", 30)
		s.Windows = gemmaWindows(c, s.Layers, func(l int) bool { return l%2 == 0 })
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: gemmaWeights,
})

// gemmaSpec reads what Gemma 2 and 3 have in common.
func gemmaSpec(c *Config, name string) *spec.Spec {
	s := llamaSpec(c, llamaLike{
		name: name, groups: 4, headWidth: 256, activationKey: "hidden_activation",
		activation: "gelu_pytorch_tanh", tied: true,
	})
	s.NormOffset, s.NormAfter = 1, true
	s.EmbeddingScale = math.Sqrt(float64(s.Width))
	s.ScoreScale = 1 / math.Sqrt(c.Above(0, maxScalar, "query_pre_attn_scalar", 256))
	attentionBiases(c, s, false)
	c.Only("use_bidirectional_attention", false)
	return s
}

// maxScalar is far above every known query_pre_attn_scalar, which is about the width of a head.
const maxScalar = 1e9

// softCap reads the cap of scores or logits. It returns 0 for null, which means no cap.
func softCap(c *Config, key string, fallback float64) float64 {
	if c.isNull(key) {
		return 0
	}
	return c.Above(0, spec.MaxScale, key, fallback)
}

// gemmaWindows reads the windows of Gemma.
func gemmaWindows(c *Config, layers int, sliding func(l int) bool) []int {
	window := slidingWindow(c, 4096)
	return windows(layers, window, layerTypes(c, layers, window, sliding, "sliding_window is null"))
}

// gemmaWeights are the tensors of Llama with norms before and after each part.
var gemmaWeights = replaced(afterWeights,
	Weight{"blocks.%d.mlp-norm.gain", "layers.%d.pre_feedforward_layernorm.weight", AsIs},
)

// afterWeights are the tensors of Llama with norms after each part.
var afterWeights = append(slices.DeleteFunc(slices.Clone(llamaWeights),
	func(w Weight) bool { return w.Param == "blocks.%d.mlp-norm.gain" }),
	Weight{
		"blocks.%d.attention-after-norm.gain", "layers.%d.post_attention_layernorm.weight",
		AsIs,
	},
	Weight{"blocks.%d.mlp-after-norm.gain", "layers.%d.post_feedforward_layernorm.weight", AsIs},
)
