package family

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/models/transformer"
)

// activations are the names of the reference implementation.
var activations = map[string]transformer.Activation{
	"gelu": transformer.GELU, "gelu_python": transformer.GELU,
	"gelu_new": transformer.GELUTanh, "gelu_pytorch_tanh": transformer.GELUTanh, "gelu_fast": transformer.GELUTanh,
	"gelu_python_tanh": transformer.GELUTanh, "gelu_accurate": transformer.GELUTanh,
	"silu": transformer.SiLU, "swish": transformer.SiLU, "relu": transformer.ReLU,
}

// headWidth sets the width of a head where it is the width over the heads.
func headWidth(c *Config, s *transformer.Spec) error {
	if s.Heads < 1 || s.Width%s.Heads != 0 {
		return fmt.Errorf("family: %s: %d heads do not divide width %d", c.File(), s.Heads, s.Width)
	}
	s.HeadWidth = s.Width / s.Heads
	return nil
}

// alibiSlopes returns the slope of each head, of a number that nobody has checked yet.
func alibiSlopes(heads int) []float32 {
	return transformer.AlibiSlopes(min(max(heads, 1), transformer.MaxHeads))
}

// headGroups reads how many heads have keys and values.
func headGroups(c *Config, s *transformer.Spec, fallback int) error {
	s.KeyValueHeads = c.IntOr(fallback, "num_key_value_heads")
	if s.KeyValueHeads < 1 || s.Heads%s.KeyValueHeads != 0 {
		return fmt.Errorf("family: %s: num_key_value_heads %d does not divide num_attention_heads %d", c.File(), s.KeyValueHeads, s.Heads)
	}
	return nil
}

// decoderHead sets the head of a decoder, which a model that ends in Model has none of, and the ids that begin and end a text.
func decoderHead(c *Config, s *transformer.Spec, tied bool) {
	s.TiedHead = c.Bool("tie_word_embeddings", tied)
	if bare(c) {
		s.Head = transformer.NoHead
	}
	s.BOS, s.EOS = c.IntOr(-1, "bos_token_id"), c.Ints("eos_token_id")
	c.Only("add_cross_attention", false)
}

// bare is whether the architecture is one without a head.
func bare(c *Config) bool {
	return slices.ContainsFunc(c.Strings("architectures"), func(a string) bool {
		return strings.HasSuffix(a, "Model") && !strings.HasSuffix(a, "LMHeadModel")
	})
}

// classes reads how many classes a classifier has and what they are called.
func classes(c *Config, s *transformer.Spec) {
	s.Classes = 2
	if names := c.Object("id2label"); names != nil {
		s.Classes = len(names.values)
		for i := range s.Classes {
			s.Labels = append(s.Labels, names.String(strconv.Itoa(i), ""))
		}
		for key := range names.values { // a name of no class changes nothing
			names.taken[key] = true
		}
	}
	s.Classes = c.IntOr(s.Classes, "num_labels")
}

// windows returns [L] windows of so many tokens in the layers that sliding says, nil if there is none.
func windows(layers, window int, sliding func(l int) bool) []int {
	if window <= 0 || layers < 1 || layers > 1<<10 {
		return nil
	}
	w := make([]int, layers)
	any := false
	for l := range w {
		if sliding(l) {
			w[l], any = window, true
		}
	}
	if !any {
		return nil
	}
	return w
}

// layerTypes reads which layers have a window: layer_types if it is there, otherwise as the default says.
func layerTypes(c *Config, layers int, byDefault func(l int) bool) func(l int) bool {
	types := c.Strings("layer_types")
	if types == nil {
		return byDefault
	}
	if len(types) != layers {
		c.fail("layer_types has %d entries for %d layers", len(types), layers)
	}
	for _, t := range types {
		if t != "full_attention" && t != "sliding_attention" {
			c.fail("layer_types has %q; supported are full_attention, sliding_attention", t)
		}
	}
	return func(l int) bool { return l < len(types) && types[l] == "sliding_attention" }
}

// sortedKeys returns the keys of known, sorted.
func sortedKeys[T any](known map[string]T) []string {
	names := make([]string, 0, len(known))
	for k := range known {
		names = append(names, k)
	}
	sort.Strings(names)
	return names
}
