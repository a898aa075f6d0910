package family

import (
	"math"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(xglm) }

// xglm is XGLM: GPT-2 with embeddings times √D, a table of positions that is computed, and its own
// names.
var xglm = &Family{
	Name:          "xglm",
	Architectures: []string{"XGLMForCausalLM", "XGLMModel"},
	Prefixes:      []string{"model.", ""},
	Buffers:       []string{"embed_positions.weights"},
	Padding:       []int{1},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := &spec.Spec{
			Family:         "xglm",
			Layers:         c.Size("Layers", "num_layers", "num_hidden_layers"),
			Heads:          c.Size("Heads", "attention_heads", "num_attention_heads"),
			Width:          c.Size("Width", "d_model", "hidden_size"),
			FeedForward:    c.Size("FeedForward", "ffn_dim"),
			Vocab:          c.Size("Vocab", "vocab_size"),
			Context:        c.Size("Context", "max_position_embeddings"),
			Positions:      spec.LearnedPositions,
			PositionOffset: 2,
			NormEpsilon:    1e-5,
			Activation:     OneOf(c, "activation_function", "gelu", activations),
			ProjectionBias: true, OutputBias: true, MLPBias: true,
		}
		decoderHead(c, s, true)
		c.Only("add_cross_attention", false)
		if c.Bool("scale_embedding", true) {
			s.EmbeddingScale = math.Sqrt(float64(s.Width))
		}
		if s.Width < 4 || s.Width%2 != 0 {
			c.fail("%s must be even and at least 4, for sines and cosines", c.keyOf("Width"))
		}
		return s, headWidth(c, s)
	},
	Weights: replaced(optBlocks,
		Weight{"positions", "embed_positions.weights", Sinusoids},
		Weight{"final-norm.gain", "layer_norm.weight", AsIs},
		Weight{"final-norm.bias", "layer_norm.bias", AsIs},
	),
}
