package transformer_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// text64 is a text that went through a model in float64, from its embedding on.
type text64 struct {
	*golden
	spec   *spec.Spec
	layers []*layer
	// hidden is the residual stream before each layer and after the last, [L+1][T][D].
	hidden [][][]float64
}

func (g *golden) text64(t testing.TB) *text64 {
	t.Helper()
	ts, err := g.model.Trace(context.Background(), g.ids, []trace.Tap{trace.Hidden})
	must(t, err)
	x := make([][]float64, len(g.ids))
	for i := range x {
		x[i] = wide(at(ts[0], 0, i))
	}
	r := &text64{golden: g, spec: g.model.Spec, hidden: [][][]float64{x}}
	for l := range r.spec.Layers {
		b := newLayer(r.spec, l, func(name string) []float32 {
			return g.params[fmt.Sprintf("blocks.%d.%s", l, name)]
		}, x, false)
		next := make([][]float64, len(x))
		for i := range next {
			next[i] = b.output(i, -1, -1)
		}
		r.layers, r.hidden, x = append(r.layers, b), append(r.hidden, next), next
	}
	return r
}

// linear is a norm of whole as it acts on a part of it, without the bias.
func linear(spec *spec.Spec, part, whole []float64, gain []float32) []float64 {
	n := float64(len(whole))
	partMean, wholeMean, square := 0.0, 0.0, 0.0
	if !spec.RMS {
		for i := range whole {
			partMean += part[i] / n
			wholeMean += whole[i] / n
		}
	}
	for _, x := range whole {
		square += (x - wholeMean) * (x - wholeMean) / n
	}
	y := make([]float64, len(part))
	for i := range y {
		y[i] = (part[i] - partMean) / math.Sqrt(square+spec.NormEpsilon) * (float64(gain[i]) +
			spec.NormOffset)
	}
	return y
}

// slopes are f(x)/x, for the values y = f(x), which it replaces.
func slopes(y, x []float64) []float64 {
	for i := range y {
		y[i] /= x[i]
	}
	return y
}

// each is a times b, entry by entry.
func each(a, b []float64) []float64 {
	y := make([]float64, len(a))
	for i := range y {
		y[i] = a[i] * b[i]
	}
	return y
}

// carrier takes vectors whose sum is known through a model, one operation after the other. What
// each vector is, and who gets a bias, differs.
type carrier interface {
	norm(name string, whole []float64) // by its gain and bias, as it acts on whole
	dense(weight, bias string)         // x W + b; no bias if its name is empty
	scale(by []float64)                // entry by entry
	add(other carrier)
	copied() carrier
	mlp(b *layer, whole []float64) carrier
}

// through carries c, what makes the input of layer b at target t, and a, what makes its attention
// output, through the layer.
func (r *text64) through(b *layer, t int, c, a carrier) carrier {
	s, in := r.spec, func(name string) string { return fmt.Sprintf("blocks.%d.%s", b.index, name) }
	x, out := b.x[t], b.attentionOutput(t)
	switch s.Order {
	case spec.PostNorm:
		c.add(a)
		c.norm(in("attention-norm"), plus(x, out))
		if s.Stack(b.index) == spec.Decoding { // its feed-forward part is in the next layer
			return c
		}
		z := b.norm("attention-norm", plus(x, out))
		c.add(c.mlp(b, z))
		c.norm(in("mlp-norm"), plus(z, b.mlp(z)))
		return c
	case spec.Parallel:
		name := "mlp-norm"
		if s.SharedNorm {
			name = "attention-norm"
		}
		u := c.copied()
		u.norm(in(name), x)
		c.add(u.mlp(b, b.norm(name, x)))
		c.add(a)
		return c
	}
	if s.NormAfter {
		a.norm(in("attention-after-norm"), out)
		out = b.norm("attention-after-norm", out)
	}
	if s.NormedResidual {
		c.norm(in("attention-norm"), x)
		x = b.norm("attention-norm", x)
	}
	c.add(a)
	if s.Stack(b.index) == spec.Decoding {
		return c
	}
	z := plus(x, out)
	u := c.copied()
	u.norm(in("mlp-norm"), z)
	m := u.mlp(b, b.norm("mlp-norm", z))
	if s.NormAfter {
		m.norm(in("mlp-after-norm"), b.mlp(b.norm("mlp-norm", z)))
	}
	if s.NormedResidual {
		c = u
	}
	c.add(m)
	return c
}

// head carries what stands after the last layer at target t to the scores, [V] or [K], and
// returns the factor of the cap of each.
func (r *text64) head(c carrier, t int) (factors []float64) {
	s := r.spec
	if s.Head == spec.ClassifierHead {
		t = readsAt(s, r.ids)
	}
	y := r.hidden[s.Layers][t]
	if !s.NoFinalNorm {
		c.norm("final-norm", y)
		y = norm(s, y, r.params["final-norm.gain"], r.params["final-norm.bias"])
	}
	if s.Embedded() != s.Width && s.ProjectTokens {
		c.dense("head-projection.weight", "")
		y = times(y, r.params["head-projection.weight"])
	}
	hidden := func(name string) {
		c.dense(name+".weight", name+".bias")
		y = plus(times(y, r.params[name+".weight"]), wide(r.params[name+".bias"]))
		c.scale(slopes(activated(s.HeadActivation, y), y))
		y = activated(s.HeadActivation, y)
	}
	weight, bias := "classifier.weight", "classifier.bias"
	if s.Head == spec.LanguageHead {
		if s.HeadTransform {
			hidden("head-transform")
			c.norm("head-norm", y)
			y = norm(s, y, r.params["head-norm.gain"], r.params["head-norm.bias"])
		}
		weight, bias = "turned", ""
		if s.HeadBias {
			bias = "head-bias"
		}
	} else {
		if s.ClassifierDense {
			hidden("classifier-dense")
		}
		if !s.HeadBias {
			bias = ""
		}
	}
	c.dense(weight, bias)
	y = times(y, r.matrix(weight))
	if bias != "" {
		y = plus(y, wide(r.params[bias]))
	}
	factors = make([]float64, len(y))
	for i := range y {
		factors[i] = 1
		if s.LogitCap > 0 {
			factors[i] = cap64(y[i], s.LogitCap) / y[i]
		}
	}
	return factors
}

// matrix is a weight [in,out]; "turned" is the output projection of a language model.
func (r *text64) matrix(name string) []float32 {
	if name != "turned" {
		return r.params[name]
	}
	table := r.params["head"]
	if r.spec.TiedHead {
		table = r.params["embedding"]
	}
	v := r.spec.Vocab
	w := len(table) / v
	turned := make([]float32, len(table))
	for i := range v {
		for j := range w {
			turned[j*v+i] = table[i*w+j]
		}
	}
	return turned
}
