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
	Weights: replaced(optBlocks,
		Weight{"embedding-projection.weight", "project_in.weight", Transposed},
		Weight{"positions", "embed_positions.weight", AsIs},
		Weight{"final-norm.gain", "final_layer_norm.weight", AsIs},
		Weight{"final-norm.bias", "final_layer_norm.bias", AsIs},
		Weight{"head-projection.weight", "project_out.weight", Transposed},
	),
}

// optBlocks are the tensors that OPT and XGLM have in common.
var optBlocks = renamed(llamaWeights,
	"input_layernorm", "self_attn_layer_norm", "post_attention_layernorm", "final_layer_norm",
	"self_attn.o_proj", "self_attn.out_proj", "mlp.up_proj", "fc1", "mlp.down_proj", "fc2",
)
