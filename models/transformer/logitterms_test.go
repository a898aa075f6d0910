package transformer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

const (
	// sumTol is how far the sum of parts may be from the logit of Trace, relative to the larger of
	// the logit and 1.
	sumTol = 1e-5 // worst seen 2e-6
	// partTol is how far a part may be from that computed in float64, relative to the largest part
	// and 1.
	partTol = 1e-5 // worst seen 1.3e-6
)

// logitQuery asks for a token's logit at a position of a golden's text.
func (g *golden) logitQuery(position, token int) trace.Query {
	return trace.Query{IDs: g.ids, Objective: trace.Objective{
		Quantity: trace.Logit,
		Position: position, Token: token,
	}}
}

// against is the query with a contrast.
func against(q trace.Query, contrast int) trace.Query {
	q.Contrast = &contrast
	return q
}

// logit is the score that Trace gives, of a discriminator that of two classes.
func (g *golden) logit(t testing.TB, q trace.Query) float64 {
	t.Helper()
	scores := g.reads(t, q.IDs, q.Position)
	value := scores[q.Token]
	if q.Contrast != nil {
		value -= scores[*q.Contrast]
	}
	return value
}

func (g *golden) terms(t testing.TB, q trace.Query) *trace.LogitTerms {
	t.Helper()
	x, err := g.model.LogitTerms(context.Background(), q)
	must(t, err)
	return x
}

// listed is every term in one order.
func listed(x *trace.LogitTerms) []float64 {
	return slices.Concat([]float64{x.Embedding, x.Bias}, x.Attention, x.MLP, x.AttentionBias)
}

func sumOf(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// near64 compares numbers relative to the largest and 1, and returns the worst difference.
func near64(t testing.TB, what string, got, want []float64, tol float64) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	scale, worst := 1.0, 0.0
	for _, x := range want {
		scale = max(scale, math.Abs(x))
	}
	for i := range got {
		d := math.Abs(got[i]-want[i]) / scale
		if !(d <= tol) {
			t.Errorf("%s: number %d = %v, want %v within %g", what, i, got[i], want[i], tol*scale)
		}
		worst = max(worst, d)
	}
	return worst
}

// TestLogitTermsSum: the terms add up to what the model says, of every family, at every kind of
// position, with a contrast and without.
func TestLogitTermsSum(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		for _, position := range []int{0, 4, len(g.ids) - 1} {
			for _, q := range []trace.Query{
				g.logitQuery(position, 0), g.logitQuery(position, g.second()),
				against(g.logitQuery(position, g.second()), 0),
			} {
				x, want := g.terms(t, q), g.logit(t, q)
				near64(t, "sum", []float64{sumOf(listed(x))}, []float64{want}, sumTol)
				near64(t, "value", []float64{x.Value}, []float64{want}, sumTol)
			}
		}
	})
}

// TestLogitTermsContrast: a contrast gives the difference of the terms of both.
func TestLogitTermsContrast(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		a := listed(g.terms(t, g.logitQuery(5, g.second())))
		b := listed(g.terms(t, g.logitQuery(5, 0)))
		for i := range a {
			a[i] -= b[i]
		}
		near64(t, "terms", listed(g.terms(t, against(g.logitQuery(5, g.second()), 0))), a, sumTol)
	})
}

// terms64 are vectors, each of which is part of one number of trace.LogitTerms: what a bias adds
// is a vector of its own.
type terms64 struct {
	r       *text64
	bias    func(x *trace.LogitTerms) *float64
	to      []func(x *trace.LogitTerms) *float64
	vectors [][]float64
}

func (c *terms64) put(to func(x *trace.LogitTerms) *float64, vector []float64) {
	c.to, c.vectors = append(c.to, to), append(c.vectors, vector)
}

func (c *terms64) norm(name string, whole []float64) {
	for i, v := range c.vectors {
		c.vectors[i] = linear(c.r.spec, v, whole, c.r.params[name+".gain"])
	}
	if !c.r.spec.RMS {
		c.put(c.bias, wide(c.r.params[name+".bias"]))
	}
}

func (c *terms64) dense(weight, bias string) {
	for i, v := range c.vectors {
		c.vectors[i] = times(v, c.r.matrix(weight))
	}
	if bias != "" {
		c.put(c.bias, wide(c.r.params[bias]))
	}
}

func (c *terms64) scale(by []float64) {
	for i, v := range c.vectors {
		c.vectors[i] = each(v, by)
	}
}

func (c *terms64) add(other carrier) {
	o := other.(*terms64)
	c.to, c.vectors = append(c.to, o.to...), append(c.vectors, o.vectors...)
}

func (c *terms64) copied() carrier {
	return &terms64{r: c.r, bias: c.bias, to: slices.Clone(c.to), vectors: slices.Clone(c.vectors)}
}

func (c *terms64) mlp(b *layer, whole []float64) carrier {
	m := &terms64{r: c.r, bias: c.bias}
	m.put(func(x *trace.LogitTerms) *float64 { return &x.MLP[b.index] }, b.mlp(whole))
	return m
}

// logitTerms carries every vector that was added to the residual stream of target t forward to the
// score of a token. With heads, Attention is [L,heads,S], and has the part of each of them.
func (r *text64) logitTerms(t, token int, heads ...int) *trace.LogitTerms {
	if heads == nil {
		heads = []int{-1} // all together
	}
	n, layers, N := len(r.ids), len(r.layers), len(heads)
	out := &trace.LogitTerms{
		L: layers, S: n, Attention: make([]float64, layers*N*n),
		MLP: make([]float64, layers), AttentionBias: make([]float64, layers),
	}
	c := &terms64{r: r}
	if r.spec.Head == spec.ClassifierHead {
		t = readsAt(r.spec, r.ids)
	}
	c.put(func(x *trace.LogitTerms) *float64 { return &x.Embedding }, r.hidden[0][t])
	for l, b := range r.layers {
		c.bias = func(x *trace.LogitTerms) *float64 { return &x.AttentionBias[l] }
		a := &terms64{r: r, bias: c.bias}
		for i := range N * n {
			a.put(func(x *trace.LogitTerms) *float64 { return &x.Attention[l*N*n+i] },
				b.contribution(t, i%n, heads[i/n]))
		}
		if r.spec.OutputBias {
			a.put(c.bias, wide(b.weight("output.bias")))
		}
		c = r.through(b, t, c, a).(*terms64)
	}
	c.bias = func(x *trace.LogitTerms) *float64 { return &x.Bias }
	factors := r.head(c, t)
	for i, v := range c.vectors {
		*c.to[i](out) += v[token] * factors[token]
	}
	return out
}

// TestLogitTermsBruteForce compares every term with vectors that are carried forward in float64,
// one for every source: an implementation that shares no code with the graph and goes the other
// way.
func TestLogitTermsBruteForce(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		r := g.text64(t)
		if r.spec.Discriminates() {
			t.Skip("one score: see TestDiscriminator")
		}
		for _, position := range []int{0, 7, len(g.ids) - 1} {
			token := g.second()
			got := listed(g.terms(t, g.logitQuery(position, token)))
			want := listed(r.logitTerms(position, token))
			near64(t, fmt.Sprintf("terms at %d", position), got, want, partTol)
		}
	})
}

// TestLogitTermsVariants: values of spec fields that no golden has.
func TestLogitTermsVariants(t *testing.T) {
	eachVariant(t, func(t *testing.T, g *golden) {
		near64(t, "terms", listed(g.terms(t, g.logitQuery(7, 2))),
			listed(g.text64(t).logitTerms(7, 2)), partTol)
	})
}

// eachVariant runs do on goldens with values of spec fields that no golden has.
func eachVariant(t *testing.T, do func(t *testing.T, g *golden)) {
	for _, c := range []struct {
		name, golden string
		change       func(s *spec.Spec)
	}{
		{"residual after the norm", "gpt2", func(s *spec.Spec) { s.NormedResidual = true }},
		{"parallel with two norms", "gpt2", func(s *spec.Spec) { s.Order = spec.Parallel }},
		{"cap of logits", "gpt2", func(s *spec.Spec) { s.LogitCap = 3 }},
		{"cap in an encoder", "bert", func(s *spec.Spec) { s.LogitCap = 3 }},
		{"offset of gains", "llama", func(s *spec.Spec) { s.NormOffset = 0.2 }},
		{"window with ALiBi", "bloom", func(s *spec.Spec) {
			s.Windows = make([]int, s.Layers)
			s.Windows[1] = 3
		}},
		{"tanh", "gpt2", func(s *spec.Spec) { s.Activation = spec.HyperbolicTangent }},
		{"gate of ReLU", "llama_bias", func(s *spec.Spec) { s.Activation = spec.ReLU }},
		{"gate of quick GELU", "llama_bias", func(s *spec.Spec) { s.Activation = spec.QuickGELU }},
		{"ReLU6", "gpt2", func(s *spec.Spec) { s.Activation = spec.ReLU6 }},
		{"post-norm decoder", "gpt2", func(s *spec.Spec) { s.Order = spec.PostNorm }},
	} {
		t.Run(c.name, func(t *testing.T) { do(t, openGolden(t, c.golden).variant(t, c.change)) })
	}
}

// TestLogitTermsSilent: without an output projection no source says anything, and everything else
// still does.
func TestLogitTermsSilent(t *testing.T) {
	for _, name := range []string{"gpt2", "gemma2", "bert"} {
		m := openGolden(t, name).changed(t, func(name string, data []float32) {
			if silent(name) {
				clear(data)
			}
		})
		g := &golden{model: m, ids: openGolden(t, name).ids}
		x := g.terms(t, g.logitQuery(6, 3))
		for i, v := range x.Attention {
			if v != 0 {
				t.Errorf("%s: layer %d source %d = %g, want 0", name, i/x.S, i%x.S, v)
			}
		}
		if x.Embedding == 0 || x.MLP[0] == 0 {
			t.Errorf("%s: embedding %g, feed-forward %v, want parts", name, x.Embedding, x.MLP)
		}
		near64(t, name, []float64{x.Value}, []float64{g.logit(t, g.logitQuery(6, 3))}, sumTol)
	}
}

// TestLogitTermsLater: tokens after the target change nothing in a decoder, and have no part.
func TestLogitTermsLater(t *testing.T) {
	g := openGolden(t, "mistral")
	whole := g.terms(t, g.logitQuery(4, 9))
	short := &golden{model: g.model, ids: g.ids[:5]}
	want := short.terms(t, short.logitQuery(4, 9))
	for l := range whole.L {
		row := whole.Attention[l*whole.S : (l+1)*whole.S]
		near64(t, "sources seen", row[:5], want.Attention[l*5:(l+1)*5], sumTol)
		if slices.ContainsFunc(row[5:], func(x float64) bool { return x != 0 }) {
			t.Errorf("layer %d has parts of later sources: %v", l, row)
		}
	}
}

// TestLogitTermsGivenEmbeddings: rows that are given stand for those of the ids.
func TestLogitTermsGivenEmbeddings(t *testing.T) {
	g := openGolden(t, "opt_350")
	want := g.terms(t, g.logitQuery(5, 8))
	q := g.logitQuery(5, 8)
	var err error
	q.Embeddings, err = g.model.Embed(context.Background(), g.ids)
	must(t, err)
	q.IDs = make([]int, len(g.ids))
	if diff := cmp.Diff(want, g.terms(t, q)); diff != "" {
		t.Errorf("terms of given embeddings (-ids +given):\n%s", diff)
	}
	for i := range q.Embeddings {
		q.Embeddings[i] *= 2
	}
	if g.terms(t, q).Value == want.Value {
		t.Error("twice the embedding has the same logit")
	}
}

// TestDiscriminator: one score is that of the second of two classes.
func TestDiscriminator(t *testing.T) {
	g := openGolden(t, "electra_disc")
	r := g.text64(t)
	second := g.terms(t, g.logitQuery(3, 1))
	near64(t, "second class", listed(second), listed(r.logitTerms(3, 0)), partTol)
	for _, x := range listed(g.terms(t, g.logitQuery(3, 0))) {
		if x != 0 {
			t.Errorf("a part of the first class is %g, want 0", x)
		}
	}
	if diff := cmp.Diff(second, g.terms(t, against(g.logitQuery(3, 1), 0))); diff != "" {
		t.Errorf("the first class as a contrast changes the second:\n%s", diff)
	}
}

// TestPartsRepeat: equal queries give equal bits, and the query stays as it is.
func TestPartsRepeat(t *testing.T) {
	g := openGolden(t, "gemma3")
	q := against(g.logitQuery(8, 3), 4)
	ids := slices.Clone(q.IDs)
	if diff := cmp.Diff(g.terms(t, q), g.terms(t, q)); diff != "" {
		t.Errorf("terms of the second run (-first +second):\n%s", diff)
	}
	a, restA := g.decomposed(t, q)
	b, restB := g.decomposed(t, q)
	if !slices.Equal(a, b) || restA != restB {
		t.Errorf("parts %v and %g, then %v and %g", a, restA, b, restB)
	}
	if !slices.Equal(q.IDs, ids) {
		t.Errorf("the query's ids are %v, were %v", q.IDs, ids)
	}
}

func TestPartsRefusals(t *testing.T) {
	decoder, bare, classifier := openGolden(t, "gpt2"), openGolden(t, "bert_bare"), openGolden(t,
		"distilbert_cls")
	with := func(change func(q *trace.Query)) trace.Query {
		q := decoder.logitQuery(3, 5)
		change(&q)
		return q
	}
	for _, c := range []struct {
		name  string
		model *transformer.Model
		query trace.Query
		want  string
	}{
		{
			"quantity", decoder.model,
			with(func(q *trace.Query) { q.Quantity = trace.Probability }),
			`transformer: the quantity "probability" is not a sum of parts; take logit`,
		},
		{
			"no quantity", decoder.model, with(func(q *trace.Query) { q.Quantity = "" }),
			`transformer: the quantity "" is not a sum of parts; take logit`,
		},
		{"no text", decoder.model, with(func(q *trace.Query) { q.IDs = nil }), "transformer: there are no tokens to run on"},
		{"position", decoder.model, with(func(q *trace.Query) { q.Position = 12 }), "transformer: position 12 is not in 0..11"},
		{"negative position", decoder.model, with(func(q *trace.Query) { q.Position = -1 }), "transformer: position -1 is not in 0..11"},
		{"token", decoder.model, with(func(q *trace.Query) { q.Token = 96 }), "transformer: token 96 is not in 0..95, the vocabulary"},
		{"contrast", decoder.model, against(decoder.logitQuery(3, 5), -1), "transformer: contrast -1 is not in 0..95, the vocabulary"},
		{"class", classifier.model, classifier.logitQuery(0, 99), ""},
		{"no head", bare.model, bare.logitQuery(0, 0), "transformer: the bert model has no head, so nothing is predicted"},
	} {
		_, err := c.model.LogitTerms(context.Background(), c.query)
		_, _, other := c.model.Decompose(context.Background(), c.query)
		if err == nil || c.want != "" && err.Error() != c.want {
			t.Errorf("%s: LogitTerms: error %v, want %q", c.name, err, c.want)
		}
		if other == nil || err != nil && other.Error() != err.Error() {
			t.Errorf("%s: Decompose: error %v, want %v", c.name, other, err)
		}
	}
}

// stopping is a context that ends when it has been asked so many times.
type stopping struct {
	context.Context
	left int
}

func (s *stopping) Err() error {
	if s.left--; s.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestPartsStop: both look at the context in every layer, LogitTerms on its way back too.
func TestPartsStop(t *testing.T) {
	g := openGolden(t, "llama")
	for asked := range 2 * g.model.Spec.Layers {
		if _, err := g.model.LogitTerms(&stopping{context.Background(), asked},
			g.logitQuery(3, 5)); !errors.Is(err, context.Canceled) {
			t.Errorf("LogitTerms, stopped when asked again after %d times: error %v", asked, err)
		}
		if _, _, err := g.model.Decompose(&stopping{context.Background(), asked},
			g.logitQuery(3, 5)); !errors.Is(err, context.Canceled) {
			t.Errorf("Decompose, stopped when asked again after %d times: error %v", asked, err)
		}
	}
}

// TestPartsMemory: what would not fit is refused before it is computed.
func TestPartsMemory(t *testing.T) {
	g := openGolden(t, "bloom") // whose texts may be of any length
	g.model.MaxBytes = 64 << 20
	ids := make([]int, 1000)
	q := trace.Query{IDs: ids, Objective: trace.Objective{Quantity: trace.Logit, Position: 999}}
	var refused *trace.MemoryError
	if _, _, err := g.model.Decompose(context.Background(), q); !errors.As(err,
		&refused) || refused.What != "a pass with the parts of every token for 1,000 tokens" {
		t.Errorf("Decompose of 1,000 tokens: error %v, want one of memory", err)
	}
	refused = nil
	g.model.MaxBytes = 1 << 20
	if _, err := g.model.LogitTerms(context.Background(), q); !errors.As(err,
		&refused) || !strings.HasSuffix(refused.What, " for 1,000 tokens") {
		t.Errorf("LogitTerms of 1,000 tokens: error %v, want one of memory", err)
	}
}

// TestPartsBFloat16: with half the weights' digits the sum stays within what rounding activations
// costs a logit, and the rest tells what it was.
func TestPartsBFloat16(t *testing.T) {
	const cost = 0.08 // as TestBFloat16Logits
	eachHeaded(t, func(t *testing.T, g *golden) {
		h := &golden{model: g.inHalf(t, func(string, []float32) {}), ids: g.ids}
		q := h.logitQuery(6, h.second())
		want := h.logit(t, q)
		near64(t, "sum of terms", []float64{h.terms(t, q).Value}, []float64{want}, cost)
		parts, rest := h.decomposed(t, q)
		near64(t, "parts and rest", []float64{sumOf(parts) + rest}, []float64{want}, sumTol)
		near64(t, "rest", []float64{rest}, []float64{0}, cost)
	})
}
