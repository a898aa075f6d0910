package family

import (
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(gptOSS) }

// gptOSS is GPT-OSS: a sink in each head, windows in every second layer, and experts with biases
// whose gate and other projection alternate in one tensor. Published models have them in MXFP4,
// with the outputs first.
var gptOSS = namedAsLlama(Family{
	Name:          "gpt_oss",
	Architectures: []string{"GptOssForCausalLM", "GptOssModel"},
	Packed:        "MXFP4",
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{
			name: "gpt_oss", groups: 8, headWidth: 64, epsilon: 1e-5,
		})
		s.Sinks, s.MLPBias = true, true
		attentionBiases(c, s, true)
		window := slidingWindow(c, 128)
		s.Windows = windows(s.Layers, window, layerTypes(c, s.Layers, window,
			func(l int) bool { return window > 0 && l%2 == 0 }, "sliding_window is null"))
		s.SwishScale = c.Above(0, spec.MaxScale, "swiglu_alpha", 1.702)
		s.InnerLimit = c.Above(0, spec.MaxScale, "swiglu_limit", 7)
		s.UpOffset = 1
		s.Mixture = mixture(c, "num_local_experts", "num_experts")
		s.Mixture.Width, s.Mixture.Renormalize, s.Mixture.RouterBias = s.FeedForward, true, true
		rotate(c, s, 150000, 0)
		return s, nil
	},
	Weights: slices.Concat(llamaWeights, []Weight{
		{"blocks.%d.sinks", "layers.%d.self_attn.sinks", AsIs},
		{"blocks.%d.router.weight", "layers.%d.mlp.router.weight", Transposed},
		{"blocks.%d.router.bias", "layers.%d.mlp.router.bias", AsIs},
		{
			"blocks.%d.experts.%d.gate.weight", "layers.%d.mlp.experts.gate_up_proj[%d]",
			EvenColumns,
		},
		{
			"blocks.%d.experts.%d.gate.bias", "layers.%d.mlp.experts.gate_up_proj_bias[%d]",
			EvenColumns,
		},
		{"blocks.%d.experts.%d.up.weight", "layers.%d.mlp.experts.gate_up_proj[%d]", OddColumns},
		{"blocks.%d.experts.%d.up.bias", "layers.%d.mlp.experts.gate_up_proj_bias[%d]", OddColumns},
		{
			"blocks.%d.experts.%d.gate.weight", "layers.%d.mlp.experts.gate_up_proj_blocks[%d]",
			EvenRows,
		},
		{
			"blocks.%d.experts.%d.up.weight", "layers.%d.mlp.experts.gate_up_proj_blocks[%d]",
			OddRows,
		},
		{
			"blocks.%d.experts.%d.down.weight", "layers.%d.mlp.experts.down_proj_blocks[%d]",
			Transposed,
		},
		{"blocks.%d.experts.%d.down.weight", "layers.%d.mlp.experts.down_proj[%d]", AsIs},
		{"blocks.%d.experts.%d.down.bias", "layers.%d.mlp.experts.down_proj_bias[%d]", AsIs},
	}),
})
