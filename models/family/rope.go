package family

import (
	"math"

	"github.com/headwater-ml/headwater/models/transformer"
)

// rope reads how positions turn queries and keys, in both styles of config.json: {"rope_parameters": {"rope_theta": …, "rope_type": …}}
// and {"rope_theta": …, "rope_scaling": {"type": …}}. theta and partial are the family's defaults, partial 0 where all of a head is
// turned whatever the file says. context is how many positions the model was made for, width that of a head.
func rope(c *Config, theta, partial float64, width, context int) *transformer.Rotary {
	r := ropeReader{Config: c.ObjectOrEmpty("rope_scaling"), width: width, context: context, theta: c.Float("rope_theta", theta), partial: partial}
	if r.partial != 0 {
		r.partial = c.Float("partial_rotary_factor", partial)
	}
	r.original = c.IntOr(0, "original_max_position_embeddings")
	if v5 := c.Object("rope_parameters"); v5 != nil {
		r.Config = v5
	}
	return r.read()
}

// rotate sets the rotation that [rope] reads, and makes the context as long as dynamic scaling is meant for.
func rotate(c *Config, s *transformer.Spec, theta, partial float64) {
	s.Rotary = rope(c, theta, partial, s.HeadWidth, s.Context)
	if s.Rotary != nil && s.Rotary.Stretch > 0 {
		s.Context = int(min(float64(s.Context)*s.Rotary.Stretch, 1<<24))
	}
}

// ropeReader reads one object of parameters. Formulas and defaults are those of the reference's modeling_rope_utils.
type ropeReader struct {
	*Config
	theta    float64
	partial  float64 // 0: not read
	width    int
	context  int
	original int // what the configuration itself says, before the object
}

func (r ropeReader) read() *transformer.Rotary {
	r.theta = r.Float("rope_theta", r.theta)
	if r.partial != 0 {
		r.partial = r.Float("partial_rotary_factor", r.partial)
	} else if p := r.Float("partial_rotary_factor", 1); p != 1 {
		r.fail("partial_rotary_factor %v changes the arithmetic and is not supported for this architecture", p)
		return nil
	} else {
		r.partial = 1
	}
	kind := r.String("rope_type", r.String("type", "default"))
	if kind == "su" || kind == "yarn" && r.Has("short_factor") { // what Phi-3's files called it first
		kind = "longrope"
	}
	rotated := int(float64(r.width) * r.partial)
	if !(r.partial > 0 && r.partial <= 1) || rotated < 2 || rotated > maxRotated || rotated%2 != 0 {
		r.fail("%v of a head of width %d is no even number of rotated components up to %d", r.partial, r.width, maxRotated)
		return nil
	}
	if !(r.theta > 1 && r.theta <= 1e12) {
		r.fail("rope_theta %v is not in 1..1e12", r.theta)
		return nil
	}
	f := transformer.RotaryFrequencies(r.theta, rotated)
	rotary := &transformer.Rotary{}
	switch kind {
	case "default":
	case "linear":
		r.IntOr(0, "original_max_position_embeddings")
		factor := r.factor()
		for i := range f {
			f[i] /= factor
		}
	case "dynamic":
		rotary.Stretch, rotary.Original = r.factor(), r.context
		r.IntOr(0, "original_max_position_embeddings")
	case "llama3":
		r.llama3(f)
	case "yarn":
		rotary.Scale = r.yarn(f)
	case "longrope":
		return r.long(f)
	default:
		r.fail("rope_type %q is not supported; supported are default, dynamic, linear, llama3, longrope, yarn", kind)
		return nil
	}
	rotary.Frequencies = rounded(f)
	return rotary
}

// maxRotated is far above the width of any head, and below what would fill memory.
const maxRotated = 1 << 16

// positive returns a required number above 0.
func (r ropeReader) positive(key string) float64 {
	v := r.Float(key, 0)
	if !(v > 0 && v <= 1e9) {
		r.fail("%s %v is not in 0..1e9", key, v)
		return 1
	}
	return v
}

// factor is how many times longer texts may be than those of training.
func (r ropeReader) factor() float64 {
	f := r.positive("factor")
	if f < 1 {
		r.fail("factor %v is below 1", f)
		return 1
	}
	return f
}

// trained is how many positions the model had before it was stretched.
func (r ropeReader) trained() int {
	n := r.IntOr(r.original, "original_max_position_embeddings")
	if r.original > 0 {
		n = r.original
	}
	if n == 0 {
		n = r.context
	}
	if n < 1 {
		r.fail("original_max_position_embeddings %d is below 1", n)
		return 1
	}
	return n
}

// llama3 divides frequencies that turn less than once in the trained context by the factor, leaves those that turn often, and
// goes from one to the other between (Llama 3.1).
func (r ropeReader) llama3(f []float64) {
	factor, low, high, n := r.factor(), r.positive("low_freq_factor"), r.positive("high_freq_factor"), float64(r.trained())
	if low == high {
		r.fail("low_freq_factor and high_freq_factor are both %v", low)
		return
	}
	for i, x := range f {
		wavelength := 2 * math.Pi / x
		switch {
		case wavelength > n/low:
			f[i] = x / factor
		case wavelength >= n/high:
			smooth := (n/wavelength - low) / (high - low)
			f[i] = (1-smooth)*x/factor + smooth*x
		}
	}
}

// yarn goes from unchanged to divided frequencies over a ramp of components and returns the scale (Peng et al. 2023, §3).
func (r ropeReader) yarn(f []float64) float64 {
	factor, n, width := r.factor(), float64(r.trained()), float64(2*len(f))
	component := func(turns float64) float64 { return width * math.Log(n/(turns*2*math.Pi)) / (2 * math.Log(r.theta)) }
	low, high := component(or(r.Float("beta_fast", 0), 32)), component(or(r.Float("beta_slow", 0), 1))
	if r.Bool("truncate", true) {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, width-1)
	if low == high {
		high += 0.001
	}
	for i, x := range f {
		ramp := min(max((float64(i)-low)/(high-low), 0), 1)
		f[i] = x/factor*ramp + x*(1-ramp)
	}
	scale := func(m float64) float64 {
		if factor <= 1 {
			return 1
		}
		return 0.1*m*math.Log(factor) + 1
	}
	m, all := r.Float("mscale", 0), r.Float("mscale_all_dim", 0)
	given := r.Float("attention_factor", 0)
	switch {
	case given != 0:
		return given
	case m != 0 && all != 0:
		return scale(m) / scale(all)
	}
	return scale(1)
}

// or returns x, or the default where x is 0.
func or(x, fallback float64) float64 {
	if x == 0 {
		return fallback
	}
	return x
}

// long divides each frequency by its own factor, with one list for texts up to the trained length and one for longer (Phi-3).
func (r ropeReader) long(f []float64) *transformer.Rotary {
	n := r.trained()
	short, long := r.Floats("short_factor"), r.Floats("long_factor")
	if len(short) != len(f) || len(long) != len(f) {
		r.fail("short_factor and long_factor have %d and %d numbers, not %d", len(short), len(long), len(f))
		return nil
	}
	divided := func(by []float64) []float32 {
		out := make([]float64, len(f))
		for i := range f {
			if !(by[i] > 0) {
				r.fail("a factor of %v is not above 0", by[i])
			}
			out[i] = f[i] / by[i]
		}
		return rounded(out)
	}
	factor := r.Float("factor", 0)
	if factor == 0 {
		factor = float64(r.context) / float64(n)
	}
	scale := r.Float("attention_factor", 0)
	if scale == 0 {
		scale = 1
		if factor > 1 {
			scale = math.Sqrt(1 + math.Log(factor)/math.Log(float64(n)))
		}
	}
	return &transformer.Rotary{Frequencies: divided(short), LongFrequencies: divided(long), Original: n, Scale: scale}
}

// rounded returns x in float32.
func rounded(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}
