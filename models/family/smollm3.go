package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(smolLM3) }

// smolLM3 is SmolLM3: Llama without rotation in every fourth layer.
var smolLM3 = namedAsLlama(Family{
	Name:          "smollm3",
	Architectures: []string{"SmolLM3ForCausalLM", "SmolLM3Model"},
	Padding:       []int{128004},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "smollm3", groups: 4, tied: true})
		attentionBiases(c, s, false)
		s.MLPBias = c.Bool("mlp_bias", false)
		every := c.Every(4, "no_rope_layer_interval", "no_rope_layers")
		turned := c.floats("no_rope_layers")
		if c.Has("no_rope_layers") && len(turned) != s.Layers {
			c.fail("no_rope_layers has %d entries; it must have one for each of the layers, %s",
				len(turned), c.keyOf("Layers"))
			return s, c.firstErr()
		}
		s.Unturned = unturned(s, func(l int) bool {
			if len(turned) > 0 { // 1 where a layer is turned, whatever the name says
				return turned[l] == 0
			}
			return (l+1)%every == 0
		})
		s.Windows = smolWindows(c, s)
		rotate(c, s, 2000000, 0)
		return s, nil
	},
	Weights: llamaWeights,
})

// smolWindows reads the windows of SmolLM3: without layer_types, those of the layers without
// rotation.
func smolWindows(c *Config, s *spec.Spec) []int {
	window, null := 0, "use_sliding_window is not true"
	if c.Bool("use_sliding_window", false) {
		window, null = slidingWindow(c, 0), "sliding_window is null"
	} else {
		c.AllowNull("sliding_window")
		c.Int(0, "sliding_window") // read, but not used
	}
	return windows(s.Layers, window, layerTypes(c, s.Layers, window,
		func(l int) bool { return window > 0 && s.RotaryOf(l) == nil }, null))
}
