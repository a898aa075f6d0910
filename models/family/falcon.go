package family

import "github.com/headwater-ml/headwater/models/transformer"

func init() { Register(falcon) }

// falcon is Falcon-RW: ALiBi rounded through bfloat16 and divided by √E like the content, sequential blocks, and BLOOM's fused
// projection. The multi-query, parallel and rotary models of the same name are not covered.
var falcon = &Family{
	Name:          "falcon",
	Architectures: []string{"FalconForCausalLM", "RWForCausalLM"},
	Prefixes:      []string{"transformer.", ""},
	Harmless:      []string{"max_position_embeddings", "num_ln_in_parallel_attn", "rope_parameters", "rope_scaling", "rope_theta"},
	Spec: func(c *Config) (*transformer.Spec, error) {
		s := &transformer.Spec{
			Family:       "falcon",
			Layers:       c.Int("num_hidden_layers", "n_layer"),
			Heads:        c.Int("num_attention_heads", "n_head"),
			Width:        c.Int("hidden_size"),
			Vocab:        c.Int("vocab_size"),
			Positions:    transformer.ALiBi,
			AlibiRounded: true, AlibiScaled: true,
			NormEpsilon: c.Float("layer_norm_epsilon", 1e-5),
			Activation:  OneOf(c, "activation", "gelu", activations),
			Biases:      c.Bool("bias", false),
			TiedHead:    c.Bool("tie_word_embeddings", true),
			BOS:         c.IntOr(-1, "bos_token_id"),
			EOS:         c.Ints("eos_token_id"),
		}
		s.FeedForward = c.IntOr(4*s.Width, "ffn_hidden_size")
		required(c, "alibi", true)
		required(c, "parallel_attn", false)
		required(c, "multi_query", false)
		c.Only("new_decoder_architecture", false)
		c.Only("apply_residual_connection_post_layernorm", false)
		if kv := c.IntOr(s.Heads, "num_kv_heads", "n_head_kv"); kv != s.Heads {
			c.fail("num_kv_heads %d is not the number of heads %d, which is not supported", kv, s.Heads)
		}
		if err := headWidth(c, s); err != nil {
			return nil, err
		}
		s.AlibiSlopes = transformer.AlibiSlopes(s.Heads)
		return s, nil
	},
	Weights: append([]Weight{{"embedding", "word_embeddings.weight", AsIs}}, fusedHeads...),
}

// required takes a truth value whose default in the reference is the unsupported one.
func required(c *Config, key string, want bool) {
	if got := c.Bool(key, !want); got != want {
		c.fail("%s is %v: only Falcon-RW (alibi true, parallel_attn false, multi_query false) is supported", key, got)
	}
}
