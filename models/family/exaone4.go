package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(exaone4) }

// exaone4 is EXAONE 4: norms after both parts and none before, and norms of query and key in each
// head. Layers without a window have no rotation, if others have one.
var exaone4 = namedAsLlama(Family{
	Name:          "exaone4",
	Architectures: []string{"Exaone4ForCausalLM", "Exaone4Model"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "exaone4", groups: 32, epsilon: 1e-5})
		s.NormAfter, s.NoNormBefore, s.QueryKeyNorm = true, true, true
		pattern := exaonePattern(c)
		window := slidingWindow(c, 4096)
		s.Windows = windows(s.Layers, window, layerTypes(c, s.Layers, window,
			func(l int) bool { return window > 0 && (l+1)%pattern != 0 }, "sliding_window is null"))
		s.Unturned = unturned(s, func(l int) bool { return window > 0 && s.Window(l) == 0 })
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: afterWeights,
})

// exaonePattern reads how many layers the last of which has no window. The reference refuses the
// text that the first files have instead of a number, unless there are layer_types.
func exaonePattern(c *Config) int {
	if _, isText := c.values["sliding_window_pattern"].(string); isText && c.Has("layer_types") {
		return len(c.String("sliding_window_pattern", ""))
	}
	c.AllowNull("sliding_window_pattern")
	return c.AtLeast(1, 4, "sliding_window_pattern")
}
