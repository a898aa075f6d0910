package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(gptBigCode) }

// gptBigCode is SantaCoder and StarCoder 1: GPT-2 with one key and value for all heads.
var gptBigCode = &Family{
	Name:          "gpt_bigcode",
	Architectures: []string{"GPTBigCodeForCausalLM", "GPTBigCodeModel"},
	Prefixes:      []string{"transformer.", ""},
	Buffers:       []string{".attn.bias", ".attn.masked_bias"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s, err := gpt2Spec(c, "gpt_bigcode", "gelu_pytorch_tanh")
		if err != nil {
			return nil, err
		}
		if c.Bool("multi_query", true) {
			s.KeyValueHeads = 1
		}
		// Precisions, and what follows from multi_query.
		c.ignore("attention_softmax_in_fp32", "scale_attention_softmax_in_fp32",
			"num_key_value_heads")
		return s, nil
	},
	Weights: replaced(gpt2Weights,
		Weight{"blocks.%d.query.weight", "h.%d.attn.c_attn.weight", QueryOfGroup},
		Weight{"blocks.%d.query.bias", "h.%d.attn.c_attn.bias", QueryOfGroup},
		Weight{"blocks.%d.key.weight", "h.%d.attn.c_attn.weight", KeyOfGroup},
		Weight{"blocks.%d.key.bias", "h.%d.attn.c_attn.bias", KeyOfGroup},
		Weight{"blocks.%d.value.weight", "h.%d.attn.c_attn.weight", ValueOfGroup},
		Weight{"blocks.%d.value.bias", "h.%d.attn.c_attn.bias", ValueOfGroup},
		Weight{"blocks.%d.output.weight", "h.%d.attn.c_proj.weight", Transposed},
		Weight{"blocks.%d.up.weight", "h.%d.mlp.c_fc.weight", Transposed},
		Weight{"blocks.%d.down.weight", "h.%d.mlp.c_proj.weight", Transposed},
	),
}
