package transformer_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

// layer is a block computed naively in float64 from the weights, one number at a time: an
// implementation that shares no code with the graph. Slices are [T][...].
type layer struct {
	spec   *spec.Spec
	index  int
	weight func(name string) []float32
	// half rounds what meets a matrix to bfloat16.
	half bool
	// x is the block's input [T][D]; value is [H][T][E], the rest [H][T][S]: content, query-bias
	// and alibi sum to the scores before they are capped.
	x                         [][]float64
	value                     [][][]float64
	scores, attention         [][][]float64
	content, queryBias, alibi [][][]float64
	// ofHead has the vectors that were asked for.
	ofHead map[int]*vectors
}

func newLayer(arch *spec.Spec, index int, weight func(string) []float32, x [][]float64,
	half bool,
) *layer {
	return newLayerOf(arch, index, weight, [3][][]float64{x, x, x}, half)
}

// newLayerOf is newLayer whose queries, keys and values read streams of their own.
func newLayerOf(arch *spec.Spec, index int, weight func(string) []float32, read [3][][]float64,
	half bool,
) *layer {
	x := read[0]
	b := &layer{spec: arch, index: index, weight: weight, x: x, half: half}
	n := len(x)
	q, plain, bias, k, v := make([][]float64, n), make([][]float64, n), make([][]float64,
		n), make([][]float64, n), make([][]float64, n)
	for t := range n {
		u, uk, uv := x[t], read[1][t], read[2][t]
		if arch.Order != spec.PostNorm {
			u, uk, uv = b.norm("attention-norm", u), b.norm("attention-norm", uk),
				b.norm("attention-norm", uv)
		}
		if arch.Latent != nil {
			plain[t], _, _ = b.fromLatents(u)
			_, k[t], _ = b.fromLatents(uk)
			_, _, v[t] = b.fromLatents(uv)
			bias[t], q[t] = make([]float64, len(plain[t])), plain[t]
			continue
		}
		plain[t] = b.times("query", u)
		bias[t] = make([]float64, len(plain[t]))
		if arch.ProjectionBias {
			bias[t] = wide(b.weight("query.bias"))
		}
		q[t] = plus(plain[t], bias[t])
		k[t] = b.dense("key", uk, arch.ProjectionBias)
		v[t] = b.dense("value", uv, arch.ProjectionBias)
	}
	for h := range arch.Heads {
		g := h / (arch.Heads / arch.Groups())
		var value [][]float64
		s, a, c, qb, al := square(n), square(n), square(n), square(n), square(n)
		for t := range n {
			value = append(value, b.head(g, v[t]))
			whole := b.head(h, q[t])
			content := b.placed("query", b.head(h, plain[t]), whole, t, n)
			constant := b.placed("query", b.head(h, bias[t]), whole, t, n)
			for j := range n {
				if !b.sees(t, j) {
					continue
				}
				key := b.placed("key", b.head(g, k[j]), b.head(g, k[j]), j, n)
				c[t][j] = dot(content, key) * b.scale()
				qb[t][j] = dot(constant, key) * b.scale()
				al[t][j] = b.alibiOf(h, j)
				for _, term := range b.distanceTerms(h, t-j, b.head(h, q[t]), b.head(g, k[j])) {
					al[t][j] += term
				}
				s[t][j] = cap64(c[t][j]+qb[t][j]+al[t][j], arch.ScoreCap)
			}
			a[t] = b.softmax(h, t, s[t])
		}
		b.value, b.scores, b.attention = append(b.value, value), append(b.scores,
			s), append(b.attention, a)
		b.content, b.queryBias, b.alibi = append(b.content, c), append(b.queryBias,
			qb), append(b.alibi, al)
	}
	return b
}

// fromLatents are the query, key and value of every head, one after the other: of u, by way of
// vectors with norms, and one part of the key for all heads.
func (b *layer) fromLatents(u []float64) (query, key, value []float64) {
	t := b.spec.Latent
	normed := func(name string) []float64 {
		gain := b.weight(name + "-norm.gain")
		return norm(&spec.Spec{RMS: true, NormEpsilon: t.Epsilon}, b.times(name, u), gain, nil)
	}
	query = u
	if t.Queries > 0 {
		query = normed("query-latent")
	}
	latent, shared := normed("latent"), b.times("shared-key", u)
	own := b.times("key-up", latent)
	for h := range b.spec.Heads {
		width := len(own) / b.spec.Heads
		key = append(append(key, shared...), own[h*width:(h+1)*width]...)
	}
	return b.times("query-up", query), key, b.times("value-up", latent)
}

// sees is whether target t may see source s.
func (b *layer) sees(t, s int) bool {
	if b.spec.Bidirectional {
		return true
	}
	w := 0
	if b.spec.Windows != nil {
		w = b.spec.Windows[b.index]
	}
	return s <= t && (w == 0 || t-s < w)
}

// scale is what multiplies q·k.
func (b *layer) scale() float64 {
	scale := b.spec.ScoreScale
	if scale == 0 {
		scale = math.Pow(float64(b.spec.HeadWidth), -0.5)
	}
	if b.spec.ScoreByLayer {
		scale /= float64(b.index + 1)
	}
	return scale
}

// placed is a part of the query or key of one head, divided by the root mean square of the whole,
// and turned by its position in a text of n tokens.
func (b *layer) placed(name string, part, whole []float64, position, n int) []float64 {
	y := append([]float64(nil), part...)
	if b.spec.QueryKeyNorm {
		rms := math.Sqrt(dot(whole, whole)/float64(len(whole)) + b.spec.NormEpsilon)
		gain := b.weight(name + "-norm.gain")
		for e := range y {
			y[e] = part[e] / rms * (float64(gain[e]) + b.spec.NormOffset)
		}
	}
	if b.spec.Positions != spec.RotaryPositions {
		return y
	}
	r := b.spec.Rotary
	if b.spec.LocalRotary != nil && b.spec.Windows != nil && b.spec.Windows[b.index] > 0 {
		r = b.spec.LocalRotary
	}
	return turned(r, y, position, n)
}

// turned multiplies each pair as a complex number by Scale·e^{i·position·f}.
func turned(r *spec.Rotary, x []float64, position, n int) []float64 {
	y := append([]float64(nil), x...)
	f, scale, half := r.Frequencies, r.Scale, len(r.Frequencies)
	if r.LongFrequencies != nil && n > r.Original {
		f = r.LongFrequencies
	}
	if scale == 0 {
		scale = 1
	}
	for i := range half {
		angle := float64(position) * float64(f[i])
		if r.Stretch > 0 && n > r.Original {
			grown := r.Stretch*float64(n)/float64(r.Original) - (r.Stretch - 1)
			angle /= math.Pow(grown, 2*float64(i)/float64(2*half-2))
		}
		one, other := i, i+half
		if r.Neighbours {
			one, other = 2*i, 2*i+1
		}
		z := complex(x[one], x[other]) * complex(scale*math.Cos(angle), scale*math.Sin(angle))
		y[one], y[other] = real(z), imag(z)
	}
	return y
}

// alibiOf is slope·j by the published formulas of each family.
func (b *layer) alibiOf(h, j int) float64 {
	if b.spec.Positions != spec.ALiBi {
		return 0
	}
	bias := float64(b.spec.AlibiSlopes[h]) * float64(j)
	if b.spec.AlibiRounded {
		bias = eightBits(eightBits(float64(b.spec.AlibiSlopes[h])) * float64(j))
	}
	if b.spec.AlibiScaled {
		bias /= math.Sqrt(float64(b.spec.HeadWidth))
	}
	return bias
}

// distanceTerms are what the embedding of a distance adds to a score of head h, times the query and
// times the key; none if the spec has none (He et al. 2021, §3.1 and §A.5).
func (b *layer) distanceTerms(h, distance int, query, key []float64) []float64 {
	r := b.spec.Relative
	if r == nil {
		return nil
	}
	ofKey, ofQuery := b.distanceVectors(h, distance)
	return []float64{dot(query, ofKey) * b.scale(), dot(key, ofQuery) * b.scale()}
}

// distanceVectors are the embedding of a distance, projected as a key and as a query of head h.
func (b *layer) distanceVectors(h, distance int) (key, query []float64) {
	r, away := b.spec.Relative, math.Abs(float64(distance))
	half := float64(r.Span / 2)
	if r.Distance > 0 && away > half {
		part := math.Log(away/half) / math.Log(float64(r.Distance-1)/half)
		away = half + math.Ceil(part*(half-1)-1e-6) // rounded, as float32 does
	}
	at := int(math.Copysign(away, float64(distance)))
	at = max(-r.Span, min(at, r.Span-1)) + r.Span
	d := b.spec.Width
	row := wide(b.weight("relative-embeddings")[at*d : (at+1)*d])
	if r.Norm {
		row = b.norm("relative-norm", row)
	}
	names := []string{"position-key", "position-query"}
	if r.Shared {
		names = []string{"key", "query"}
	}
	return b.head(h, b.dense(names[0], row, true)), b.head(h, b.dense(names[1], row, true))
}

// eightBits rounds to the 8 significant bits of bfloat16.
func eightBits(x float64) float64 {
	y, _ := new(big.Float).SetPrec(8).SetMode(big.ToNearestEven).SetFloat64(x).Float64()
	return y
}

// halved rounds each number to bfloat16.
func halved(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = eightBits(v)
	}
	return y
}

// context is attention times value of head h at target t, the value of source without zeroed; -1
// zeroes none.
func (b *layer) context(h, t, without int) []float64 {
	c := make([]float64, b.spec.ValueWidth())
	for s, a := range b.attention[h][t] {
		if s == without {
			continue
		}
		for e := range c {
			c[e] += a * b.value[h][s][e]
		}
	}
	return c
}

// headOutput is a context of head h through its rows of W_O.
func (b *layer) headOutput(h int, context []float64) []float64 {
	w, d := b.weight("output.weight"), b.spec.Width
	y := make([]float64, d)
	for e, c := range context {
		for j := range y {
			y[j] += c * float64(w[(h*len(context)+e)*d+j])
		}
	}
	return y
}

// output is the residual stream after the block at target t, the value of source without zeroed
// in head only, or in every head where it is -1.
func (b *layer) output(t, without, only int) []float64 {
	a := make([]float64, b.spec.Width)
	for h := range b.spec.Heads {
		zeroed := without
		if only >= 0 && only != h {
			zeroed = -1
		}
		c := b.context(h, t, zeroed)
		if b.half {
			c = halved(c)
		}
		a = plus(a, b.headOutput(h, c))
	}
	if b.spec.OutputBias {
		a = plus(a, wide(b.weight("output.bias")))
	}
	return b.after(b.x[t], a)
}

// after is the rest of a block after its attention.
func (b *layer) after(x, a []float64) []float64 {
	s := b.spec
	switch {
	case s.Order == spec.PostNorm:
		z := b.norm("attention-norm", plus(x, a))
		return b.norm("mlp-norm", plus(z, b.mlp(z)))
	case s.Order == spec.Parallel && s.SharedNorm:
		return plus(plus(x, a), b.mlp(b.norm("attention-norm", x)))
	case s.Order == spec.Parallel:
		return plus(plus(x, a), b.mlp(b.norm("mlp-norm", x)))
	case s.NormAfter:
		z := plus(x, b.norm("attention-after-norm", a))
		return plus(z, b.norm("mlp-after-norm", b.mlp(b.norm("mlp-norm", z))))
	case s.NormedResidual:
		u := b.norm("mlp-norm", plus(b.norm("attention-norm", x), a))
		return plus(u, b.mlp(u))
	}
	z := plus(x, a)
	return plus(z, b.mlp(b.norm("mlp-norm", z)))
}

// expert is one of the feed-forward parts that a vector passes: the beginning of the names of its
// weights, and what its output is multiplied by.
type expert struct {
	prefix string
	weight float64
}

// experts are those that x passes; without a mixture there is one.
func (b *layer) experts(x []float64) (all []expert) {
	m := b.spec.MixtureOf(b.index)
	if m == nil {
		return []expert{{"", 1}}
	}
	probabilities, sum := softmax64(b.dense("router", x, m.RouterBias)), 0.0
	if m.Sigmoid {
		for e, v := range b.times("router", x) {
			probabilities[e] = 1 / (1 + math.Exp(-v))
		}
	}
	by := slices.Clone(probabilities)
	for e := range by {
		if m.ChoiceBias {
			by[e] += float64(b.weight("router.choice")[e])
		}
	}
	by = inBestGroups(m, by)
	for range m.Chosen {
		best := -1
		for e, p := range probabilities {
			taken := slices.Contains(all, expert{expertName(e), p})
			if !taken && (best < 0 || by[e] > by[best]) {
				best = e
			}
		}
		all = append(all, expert{expertName(best), probabilities[best]})
		sum += probabilities[best]
	}
	for i := range all {
		if m.Renormalize {
			all[i].weight /= sum
		}
		if m.Scale != 0 {
			all[i].weight *= m.Scale
		}
	}
	if m.Shared > 0 {
		shared := expert{"shared.", 1}
		if m.SharedGate {
			shared.weight = 1 / (1 + math.Exp(-b.times("shared-gate", x)[0]))
		}
		all = append(all, shared)
	}
	return all
}

// inBestGroups is by, with -Inf for the experts of groups whose best ones sum to less than those of
// the groups that are chosen.
func inBestGroups(m *spec.Mixture, by []float64) []float64 {
	if m.Groups < 2 {
		return by
	}
	size, sums := len(by)/m.Groups, make([]float64, m.Groups)
	for g := range sums {
		best := slices.Sorted(slices.Values(by[g*size : (g+1)*size]))
		for _, x := range best[size-m.GroupBest:] {
			sums[g] += x
		}
	}
	least := slices.Sorted(slices.Values(sums))[m.Groups-m.ChosenGroups]
	for e := range by {
		if sums[e/size] < least {
			by[e] = math.Inf(-1)
		}
	}
	return by
}

func expertName(e int) string { return fmt.Sprintf("experts.%d.", e) }

func softmax64(x []float64) []float64 {
	y, sum := make([]float64, len(x)), 0.0
	for i, v := range x {
		y[i] = math.Exp(v)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}

func (b *layer) mlp(x []float64) []float64 {
	y := make([]float64, b.spec.Width)
	for _, e := range b.experts(x) {
		y = plus(y, b.feedForward(e, x))
	}
	return y
}

// feedForward is what an expert makes of x, times its weight, which multiplies the inner numbers,
// or the output of a shared expert.
func (b *layer) feedForward(e expert, x []float64) []float64 {
	inner := b.inner(e.prefix, x)
	if e.prefix == "shared." {
		return scaled(b.dense(e.prefix+"down", inner, b.spec.MLPBias), e.weight)
	}
	y := b.times(e.prefix+"down", scaled(inner, e.weight))
	if b.spec.MLPBias {
		y = plus(y, scaled(wide(b.weight(e.prefix+"down.bias")), e.weight))
	}
	return y
}

// activated is the activation of the feed-forward part: xIELU as Huang and Schlag (2024) define it,
// with the weights of the layer.
func (b *layer) activated(x []float64) []float64 {
	if b.spec.Activation != spec.XIELU {
		return activated(b.spec.Activation, x)
	}
	alpha := func(name string) float64 {
		return math.Log(1 + math.Exp(float64(b.weight("activation." + name)[0])))
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = alpha("positive")*v*v + v/2
		if v <= 0 {
			y[i] = (0.5+alpha("negative"))*(math.Exp(v)-1-v) + v/2
		}
	}
	return y
}

// inner is what the last matrix of a feed-forward part gets.
func (b *layer) inner(prefix string, x []float64) []float64 {
	s := b.spec
	up := b.dense(prefix+"up", x, s.MLPBias)
	if !s.Gated {
		return b.activated(up)
	}
	gate := b.gate(b.dense(prefix+"gate", x, s.MLPBias))
	for i := range up {
		if c := s.InnerLimit; c > 0 {
			up[i] = min(max(up[i], -c), c)
		}
		up[i] = (up[i] + s.UpOffset) * gate[i]
	}
	return up
}

// gate is the activation of a gate.
func (b *layer) gate(x []float64) []float64 {
	s, y := b.spec, slices.Clone(x)
	for i := range y {
		if s.InnerLimit > 0 {
			y[i] = min(y[i], s.InnerLimit)
		}
	}
	if s.SwishScale == 0 {
		return b.activated(y)
	}
	for i, v := range y {
		y[i] = v / (1 + math.Exp(-s.SwishScale*v))
	}
	return y
}

// formulas are the activations without weights as their papers define them.
var formulas = map[spec.Activation]func(x float64) float64{
	spec.GELU: func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 },
	spec.GELUTanh: func(x float64) float64 {
		return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	},
	spec.SiLU:              func(x float64) float64 { return x / (1 + math.Exp(-x)) },
	spec.ReLU:              func(x float64) float64 { return max(x, 0) },
	spec.HyperbolicTangent: math.Tanh,
	spec.ReLUSquared:       func(x float64) float64 { return max(x, 0) * max(x, 0) },
	spec.QuickGELU:         func(x float64) float64 { return x / (1 + math.Exp(-1.702*x)) },
	spec.ClippedGELU: func(x float64) float64 {
		return min(max(x*math.Erfc(-x/math.Sqrt2)/2, -10), 10)
	},
	spec.Mish:      func(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) },
	spec.HardSwish: func(x float64) float64 { return x * min(max(x+3, 0), 6) / 6 },
	spec.LeakyReLU: func(x float64) float64 { return max(x, 0) + min(x, 0)/100 },
	spec.ReLU6:     func(x float64) float64 { return min(max(x, 0), 6) },
	spec.Identity:  func(x float64) float64 { return x },
}

func activated(f spec.Activation, x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = formulas[f](v)
	}
	return y
}

func (b *layer) norm(name string, x []float64) []float64 {
	return norm(b.spec, x, b.weight(name+".gain"), b.weight(name+".bias"))
}

// norm is the layer norm of Ba et al. 2016, or without mean and bias that of Zhang and Sennrich
// 2019.
func norm(arch *spec.Spec, x []float64, gain, bias []float32) []float64 {
	mean, variance := 0.0, 0.0
	if !arch.RMS {
		for _, v := range x {
			mean += v / float64(len(x))
		}
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (v - mean) / math.Sqrt(variance+arch.NormEpsilon) * (float64(gain[i]) +
			arch.NormOffset)
		if !arch.RMS {
			y[i] += float64(bias[i])
		}
	}
	return y
}

// normedPart is the part of the norm of whole that comes from part: with the spread of whole and
// without the bias.
func (b *layer) normedPart(name string, part, whole []float64) []float64 {
	n, mean, partMean, variance := float64(len(whole)), 0.0, 0.0, 0.0
	if !b.spec.RMS {
		for i, v := range whole {
			mean, partMean = mean+v/n, partMean+part[i]/n
		}
	}
	for _, v := range whole {
		variance += (v - mean) * (v - mean) / n
	}
	y, gain := make([]float64, len(part)), b.weight(name+".gain")
	for i, v := range part {
		y[i] = (v - partMean) / math.Sqrt(variance+b.spec.NormEpsilon) *
			(float64(gain[i]) + b.spec.NormOffset)
	}
	return y
}

// times is x W, dense is x W + b.
func (b *layer) times(name string, x []float64) []float64 {
	if b.half {
		x = halved(x)
	}
	return times(x, b.weight(name+".weight"))
}

func (b *layer) dense(name string, x []float64, bias bool) []float64 {
	if !bias {
		return b.times(name, x)
	}
	return plus(b.times(name, x), wide(b.weight(name+".bias")))
}

// head is the part of x of head h, for queries, keys and values.
func (b *layer) head(h int, x []float64) []float64 {
	heads := b.spec.Heads
	if width := b.spec.HeadWidth; b.spec.Groups() < heads && len(x) == b.spec.Groups()*width {
		heads = b.spec.Groups()
	}
	return x[h*len(x)/heads : (h+1)*len(x)/heads]
}

// softmax is that over the sources which target t may see; the others are 0.
func (b *layer) softmax(h, t int, scores []float64) []float64 {
	y, sum, most := make([]float64, len(scores)), 0.0, math.Inf(-1)
	if b.spec.Sinks {
		most = float64(b.weight("sinks")[h])
		sum = 1
	}
	for s, v := range scores {
		if b.sees(t, s) && v > most {
			sum *= math.Exp(most - v)
			most = v
		}
	}
	for s, v := range scores {
		if b.sees(t, s) {
			y[s] = math.Exp(v - most)
			sum += y[s]
		}
	}
	for s := range y {
		y[s] /= sum
	}
	return y
}

// cosineDistance is 1 - cos(a,b) by its definition.
func cosineDistance(a, b []float64) float64 {
	return 1 - dot(a, b)/math.Sqrt(dot(a, a)*dot(b, b))
}

// cap64 is c·tanh(x/c), x where c is 0.
func cap64(x, c float64) float64 {
	if c == 0 {
		return x
	}
	return c * math.Tanh(x/c)
}

// times is x W for W [in,out].
func times(x []float64, w []float32) []float64 {
	out := len(w) / len(x)
	y := make([]float64, out)
	for i, v := range x {
		for o := range y {
			y[o] += v * float64(w[i*out+o])
		}
	}
	return y
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func plus(a, b []float64) []float64 {
	y := make([]float64, len(a))
	for i := range a {
		y[i] = a[i] + b[i]
	}
	return y
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func square(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}
