package family

import (
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(phi3) }

// phi3 is Phi-3 and Phi-4-mini: Llama with fused projections. The models for long texts have
// frequencies that change with the length of the text.
var phi3 = namedAsLlama(Family{
	Name:          "phi3",
	Architectures: []string{"Phi3ForCausalLM", "Phi3Model"},
	Padding:       []int{32000},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "phi3", epsilon: 1e-5})
		window := slidingWindow(c, 0)
		s.Windows = windows(s.Layers, window, sameInAll(c, s.Layers, window))
		phi3Kind(c)
		rotate(c, s, 10000, 1)
		return s, nil
	},
	Weights: replaced(glmWeights,
		Weight{"blocks.%d.query.weight", "layers.%d.self_attn.qkv_proj.weight", QueryRows},
		Weight{"blocks.%d.key.weight", "layers.%d.self_attn.qkv_proj.weight", KeyRows},
		Weight{"blocks.%d.value.weight", "layers.%d.self_attn.qkv_proj.weight", ValueRows},
	),
})

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
