package family

import "github.com/headwater-ml/headwater/models/transformer"

func init() { Register(phi3) }

// phi3 is Phi-3 and Phi-4-mini: Llama with fused projections and, in the long models, frequencies that change with the length.
var phi3 = &Family{
	Name:          "phi3",
	Architectures: []string{"Phi3ForCausalLM", "Phi3Model"},
	Prefixes:      []string{"model.", ""},
	Buffers:       []string{".rotary_emb.inv_freq"},
	Harmless:      []string{"full_attn_mod", "interpolate_factor"}, // of Phi-4-mini; nobody reads them
	Spec: func(c *Config) (*transformer.Spec, error) {
		s, err := llamaSpec(c, llamaLike{name: "phi3", epsilon: 1e-5})
		if err != nil {
			return nil, err
		}
		window := slidingWindow(c, 0)
		s.Windows = windows(s.Layers, window, sameInAll(c, window))
		c.Only("attention_bias", false)
		c.Only("mlp_bias", false)
		c.Only("lm_head_bias", false)
		rotate(c, s, 10000, 1)
		return s, nil
	},
	Weights: []Weight{
		{"embedding", "embed_tokens.weight", AsIs},
		{"blocks.%d.attention-norm.gain", "layers.%d.input_layernorm.weight", AsIs},
		{"blocks.%d.query.weight", "layers.%d.self_attn.qkv_proj.weight", QueryRows},
		{"blocks.%d.key.weight", "layers.%d.self_attn.qkv_proj.weight", KeyRows},
		{"blocks.%d.value.weight", "layers.%d.self_attn.qkv_proj.weight", ValueRows},
		{"blocks.%d.output.weight", "layers.%d.self_attn.o_proj.weight", Transposed},
		{"blocks.%d.mlp-norm.gain", "layers.%d.post_attention_layernorm.weight", AsIs},
		{"blocks.%d.gate.weight", "layers.%d.mlp.gate_up_proj.weight", GateRows},
		{"blocks.%d.up.weight", "layers.%d.mlp.gate_up_proj.weight", UpRows},
		{"blocks.%d.down.weight", "layers.%d.mlp.down_proj.weight", Transposed},
		{"final-norm.gain", "norm.weight", AsIs},
		{"head", "lm_head.weight", AsIs},
	},
}
