package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(mistral) }

// mistral is Mistral: Llama with groups of heads and a window over the last tokens.
var mistral = &Family{
	Name:          "mistral",
	Architectures: []string{"MistralForCausalLM", "MistralModel"},
	Prefixes:      textPrefixes,
	Buffers:       []string{".rotary_emb.inv_freq"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "mistral", groups: 8})
		window := slidingWindow(c, 4096)
		s.Windows = windows(s.Layers, window, sameInAll(c, s.Layers, window))
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: llamaWeights,
}
