package family

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() {
	Register(led)
	Register(bigBirdPegasus)
}

// led is LED, the Longformer for two stacks: BART whose encoder sees a window. It opens for texts
// that one window holds, so that it sees all of them, and no token is read globally.
var led = func() *Family {
	b := bartLike{name: "led", start: 2, normed: true}
	b.context = func(c *Config, s *spec.Spec) {
		s.PositionRows = c.Size("Context", "max_encoder_position_embeddings")
		s.TargetPositionRows = c.Size("Context", "max_decoder_position_embeddings")
		s.Context = min(s.PositionRows, s.TargetPositionRows)
		windows := c.ints("attention_window")
		if windows == nil {
			windows = []int{512}
		}
		for _, window := range windows {
			if window < 2 || window%2 != 0 {
				c.fail("attention_window has %d; it must be even and above 0", window)
			}
			s.Context = min(s.Context, window/2+1)
		}
	}
	f := bartFamily("LED", b, tables...)
	f.Prefixes = []string{"led.", ""}
	f.Buffers = []string{"_global.weight", "_global.bias"}
	f.Weights = longEncoder(f.Weights, "longformer_self_attn.")
	return f
}()

// bigBirdPegasus is BigBird-Pegasus: Pegasus with a table of positions. Its encoder sees random
// blocks of a long text; it opens for texts that are short enough to be seen as a whole.
var bigBirdPegasus = func() *Family {
	b := bartLike{name: "bigbird_pegasus", start: 2, before: true, scaled: true}
	b.context = func(c *Config, s *spec.Spec) {
		s.PositionRows = c.Size("Context", "max_position_embeddings")
		s.TargetPositionRows, s.Context = s.PositionRows, s.PositionRows
		kinds := map[string]bool{"block_sparse": true, "original_full": false}
		blocks, size := c.AtLeast(0, 3, "num_random_blocks"), c.AtLeast(1, 64, "block_size")
		if OneOf(c, "attention_type", "block_sparse", kinds) && blocks < s.Context &&
			size < s.Context {
			s.Context = min(s.Context, (5+2*blocks)*size)
		}
	}
	f := bartFamily("BigBirdPegasus", b, tables...)
	read := f.Spec
	f.Spec = func(c *Config) (*spec.Spec, error) {
		s, err := read(c)
		c.ignore("is_decoder") // each stack says it itself
		s.ProjectionBias = c.Bool("use_bias", false)
		s.OutputBias = s.ProjectionBias
		return s, cmp.Or(err, c.firstErr())
	}
	f.Weights = longEncoder(f.Weights, "self.")
	for i, w := range f.Weights { // the norm after a stack is called as others call the first one
		if !strings.HasPrefix(w.Param, "embedding-norm") && !strings.HasPrefix(w.Param, "target-") {
			f.Weights[i].Tensor = strings.Replace(w.Tensor, "coder.layer_norm",
				"coder.layernorm_embedding", 1)
		}
	}
	return f
}()

// longEncoder returns weights with the names that encoders for long texts have: projections are in
// a part of the attention, and its output beside it.
func longEncoder(weights []Weight, part string) []Weight {
	const attention = "encoder.layers.%d.self_attn."
	names := strings.NewReplacer("q_proj", part+"query", "k_proj", part+"key",
		"v_proj", part+"value", "out_proj", "output")
	weights = slices.Clone(weights)
	for i, w := range weights {
		if rest, is := strings.CutPrefix(w.Tensor, attention); is {
			weights[i].Tensor = attention + names.Replace(rest)
		}
	}
	return weights
}
