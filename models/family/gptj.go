package family

import (
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() {
	Register(gptJ)
	Register(codeGen)
}

// gptJ is GPT-J: parallel blocks with one norm, and neighbours that turn together.
var gptJ = &Family{
	Name:          "gptj",
	Architectures: []string{"GPTJForCausalLM", "GPTJModel"},
	Prefixes:      []string{"transformer.", ""},
	Buffers:       []string{".attn.bias", ".attn.masked_bias"},
	Spec: func(c *Config) (*spec.Spec, error) {
		return gptJSpec(c, "gptj")
	},
	Weights: slices.Concat(gptJWeights, []Weight{
		{"blocks.%d.query.weight", "h.%d.attn.q_proj.weight", Transposed},
		{"blocks.%d.key.weight", "h.%d.attn.k_proj.weight", Transposed},
		{"blocks.%d.value.weight", "h.%d.attn.v_proj.weight", Transposed},
	}),
}

// codeGen is CodeGen: GPT-J with query, value and key in one tensor, in four parts.
var codeGen = &Family{
	Name:          "codegen",
	Architectures: []string{"CodeGenForCausalLM", "CodeGenModel"},
	Prefixes:      []string{"transformer.", ""},
	Buffers:       []string{".attn.causal_mask"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s, err := gptJSpec(c, "codegen")
		c.ignore("n_ctx") // the reference computes a size with it that nothing uses
		if err == nil && s.Heads%4 != 0 {
			c.fail("%s must be a multiple of 4, the parts of the tensor of queries and keys",
				c.keyOf("Heads"))
		}
		return s, err
	},
	Weights: slices.Concat(gptJWeights, []Weight{
		{"blocks.%d.query.weight", "h.%d.attn.qkv_proj.weight", QueryOfFour},
		{"blocks.%d.key.weight", "h.%d.attn.qkv_proj.weight", KeyOfFour},
		{"blocks.%d.value.weight", "h.%d.attn.qkv_proj.weight", ValueOfFour},
	}),
}

// gptJSpec reads what both have in common.
func gptJSpec(c *Config, name string) (*spec.Spec, error) {
	s := &spec.Spec{
		Family:      name,
		Layers:      c.Size("Layers", "n_layer", "num_hidden_layers"),
		Heads:       c.Size("Heads", "n_head", "num_attention_heads"),
		Width:       c.Size("Width", "n_embd", "hidden_size"),
		Vocab:       c.Size("Vocab", "vocab_size"),
		Context:     c.Size("Context", "n_positions", "max_position_embeddings"),
		Positions:   spec.RotaryPositions,
		Order:       spec.Parallel,
		SharedNorm:  true,
		NormEpsilon: c.Epsilon("layer_norm_epsilon", 1e-5),
		Activation:  OneOf(c, "activation_function", "gelu_new", activations),
		MLPBias:     true,
		HeadBias:    true,
	}
	decoderHead(c, s, false)
	c.AllowNull("n_inner", "rotary_dim")
	s.FeedForward = c.SizeOr(4*s.Width, "FeedForward", "n_inner")
	if err := headWidth(c, s); err != nil {
		return nil, err
	}
	turned := c.AtLeast(2, 64, "rotary_dim")
	if c.isNull("rotary_dim") || turned > s.HeadWidth || turned%2 != 0 {
		c.fail("rotary_dim is %s; it must be even and from 2 to %d, the width of a head, from %s",
			shown(c.values["rotary_dim"]), s.HeadWidth, c.keyOf("HeadWidth"))
		return s, c.firstErr()
	}
	c.setOrigin("Rotary", "rotary_dim")
	s.Rotary = &spec.Rotary{Frequencies: rounded(spec.RotaryFrequencies(10000, turned))}
	neighbours(s)
	return s, nil
}

// gptJWeights are the tensors that both have.
var gptJWeights = []Weight{
	{"embedding", "wte.weight", AsIs},
	{"blocks.%d.attention-norm.gain", "h.%d.ln_1.weight", AsIs},
	{"blocks.%d.attention-norm.bias", "h.%d.ln_1.bias", AsIs},
	{"blocks.%d.output.weight", "h.%d.attn.out_proj.weight", Transposed},
	{"blocks.%d.up.weight", "h.%d.mlp.fc_in.weight", Transposed},
	{"blocks.%d.up.bias", "h.%d.mlp.fc_in.bias", AsIs},
	{"blocks.%d.down.weight", "h.%d.mlp.fc_out.weight", Transposed},
	{"blocks.%d.down.bias", "h.%d.mlp.fc_out.bias", AsIs},
	{"final-norm.gain", "ln_f.weight", AsIs},
	{"final-norm.bias", "ln_f.bias", AsIs},
	{"head", "lm_head.weight", AsIs},
	{"head-bias", "lm_head.bias", AsIs},
}
