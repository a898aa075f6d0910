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
		window := slidingWindow(c, 4096)
		pattern := 1 // not read without a window
		if c.value("sliding_window_pattern"); window > 0 {
			pattern = c.Every(4, "sliding_window_pattern", "layer_types")
		}
		s.Windows = windows(s.Layers, window, layerTypes(c, s.Layers, window,
			func(l int) bool { return window > 0 && (l+1)%pattern != 0 }, "sliding_window is null"))
		s.Unturned = unturned(s, func(l int) bool { return window > 0 && s.Window(l) == 0 })
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: afterWeights,
})
