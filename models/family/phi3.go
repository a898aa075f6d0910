package family

import (
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(phi3) }

// phi3 is Phi-3 and Phi-4-mini: Llama with fused projections. The models for long texts have
// frequencies that change with the length of the text.
var phi3 = &Family{
	Name:          "phi3",
	Architectures: []string{"Phi3ForCausalLM", "Phi3Model"},
	Prefixes:      []string{"model.", ""},
	Buffers:       []string{".rotary_emb.inv_freq"},
	Padding:       []int{32000},
	Spec: func(c *Config) (*spec.Spec, error) {
		s, err := llamaSpec(c, llamaLike{name: "phi3", epsilon: 1e-5})
		if err != nil {
			return nil, err
		}
		window := slidingWindow(c, 0)
		s.Windows = windows(s.Layers, window, sameInAll(c, s.Layers, window))
		phi3Kind(c)
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

// phi3Kind refuses the kinds of rotation that the reference implementation refuses for this
// architecture. The first files of Phi-3 call longrope su or yarn.
func phi3Kind(c *Config) {
	for _, object := range []string{"rope_parameters", "rope_scaling"} {
		values, _ := c.values[object].(map[string]any)
		for _, key := range []string{"rope_type", "type"} {
			kind, ok := values[key].(string)
			if ok && !slices.Contains([]string{"default", "longrope", "su", "yarn"}, kind) {
				c.fail("%s.%s is %s; it must be default or longrope for this architecture", object,
					key, shown(kind))
			}
			if kind == "yarn" && values["short_factor"] == nil {
				c.fail("%s.%s is %s, so that the key %s.short_factor is missing", object, key,
					shown(kind), object)
			}
		}
	}
}
