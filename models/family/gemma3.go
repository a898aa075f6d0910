package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(gemma3) }

// gemma3 is the language model of Gemma 3: Gemma 2 with norms of query and key instead of the cap
// on scores. Five layers of six have a window, and a rotation of their own.
var gemma3 = &Family{
	Name:          "gemma3_text",
	Architectures: []string{"Gemma3ForCausalLM", "Gemma3TextModel"},
	Prefixes:      textPrefixes,
	Buffers:       []string{".rotary_emb.inv_freq"},
	Padding:       []int{0},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := gemmaSpec(c, "gemma3")
		s.QueryKeyNorm = true
		s.LogitCap = gemma3Cap(c)
		s.Windows = gemmaWindows(c, s.Layers, butEvery(c, 6))
		s.Rotary, s.LocalRotary = layerRope(c, s, "rope_theta", 1000000, "rope_local_base_freq")
		return s, nil
	},
	Weights: gemmaWeights,
}

// butEvery reads which layers have a window: all but every pattern-th.
func butEvery(c *Config, pattern int) func(l int) bool {
	pattern = c.Every(pattern, "sliding_window_pattern", "layer_types")
	// The reference implementation writes this key but does not read it. Without layer_types it
	// must agree with the key that is read.
	if noted := c.Every(pattern, "_sliding_window_pattern", "layer_types"); noted != pattern {
		c.fail("_sliding_window_pattern is %d; it must be %d, which sliding_window_pattern "+
			"or its default says", noted, pattern)
	}
	return func(l int) bool { return (l+1)%pattern != 0 }
}

// gemma3Cap reads the cap of logits. There is none unless the file has one.
func gemma3Cap(c *Config) float64 {
	if !c.Has("final_logit_softcapping") {
		return 0
	}
	return softCap(c, "final_logit_softcapping", 0)
}

// layerRope reads the rotation of the layers without and with a window. The form is
// {"rope_parameters": {"full_attention": …, "sliding_attention": …}}, or globalKey for the base
// with rope_scaling, and localKey for the base of the others, if that is another key.
func layerRope(c *Config, s *spec.Spec, globalKey string, theta float64, localKey string) (
	full, local *spec.Rotary,
) {
	theta = c.Above(1, maxTheta, globalKey, theta)
	base := theta
	if localKey != globalKey {
		base = c.Above(1, maxTheta, localKey, 10000)
	}
	both := c.Object("rope_parameters")
	read := func(o *Config, theta float64) *spec.Rotary {
		return ropeReader{Config: o, theta: theta, width: s.HeadWidth, context: s.Context}.rotary()
	}
	c.setOrigin("LocalRotary", localKey)
	if both == nil {
		full = rope(c, theta, 0, s.HeadWidth, s.Context)
		return full, read(c.objectOrEmpty("rope_parameters"), base)
	}
	if old := c.objectOrEmpty("rope_scaling"); len(old.values) > 0 {
		c.fail("rope_parameters and rope_scaling are both there; remove the one that the model " +
			"was not trained with")
	}
	return read(both.objectOrEmpty(fullAttention), theta),
		read(both.objectOrEmpty(slidingAttention), base)
}
