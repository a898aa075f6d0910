package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(gptNeoX) }

// gptNeoX is GPT-NeoX and Pythia: only a part of each head is rotated by position; attention and
// feed-forward read the same input, each through its own norm; the projection is fused as in BLOOM.
var gptNeoX = &Family{
	Name:          "gpt_neox",
	Architectures: []string{"GPTNeoXForCausalLM", "GPTNeoXModel"},
	Prefixes:      []string{"gpt_neox.", ""},
	Buffers:       []string{".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := &spec.Spec{
			Family:      "gpt_neox",
			Layers:      c.Size("Layers", "num_hidden_layers"),
			Heads:       c.Size("Heads", "num_attention_heads"),
			Width:       c.Size("Width", "hidden_size"),
			FeedForward: c.Size("FeedForward", "intermediate_size"),
			Vocab:       c.Size("Vocab", "vocab_size"),
			Context:     c.SizeOr(2048, "Context", "max_position_embeddings"),
			Positions:   spec.RotaryPositions,
			NormEpsilon: c.Epsilon("layer_norm_eps", 1e-5),
			Activation:  OneOf(c, "hidden_act", "gelu", activations),
			MLPBias:     true,
		}
		attentionBiases(c, s, true)
		if c.Bool("use_parallel_residual", true) {
			s.Order = spec.Parallel
		}
		decoderHead(c, s, false)
		if err := headWidth(c, s); err != nil {
			return nil, err
		}
		theta := c.Above(1, maxTheta, "rotary_emb_base", 10000)
		part := c.Above(0, 1, "rotary_pct", 0.25)
		sameAs(c, "rope_theta", theta, "rotary_emb_base")
		sameAs(c, "partial_rotary_factor", part, "rotary_pct")
		rotate(c, s, theta, part)
		return s, nil
	},
	Weights: append(renamed(fusedHeads,
		"h.%d.self_attention.", "layers.%d.attention.", "h.%d.", "layers.%d.",
		"ln_f", "final_layer_norm", "lm_head", "embed_out",
	),
		Weight{"embedding", "embed_in.weight", AsIs},
		Weight{"head", "lm_head.weight", AsIs},
	),
}

// sameAs reads a key that the reference implementation ignores, because it has another name for it.
// The values must be equal.
func sameAs(c *Config, key string, want float64, counts string) {
	if got := c.Float(key, want); got != want {
		c.fail("%s is %v; it must be %v, the value or the default of %s, which is what counts", key,
			got, want, counts)
	}
}
