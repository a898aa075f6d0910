package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(opt) }

// opt is OPT: learned positions that begin two rows into their table. OPT-350m has norms after the
// residual and none at the end, and embeddings of another width that are projected in and out.
var opt = &Family{
	Name:          "opt",
	Architectures: []string{"OPTForCausalLM", "OPTModel"},
	Prefixes:      []string{"model.decoder.", "decoder.", ""},
	Buffers:       []string{"decoder.version"},
	Padding:       []int{1},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := &spec.Spec{
			Family:         "opt",
			Layers:         c.Size("Layers", "num_hidden_layers"),
			Heads:          c.Size("Heads", "num_attention_heads"),
			Width:          c.Size("Width", "hidden_size"),
			FeedForward:    c.Size("FeedForward", "ffn_dim"),
			Vocab:          c.Size("Vocab", "vocab_size"),
			Context:        c.Size("Context", "max_position_embeddings"),
			Positions:      spec.LearnedPositions,
			PositionOffset: 2,
			ProjectTokens:  true,
			NormEpsilon:    1e-5, // the reference has no key for it
			Activation:     OneOf(c, "activation_function", "relu", activations),
		}
		c.AllowNull("word_embed_proj_dim")
		s.EmbeddingWidth = c.SizeOr(s.Width, "EmbeddingWidth", "word_embed_proj_dim")
		s.ProjectionBias = c.Bool("enable_bias", true)
		s.OutputBias, s.MLPBias = s.ProjectionBias, s.ProjectionBias
		s.NoFinalNorm = c.Bool("_remove_final_layer_norm", false)
		if !c.Bool("do_layer_norm_before", true) {
			s.Order, s.NoFinalNorm = spec.PostNorm, true
		}
		c.Only("layer_norm_elementwise_affine", true)
		decoderHead(c, s, true)
		return s, headWidth(c, s)
	},
	Weights: []Weight{
		{"embedding", "embed_tokens.weight", AsIs},
		{"embedding-projection.weight", "project_in.weight", Transposed},
		{"positions", "embed_positions.weight", AsIs},
		{"blocks.%d.attention-norm.gain", "layers.%d.self_attn_layer_norm.weight", AsIs},
		{"blocks.%d.attention-norm.bias", "layers.%d.self_attn_layer_norm.bias", AsIs},
		{"blocks.%d.query.weight", "layers.%d.self_attn.q_proj.weight", Transposed},
		{"blocks.%d.query.bias", "layers.%d.self_attn.q_proj.bias", AsIs},
		{"blocks.%d.key.weight", "layers.%d.self_attn.k_proj.weight", Transposed},
		{"blocks.%d.key.bias", "layers.%d.self_attn.k_proj.bias", AsIs},
		{"blocks.%d.value.weight", "layers.%d.self_attn.v_proj.weight", Transposed},
		{"blocks.%d.value.bias", "layers.%d.self_attn.v_proj.bias", AsIs},
		{"blocks.%d.output.weight", "layers.%d.self_attn.out_proj.weight", Transposed},
		{"blocks.%d.output.bias", "layers.%d.self_attn.out_proj.bias", AsIs},
		{"blocks.%d.mlp-norm.gain", "layers.%d.final_layer_norm.weight", AsIs},
		{"blocks.%d.mlp-norm.bias", "layers.%d.final_layer_norm.bias", AsIs},
		{"blocks.%d.up.weight", "layers.%d.fc1.weight", Transposed},
		{"blocks.%d.up.bias", "layers.%d.fc1.bias", AsIs},
		{"blocks.%d.down.weight", "layers.%d.fc2.weight", Transposed},
		{"blocks.%d.down.bias", "layers.%d.fc2.bias", AsIs},
		{"final-norm.gain", "final_layer_norm.weight", AsIs},
		{"final-norm.bias", "final_layer_norm.bias", AsIs},
		{"head-projection.weight", "project_out.weight", Transposed},
		{"head", "lm_head.weight", AsIs},
	},
}
