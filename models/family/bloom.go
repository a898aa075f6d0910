package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(bloom) }

// bloom is BLOOM: ALiBi, a norm after the embedding, and a fused projection [H,3,E,in], in which
// query, key and value of each head are together, as in groups of one head.
var bloom = &Family{
	Name:          "bloom",
	Architectures: []string{"BloomForCausalLM", "BloomModel"},
	Prefixes:      []string{"transformer.", ""},
	Buffers:       []string{".self_attention.scale_mask_softmax.causal_mask"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := &spec.Spec{
			Family:         "bloom",
			Layers:         c.Size("Layers", "n_layer", "num_hidden_layers"),
			Heads:          c.Size("Heads", "n_head", "num_attention_heads"),
			Width:          c.Size("Width", "hidden_size", "n_embed"),
			Vocab:          c.Size("Vocab", "vocab_size"),
			Positions:      spec.ALiBi,
			EmbeddingNorm:  true,
			NormEpsilon:    c.Epsilon("layer_norm_epsilon", 1e-5),
			Activation:     spec.GELUTanh,
			ProjectionBias: true, OutputBias: true, MLPBias: true,
			NormedResidual: c.Bool("apply_residual_connection_post_layernorm", false),
		}
		decoderHead(c, s, true)
		c.AllowNull("n_inner")
		s.FeedForward = c.SizeOr(4*s.Width, "FeedForward", "n_inner")
		if err := headWidth(c, s); err != nil {
			return nil, err
		}
		s.AlibiSlopes = alibiSlopes(s.Heads)
		return s, nil
	},
	Weights: append([]Weight{
		{"embedding", "word_embeddings.weight", AsIs},
		{"embedding-norm.gain", "word_embeddings_layernorm.weight", AsIs},
		{"embedding-norm.bias", "word_embeddings_layernorm.bias", AsIs},
	}, fusedHeads...),
}

// fusedHeads are the tensors that have the same names in BLOOM and Falcon.
var fusedHeads = []Weight{
	{"blocks.%d.attention-norm.gain", "h.%d.input_layernorm.weight", AsIs},
	{"blocks.%d.attention-norm.bias", "h.%d.input_layernorm.bias", AsIs},
	{"blocks.%d.query.weight", "h.%d.self_attention.query_key_value.weight", QueryOfGroup},
	{"blocks.%d.query.bias", "h.%d.self_attention.query_key_value.bias", QueryOfGroup},
	{"blocks.%d.key.weight", "h.%d.self_attention.query_key_value.weight", KeyOfGroup},
	{"blocks.%d.key.bias", "h.%d.self_attention.query_key_value.bias", KeyOfGroup},
	{"blocks.%d.value.weight", "h.%d.self_attention.query_key_value.weight", ValueOfGroup},
	{"blocks.%d.value.bias", "h.%d.self_attention.query_key_value.bias", ValueOfGroup},
	{"blocks.%d.output.weight", "h.%d.self_attention.dense.weight", Transposed},
	{"blocks.%d.output.bias", "h.%d.self_attention.dense.bias", AsIs},
	{"blocks.%d.mlp-norm.gain", "h.%d.post_attention_layernorm.weight", AsIs},
	{"blocks.%d.mlp-norm.bias", "h.%d.post_attention_layernorm.bias", AsIs},
	{"blocks.%d.up.weight", "h.%d.mlp.dense_h_to_4h.weight", Transposed},
	{"blocks.%d.up.bias", "h.%d.mlp.dense_h_to_4h.bias", AsIs},
	{"blocks.%d.down.weight", "h.%d.mlp.dense_4h_to_h.weight", Transposed},
	{"blocks.%d.down.bias", "h.%d.mlp.dense_4h_to_h.bias", AsIs},
	{"final-norm.gain", "ln_f.weight", AsIs},
	{"final-norm.bias", "ln_f.bias", AsIs},
	{"head", "lm_head.weight", AsIs},
}
