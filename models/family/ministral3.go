package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(ministral3) }

// ministral3 is Ministral 3: Mistral whose queries grow with their position.
var ministral3 = &Family{
	Name:          "ministral3",
	Architectures: []string{"Ministral3ForCausalLM", "Ministral3Model"},
	Prefixes:      textPrefixes,
	Buffers:       []string{".rotary_emb.inv_freq"},
	Padding:       []int{11},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{
			name: "ministral3", groups: 8, headWidth: 128, epsilon: 1e-5,
		})
		window := slidingWindow(c, 0)
		s.Windows = windows(s.Layers, window, sameInAll(c, s.Layers, window))
		r := ropeReader{theta: 1000000, width: s.HeadWidth, context: s.Context, grows: true}
		s.Rotary = r.of(c)
		return s, nil
	},
	Weights: llamaWeights,
}
