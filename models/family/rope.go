package family

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

// rope reads how positions rotate queries and keys, in both styles of config.json:
// {"rope_parameters": {"rope_theta": …, "rope_type": …}} and {"rope_theta": …, "rope_scaling":
// {"type": …}}. If both are there, they must mean the same. theta and partial are the defaults of
// the family; partial is 0 if the family always rotates all of a head. context is how many
// positions the model was made for, width the width of a head.
func rope(c *Config, theta, partial float64, width, context int) *spec.Rotary {
	return ropeReader{width: width, context: context, theta: theta, partial: partial}.of(c)
}

// of is [rope] with what r has.
func (r ropeReader) of(c *Config) *spec.Rotary {
	r.theta = c.Above(1, maxTheta, "rope_theta", r.theta)
	if r.partial != 0 {
		r.partial = c.Above(0, 1, "partial_rotary_factor", r.partial)
	}
	c.setOrigin("Rotary", "rope_theta")
	if c.reference["original_max_position_embeddings"].computes {
		r.original = c.AtLeast(1, 0, "original_max_position_embeddings")
	}
	old := c.objectOrEmpty("rope_scaling")
	r.Config = c.objectOrEmpty("rope_parameters")
	if len(old.values) == 0 {
		return r.rotary()
	}
	both := len(r.values) > 0
	now := r
	r.Config = old
	rotary := r.rotary()
	if both && !reflect.DeepEqual(now.rotary(), rotary) {
		// The reference implementation uses the old one, which nobody would expect.
		c.fail("rope_parameters and rope_scaling are both there and differ; remove the one " +
			"that the model was not trained with")
	}
	return rotary
}

// rotate sets the rotation that [rope] reads. With dynamic scaling it makes the context as long as
// the scaling allows.
func rotate(c *Config, s *spec.Spec, theta, partial float64) {
	s.Rotary = rope(c, theta, partial, s.HeadWidth, s.Context)
	if s.Rotary != nil && s.Rotary.Stretch > 0 {
		s.Context = int(min(float64(s.Context)*s.Rotary.Stretch, 1<<24))
	}
}

// neighbours makes neighbours turn together.
func neighbours(s *spec.Spec) {
	if s.Rotary != nil {
		s.Rotary.Neighbours = true
	}
}

// unturned returns the layers in which nothing is turned, nil if there is none.
func unturned(s *spec.Spec, is func(l int) bool) []bool {
	if s.Layers > spec.MaxSize("Layers") {
		return nil
	}
	all := make([]bool, s.Layers)
	for l := range all {
		all[l] = is(l)
	}
	if !slices.Contains(all, true) {
		return nil
	}
	return all
}

// ropeReader reads one object with the parameters of a rotation. Formulas and defaults are those of
// the reference implementation's modeling_rope_utils.
type ropeReader struct {
	*Config
	theta    float64
	partial  float64 // 0: not read
	width    int
	context  int
	original int  // of the configuration outside the object; 0 if it has none
	grows    bool // llama_4_scaling_beta counts
	// scores, if not nil, gets what YaRN multiplies scores by, which mscale_all_dim says.
	scores *float64
}

// maxTheta is far above every known base.
const maxTheta = 1e12

func (r ropeReader) rotary() *spec.Rotary {
	r.theta = r.Above(1, maxTheta, "rope_theta", r.theta)
	if r.partial != 0 {
		r.partial = r.Above(0, 1, "partial_rotary_factor", r.partial)
	} else {
		r.partial = 1
		if p := r.Float("partial_rotary_factor", 1); p != 1 {
			r.fail("%s is %v, which changes the arithmetic and is not supported for this "+
				"architecture; only 1 is",
				r.name("partial_rotary_factor"), p)
		}
	}
	kind := r.String("rope_type", r.String("type", "default"))
	// what Phi-3's files called it first
	if kind == "su" || kind == "yarn" && r.Has("short_factor") {
		kind = "longrope"
	}
	if kind == "mrope" { // of images, too; the three positions of a text are the same
		kind = "default"
	}
	r.value("mrope_section")
	r.value("mrope_interleaved")
	r.goBy("rope " + kind)
	rotated := int(float64(r.width) * r.partial)
	if rotated < 2 || rotated > maxRotated || rotated%2 != 0 {
		r.fail("%s is %v, so that %d components of each head are turned by its position; their "+
			"number must be even and from 2 to %d; "+
			"a head has %d, from %s", r.name("partial_rotary_factor"), r.partial, rotated,
			maxRotated, r.width, r.keyOf("HeadWidth"))
	}
	if r.root().firstErr() != nil { // the rest needs valid sizes
		return nil
	}
	f := spec.RotaryFrequencies(r.theta, rotated)
	rotary := &spec.Rotary{}
	switch kind {
	case "default":
	case "linear":
		factor := r.factor()
		for i := range f {
			f[i] /= factor
		}
	case "dynamic":
		rotary.Stretch, rotary.Original = r.factor(), r.context
	case "llama3":
		r.llama3(f)
	case "yarn":
		rotary.Scale = r.yarn(f)
	case "longrope":
		return r.long(f)
	default:
		r.fail("%s %s is not supported; supported are default, dynamic, linear, llama3, "+
			"longrope, yarn", r.kindKey(), shown(kind))
		return nil
	}
	rotary.Frequencies = rounded(f)
	if r.grows {
		rotary.QueryGrowth = r.beta("llama_4_scaling_beta", 0)
		rotary.Original = r.trained()
	}
	return rotary
}

// maxRotated is far above the width of any head, and low enough not to fill the memory.
const maxRotated = 1 << 16

// kindKey returns the key that says the kind of rotation.
func (r ropeReader) kindKey() string {
	if r.Has("rope_type") {
		return r.name("rope_type")
	}
	return r.name("type")
}

// maxFactor is far above every known factor.
const maxFactor = 1e6

// required returns a required number from least to maxFactor. If least is 0, the number must be
// above 0.
func (r ropeReader) required(key string, least float64) float64 {
	must := fmt.Sprintf("a number from %v to %v", least, maxFactor)
	if least == 0 {
		must = between(0, maxFactor)
	}
	v, _ := r.value(key)
	if v == nil {
		r.failMissing(must, key)
		return 1
	}
	f := r.float(v, key)
	if !(f >= least && f > 0 && f <= maxFactor) {
		r.failValue(key, v, must)
		return 1
	}
	return f
}

// positive returns a number above 0. ok is false if the key is absent or null.
func (r ropeReader) positive(key string) (f float64, ok bool) {
	if r.isNull(key) || !r.Has(key) {
		return 0, false
	}
	return r.Above(0, maxFactor, key, 1), true
}

// factor returns how many times longer than in training a text may be.
func (r ropeReader) factor() float64 { return r.required("factor", 1) }

// trained returns how many positions the model had before its context was stretched.
func (r ropeReader) trained() int {
	n := r.context
	if !r.isNull("original_max_position_embeddings") {
		n = r.AtLeast(1, r.context, "original_max_position_embeddings")
	}
	if r.original > 0 {
		n = r.original
	}
	return n
}

// llama3 divides a frequency by the factor if it rotates less than once over the trained context,
// keeps it if it rotates often, and interpolates in between (Llama 3.1).
func (r ropeReader) llama3(f []float64) {
	factor, low, high, n := r.factor(), r.required("low_freq_factor", 0),
		r.required("high_freq_factor", 0), float64(r.trained())
	if low == high {
		r.fail("%s and %s are both %v; they must differ", r.name("low_freq_factor"),
			r.name("high_freq_factor"), low)
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

// yarn interpolates between unchanged and divided frequencies over a ramp of components, and
// returns the scale (Peng et al. 2023, §3).
func (r ropeReader) yarn(f []float64) float64 {
	factor, n, width := r.factor(), float64(r.trained()), float64(2*len(f))
	component := func(turns float64) float64 {
		return width * math.Log(n/(turns*2*math.Pi)) / (2 * math.Log(r.theta))
	}
	low, high := component(r.beta("beta_fast", 32)), component(r.beta("beta_slow", 1))
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
	m, all := r.beta("mscale", 0), r.beta("mscale_all_dim", 0)
	if r.scores != nil && all != 0 {
		*r.scores = scale(all) * scale(all)
	}
	given, ok := r.positive("attention_factor")
	switch {
	case ok:
		return given
	case m != 0 && all != 0:
		return scale(m) / scale(all)
	}
	return scale(1)
}

// beta returns a number of at least 0, or the fallback if the key is absent, null or 0.
func (r ropeReader) beta(key string, fallback float64) float64 {
	if v := r.values[key]; v == nil || v == json.Number("0") || v == json.Number("0.0") {
		r.read[key] = true
		return fallback
	}
	return r.Above(0, maxFactor, key, fallback)
}

// long divides each frequency by its own factor. There is one list of factors for texts up to the
// trained length and one for longer texts (Phi-3).
func (r ropeReader) long(f []float64) *spec.Rotary {
	n := r.trained()
	short, long := r.floats("short_factor"), r.floats("long_factor")
	if len(short) != len(f) || len(long) != len(f) {
		r.fail("%s and %s have %d and %d numbers; they must have %d, one for each pair of "+
			"components of a head that is turned",
			r.name("short_factor"), r.name("long_factor"), len(short), len(long), len(f))
		return nil
	}
	divided := func(key string, by []float64) []float32 {
		out := make([]float64, len(f))
		for i := range f {
			if !(by[i] > 0) {
				r.fail("%s[%d] is %v; it must be above 0", r.name(key), i, by[i])
			}
			out[i] = f[i] / by[i]
		}
		return rounded(out)
	}
	factor, ok := r.positive("factor")
	if !ok {
		factor = float64(r.context) / float64(n)
	}
	scale, ok := r.positive("attention_factor")
	if !ok {
		scale = 1
		if factor > 1 {
			scale = math.Sqrt(1 + math.Log(factor)/math.Log(float64(n)))
		}
	}
	return &spec.Rotary{
		Frequencies:     divided("short_factor", short),
		LongFrequencies: divided("long_factor", long), Original: n, Scale: scale,
	}
}

// rounded returns x as float32.
func rounded(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}
