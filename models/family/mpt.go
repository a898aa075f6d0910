package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(mpt) }

// mpt is MPT: GPT-2 with ALiBi and without any bias, also in norms.
var mpt = &Family{
	Name:          "mpt",
	Architectures: []string{"MptForCausalLM", "MPTForCausalLM", "MptModel"},
	Prefixes:      []string{"transformer.", ""},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := &spec.Spec{
			Family:      "mpt",
			Layers:      c.Size("Layers", "n_layers", "num_hidden_layers"),
			Heads:       c.Size("Heads", "n_heads", "num_attention_heads"),
			Width:       c.Size("Width", "d_model", "hidden_size"),
			Vocab:       c.Size("Vocab", "vocab_size"),
			Positions:   spec.ALiBi,
			NormEpsilon: c.Epsilon("layer_norm_epsilon", 1e-5),
			NoNormBias:  true,
			Activation:  spec.GELU,
		}
		decoderHead(c, s, true)
		// The reference has no biases and this feed-forward width, whatever the file says.
		s.FeedForward = 4 * s.Width
		// Positions are slopes without an end; max_seq_len is for how long a text the reference
		// writes them down.
		c.ignore("verbose", "expansion_ratio", "no_bias", "max_seq_len")
		s.AlibiSlopes = alibiSlopes(s.Heads)
		mptAttention(c.objectOrEmpty("attn_config"), s)
		return s, headWidth(c, s)
	},
	Weights: []Weight{
		{"embedding", "wte.weight", AsIs},
		{"blocks.%d.attention-norm.gain", "blocks.%d.norm_1.weight", AsIs},
		{"blocks.%d.query.weight", "blocks.%d.attn.Wqkv.weight", QueryRows},
		{"blocks.%d.key.weight", "blocks.%d.attn.Wqkv.weight", KeyRows},
		{"blocks.%d.value.weight", "blocks.%d.attn.Wqkv.weight", ValueRows},
		{"blocks.%d.output.weight", "blocks.%d.attn.out_proj.weight", Transposed},
		{"blocks.%d.mlp-norm.gain", "blocks.%d.norm_2.weight", AsIs},
		{"blocks.%d.up.weight", "blocks.%d.ffn.up_proj.weight", Transposed},
		{"blocks.%d.down.weight", "blocks.%d.ffn.down_proj.weight", Transposed},
		{"final-norm.gain", "norm_f.weight", AsIs},
		{"head", "lm_head.weight", AsIs},
	},
}

// mptAttention reads attn_config.
func mptAttention(c *Config, s *spec.Spec) {
	c.reference = referenceKeys()["*"]
	// How the same numbers are computed, and what is for training only.
	c.ignore("attn_impl", "attn_pdrop", "attn_uses_sequence_id")
	OneOf(c, "attn_type", "multihead_attention", map[string]bool{"multihead_attention": true})
	c.Only("alibi", true)
	c.Only("prefix_lm", false)
	c.Only("qk_ln", false)
	if most := c.Float("alibi_bias_max", 8); most != 8 {
		c.fail("%s is %v; it must be 8", c.name("alibi_bias_max"), most)
	}
	c.AllowNull("clip_qkv", "softmax_scale")
	if c.Has("clip_qkv") {
		s.ProjectionClip = c.Above(0, spec.MaxScale, "clip_qkv", 0)
	}
	if c.Has("softmax_scale") {
		s.ScoreScale = c.Above(0, spec.MaxScale, "softmax_scale", 0)
	}
}
