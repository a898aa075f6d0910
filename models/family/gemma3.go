package family

import "github.com/headwater-ml/headwater/models/transformer"

func init() { Register(gemma3) }

// gemma3 is Gemma 3 without its eyes: Gemma 2 with norms of query and key in the place of the cap on scores, and a rotation of its
// own in the layers with a window, five of six.
var gemma3 = &Family{
	Name:          "gemma3_text",
	Architectures: []string{"Gemma3ForCausalLM", "Gemma3TextModel"},
	Prefixes:      []string{"model.", ""},
	Buffers:       []string{".rotary_emb.inv_freq"},
	Harmless:      []string{"attn_logit_softcapping", "cache_implementation"}, // the cap is read and not applied
	Spec: func(c *Config) (*transformer.Spec, error) {
		s, err := gemmaSpec(c, "gemma3")
		if err != nil {
			return nil, err
		}
		s.QueryKeyNorm = true
		s.LogitCap = c.FloatOrNull("final_logit_softcapping", 0)
		pattern := max(1, c.IntOr(6, "sliding_window_pattern", "_sliding_window_pattern"))
		s.Windows = windows(s.Layers, c.IntOr(4096, "sliding_window"),
			layerTypes(c, s.Layers, func(l int) bool { return (l+1)%pattern != 0 }))
		s.Rotary, s.LocalRotary = gemma3Rope(c, s)
		return s, nil
	},
	Weights: gemmaWeights,
}

// gemma3Rope reads the rotation of the layers that see all and of those with a window: {"rope_parameters": {"full_attention": …,
// "sliding_attention": …}}, or rope_theta with rope_scaling, and rope_local_base_freq.
func gemma3Rope(c *Config, s *transformer.Spec) (full, local *transformer.Rotary) {
	base := c.Float("rope_local_base_freq", 10000)
	both := c.Object("rope_parameters")
	read := func(o *Config, theta float64) *transformer.Rotary {
		return ropeReader{Config: o, theta: theta, width: s.HeadWidth, context: s.Context}.read()
	}
	if both == nil {
		return rope(c, 1000000, 0, s.HeadWidth, s.Context), read(c.ObjectOrEmpty("local rope"), base)
	}
	return read(both.ObjectOrEmpty("full_attention"), 1000000), read(both.ObjectOrEmpty("sliding_attention"), base)
}
