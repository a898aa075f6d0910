package family

import (
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
		c.fail("%s must be a multiple of the number of heads, %s", c.source("Width"),
			c.source("Heads"))
		return c.Err()
	}
	s.HeadWidth = s.Width / s.Heads
	root := c.root()
	root.origin["HeadWidth"] = root.origin["Width"]
	return c.Err()
}

// alibiSlopes returns the slope of each head, of a number that nobody has checked yet.
func alibiSlopes(heads int) []float32 {
	return transformer.AlibiSlopes(min(max(heads, 1), transformer.MaxHeads))
}

// headGroups reads how many heads have keys and values.
func headGroups(c *Config, s *transformer.Spec, fallback int) error {
	s.KeyValueHeads = c.SizeOrNull(fallback, "KeyValueHeads", "num_key_value_heads")
	if s.KeyValueHeads < 1 || s.Heads%s.KeyValueHeads != 0 {
		c.fail("%s must divide the number of heads, %s; where it is missing it is %d",
			c.source("KeyValueHeads"), c.source("Heads"), fallback)
	}
	return c.Err()
}

// decoderHead sets the head of a decoder, which a model that ends in Model has none of, and the ids that begin and end a text.
func decoderHead(c *Config, s *transformer.Spec, tied bool) {
	s.TiedHead = c.Bool("tie_word_embeddings", tied)
	if bare(c) {
		s.Head = transformer.NoHead
	}
	s.BOS, s.EOS = c.IntOrNull(-1, "bos_token_id"), c.Ints("eos_token_id")
	c.from("BOS", "bos_token_id")
	c.from("EOS", "eos_token_id")
	c.Only("add_cross_attention", false)
}

// bare is whether the architecture is one without a head.
func bare(c *Config) bool {
	return slices.ContainsFunc(c.Strings("architectures"), func(a string) bool {
		return strings.HasSuffix(a, "Model") && !strings.HasSuffix(a, "LMHeadModel")
	})
}

// classes reads how many classes a classifier has and what they are called. Where num_labels is
// another number than id2label has names, it counts, and the names are nobody's, as in the
// reference.
func classes(c *Config, s *transformer.Spec) {
	s.Classes = 2
	if names := c.Object("id2label"); names != nil {
		c.from("Classes", "id2label")
		s.Classes = len(names.values)
		for i := range s.Classes {
			s.Labels = append(s.Labels, names.String(strconv.Itoa(i), ""))
		}
		for key, name := range names.values { // a name of no class changes nothing
			if _, err := strconv.Atoi(key); err != nil {
				c.fail("id2label has the key %s; its keys must be numbers of classes, as \"0\"",
					shown(key))
				break
			}
			if _, text := name.(string); !text {
				names.refuse(key, name, "a text")
				break
			}
			names.taken[key] = true
		}
		if most := transformer.MaxSize("Classes"); s.Classes < 1 || s.Classes > most {
			c.fail("id2label has %d names; it must have from 1 to %d", s.Classes, most)
		}
	}
	if !c.Has("id2label") || c.Has("num_labels") {
		if n := c.SizeOrNull(s.Classes, "Classes", "num_labels"); n != s.Classes {
			s.Classes, s.Labels = n, nil
		}
	}
}

// slidingWindow reads how many tokens a layer with a window sees; 0 for null, which is all.
func slidingWindow(c *Config, fallback int) int {
	c.from("Windows", "sliding_window")
	if c.Null("sliding_window") {
		c.taken["sliding_window"] = true
		return 0
	}
	return c.AtLeast(1, fallback, "sliding_window")
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

// The values of layer_types.
const (
	fullAttention    = "full_attention"
	slidingAttention = "sliding_attention"
)

// layerTypes reads which layers have a window: layer_types if it is there, otherwise as the default
// says. A layer cannot have one where there is no window, null says the reason.
func layerTypes(c *Config, layers, window int, byDefault func(l int) bool,
	null string,
) func(l int) bool {
	types := c.Strings("layer_types")
	if types == nil {
		types = make([]string, min(max(layers, 0), transformer.MaxSize("Layers")))
		for l := range types {
			types[l] = fullAttention
			if byDefault(l) {
				types[l] = slidingAttention
			}
		}
	} else if len(types) != layers {
		c.fail("layer_types has %d entries; it must have one for each of the layers, %s",
			len(types), c.source("Layers"))
	}
	for l, t := range types {
		if t != fullAttention && t != slidingAttention {
			c.fail("layer_types[%d] is %s; supported are %s, %s", l, shown(t), fullAttention,
				slidingAttention)
		}
		if t == slidingAttention && window == 0 {
			c.fail("layer_types[%d] is %s, but %s", l, t, null)
		}
	}
	return func(l int) bool { return l < len(types) && types[l] == slidingAttention }
}

// sameInAll reads layer_types of an architecture whose reference does not look at it: it must say
// what the reference does, the same in all layers.
func sameInAll(c *Config, layers, window int) func(l int) bool {
	want := fullAttention
	if window > 0 {
		want = slidingAttention
	}
	types := c.Strings("layer_types")
	if types != nil && len(types) != layers {
		c.fail("layer_types has %d entries; it must have one for each of the layers, %s",
			len(types), c.source("Layers"))
	}
	for l, t := range types {
		if t != want {
			c.fail("layer_types[%d] is %s; it must be %s in all layers, as this architecture has "+
				"it with sliding_window %d", l, shown(t), want, window)
		}
	}
	return func(int) bool { return window > 0 }
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
