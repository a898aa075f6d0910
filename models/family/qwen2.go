package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(qwen2) }

// qwen2 is Qwen2 and Qwen2.5: Llama with biases on query, key and value. The upper layers may have
// a window.
var qwen2 = &Family{
	Name:          "qwen2",
	Architectures: []string{"Qwen2ForCausalLM", "Qwen2Model"},
	ModelTypes:    []string{"qwen2_5_vl_text", "qwen2_vl_text"},
	Prefixes:      append([]string{"transformer."}, textPrefixes...),
	Buffers:       []string{".rotary_emb.inv_freq"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "qwen2", groups: 32})
		s.ProjectionBias = true
		s.Windows = qwenWindows(c, s.Layers, upper)
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: llamaWeights,
}

// upper reports whether layer l is one from max_window_layers on.
func upper(l, most int) bool { return l >= most }

// qwenWindows reads the windows of Qwen. If use_sliding_window is true, layers have one that has
// says so, given max_window_layers.
func qwenWindows(c *Config, layers int, has func(l, most int) bool) []int {
	from := c.Int(28, "max_window_layers")
	window, null := 0, "use_sliding_window is not true"
	if c.Bool("use_sliding_window", false) {
		window, null = slidingWindow(c, 4096), "sliding_window is null"
	} else {
		c.AllowNull("sliding_window")
		c.Int(0, "sliding_window") // read, but not used
	}
	return windows(layers, window, layerTypes(c, layers, window,
		func(l int) bool { return window > 0 && has(l, from) }, null))
}
