package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(qwen3) }

// qwen3 is Qwen3: Qwen2 without biases and with norms of query and key in each head.
var qwen3 = &Family{
	Name:          "qwen3",
	Architectures: []string{"Qwen3ForCausalLM", "Qwen3Model"},
	ModelTypes:    []string{"qwen3_vl_text"},
	Prefixes:      append([]string{"transformer."}, textPrefixes...),
	Buffers:       []string{".rotary_emb.inv_freq"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "qwen3", groups: 32, headWidth: 128})
		s.QueryKeyNorm = true
		attentionBiases(c, s, false)
		s.Windows = qwenWindows(c, s.Layers, upper)
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: llamaWeights,
}
