package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(gpt2) }

// gpt2 is GPT-2: learned positions, norms before each part, projections stored as [in,out], and
// query, key and value side by side.
var gpt2 = &Family{
	Name:          "gpt2",
	Architectures: []string{"GPT2LMHeadModel", "GPT2Model"},
	Prefixes:      []string{"transformer.", ""},
	Buffers:       []string{".attn.bias", ".attn.masked_bias"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s, err := gpt2Spec(c, "gpt2", "gelu_new")
		if err == nil {
			s.ScoreByLayer = c.Bool("scale_attn_by_inverse_layer_idx", false)
		}
		return s, err
	},
	Weights: gpt2Weights,
}

// gpt2Spec reads what GPT-2 and GPTBigCode have in common.
func gpt2Spec(c *Config, name, activation string) (*spec.Spec, error) {
	s := &spec.Spec{
		Family:         name,
		Layers:         c.Size("Layers", "n_layer", "num_hidden_layers"),
		Heads:          c.Size("Heads", "n_head", "num_attention_heads"),
		Width:          c.Size("Width", "n_embd", "hidden_size"),
		Vocab:          c.Size("Vocab", "vocab_size"),
		Context:        c.Size("Context", "n_positions", "max_position_embeddings"),
		Positions:      spec.LearnedPositions,
		NormEpsilon:    c.Epsilon("layer_norm_epsilon", 1e-5),
		Activation:     OneOf(c, "activation_function", activation, activations),
		ProjectionBias: true, OutputBias: true, MLPBias: true,
	}
	decoderHead(c, s, true)
	c.Only("add_cross_attention", false)
	c.AllowNull("n_inner")
	s.FeedForward = c.SizeOr(4*s.Width, "FeedForward", "n_inner")
	if !c.Bool("scale_attn_weights", true) {
		s.ScoreScale = 1
	}
	return s, headWidth(c, s)
}

// gpt2Weights are the tensors of GPT-2.
var gpt2Weights = []Weight{
	{"embedding", "wte.weight", AsIs},
	{"positions", "wpe.weight", AsIs},
	{"blocks.%d.attention-norm.gain", "h.%d.ln_1.weight", AsIs},
	{"blocks.%d.attention-norm.bias", "h.%d.ln_1.bias", AsIs},
	{"blocks.%d.query.weight", "h.%d.attn.c_attn.weight", QuerySide},
	{"blocks.%d.query.bias", "h.%d.attn.c_attn.bias", QuerySide},
	{"blocks.%d.key.weight", "h.%d.attn.c_attn.weight", KeySide},
	{"blocks.%d.key.bias", "h.%d.attn.c_attn.bias", KeySide},
	{"blocks.%d.value.weight", "h.%d.attn.c_attn.weight", ValueSide},
	{"blocks.%d.value.bias", "h.%d.attn.c_attn.bias", ValueSide},
	{"blocks.%d.output.weight", "h.%d.attn.c_proj.weight", AsIs},
	{"blocks.%d.output.bias", "h.%d.attn.c_proj.bias", AsIs},
	{"blocks.%d.mlp-norm.gain", "h.%d.ln_2.weight", AsIs},
	{"blocks.%d.mlp-norm.bias", "h.%d.ln_2.bias", AsIs},
	{"blocks.%d.up.weight", "h.%d.mlp.c_fc.weight", AsIs},
	{"blocks.%d.up.bias", "h.%d.mlp.c_fc.bias", AsIs},
	{"blocks.%d.down.weight", "h.%d.mlp.c_proj.weight", AsIs},
	{"blocks.%d.down.bias", "h.%d.mlp.c_proj.bias", AsIs},
	{"final-norm.gain", "ln_f.weight", AsIs},
	{"final-norm.bias", "ln_f.bias", AsIs},
	{"head", "lm_head.weight", AsIs},
}
