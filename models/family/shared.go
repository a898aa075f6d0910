package family

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

// activations are the names in the reference implementation. It also has some that are not 0 at 0,
// of which no token of the text has a share (laplace, sigmoid, sqrtsoftplus), and prelu, which has
// a weight; no published model has them in a feed-forward part.
var activations = map[string]spec.Activation{
	"gelu": spec.GELU, "gelu_python": spec.GELU, "gelu_10": spec.ClippedGELU,
	"gelu_new": spec.GELUTanh, "gelu_fast": spec.GELUTanh, "gelu_accurate": spec.GELUTanh,
	"gelu_pytorch_tanh": spec.GELUTanh, "gelu_python_tanh": spec.GELUTanh,
	"quick_gelu": spec.QuickGELU, "mish": spec.Mish, "hardswish": spec.HardSwish,
	"silu": spec.SiLU, "swish": spec.SiLU, "xielu": spec.XIELU,
	"relu": spec.ReLU, "relu2": spec.ReLUSquared, "relu6": spec.ReLU6,
	"leaky_relu": spec.LeakyReLU, "tanh": spec.HyperbolicTangent, "linear": spec.Identity,
}

// headWidth sets the width of a head to the width of the model divided by the number of heads.
func headWidth(c *Config, s *spec.Spec) error {
	if s.Heads < 1 || s.Width%s.Heads != 0 {
		c.fail("%s must be a multiple of the number of heads, %s", c.keyOf("Width"),
			c.keyOf("Heads"))
		return c.firstErr()
	}
	s.HeadWidth = s.Width / s.Heads
	root := c.root()
	root.origin["HeadWidth"] = root.origin["Width"]
	return c.firstErr()
}

// alibiSlopes returns the slope of each head. The number of heads has not been checked yet.
func alibiSlopes(heads int) []float32 {
	return spec.AlibiSlopes(min(max(heads, 1), spec.MaxSize("Heads")))
}

// headGroups reads how many heads have their own keys and values.
func headGroups(c *Config, s *spec.Spec, fallback int) {
	c.AllowNull("num_key_value_heads")
	s.KeyValueHeads = c.SizeOr(fallback, "KeyValueHeads", "num_key_value_heads")
	if s.KeyValueHeads < 1 || s.Heads%s.KeyValueHeads != 0 {
		c.fail("%s must divide the number of heads, %s; where it is missing it is %d",
			c.keyOf("KeyValueHeads"), c.keyOf("Heads"), fallback)
	}
}

// decoderHead sets a decoder's head and the ids that begin and end a text. An architecture
// whose name ends in Model has no head.
func decoderHead(c *Config, s *spec.Spec, tied bool) {
	s.TiedHead = c.Bool("tie_word_embeddings", tied)
	if !readClassHead(c, s) && headless(c) {
		s.Head = spec.NoHead
	}
	c.AllowNull("bos_token_id")
	s.BOS, s.EOS = c.Int(-1, "bos_token_id"), c.ints("eos_token_id")
	if v, key := c.fallback("bos_token_id"); v != nil {
		s.BOS = c.integer(v, key, 0, math.MaxInt32)
	}
	if v, key := c.fallback("eos_token_id"); v != nil {
		s.EOS = []int{c.integer(v, key, 0, math.MaxInt32)}
	}
	c.setOrigin("BOS", "bos_token_id")
	c.setOrigin("EOS", "eos_token_id")
}

// headless returns whether the architecture has no head.
func headless(c *Config) bool {
	return slices.ContainsFunc(c.Strings("architectures"), func(a string) bool {
		return strings.HasSuffix(a, "Model") && !strings.HasSuffix(a, "LMHeadModel")
	})
}

// classes reads how many classes a classifier has, and their names. If num_labels is not the number
// of names in id2label, num_labels counts and the names are dropped, as in the reference
// implementation.
func classes(c *Config, s *spec.Spec) {
	s.Classes = 2
	if s.Head == spec.SpanHead {
		s.Labels = []string{"start", "end"}
		c.AllowNull("num_labels")
		if n := c.SizeOr(2, "Classes", "num_labels"); n != 2 {
			c.fail("num_labels is %d; a question answering model has 2, start and end", n)
		}
		return
	}
	if names := c.Object("id2label"); names != nil {
		c.setOrigin("Classes", "id2label")
		s.Classes = len(names.values)
		for i := range s.Classes {
			s.Labels = append(s.Labels, label(names.values[strconv.Itoa(i)]))
		}
		for key := range names.values { // names of classes that do not exist change nothing
			if _, err := strconv.Atoi(key); err != nil {
				c.fail("id2label has the key %s; its keys must be numbers of classes, as \"0\"",
					shown(key))
				break
			}
			names.read[key] = true
		}
		if most := spec.MaxSize("Classes"); s.Classes < 1 || s.Classes > most {
			c.fail("id2label has %d names; it must have from 1 to %d", s.Classes, most)
		}
	}
	if !c.Has("id2label") || c.Has("num_labels") {
		c.AllowNull("num_labels")
		if n := c.SizeOr(s.Classes, "Classes", "num_labels"); n != s.Classes {
			s.Classes, s.Labels = n, nil
		}
	}
}

// label returns the name of a class. Some files have numbers, which the reference implementation
// takes, too.
func label(name any) string {
	switch name := name.(type) {
	case nil:
		return ""
	case string:
		return name
	}
	return shown(name)
}

// slidingWindow reads how many tokens a layer with a window sees. It returns 0 for null, which
// means all tokens.
func slidingWindow(c *Config, fallback int) int {
	c.setOrigin("Windows", "sliding_window")
	if c.isNull("sliding_window") {
		return 0
	}
	return c.AtLeast(1, fallback, "sliding_window")
}

// windows returns the window of each layer, [L]: window for the layers for which sliding is true, 0
// for the others. It returns nil if no layer has a window.
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

// layerTypes returns which layers have a window: those that layer_types names or, without that key,
// those for which byDefault is true. If there is no window, no layer can have one; null says why
// there is none.
func layerTypes(c *Config, layers, window int, byDefault func(l int) bool,
	null string,
) func(l int) bool {
	types := c.Strings("layer_types")
	if types == nil {
		types = make([]string, min(max(layers, 0), spec.MaxSize("Layers")))
		for l := range types {
			types[l] = fullAttention
			if byDefault(l) {
				types[l] = slidingAttention
			}
		}
	} else if len(types) != layers {
		c.fail("layer_types has %d entries; it must have one for each of the layers, %s",
			len(types), c.keyOf("Layers"))
	}
	for l, t := range types {
		if t == "attention" { // an old name
			types[l], t = fullAttention, fullAttention
		}
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

// sameInAll reads layer_types of an architecture for which the reference implementation ignores
// that key. It must say what the reference does, which is the same in all layers.
func sameInAll(c *Config, layers, window int) func(l int) bool {
	want := fullAttention
	if window > 0 {
		want = slidingAttention
	}
	types := c.Strings("layer_types")
	if types != nil && len(types) != layers {
		c.fail("layer_types has %d entries; it must have one for each of the layers, %s",
			len(types), c.keyOf("Layers"))
	}
	for l, t := range types {
		if t != want {
			c.fail("layer_types[%d] is %s; it must be %s in all layers, as this architecture has "+
				"it with sliding_window %d", l, shown(t), want, window)
		}
	}
	return func(int) bool { return window > 0 }
}

// sortedKeys returns the keys of a map, sorted.
func sortedKeys[T any](known map[string]T) []string { return slices.Sorted(maps.Keys(known)) }
