package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(falcon) }

// falcon is all versions of Falcon. Falcon-RW has sequential blocks and ALiBi, which is rounded
// through bfloat16 and divided by √E like the scores. Falcon-7B has rotary positions, parallel
// blocks with one norm, and one key and value for all heads. Falcon-40B ("new decoder
// architecture") has groups of heads and two norms. In all versions the projection is fused by
// groups.
var falcon = &Family{
	Name:          "falcon",
	Architectures: []string{"FalconForCausalLM", "RWForCausalLM", "FalconModel", "RWModel"},
	ModelTypes:    []string{"RefinedWeb", "RefinedWebModel"},
	Prefixes:      []string{"transformer.", ""},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := &spec.Spec{
			Family:      "falcon",
			Layers:      c.Size("Layers", "num_hidden_layers", "n_layer"),
			Heads:       c.Size("Heads", "num_attention_heads", "n_head"),
			Width:       c.Size("Width", "hidden_size", "n_embed"),
			Vocab:       c.Size("Vocab", "vocab_size"),
			NormEpsilon: c.Epsilon("layer_norm_epsilon", 1e-5),
			Activation:  OneOf(c, "activation", "gelu", activations),
		}
		c.AllowNull("ffn_hidden_size")
		s.FeedForward = c.SizeOr(4*s.Width, "FeedForward", "ffn_hidden_size")
		s.ProjectionBias = c.Bool("bias", false)
		s.OutputBias, s.MLPBias = s.ProjectionBias, s.ProjectionBias
		decoderHead(c, s, true)
		c.Only("apply_residual_connection_post_layernorm", false)
		if err := headWidth(c, s); err != nil {
			return nil, err
		}
		falconBlocks(c, s)
		falconPositions(c, s)
		return s, nil
	},
	Weights: append([]Weight{
		{"embedding", "word_embeddings.weight", AsIs},
		// The two norms of a parallel block in the new architecture. Other versions do not have
		// these names.
		{"blocks.%d.attention-norm.gain", "h.%d.ln_attn.weight", AsIs},
		{"blocks.%d.attention-norm.bias", "h.%d.ln_attn.bias", AsIs},
		{"blocks.%d.mlp-norm.gain", "h.%d.ln_mlp.weight", AsIs},
		{"blocks.%d.mlp-norm.bias", "h.%d.ln_mlp.bias", AsIs},
	}, fusedHeads...),
}

// falconBlocks reads how blocks are built. A combination for which the reference implementation has
// no weights or no code is an error.
func falconBlocks(c *Config, s *spec.Spec) {
	grouped, multiQuery := c.Bool("new_decoder_architecture", false), c.Bool("multi_query", true)
	c.AllowNull("num_kv_heads", "n_head_kv")
	groups := c.SizeOr(s.Heads, "KeyValueHeads", "num_kv_heads", "n_head_kv")
	parallel := c.Bool("parallel_attn", true)
	fallback := 1
	if grouped {
		fallback = 2
	}
	c.AllowNull("num_ln_in_parallel_attn")
	norms := c.Int(fallback, "num_ln_in_parallel_attn")
	switch {
	case grouped && s.Heads%groups != 0:
		c.fail("%s must divide the number of heads, %s", c.keyOf("KeyValueHeads"),
			c.keyOf("Heads"))
	case !grouped && !multiQuery && groups != s.Heads:
		c.fail("%s must be the number of heads, %s, where multi_query and "+
			"new_decoder_architecture are false",
			c.keyOf("KeyValueHeads"), c.keyOf("Heads"))
	case grouped && !parallel:
		c.fail("parallel_attn is false; it must be true where new_decoder_architecture is")
	case grouped && norms != 1 && norms != 2:
		c.fail("num_ln_in_parallel_attn is %d; it must be 1 or 2", norms)
	case !grouped && parallel && norms == 2:
		c.fail("num_ln_in_parallel_attn is 2; it must be 1 where new_decoder_architecture is false")
	}
	switch {
	case grouped:
		s.KeyValueHeads = groups
	case multiQuery:
		s.KeyValueHeads = 1
	}
	if parallel {
		s.Order = spec.Parallel
		s.SharedNorm = !grouped || norms == 1
	}
}

// falconPositions reads the position scheme.
func falconPositions(c *Config, s *spec.Spec) {
	s.Positions, s.Context = spec.RotaryPositions, c.SizeOr(2048, "Context",
		"max_position_embeddings")
	rotate(c, s, 10000, 0)
	if c.Bool("alibi", false) { // then the keys of the rotation mean nothing
		s.Positions, s.Context, s.Rotary = spec.ALiBi, 0, nil
		s.AlibiSlopes, s.AlibiRounded, s.AlibiScaled = alibiSlopes(s.Heads), true, true
	}
}
