package transformer_test

import (
	"math"

	"github.com/headwater-ml/headwater/models/transformer"
)

// layer is a block computed naively in float64 from the weights, one number at a time: an implementation that shares no code with
// the graph. Slices are [T][...].
type layer struct {
	spec   *transformer.Spec
	weight func(name string) []float32
	// x is the block's input [T][D]; value is [H][T][E], attention and scores are [H][T][S], terms is content, query-bias and
	// alibi.
	x                         [][]float64
	value                     [][][]float64
	scores, attention         [][][]float64
	content, queryBias, alibi [][][]float64
}

func newLayer(spec *transformer.Spec, weight func(string) []float32, x [][]float64) *layer {
	b := &layer{spec: spec, weight: weight, x: x}
	n := len(x)
	u := make([][]float64, n)
	for t := range n {
		u[t] = b.norm("attention-norm", x[t])
	}
	scale := 1 / math.Sqrt(float64(spec.HeadWidth))
	for h := range spec.Heads {
		q, k, v := make([][]float64, n), make([][]float64, n), make([][]float64, n)
		plain := make([][]float64, n)
		for t := range n {
			plain[t] = b.head(h, b.times("query", u[t]))
			q[t] = b.head(h, b.dense("query", u[t]))
			k[t] = b.head(h, b.dense("key", u[t]))
			v[t] = b.head(h, b.dense("value", u[t]))
		}
		bias := b.head(h, wide(b.weight("query.bias")))
		s, a, c, qb, al := square(n), square(n), square(n), square(n), square(n)
		for t := range n {
			for j := 0; j <= t; j++ {
				c[t][j] = dot(plain[t], k[j]) * scale
				qb[t][j] = dot(bias, k[j]) * scale
				al[t][j] = b.alibiOf(h, j)
				s[t][j] = dot(q[t], k[j])*scale + al[t][j]
			}
			copy(a[t], softmax(s[t][:t+1]))
		}
		b.value, b.scores, b.attention = append(b.value, v), append(b.scores, s), append(b.attention, a)
		b.content, b.queryBias, b.alibi = append(b.content, c), append(b.queryBias, qb), append(b.alibi, al)
	}
	return b
}

// alibiOf is slope·j by the published formulas of each family.
func (b *layer) alibiOf(h, j int) float64 {
	if b.spec.Positions != transformer.ALiBi {
		return 0
	}
	bias := float64(b.spec.AlibiSlopes[h]) * float64(j)
	if b.spec.AlibiScaled {
		bias /= math.Sqrt(float64(b.spec.HeadWidth))
	}
	return bias
}

// output is the residual stream behind the block at target t, the value of source without zeroed in every head; -1 zeroes none.
func (b *layer) output(t, without int) []float64 {
	context := make([]float64, 0, b.spec.Width)
	for h := range b.spec.Heads {
		c := make([]float64, b.spec.HeadWidth)
		for s := 0; s <= t; s++ {
			if s == without {
				continue
			}
			for e := range c {
				c[e] += b.attention[h][t][s] * b.value[h][s][e]
			}
		}
		context = append(context, c...)
	}
	z := plus(b.x[t], b.dense("output", context))
	up := b.dense("up", b.norm("mlp-norm", z))
	for i, x := range up {
		up[i] = b.activate(x)
	}
	return plus(z, b.dense("down", up))
}

func (b *layer) activate(x float64) float64 {
	if b.spec.Activation == transformer.GELUTanh {
		return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}
	return x / 2 * (1 + math.Erf(x/math.Sqrt2))
}

func (b *layer) norm(name string, x []float64) []float64 {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	gain, bias := b.weight(name+".gain"), b.weight(name+".bias")
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (v-mean)/math.Sqrt(variance+b.spec.NormEpsilon)*float64(gain[i]) + float64(bias[i])
	}
	return y
}

// times is x W, dense is x W + b.
func (b *layer) times(name string, x []float64) []float64 {
	w := b.weight(name + ".weight")
	out := len(w) / len(x)
	y := make([]float64, out)
	for i, v := range x {
		for o := range y {
			y[o] += v * float64(w[i*out+o])
		}
	}
	return y
}

func (b *layer) dense(name string, x []float64) []float64 {
	return plus(b.times(name, x), wide(b.weight(name+".bias")))
}

func (b *layer) head(h int, x []float64) []float64 {
	return x[h*b.spec.HeadWidth : (h+1)*b.spec.HeadWidth]
}

// cosineDistance is 1 - cos(a,b) by its definition.
func cosineDistance(a, b []float64) float64 {
	return 1 - dot(a, b)/math.Sqrt(dot(a, a)*dot(b, b))
}

func softmax(x []float64) []float64 {
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

func square(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}
