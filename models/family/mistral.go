package family

import "github.com/headwater-ml/headwater/models/transformer"

func init() { Register(mistral) }

// mistral is Mistral: Llama with groups of heads and a window over the last tokens.
var mistral = &Family{
	Name:          "mistral",
	Architectures: []string{"MistralForCausalLM", "MistralModel"},
	Prefixes:      []string{"model.", ""},
	Buffers:       []string{".rotary_emb.inv_freq"},
	Spec: func(c *Config) (*transformer.Spec, error) {
		s, err := llamaSpec(c, "mistral", 8, 0)
		if err != nil {
			return nil, err
		}
		s.Activation = OneOf(c, "hidden_act", "silu", activations)
		window := 4096
		if c.Null("sliding_window") {
			window = 0
		}
		window = c.IntOr(window, "sliding_window")
		s.Windows = windows(s.Layers, window, layerTypes(c, s.Layers, func(int) bool { return true }))
		decoderHead(c, s, false)
		s.Rotary = rope(c, 10000, 0, s.HeadWidth, s.Context)
		stretch(s)
		return s, nil
	},
	Weights: llamaWeights,
}
