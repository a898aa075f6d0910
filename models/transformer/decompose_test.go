package transformer_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

func (g *golden) decomposed(t testing.TB, q trace.Query) (parts []float64, rest float64) {
	t.Helper()
	parts, rest, err := g.model.Decompose(context.Background(), q)
	must(t, err)
	return parts, rest
}

// silent is whether a weight is an output projection.
func silent(name string) bool { return strings.HasSuffix(name, ".output.weight") }

// TestDecomposeSum: the parts add up to what the model says, and nothing is left.
func TestDecomposeSum(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		for _, position := range []int{0, 4, len(g.ids) - 1} {
			for _, q := range []trace.Query{
				g.logitQuery(position, 0), g.logitQuery(position, g.second()),
				against(g.logitQuery(position, g.second()), 0),
			} {
				parts, rest := g.decomposed(t, q)
				want := g.logit(t, q)
				near64(t, "sum", []float64{sumOf(parts)}, []float64{want}, sumTol)
				near64(t, "rest", []float64{rest}, []float64{want - sumOf(parts)}, sumTol)
			}
		}
	})
}

// TestDecomposeContrast: a contrast gives the difference of the parts of both.
func TestDecomposeContrast(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		a, _ := g.decomposed(t, g.logitQuery(5, g.second()))
		b, _ := g.decomposed(t, g.logitQuery(5, 0))
		for i := range a {
			a[i] -= b[i]
		}
		got, _ := g.decomposed(t, against(g.logitQuery(5, g.second()), 0))
		near64(t, "parts", got, a, sumTol)
	})
}

// parts64 are vectors, one for every token, which share biases.
type parts64 struct {
	r       *text64
	vectors [][]float64
}

// share adds a bias to the vectors, as the size of their dot products with it says.
func (c *parts64) share(bias []float64) {
	sum := 0.0
	for _, v := range c.vectors {
		sum += math.Abs(dot(v, bias))
	}
	if sum == 0 {
		return
	}
	for k, v := range c.vectors {
		weight := math.Abs(dot(v, bias)) / sum
		shared := make([]float64, len(v))
		for i := range v {
			shared[i] = v[i] + weight*bias[i]
		}
		c.vectors[k] = shared
	}
}

func (c *parts64) norm(name string, whole []float64) {
	for k, v := range c.vectors {
		c.vectors[k] = linear(c.r.spec, v, whole, c.r.params[name+".gain"])
	}
	if !c.r.spec.RMS {
		c.share(wide(c.r.params[name+".bias"]))
	}
}

func (c *parts64) dense(weight, bias string) {
	for k, v := range c.vectors {
		c.vectors[k] = times(v, c.r.matrix(weight))
	}
	if bias != "" {
		c.share(wide(c.r.params[bias]))
	}
}

func (c *parts64) scale(by []float64) {
	for k, v := range c.vectors {
		c.vectors[k] = each(v, by)
	}
}

func (c *parts64) add(other carrier) {
	for k, v := range other.(*parts64).vectors {
		c.vectors[k] = plus(c.vectors[k], v)
	}
}

func (c *parts64) copied() carrier { return &parts64{r: c.r, vectors: slices.Clone(c.vectors)} }

func (c *parts64) mlp(b *layer, whole []float64) carrier {
	var sum *parts64
	for _, e := range b.experts(whole) {
		part := c.feedForward(b, e.prefix, whole)
		for k, v := range part.vectors {
			part.vectors[k] = scaled(v, e.weight)
		}
		if sum == nil {
			sum = part
			continue
		}
		sum.add(part)
	}
	if b.spec.MixtureOf(b.index) != nil && b.spec.MLPBias { // those of all experts count as one
		bias := make([]float64, b.spec.Width)
		for _, e := range b.experts(whole) {
			bias = plus(bias, scaled(wide(b.weight(e.prefix+"down.bias")), e.weight))
		}
		sum.share(bias)
	}
	return sum
}

// feedForward is one feed-forward part, whose weights have that prefix.
func (c *parts64) feedForward(b *layer, prefix string, whole []float64) *parts64 {
	s, in := c.r.spec, func(name string) string {
		return fmt.Sprintf("blocks.%d.%s%s", b.index, prefix, name)
	}
	dense := func(c *parts64, name string) {
		bias := ""
		if s.MLPBias && (name != "down" || prefix == "") {
			bias = in(name + ".bias")
		}
		c.dense(in(name+".weight"), bias)
	}
	hidden := c.copied().(*parts64)
	dense(hidden, "up")
	if !s.Gated {
		up := b.dense(prefix+"up", whole, s.MLPBias)
		hidden.scale(slopes(b.activated(up), up))
		dense(hidden, "down")
		return hidden
	}
	gate := c.copied().(*parts64)
	dense(gate, "gate")
	x := b.dense(prefix+"gate", whole, s.MLPBias)
	gate.scale(slopes(b.gate(x), x))
	if limit := s.InnerLimit; limit > 0 {
		x := b.dense(prefix+"up", whole, s.MLPBias)
		limited := slices.Clone(x)
		for i := range limited {
			limited[i] = min(max(limited[i], -limit), limit)
		}
		hidden.scale(slopes(limited, x))
	}
	hidden.vectors = shapley(gate.vectors, hidden.vectors)
	for k, v := range gate.vectors { // an offset is worth gate·offset
		hidden.vectors[k] = plus(hidden.vectors[k], scaled(v, s.UpOffset))
	}
	dense(hidden, "down")
	return hidden
}

// shapley gives each k its value in the product (Σ a_k)(Σ b_k): what it makes with itself, and
// half of what it makes with each other.
func shapley(a, b [][]float64) [][]float64 {
	values := make([][]float64, len(a))
	for k := range a {
		values[k] = each(a[k], b[k])
		for j := range a {
			if j == k {
				continue
			}
			for i := range values[k] {
				values[k][i] += (a[k][i]*b[j][i] + a[j][i]*b[k][i]) / 2
			}
		}
	}
	return values
}

// decompose carries a vector for every token through all layers, [T][T][D], to a score at target t.
func (r *text64) decompose(t, token int) []float64 {
	n, d := len(r.ids), r.spec.Width
	if r.spec.Head == spec.ClassifierHead {
		t = readsAt(r.spec, r.ids)
	}
	all := make([]*parts64, n)
	for i := range all {
		all[i] = &parts64{r: r, vectors: make([][]float64, n)}
		for k := range n {
			all[i].vectors[k] = make([]float64, d)
		}
		all[i].vectors[i] = r.hidden[0][i]
	}
	for _, b := range r.layers {
		read := r.attentionParts(b, all)
		for i := range all {
			all[i] = r.through(b, i, all[i], read[i]).(*parts64)
		}
	}
	factors := r.head(all[t], t)
	parts := make([]float64, n)
	for k, v := range all[t].vectors {
		parts[k] = v[token] * factors[token]
	}
	return parts
}

// valuePart is the value of a part of what the layer projects, for its input x.
func (b *layer) valuePart(x, part []float64) []float64 {
	t := b.spec.Latent
	if t == nil {
		return b.times("value", part)
	}
	whole := b.times("latent", b.norm("attention-norm", x))
	rms := math.Sqrt(dot(whole, whole)/float64(len(whole)) + t.Epsilon)
	return b.times("value-up", scaled(each(b.times("latent", part),
		wide(b.weight("latent-norm.gain"))), 1/rms))
}

// valueNorm is the norm of what values are made of, "" for none. The attention to the source reads
// what the encoder gives, after its own norm.
func (b *layer) valueNorm() string {
	switch {
	case b.spec.Stack(b.index) == spec.Crossing && b.spec.MemoryNorm:
		return "memory-norm"
	case b.spec.Stack(b.index) == spec.Crossing || b.spec.Order == spec.PostNorm:
		return ""
	}
	return "attention-norm"
}

// attentionParts is what every target reads of every token's part, with the biases of value and
// output, [T][T][D].
func (r *text64) attentionParts(b *layer, all []*parts64) []*parts64 {
	s := r.spec
	values := make([][][]float64, len(all)) // [S][T][GE]
	for i, x := range all {
		u := x.copied().(*parts64)
		if name := b.valueNorm(); name != "" {
			u.norm(fmt.Sprintf("blocks.%d.%s", b.index, name), b.x[i])
		}
		for _, v := range u.vectors {
			values[i] = append(values[i], b.valuePart(b.x[i], v))
		}
	}
	group := func(h int) int { return h / (s.Heads / s.Groups()) }
	read := make([]*parts64, len(all))
	for t := range all {
		bias := make([]float64, s.Width)
		if s.OutputBias {
			bias = wide(b.weight("output.bias"))
		}
		for h := range s.Heads {
			if s.ProjectionBias {
				sum := 0.0 // 1 without sinks
				for _, a := range b.attention[h][t] {
					sum += a
				}
				value := scaled(b.head(group(h), wide(b.weight("value.bias"))), sum)
				bias = plus(bias, b.headOutput(h, value))
			}
		}
		read[t] = &parts64{r: r, vectors: make([][]float64, len(all))}
		for k := range all {
			sum := make([]float64, s.Width)
			for h := range s.Heads {
				context := make([]float64, s.ValueWidth())
				for i := range all {
					for e, v := range b.head(group(h), values[i][k]) {
						context[e] += b.attention[h][t][i] * v
					}
				}
				sum = plus(sum, b.headOutput(h, context))
			}
			read[t].vectors[k] = sum
		}
		read[t].share(bias)
	}
	return read
}

// TestDecomposeBruteForce compares every token's part with vectors carried through the model in
// float64, [T,T,D] of them spelled out.
func TestDecomposeBruteForce(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		r := g.text64(t)
		token, class := g.second(), g.second()
		if r.spec.Discriminates() {
			token, class = 0, 1
		}
		for _, position := range []int{0, 7, len(g.ids) - 1} {
			got, _ := g.decomposed(t, g.logitQuery(position, class))
			near64(t, fmt.Sprintf("parts at %d", position), got, r.decompose(position, token),
				partTol)
		}
	})
}

// TestDecomposeVariants: values of spec fields that no golden has.
func TestDecomposeVariants(t *testing.T) {
	eachVariant(t, func(t *testing.T, g *golden) {
		got, _ := g.decomposed(t, g.logitQuery(7, 2))
		near64(t, "parts", got, g.text64(t).decompose(7, 2), partTol)
	})
}

// TestDecomposeTiles: a text of several tiles, rounded up as where shapes are compiled and not,
// against the brute force.
func TestDecomposeTiles(t *testing.T) {
	for _, name := range []string{"bloom", "gemma2", "bert"} {
		for _, rounded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/rounded=%v", name, rounded), func(t *testing.T) {
				g := openGolden(t, name)
				g.ids = slices.Concat(g.ids, g.ids, g.ids, g.ids)[:37] // tiles of 32 targets
				if rounded {
					g.model.RoundUp()
				}
				got, _ := g.decomposed(t, g.logitQuery(35, 4))
				near64(t, "parts", got, g.text64(t).decompose(35, 4), partTol)
				near64(t, "terms", listed(g.terms(t, g.logitQuery(35, 4))),
					listed(g.text64(t).logitTerms(35, 4)), partTol)
			})
		}
	}
}

// TestDecomposeSilent: without output projections and biases no token says anything about another.
func TestDecomposeSilent(t *testing.T) {
	g := openGolden(t, "llama")
	m := g.changed(t, func(name string, data []float32) {
		if silent(name) {
			clear(data)
		}
	})
	q := g.logitQuery(6, 3)
	parts, _ := (&golden{model: m}).decomposed(t, q)
	for k, v := range parts {
		if k != 6 && v != 0 {
			t.Errorf("token %d has the part %g of a target that reads nothing, want 0", k, v)
		}
	}
	near64(t, "own part", []float64{parts[6]}, []float64{(&golden{model: m}).logit(t, q)}, sumTol)
}

// TestDecomposeLater: tokens after the target have the part 0 in a decoder and change no other.
func TestDecomposeLater(t *testing.T) {
	g := openGolden(t, "mistral")
	whole, _ := g.decomposed(t, g.logitQuery(4, 9))
	short, _ := (&golden{model: g.model, ids: g.ids[:5]}).decomposed(t,
		(&golden{ids: g.ids[:5]}).logitQuery(4, 9))
	near64(t, "tokens seen", whole[:5], short, sumTol)
	if slices.ContainsFunc(whole[5:], func(x float64) bool { return x != 0 }) {
		t.Errorf("later tokens have parts: %v", whole[5:])
	}
}

// TestDecomposeBiasOfNone: a bias that is at right angles to every part goes to none, and is what
// is left.
func TestDecomposeBiasOfNone(t *testing.T) {
	g := openGolden(t, "distilbert_cls")
	const bias = 0.75
	// Scores of class 0 alone, a bias of class 1 alone.
	m := g.changed(t, func(name string, data []float32) {
		switch name {
		case "classifier.weight":
			for i := range data {
				if i%g.model.Spec.Classes != 0 {
					data[i] = 0
				}
			}
		case "classifier.bias":
			clear(data)
			data[1] = bias
		}
	})
	parts, rest := (&golden{model: m}).decomposed(t, g.logitQuery(0, 1))
	for k, v := range parts {
		if v != 0 {
			t.Errorf("token %d has the part %g, want 0", k, v)
		}
	}
	if rest != bias {
		t.Errorf("the rest is %g, want the bias %g", rest, bias)
	}
}

// TestDecomposeOfOneToken: all of the logit is the only token's.
func TestDecomposeOfOneToken(t *testing.T) {
	g := openGolden(t, "gpt2")
	g.ids = g.ids[:1]
	parts, rest := g.decomposed(t, g.logitQuery(0, 5))
	near64(t, "the only part", parts, []float64{g.logit(t, g.logitQuery(0, 5))}, sumTol)
	near64(t, "rest", []float64{rest}, []float64{0}, sumTol)
}
